"""Probabilities of models of svm-train -b 1: LIBSVM's own, and the optimum that they are near."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from softmargin import cli
from softmargin.calibration.coupling import class_probabilities
from softmargin.calibration.inliers import inlier_probability
from softmargin.estimator.one_vs_one import pairs
from softmargin.io.models.formats import read_any_model, write_any_model
from tests.oracles import libsvm_peer as peer

rng = np.random.default_rng(0)
X, POINTS = rng.standard_normal((2, 150, 4))


def targets(classes):
    return np.argmax(X @ rng.standard_normal((4, classes)) + rng.gumbel(size=(150, classes)), 1)


@pytest.mark.parametrize("format", ["libsvm", "native"])
@pytest.mark.parametrize(
    ("kind", "classes"), [("SVC", 2), ("SVC", 3), ("NuSVC", 4), ("SVC", 9), ("OneClassSVM", 1)]
)
def test_the_same_as_libsvms(tmp_path, kind, classes, format):
    pytest.importorskip("libsvm")
    peer.train(tmp_path / "m", kind, "rbf", X, 3 - targets(classes), "-b 1 -n 0.1")
    labels, probabilities = peer.predict_probabilities(tmp_path / "m", POINTS)
    write_any_model(tmp_path / "again", read_any_model(tmp_path / "m"), format)
    ours, our_probabilities = read_any_model(tmp_path / "again").predict_probabilities(POINTS)
    np.testing.assert_array_equal(ours, labels)
    np.testing.assert_allclose(our_probabilities, probabilities, rtol=1e-9, atol=1e-12)


@given(st.integers(3, 6), st.integers(0, 2**32 - 1))
def test_coupling_is_near_the_optimum(classes, seed):
    """The optimum of the coupling, from its optimality conditions: Qp + b = 0, sum p = 1."""
    values = 3 * np.random.default_rng(seed).standard_normal((5, len(pairs(classes))))
    found = class_probabilities(values, np.array(-1.0), np.array(0.0), classes)
    np.testing.assert_allclose(found.sum(axis=1), 1)
    for row, p in zip(values, found, strict=True):
        r = np.zeros((classes, classes))
        for (i, j), value in zip(pairs(classes), row, strict=True):
            r[i, j] = 1 / (1 + np.exp(-value))
            r[j, i] = 1 - r[i, j]
        Q = np.diag((r**2).sum(axis=0)) - r * r.T
        system = np.block([[Q, np.ones((classes, 1))], [np.ones((1, classes)), np.zeros((1, 1))]])
        best = np.linalg.solve(system, np.append(np.zeros(classes), 1.0))[:classes]
        assert p @ Q @ p - best @ Q @ best <= 0.005 / classes + 1e-12
        assert (p >= 0).all()


def test_extreme_values_do_not_overflow():
    values = np.array([[1e300, -1e300, 0.0]])
    probabilities = class_probabilities(values, np.array(-1.0), np.array(0.0), 3)
    assert np.isfinite(probabilities).all()


def test_tenths_of_a_one_class_machine():
    marks = np.linspace(-0.9, 0.9, 10)
    values = np.array([-2.0, -0.9, -0.8, 0.0, 0.85, 0.9, 2.0])
    expected = [0.001, 0.1, 0.1, 0.5, 0.9, 0.999, 0.999]
    np.testing.assert_array_equal(inlier_probability(values, marks), expected)


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data").write_text("4 1:1\n-4 1:-1\n")
    head = "kernel_type linear\nnr_class 2\ntotal_sv 2\nrho 0\n"
    rows = "SV\n1 1:1\n-1 1:-1\n"
    labels, counts = "label 4 -4\n", "nr_sv 1 1\n"
    (tmp_path / "plain").write_text(f"svm_type c_svc\n{head}{labels}{counts}{rows}")
    both = f"probA -1\nprobB 0\n{counts}{rows}"
    (tmp_path / "both").write_text(f"svm_type c_svc\n{head}{labels}{both}")
    (tmp_path / "svr").write_text(f"svm_type epsilon_svr\n{head}probA 0.25\n{rows}")
    return tmp_path


def test_predict_b_1(files, capsys):
    assert cli.main(["predict", "-b", "1", "data", "both", "out"]) == 0
    p = 1 / (1 + np.exp(-2.0))
    lines = (files / "out").read_text().splitlines()
    assert lines[0] == "labels 4 -4"
    rows = [[float(word) for word in line.split()] for line in lines[1:]]
    np.testing.assert_allclose(rows, [[4, p, 1 - p], [-4, 1 - p, p]])
    assert "Accuracy = 100% (2/2)" in capsys.readouterr().out
    assert cli.main(["predict", "-b", "1", "--json", "data", "both"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["labels"] == [4, -4]
    np.testing.assert_allclose(told["probabilities"], [[p, 1 - p], [1 - p, p]])


def test_what_has_no_probabilities_says_so(files, capsys):
    assert cli.main(["predict", "-b", "1", "data", "plain"]) == 1
    assert "only models of train -b 1 have" in capsys.readouterr().err
    assert cli.main(["predict", "-b", "1", "--decision-values", "data", "both"]) == 1
    assert "choose one" in capsys.readouterr().err
    assert cli.main(["predict", "-b", "1", "data", "svr"]) == 0
    assert "s = 0.25" in capsys.readouterr().err
    assert cli.main(["train", "-b", "1", "-v", "2", "data"]) == 1
    assert "-v writes none" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "classes"),
    [("-s 0", 2), ("-s 0", 4), ("-s 1 -n 0.2", 3), ("-s 2 -n 0.3", 1), ("-s 3", 0), ("-s 4", 0)],
)
def test_svm_predict_reads_what_train_b_1_writes(tmp_path, monkeypatch, capsys, options, classes):
    """The probabilities of our file, from LIBSVM and from us."""
    pytest.importorskip("libsvm")
    monkeypatch.chdir(tmp_path)
    y = X[:, 0] if classes == 0 else targets(max(classes, 1))
    rows = [
        f"{t:g} " + " ".join(f"{k + 1}:{v!r}" for k, v in enumerate(map(float, x)))
        for t, x in zip(y, X, strict=True)
    ]
    (tmp_path / "data").write_text("\n".join(rows) + "\n")
    assert cli.main(["train", "-q", "-b", "1", *options.split(), "data", "m"]) == 0
    if classes == 0:
        assert "probA " in (tmp_path / "m").read_text()
        record = read_any_model(tmp_path / "m")
        width = np.diff(record.estimator().predict_interval(POINTS, 0.5))
        np.testing.assert_allclose(width, 2 * np.log(2) * record.attributes["probA_"][0])
        return
    labels, probabilities = peer.predict_probabilities(tmp_path / "m", POINTS)
    ours, our_probabilities = read_any_model(tmp_path / "m").predict_probabilities(POINTS)
    np.testing.assert_array_equal(ours, labels)
    np.testing.assert_allclose(our_probabilities, probabilities, rtol=1e-9, atol=1e-12)
