"""CSV, npz and Parquet: round trips, and what is said about broken ones."""

import numpy as np
import pytest
import scipy.sparse as sp

from softmargin.io import FileError, read_data, write_data

rng = np.random.default_rng(0)
X = rng.standard_normal((12, 3))
y = np.arange(12.0)


@pytest.mark.parametrize("name", ["data.csv", "data.csv.gz", "data.npz", "data", "data.xz"])
def test_round_trip(tmp_path, name):
    write_data(tmp_path / name, X, y)
    data = read_data(tmp_path / name)
    dense = data.X.toarray() if sp.issparse(data.X) else data.X
    np.testing.assert_array_equal(dense, X)
    np.testing.assert_array_equal(data.y, y)


def test_parquet(tmp_path):
    pytest.importorskip("pyarrow")
    write_data(tmp_path / "data.parquet", X, y, feature_names=("a", "b", "c"))
    data = read_data(tmp_path / "data.parquet")
    np.testing.assert_array_equal(data.X, X)
    np.testing.assert_array_equal(data.y, y)
    assert data.feature_names == ("a", "b", "c")
    (tmp_path / "data.parquet").write_bytes(b"nonsense")
    with pytest.raises(FileError, match="a valid Parquet file"):
        read_data(tmp_path / "data.parquet")


def test_sparse_npz(tmp_path):
    matrix = sp.random(10, 30, 0.1, format="csr", random_state=0)
    write_data(tmp_path / "data.npz", matrix, np.arange(10))
    data = read_data(tmp_path / "data.npz", dtype=np.float32)
    assert data.X.dtype == np.float32
    np.testing.assert_array_equal(data.X.toarray(), matrix.toarray().astype(np.float32))


def test_csv_with_names_and_a_target(tmp_path):
    path = tmp_path / "data.csv"
    path.write_text('a,"b, too",species\n1,2,cat\n\n3,4,dog\n', encoding="utf-8-sig")
    data = read_data(path, target="species")
    assert data.y.tolist() == ["cat", "dog"]
    assert data.feature_names == ("a", "b, too")
    np.testing.assert_array_equal(data.X, [[1, 2], [3, 4]])
    with pytest.raises(FileError, match="one column called label, target, y or class"):
        read_data(path)
    with pytest.raises(FileError, match="a column 'nope'"):
        read_data(path, target="nope")
    with pytest.raises(FileError, match="numbers as labels"):
        write_data(tmp_path / "data.svm", data.X, data.y)
    with pytest.raises(ValueError, match=r"names a column of a \.csv"):
        read_data(tmp_path / "data.svm", target="species")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "line 1: found nothing, expected a header"),
        ("a,label\n1,2\n1\n", "line 3: found '1 fields', expected 2 fields"),
        ("a,label\nx,2\n", "line 2, column 1: found 'x', expected a finite number in the column"),
        ("label,a,b\n2,1,nan\n", "line 2, column 3: found 'nan'"),
        ("a,label\n,2\n", "line 2, column 1: found nothing"),
        ('a,label\n"1,2\n', "expected the quote that ends a quoted field"),
    ],
)
def test_broken_csv(tmp_path, text, message):
    path = tmp_path / "data.csv"
    path.write_text(text)
    with pytest.raises(FileError) as caught:
        read_data(path)
    assert message in str(caught.value)


def test_digits_with_an_underscore_are_no_number(tmp_path):
    """Python reads 1_0 as 10."""
    path = tmp_path / "data.csv"
    path.write_text("label,a\n1_0,2\n1_1,3\n")
    assert read_data(path).y.tolist() == ["1_0", "1_1"]
    path.write_text("label,a\n1,2\n2,1_0\n")
    with pytest.raises(FileError, match=r"line 3, column 2: found '1_0', expected a finite number"):
        read_data(path)


def test_csv_that_is_not_text(tmp_path):
    path = tmp_path / "data.csv"
    path.write_bytes(b"a,label\n\xff\xfe,1\n")
    with pytest.raises(FileError, match="text in UTF-8"):
        read_data(path)


def test_broken_npz(tmp_path):
    path = tmp_path / "data.npz"
    path.write_bytes(b"nonsense")
    with pytest.raises(FileError, match=r"a valid \.npz file"):
        read_data(path)
    np.savez(path, A=X)
    with pytest.raises(FileError, match="arrays X and y"):
        read_data(path)
    np.savez(path, X=X, y=y[:3])
    with pytest.raises(FileError, match=r"y of shape \(12,\)"):
        read_data(path)
    np.savez(path, X=X.astype(object), y=y)
    with pytest.raises(FileError, match=r"a valid \.npz file"):
        read_data(path)
    parts = {"data": X[0], "indices": [0, 9, 1], "indptr": [0, 3], "shape": (1, 3), "y": [1]}
    np.savez(path, **parts)
    with pytest.raises(FileError, match="a valid CSR matrix"):
        read_data(path)
