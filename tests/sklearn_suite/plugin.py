"""pytest plugin: scikit-learn's tests of SVMs and searches see our classes, without those in
deselected.txt.

The classes are replaced when the plugin is imported, before any test module is.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
import sklearn
import sklearn.model_selection
import sklearn.svm

import softmargin

CLASSES = ("SVC", "NuSVC", "SVR", "NuSVR", "OneClassSVM", "LinearSVC", "LinearSVR")

SEARCHES = ("GridSearchCV", "RandomizedSearchCV")

for name in CLASSES:
    setattr(sklearn.svm, name, getattr(softmargin, name))
for name in SEARCHES:
    setattr(sklearn.model_selection, name, getattr(softmargin, name))
sklearn.svm.l1_min_c = sklearn.svm._bounds.l1_min_c = softmargin.l1_min_c


def deselected() -> dict[str, str]:
    """Test function ("file::function") -> reason."""
    lines = Path(__file__).with_name("deselected.txt").read_text().splitlines()
    return dict(line.split(maxsplit=1) for line in lines if line and not line.startswith("#"))


def pytest_collection_modifyitems(config, items):
    listed = deselected()
    functions = {item: f"{item.path.name}::{item.originalname}" for item in items}
    files = {item.path.name for item in items}
    unknown = {name for name in listed if name.split("::")[0] in files} - set(functions.values())
    if unknown:
        raise pytest.UsageError(f"deselected.txt names tests that do not exist: {sorted(unknown)}")
    out = [item for item in items if functions[item] in listed]
    config.hook.pytest_deselected(items=out)
    items[:] = [item for item in items if functions[item] not in listed]


def pytest_terminal_summary(terminalreporter):
    counts = Counter({status: len(reports) for status, reports in terminalreporter.stats.items()})
    terminalreporter.write_line(
        f"scikit-learn {sklearn.__version__}, its tests with our classes:"
        f" {counts['passed']} passed, {counts['failed'] + counts['error']} failed,"
        f" {counts['skipped']} skipped; {len(deselected())} functions"
        f" ({counts['deselected']} cases) deselected"
    )
