"""Data files as folders of blocks: the rows that read_data finds; train and predict on them."""

import numpy as np
import pytest
import scipy.sparse as sp

from softmargin import LinearSVC
from softmargin.cli import main
from softmargin.io import BlockFolder, FileError, convert_to_blocks, read_data, write_data
from softmargin.io.data import libsvm_text
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


@pytest.mark.parametrize("suffix", [".svm", ".svm.gz", ".csv", ".parquet", ".npz"])
def test_the_rows_of_the_file(tmp_path, suffix, monkeypatch):
    if suffix == ".parquet":
        pytest.importorskip("pyarrow")
    monkeypatch.setattr(libsvm_text, "BLOCK_BYTES", 2**15)
    X, y = big()
    path = tmp_path / f"rows{suffix}"
    write_data(path, X, y)
    folder = convert_to_blocks(path, tmp_path / "blocks", size=80_000)
    assert len(folder) >= 3
    assert folder.shape == X.shape
    rows, targets = together(folder)
    np.testing.assert_array_equal(rows, X)
    np.testing.assert_array_equal(targets, y)
    assert targets.dtype == np.int64
    single = convert_to_blocks(path, tmp_path / "single", dtype=np.float32)
    assert len(single) == 1
    assert single.read(0)[0].dtype == np.float32
    if suffix in (".csv", ".parquet"):
        names = read_data(path).feature_names
        assert folder.feature_names == single.feature_names == names
        assert folder.target_name == "label"


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
