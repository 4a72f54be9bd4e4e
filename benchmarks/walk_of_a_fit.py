"""The Python modules of softmargin that a fit, a prediction and ``softmargin train`` go through.

    python benchmarks/walk_of_a_fit.py

Prints, for each, the number of modules, how often the walk changes from one module to another, how
often a dual problem is asked for, and the modules in the order in which they are first entered.
"""

from __future__ import annotations

import os
import sys
import tempfile
import threading
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import softmargin
from softmargin import SVC, LinearSVC, cli

ROOT = str(Path(softmargin.__file__ or "").parent) + os.sep


def walk(work: Callable[[], Any]) -> tuple[list[str], Counter[str]]:
    """The module of every call, without repetitions in a row; and how often each name is called."""
    modules: list[str] = []
    calls: Counter[str] = Counter()

    def enter(frame: Any, event: str, _: Any) -> None:
        path, name = frame.f_code.co_filename, frame.f_code.co_name
        if event != "call" or not path.startswith(ROOT) or name == "<module>":
            return
        calls[name] += 1
        module = path[len(ROOT) :].removesuffix(".py")
        if modules[-1:] != [module]:
            modules.append(module)

    work()  # imports
    threading.setprofile(enter)
    sys.setprofile(enter)
    try:
        work()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)  # type: ignore[arg-type]
    return modules, calls


def main() -> None:
    warnings.simplefilter("ignore")
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 5))
    two, three = (X[:, 0] > 0).astype(int), rng.integers(3, size=300)
    machine = SVC().fit(X, two)
    with tempfile.TemporaryDirectory() as folder:
        data, model = Path(folder) / "data.csv", Path(folder) / "data.softmargin"
        rows = np.column_stack([two, X])
        np.savetxt(data, rows, delimiter=",", header="label,a,b,c,d,e", comments="")
        works: dict[str, Callable[[], Any]] = {
            "SVC.fit, two classes": lambda: SVC().fit(X, two),
            "SVC.fit, three classes": lambda: SVC().fit(X, three),
            "SVC.predict": lambda: machine.predict(X),
            "LinearSVC.fit": lambda: LinearSVC(multi_class="weston_watkins", random_state=0).fit(
                X, three
            ),
            "softmargin train": lambda: cli.main(["train", "-q", str(data), str(model)]),
        }
        for name, work in works.items():
            modules, calls = walk(work)
            first = list(dict.fromkeys(modules))
            print(f"{name}: {len(first)} modules, {len(modules)} changes, dual() {calls['dual']}")
            print(f"    {', '.join(first)}")


if __name__ == "__main__":
    main()
