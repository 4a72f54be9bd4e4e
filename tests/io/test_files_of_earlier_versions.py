"""Model files and checkpoints in tests/data/earlier, written by the version before the modules were
moved into rooms (964d819), still load."""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import is_regressor

import softmargin
from softmargin import StopReason
from softmargin.checkpoint import DIGEST, MAGIC_2, CheckpointError
from tests.cases import earlier

FOLDER = Path(__file__).parents[1] / "data" / "earlier"
EXPECTED = np.load(FOLDER / "expected.npz")


@pytest.mark.parametrize("name", earlier.saved())
def test_a_model_file_predicts_as_before(name: str) -> None:
    fresh, X, y, weight = earlier.saved()[name]
    machine = softmargin.load(FOLDER / f"{name}.softmargin", mmap=False)
    assert machine.get_params() == fresh.get_params()
    predicted, expected = machine.predict(X), EXPECTED[f"{name}.predict"]
    if is_regressor(machine):  # the last bits depend on the build of the core
        np.testing.assert_allclose(predicted, expected, rtol=1e-9, atol=1e-9)
    else:
        np.testing.assert_array_equal(predicted, expected)
    if f"{name}.values" in EXPECTED:
        np.testing.assert_allclose(
            machine.decision_function(X), EXPECTED[f"{name}.values"], rtol=1e-9, atol=1e-9
        )
    fresh.fit(X, y, sample_weight=weight)
    assert machine.solution_.stop_reason is StopReason.CONVERGED
    assert machine.solution_.dual_objective == pytest.approx(fresh.solution_.dual_objective, 1e-3)


@pytest.mark.parametrize("name", ["svc_warm", "linear_warm"])
def test_a_warm_start_is_kept(name: str) -> None:
    _, X, y, _ = earlier.saved()[name]
    machine = softmargin.load(FOLDER / f"{name}.softmargin", mmap=False)
    machine.fit(X, y)
    assert np.sum(machine.n_iter_) == 0


@pytest.mark.parametrize("name", ["libsvm", "liblinear"])
def test_a_text_model_predicts_as_before(name: str) -> None:
    machine = softmargin.load(FOLDER / f"{name}.model")
    np.testing.assert_array_equal(machine.predict(earlier.X), EXPECTED[f"{name}.predict"])


@pytest.mark.parametrize("name", earlier.stopped())
def test_a_fit_resumes_from_a_checkpoint(name: str, tmp_path: Path) -> None:
    machine, X, y, weight = earlier.stopped()[name]
    before = machine.max_iter
    path = _checkpoint(machine, name, tmp_path)
    with pytest.warns(UserWarning, match="max_iter=1"):
        machine.set_params(max_iter=1).fit(X, y, sample_weight=weight)
    assert np.max(machine.n_iter_) == before  # the earlier iterations count
    machine.set_params(max_iter=100_000).fit(X, y, sample_weight=weight)
    assert machine.solution_.stop_reason.final
    assert not path.exists()
    resumed = machine.solution_.dual_objective
    machine.set_params(checkpoint=None).fit(X, y, sample_weight=weight)
    assert resumed == pytest.approx(machine.solution_.dual_objective, rel=1e-3)


def test_other_parameters_are_refused(tmp_path: Path) -> None:
    machine, X, y, weight = earlier.stopped()["svc"]
    _checkpoint(machine, "svc", tmp_path)
    with pytest.raises(CheckpointError, match=r"C=100 there, C=1 here"):
        machine.set_params(C=1.0).fit(X, y, sample_weight=weight)
    with pytest.raises(CheckpointError, match="other data"):
        machine.set_params(C=100).fit(X, y)


@pytest.mark.parametrize(
    "text", ["(" * 5000, "[" * 50 + "]" * 50, "1 +", "os.getcwd()", 5, None, {}]
)
def test_crafted_parameters_are_refused(text: Any, tmp_path: Path) -> None:
    machine, X, y, weight = earlier.stopped()["svc"]
    path = _checkpoint(machine, "svc", tmp_path)
    header, _, numbers = path.read_bytes()[len(MAGIC_2) + DIGEST :].partition(b"\n")
    changed = json.loads(header)
    changed["identity"]["parameters"]["C"] = text
    payload = json.dumps(changed).encode() + b"\n" + numbers
    path.write_bytes(MAGIC_2 + hashlib.sha256(payload).digest() + payload)
    with pytest.raises(CheckpointError):
        machine.fit(X, y, sample_weight=weight)


def _checkpoint(machine: Any, name: str, folder: Path) -> Path:
    path = folder / "checkpoint"
    shutil.copy(FOLDER / f"{name}.checkpoint", path)
    machine.set_params(checkpoint=path)
    return path
