"""softmargin's own model file."""

import dataclasses
import io
import json
import subprocess
import sys
import zipfile

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone

import softmargin
from softmargin.io import FileError
from softmargin.io.models.container import ALIGNMENT, Container
from softmargin.io.models.native import read_model
from softmargin.working_sets import Block, HybridMaximumGain

rng = np.random.default_rng(0)
X = rng.standard_normal((60, 4))
y = np.argmax(X[:, :3], axis=1)

MACHINES = [
    softmargin.SVC(C=np.float64(2.0), class_weight={0: 2.0, 1: 1}),
    softmargin.SVC(kernel="poly", coef0=1, decision_function_shape="ovo"),
    softmargin.NuSVC(nu=0.2),
    softmargin.SVR(epsilon=0.2),
    softmargin.NuSVR(kernel="linear"),
    softmargin.OneClassSVM(nu=0.3),
]


@pytest.mark.parametrize("mmap", [True, False])
@pytest.mark.parametrize("layout", [np.asarray, np.float32, sp.csr_matrix, "precomputed"])
@pytest.mark.parametrize("machine", MACHINES, ids=lambda m: f"{type(m).__name__}-{m.kernel}")
def test_everything_comes_back(tmp_path, machine, layout, mmap):
    machine = clone(machine)  # threads that run this test share the given one
    if layout == "precomputed":
        machine.set_params(kernel="precomputed")
        data = np.exp(-((X[:, None] - X) ** 2).sum(-1))
    else:
        data = layout(X)
    machine.fit(data, y)
    machine.save(tmp_path / "m")
    loaded = softmargin.load(tmp_path / "m", mmap=mmap)
    assert type(loaded) is type(machine)
    assert loaded.get_params() == machine.get_params()
    left_out = {"_kept", "_history"}  # for a later fit and a look back, not for predictions
    assert vars(loaded).keys() - left_out == vars(machine).keys() - left_out
    assert loaded.solution_ == machine.solution_
    np.testing.assert_array_equal(loaded.predict(data), machine.predict(data))
    quick, values = read_model(tmp_path / "m").predict(data)
    np.testing.assert_array_equal(quick, machine.predict(data))
    if hasattr(machine, "decision_function"):
        machine.decision_function_shape = "ovo"
        np.testing.assert_allclose(values, machine.decision_function(data), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("machine", MACHINES, ids=lambda m: f"{type(m).__name__}-{m.kernel}")
def test_a_warm_start_goes_on_from_a_file(tmp_path, machine):
    machine = type(machine)(**{**machine.get_params(), "warm_start": True}).fit(X, y)
    machine.save(tmp_path / "m")
    loaded = softmargin.load(tmp_path / "m").fit(X, y)
    assert loaded.solution_.iterations == 0
    np.testing.assert_allclose(loaded.dual_coef_, machine.dual_coef_, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("labels", [["b", "a"], [True, False], [1.0, 2.0], [-3, 10**12]])
def test_labels_of_any_kind(tmp_path, labels):
    targets = np.array(labels)[(X[:, 0] > 0).astype(int)]
    for some in (targets, targets.astype(object) if isinstance(labels[0], str) else targets):
        machine = softmargin.SVC(class_weight={labels[0]: 2.0}).fit(X, some)
        machine.save(tmp_path / "m")
        loaded = softmargin.load(tmp_path / "m", mmap=False)
        assert loaded.classes_.dtype == machine.classes_.dtype
        assert loaded.predict(X).tolist() == machine.predict(X).tolist()
        assert loaded.class_weight == machine.class_weight


def test_feature_names_come_back(tmp_path):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X, columns=list("abcd"))
    softmargin.SVC().fit(frame, y).save(tmp_path / "m")
    loaded = softmargin.load(tmp_path / "m")
    assert loaded.feature_names_in_.tolist() == list("abcd")
    loaded.predict(frame)


def test_arrays_are_mapped_and_aligned(tmp_path):
    path = tmp_path / "m"
    softmargin.SVC().fit(X, y).save(path)
    loaded = softmargin.load(path)
    assert isinstance(loaded.support_vectors_.base, np.memmap)
    assert not loaded.support_vectors_.flags.writeable
    container = Container(path)
    with open(path, "rb") as stream:
        for info in container.members.values():
            assert container._content_start(stream, info) % ALIGNMENT == 0
    with np.load(path) as archive:  # an ordinary .npz to NumPy
        np.testing.assert_array_equal(archive["support_vectors_"], loaded.support_vectors_)


def test_the_same_machine_makes_the_same_file(tmp_path):
    machine = softmargin.SVC().fit(X, y)
    machine.save(tmp_path / "a")
    machine.save(tmp_path / "b")
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_the_header_is_readable_and_says_all(tmp_path):
    machine = softmargin.SVC().fit(X, y)
    machine.save(tmp_path / "m")
    with zipfile.ZipFile(tmp_path / "m") as archive:
        header = json.loads(archive.read("header.json"))
    assert (header["format"], header["version"], header["class"]) == ("softmargin model", 3, "SVC")
    certificate = header["certificate"]
    for field in dataclasses.fields(machine.solution_):
        assert field.name in certificate
    assert certificate["dual_objective"] == machine.solution_.dual_objective
    assert set(header["sha256"]) == set(archive.namelist()) - {"header.json"}


def test_what_a_later_version_adds_is_passed_over(tmp_path):
    from softmargin.io.models.container import write_container

    softmargin.SVC().fit(X, y).save(tmp_path / "m")
    container = Container(tmp_path / "m", mmap=False)
    names = [name.removesuffix(".npy") for name in container.members if name.endswith(".npy")]
    arrays = {name: container.array(name) for name in [*names]}
    header = {**container.header, "version": 7, "mood": "good"}
    write_container(tmp_path / "later", header, arrays)
    np.testing.assert_array_equal(softmargin.load(tmp_path / "later").predict(X).shape, (60,))


def test_a_flipped_bit_is_noticed(tmp_path):
    machine = softmargin.SVC().fit(X, y)
    machine.save(tmp_path / "m")
    content = bytearray((tmp_path / "m").read_bytes())
    # In an array: between two of them are zeros that align the next, which no reader looks at.
    content[content.index(machine.dual_coef_.tobytes()) + 5] ^= 1
    (tmp_path / "m").write_bytes(content)
    with pytest.raises(ValueError, match=r"the file is damaged|a model file of softmargin"):
        softmargin.load(tmp_path / "m")


def test_code_is_refused(tmp_path):
    machine = softmargin.SVC(kernel=lambda A, B: A @ B.T).fit(X, y)
    with pytest.raises(TypeError, match=r"never code.*precomputed"):
        machine.save(tmp_path / "m")
    machine = softmargin.SVC(random_state=np.random.RandomState(0)).fit(X, y)
    with pytest.raises(TypeError, match="Set random_state to a number, text or None"):
        machine.save(tmp_path / "m")
    assert list(tmp_path.iterdir()) == []


def test_what_could_not_be_loaded_is_not_saved(tmp_path):
    class Mine(softmargin.SVC):
        pass

    with pytest.raises(TypeError, match=r"Mine cannot be saved: .*pickle"):
        Mine().fit(X, y).save(tmp_path / "m")
    days = np.array(["2020-01-01", "2020-01-02", "2020-01-03"], dtype="M8[D]")
    with pytest.raises(TypeError, match=r"classes_ holds values of type datetime64\[D\]"):
        softmargin.SVC().fit(X, days[y]).save(tmp_path / "m")
    assert list(tmp_path.iterdir()) == []


def test_ties_and_the_boundary_are_decided_as_by_the_estimator(tmp_path):
    points = np.random.default_rng(1).normal(size=(2000, 2))
    labels = np.random.default_rng(2).integers(0, 6, 200)
    ties, first = (softmargin.SVC(break_ties=b).fit(points[:200], labels) for b in (True, False))
    assert (ties.predict(points) != first.predict(points)).any()
    flat = softmargin.OneClassSVM(kernel="poly", degree=0).fit(points)  # all lie on the boundary
    full = softmargin.OneClassSVM(nu=1.0).fit(points[:60])
    for machine in (ties, first, flat, full):
        machine.save(tmp_path / "m")
        quick, _ = read_model(tmp_path / "m", mmap=False).predict(points)
        np.testing.assert_array_equal(quick, machine.predict(points))


@pytest.mark.parametrize("gamma", [-1.0, 10**400, "1"])
def test_a_gamma_that_no_fit_sets_is_refused(tmp_path, gamma):
    from softmargin.io.models.container import write_container

    softmargin.SVC().fit(X, y).save(tmp_path / "m")
    container = Container(tmp_path / "m", mmap=False)
    names = [name.removesuffix(".npy") for name in container.members if name.endswith(".npy")]
    header = {**container.header, "attributes": {**container.header["attributes"], "_gamma": gamma}}
    write_container(tmp_path / "m", header, {name: container.array(name) for name in names})
    with pytest.raises(FileError, match=r"number.* as _gamma"):
        softmargin.load(tmp_path / "m")


def test_rules_with_options_come_back(tmp_path):
    for rule in (HybridMaximumGain(rows="one", eta=1e-6), Block(size=64), "second-order"):
        softmargin.SVC(working_set=rule).fit(X, y).save(tmp_path / "m")
        assert softmargin.load(tmp_path / "m", mmap=False).working_set == rule


def test_unfitted_and_unknown_formats_are_refused(tmp_path):
    from sklearn.exceptions import NotFittedError

    with pytest.raises(NotFittedError):
        softmargin.SVC().save(tmp_path / "m")
    with pytest.raises(ValueError, match="format='onnx' is not known"):
        softmargin.SVC().fit(X, y).save(tmp_path / "m", format="onnx")
    with pytest.raises(ValueError, match="not compressed"):
        softmargin.SVC().fit(X, y).save(tmp_path / "m.gz")


def test_predicting_from_a_file_does_not_import_scikit_learn(tmp_path):
    softmargin.SVC().fit(X, y).save(tmp_path / "m")
    (tmp_path / "row").write_text("1 1:0.5 2:1\n")
    code = (
        "import sys; from softmargin.cli import main; code = main(sys.argv[1:]);"
        "assert 'sklearn' not in sys.modules; sys.exit(code)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, "predict", "-q", str(tmp_path / "row"), str(tmp_path / "m")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() in {"0", "1", "2"}


def test_arrays_off_their_alignment_are_read_instead_of_mapped(tmp_path):
    """As in an archive that another tool has written; the core needs numbers where they belong."""
    machine = softmargin.SVC().fit(X, y)
    machine.save(tmp_path / "m")
    with zipfile.ZipFile(tmp_path / "m") as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    offsets = set()
    for shift in range(8):
        with zipfile.ZipFile(tmp_path / "other", "w") as archive:
            archive.writestr("x" * (1 + shift), "")
            for name, content in members.items():
                archive.writestr(name, content)
        loaded = softmargin.load(tmp_path / "other")
        offsets.add(loaded.dual_coef_.ctypes.data % 8)
        np.testing.assert_array_equal(loaded.predict(X), machine.predict(X))
    assert offsets == {0}


@pytest.mark.parametrize("format", ["native", "libsvm"])
def test_models_in_memory(tmp_path, format):
    machine = softmargin.SVC().fit(X, y)
    stream = io.BytesIO()
    machine.save(stream, format=format)
    machine.save(tmp_path / "m", format=format)
    assert stream.getvalue() == (tmp_path / "m").read_bytes()
    stream.seek(0)
    for mmap in (True, False):
        loaded = softmargin.load(io.BytesIO(stream.getvalue()), mmap=mmap)
        np.testing.assert_array_equal(loaded.predict(X), machine.predict(X))
    with open(tmp_path / "m", "rb") as opened:
        np.testing.assert_array_equal(softmargin.load(opened).predict(X), machine.predict(X))
    with pytest.raises(FileError, match="BytesIO"):
        softmargin.load(io.BytesIO(stream.getvalue()[:-40].replace(b"svm_type", b"svm_tipe")))
