"""Fitted machines are plain data: skops, and MLflow with it, save and load them."""

import copy
import pickle

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from softmargin import SVC, SVR, LinearSVC, NuSVC, NuSVR, OneClassSVM

RNG = np.random.default_rng(0)
X = RNG.standard_normal((60, 3))
MACHINES = [
    *(SVC(C=2.0, warm_start=True), NuSVC(nu=0.3), SVR(), NuSVR(), OneClassSVM()),
    LinearSVC(multi_class="weston_watkins", random_state=0, warm_start=True),
]


def fitted(machine):
    classes = np.array(["a", "b", "c"])[np.arange(60) % 3]
    return machine.fit(X, X[:, 0] if isinstance(machine, (SVR, NuSVR)) else classes)


def agree(machine, again):
    np.testing.assert_array_equal(again.predict(X), machine.predict(X))
    assert again.solution_ == machine.solution_
    assert again.get_params() == machine.get_params()
    fitted(again)  # a machine that can be fitted again, from where it was


@pytest.mark.parametrize("machine", MACHINES, ids=lambda machine: type(machine).__name__)
def test_skops(machine):
    sio = pytest.importorskip("skops.io")
    machine = fitted(machine)
    content = sio.dumps(machine)
    types = sio.get_untrusted_types(data=content)
    assert all(name.startswith(("softmargin.", "builtins.NoneType")) for name in types)
    agree(machine, sio.loads(content, trusted=types))


@pytest.mark.parametrize("machine", MACHINES, ids=lambda machine: type(machine).__name__)
def test_pickle_and_copy(machine):
    machine = fitted(machine)
    agree(machine, pickle.loads(pickle.dumps(machine)))
    agree(machine, copy.deepcopy(machine))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # MLflow's own, and those of what it imports
@pytest.mark.parametrize("format", ["skops", "cloudpickle"])
def test_mlflow(tmp_path, format):
    mlflow = pytest.importorskip("mlflow.sklearn")
    sio = pytest.importorskip("skops.io")
    machine = make_pipeline(StandardScaler(), SVC())
    machine.fit(X, np.arange(60) % 3)
    types = sio.get_untrusted_types(data=sio.dumps(machine))
    trusted = {"skops_trusted_types": types} if format == "skops" else {}
    mlflow.save_model(machine, str(tmp_path / "model"), serialization_format=format, **trusted)
    again = mlflow.load_model(str(tmp_path / "model"))
    np.testing.assert_array_equal(again.decision_function(X), machine.decision_function(X))
    assert again[-1].solution_ == machine[-1].solution_
