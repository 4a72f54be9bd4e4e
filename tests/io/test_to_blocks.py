"""Data files as folders of blocks: the rows that read_data finds; train and predict on them."""

import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp

from softmargin import LinearSVC
from softmargin.cli import main
from softmargin.io import BlockFolder, FileError, convert_to_blocks, read_data, write_data
from softmargin.io.data import libsvm_text, npz
from tests.cases.linear import iris


def together(folder):
    pieces = [folder.read(k) for k in range(len(folder))]
    rows = [p[0].toarray() if sp.issparse(p[0]) else p[0] for p in pieces]
    assert {p[0].shape[1] for p in pieces} == {folder.features}
    return np.concatenate(rows), folder.targets()


def big(rows=10_000):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(rows, 5)).round(3)
    X[:, 2] *= np.arange(rows) > rows // 2  # no entry in the first half
    X[:, 4] *= np.arange(rows) > 9 * rows // 10
    return X, np.where(X[:, 0] > 0, 1, -1)


def assert_has_rows(folder, X, y):
    """In three blocks or more."""
    assert len(folder) >= 3
    assert folder.shape == X.shape
    rows, targets = together(folder)
    np.testing.assert_array_equal(rows, X)
    np.testing.assert_array_equal(targets, y)


@pytest.mark.parametrize("suffix", [".svm", ".svm.gz", ".csv", ".parquet", ".npz"])
def test_the_rows_of_the_file(tmp_path, suffix, monkeypatch):
    if suffix == ".parquet":
        pytest.importorskip("pyarrow")
    monkeypatch.setattr(libsvm_text, "BLOCK_BYTES", 2**15)
    X, y = big()
    path = tmp_path / f"rows{suffix}"
    write_data(path, X, y)
    folder = convert_to_blocks(path, tmp_path / "blocks", size=80_000)
    assert_has_rows(folder, X, y)
    assert together(folder)[1].dtype == np.int64
    single = convert_to_blocks(path, tmp_path / "single", dtype=np.float32)
    assert len(single) == 1
    assert single.read(0)[0].dtype == np.float32
    if suffix in (".csv", ".parquet"):
        names = read_data(path).feature_names
        assert folder.feature_names == single.feature_names == names
        assert folder.target_name == "label"


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
@pytest.mark.parametrize("form", ["rows", "columns", "integers", "csr"])
def test_archives_are_read_in_pieces(tmp_path, save, form, monkeypatch):
    monkeypatch.setattr(npz, "STARTS_AT_ONCE", 3000)
    X, y = big()
    X[3000:4000] = 0  # without entries
    X[-1] = 0
    path = tmp_path / "rows.npz"
    if form == "csr":
        matrix = sp.csr_matrix(X)
        save(path, y=y, **{part: getattr(matrix, part) for part in npz.PARTS})
    elif form == "integers":
        X = np.round(X)
        save(path, X=X.astype(np.int16), y=y)
    else:
        save(path, X=np.asarray(X, order="F" if form == "columns" else "C"), y=y)
    folder = convert_to_blocks(path, tmp_path / "blocks", size=80_000)
    assert_has_rows(folder, X, y)
    narrow = convert_to_blocks(path, tmp_path / "narrow", size=20_000, dtype=np.float32)
    np.testing.assert_array_equal(together(narrow)[0], X.astype(np.float32))


def test_a_row_of_an_archive_may_be_larger_than_a_block(tmp_path):
    X = np.arange(12.0).reshape(4, 3)
    for name, rows in {"dense": X, "sparse": sp.csr_matrix(X)}.items():
        write_data(tmp_path / f"{name}.npz", rows, np.arange(4))
        folder = convert_to_blocks(tmp_path / f"{name}.npz", tmp_path / name, size=1)
        assert len(folder) == 4
        np.testing.assert_array_equal(together(folder)[0], X)


@pytest.mark.thread_unsafe(reason="measures memory")
@pytest.mark.parametrize("form", ["rows", "columns", "csr"])
def test_archives_larger_than_the_memory_that_is_used(tmp_path, form):
    X = np.random.default_rng(0).normal(size=(20_000, 100))
    path = tmp_path / "rows.npz"
    write_data(path, sp.csr_matrix(X) if form == "csr" else X, np.arange(20_000) % 2)
    if form == "columns":
        np.savez_compressed(path, X=np.asfortranarray(X), y=np.arange(20_000) % 2)
    tracemalloc.start()
    try:
        folder = convert_to_blocks(path, tmp_path / "blocks", size=1_000_000)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert len(folder) >= 16
    assert peak < 6_000_000 < X.nbytes / 2


def test_broken_archives(tmp_path):
    path, count = tmp_path / "rows.npz", 0
    X, y = big(1000)
    matrix = sp.csr_matrix(X)
    parts = {part: np.asarray(getattr(matrix, part)) for part in npz.PARTS}

    def refused(match, **arrays):
        nonlocal count
        if arrays:
            np.savez(path, **arrays)
        count += 1
        with pytest.raises(FileError, match=match):
            convert_to_blocks(path, tmp_path / str(count), size=10_000)
        with pytest.raises(FileError, match=match):
            read_data(path)

    refused("arrays X and y", X=X)
    refused(r"y of shape \(1000,\)", X=X, y=y[:3])
    refused("two dimensions and of numbers", X=X[0], y=y)
    refused("pickled objects", X=X, y=y.astype(object))
    for name, wrong in {
        "data": parts["data"][:-1],
        "indices": parts["indices"] + 3,
        "indptr": np.append(parts["indptr"][:-1], 0),
        "shape": (999, 5),
    }.items():
        refused("a valid CSR matrix", **{**parts, name: np.asarray(wrong), "y": y})
    refused("a valid CSR matrix", **{**parts, "indptr": parts["indptr"] + 1, "y": y})
    refused("a valid CSR matrix", **{**parts, "data": parts["data"].astype("U9"), "y": y})
    np.savez(path, X=X, y=y)
    whole = path.read_bytes()
    path.write_bytes(whole[:5000] + b"?" + whole[5001:])
    refused(r"a valid \.npz file")
    path.write_bytes(whole[:5000])
    refused(r"a valid \.npz file")


def test_targets_that_are_no_numbers_in_the_last_row(tmp_path):
    lines = [f"{k % 7},{k % 2}" for k in range(9000)]
    (tmp_path / "a.csv").write_text("\n".join(["x,y", *lines, "1,many"]))
    folder = convert_to_blocks(tmp_path / "a.csv", tmp_path / "words", size=1)
    assert len(folder) == 3
    assert set(folder.targets()) == {"0", "1", "many"}
    (tmp_path / "a.csv").write_text("\n".join(["x,y", *lines, "1,0.5"]))
    folder = convert_to_blocks(tmp_path / "a.csv", tmp_path / "fractions", size=1)
    assert folder.targets().dtype == np.float64
    assert {folder.read(k)[1].dtype.kind for k in range(3)} == {"f"}


def test_errors_name_the_line_and_leave_no_complete_folder(tmp_path, monkeypatch):
    monkeypatch.setattr(libsvm_text, "BLOCK_BYTES", 2**15)
    X, y = big()
    write_data(tmp_path / "rows.svm", X, y)
    with open(tmp_path / "rows.svm", "a") as stream:
        stream.write("1 2:x\n")
    with pytest.raises(FileError, match=r"line 10001"):
        convert_to_blocks(tmp_path / "rows.svm", tmp_path / "blocks", size=1000)
    with pytest.raises(ValueError, match="not a complete folder"):
        BlockFolder(tmp_path / "blocks")
    with pytest.raises(FileExistsError, match="not empty"):
        convert_to_blocks(tmp_path / "rows.svm", tmp_path / "blocks")
    (tmp_path / "empty.svm").write_text("")
    with pytest.raises(FileError, match="rows of data"):
        convert_to_blocks(tmp_path / "empty.svm", tmp_path / "none")
    with pytest.raises(ValueError, match="names a column"):
        convert_to_blocks(tmp_path / "rows.svm", tmp_path / "other", target="a")
    with pytest.raises(ValueError, match="names a column"):
        convert_to_blocks(tmp_path / "rows.npz", tmp_path / "other", ignore=["a"])
    with pytest.raises(ValueError, match="size=0"):
        convert_to_blocks(tmp_path / "rows.svm", tmp_path / "other", size=0)


def test_train_and_predict_on_the_command_line(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    X, y = iris()
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    order = np.random.default_rng(0).permutation(len(y))
    write_data("iris.csv", X[order], names[order], feature_names=tuple("abcd"))
    assert main(["convert", "--to", "blocks", "--block-size", "0.001", "iris.csv", "rows"]) == 0
    assert "blocks 1, rows 150, features 4" in capsys.readouterr().out
    assert main(["train", "-q", "--linear", "one-vs-rest", "rows"]) == 0
    assert main(["predict", "rows", "rows.softmargin", "from_blocks"]) == 0
    assert main(["predict", "iris.csv", "rows.softmargin", "from_file"]) == 0
    assert (tmp_path / "from_blocks").read_text() == (tmp_path / "from_file").read_text()
    assert "Accuracy" in capsys.readouterr().out
    local = LinearSVC().fit(X, names)
    assert local.score(X, names) > 0.9
    right = np.array((tmp_path / "from_blocks").read_text().split()) == names[order]
    assert right.mean() > 0.9


def test_errors_on_the_command_line(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    X, y = big(100)
    write_data("rows.svm", X, y)
    assert main(["convert", "--to", "blocks", "rows.svm", "rows"]) == 0

    def error(*words):
        capsys.readouterr()
        assert main(list(words)) != 0
        return capsys.readouterr().err

    assert "Use --linear" in error("train", "rows")
    assert "-v needs the data in memory" in error(
        "train", "--linear", "one-vs-rest", "-v", "3", "rows"
    )
    assert "has blocks already" in error(
        "train", "--linear", "one-vs-rest", "--target", "a", "rows"
    )
    assert "--block-size is for --to blocks" in error(
        "convert", "--block-size", "1", "rows.svm", "rows.csv"
    )
    assert "must be positive" in error(
        "convert", "--to", "blocks", "--block-size", "-1", "rows.svm", "r"
    )
    assert "not empty" in error("convert", "--to", "blocks", "rows.svm", "rows")
    (tmp_path / "other").mkdir()
    assert "not a complete folder of blocks" in error("train", "--linear", "one-vs-rest", "other")
    main(["train", "-q", "rows.svm", "kernel.model"])
    assert "is a model" in error("convert", "--to", "blocks", "kernel.model", "r")
