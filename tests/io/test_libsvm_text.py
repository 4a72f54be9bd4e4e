"""LIBSVM's text: against scikit-learn's reader, Python's own numbers, and itself."""

import bz2
import gzip
import io
import lzma
import os

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_svmlight_file

from softmargin.io import FileError, read_data, write_data
from softmargin.io.data import libsvm_text
from softmargin.io.data.libsvm_text import problems, read_libsvm, write_libsvm
from softmargin.io.streams import writing

DECIMAL = r"[+-]?([0-9]{1,30}(\.[0-9]{0,30})?|\.[0-9]{1,30})([eE][+-]?[0-9]{1,3})?"


def text_of(rows: int, seed: int = 0) -> bytes:
    """Rows with every accepted oddity: comments, blank lines, CRLF, tabs, signs, exponents."""
    rng = np.random.default_rng(seed)
    lines = []
    for k in range(rows):
        indices = np.sort(rng.choice(40, rng.integers(0, 9), replace=False)) + 1
        values = rng.standard_normal(len(indices)) * 10.0 ** rng.integers(-12, 12, len(indices))
        formats = ["{}", "{:.3f}", "{:.17e}", "{:+g}"]
        pairs = [f"{i}:{formats[k % 4].format(v)}" for i, v in zip(indices, values, strict=True)]
        line = f"{['+1', '-1', '3.5'][k % 3]}{[' ', '  ', chr(9)][k % 3]}{' '.join(pairs)}"
        line += ["", " ", " # a comment: 7:7", "\r"][k % 4]
        lines.append(line)
        if k % 7 == 0:
            lines.append(["", "# only a comment", "   "][k % 3])
    return "\n".join(lines).encode()


def test_reads_what_scikit_learn_reads():
    text = text_of(200)
    X, y = read_libsvm(io.BytesIO(text))
    expected_X, expected_y = load_svmlight_file(io.BytesIO(text.replace(b"\r", b"")))
    assert X.shape == expected_X.shape
    np.testing.assert_array_equal(X.toarray(), expected_X.toarray())
    np.testing.assert_array_equal(y, expected_y)
    assert X.has_canonical_format


@pytest.mark.parametrize("block", [1, 7, 64, 1000])
def test_blocks_do_not_show(monkeypatch, block):
    text = text_of(100)
    X, y = read_libsvm(io.BytesIO(text))
    monkeypatch.setattr(libsvm_text, "BLOCK_BYTES", block)
    X_blocks, y_blocks = read_libsvm(io.BytesIO(text))
    assert (X_blocks != X).nnz == 0
    np.testing.assert_array_equal(y, y_blocks)


def test_threads_and_pieces_do_not_show():
    text = b"\n".join([text_of(1000)] * 60)
    assert len(text) > 3 * 2**20
    one, y_one = read_libsvm(io.BytesIO(text), n_threads=1)
    many, y_many = read_libsvm(io.BytesIO(text), n_threads=5)
    for part in ("data", "indices", "indptr"):
        np.testing.assert_array_equal(getattr(one, part), getattr(many, part))
    np.testing.assert_array_equal(y_one, y_many)


def test_the_first_broken_line_of_many_pieces_is_reported():
    lines = text_of(1000).split(b"\n") * 60
    lines[50_000], lines[20_000], lines[65_000] = b"1 2:x", b"1 0:3", b"z"
    with pytest.raises(FileError) as caught:
        read_libsvm(io.BytesIO(b"\n".join(lines)), n_threads=3)
    assert (caught.value.line, caught.value.column, caught.value.found) == (20_001, 3, "0:3")
    found = problems(io.BytesIO(b"\n".join(lines)))
    assert [problem.line for problem in found] == [20_001, 50_001, 65_001]


@pytest.mark.filterwarnings("ignore:.*is beyond 2:UserWarning")
@settings(max_examples=300, deadline=None)
@given(st.floats(allow_nan=False, allow_infinity=False))
def test_numbers_survive(value):
    stream = io.BytesIO()
    write_libsvm(stream, np.array([[1.0, value]]), [value])
    X, y = read_libsvm(io.BytesIO(stream.getvalue()))
    assert y[0] == value
    assert X.toarray()[0, -1] == (value if value != 0 else 1.0)


@pytest.mark.thread_unsafe(reason="Hypothesis loads what it has for regular expressions late")
@pytest.mark.filterwarnings("ignore:.*is beyond 2:UserWarning")
@settings(max_examples=500, deadline=None)
@given(st.from_regex(DECIMAL, fullmatch=True))
def test_decimals_are_read_to_the_nearest_double(word):
    value = float(word)
    text = f"{word} 1:{word}".encode()
    if np.isinf(value):
        with pytest.raises(FileError, match="a finite number"):
            read_libsvm(io.BytesIO(text))
        return
    X, y = read_libsvm(io.BytesIO(text))
    assert y[0] == value
    assert X[0, 0] == value
    assert np.signbit(y[0]) == np.signbit(value)


def test_float32():
    text = b"1 1:0.1 2:16777217 3:1e-50\n"
    X, _ = read_libsvm(io.BytesIO(text), dtype=np.float32)
    assert X.dtype == np.float32
    np.testing.assert_array_equal(X.data, np.array([0.1, 16777217, 1e-50]).astype(np.float32))
    with pytest.raises(FileError, match="single precision"):
        read_libsvm(io.BytesIO(b"1 1:1e39"), dtype=np.float32)
    with pytest.raises(ValueError, match="float64 or float32"):
        read_libsvm(io.BytesIO(text), dtype=np.int32)


def test_wide_indices_become_64_bit():
    narrow, _ = read_libsvm(io.BytesIO(b"1 1:2 2147483647:3"))
    assert narrow.indices.dtype == np.int32
    wide, _ = read_libsvm(io.BytesIO(b"1 1:2 2147483649:3\n"))
    assert wide.indices.dtype == np.int64
    assert wide.shape == (1, 2147483649)
    assert wide.indices.tolist() == [0, 2147483648]


def test_number_of_features():
    X, _ = read_libsvm(io.BytesIO(b"1 2:5"), n_features=4)
    assert X.shape == (1, 4)
    with pytest.raises(FileError, match="index 2', expected indices up to n_features=1"):
        read_libsvm(io.BytesIO(b"1 2:5"), n_features=1)


def test_zero_based():
    X, _ = read_libsvm(io.BytesIO(b"1 0:7 3:5"), zero_based=True)
    np.testing.assert_array_equal(X.toarray(), [[7, 0, 0, 5]])


def test_query_ids_are_noted():
    text = b"1 qid:3 1:5\n2 qid:4 2:6\n3 1:7\n"
    with pytest.warns(UserWarning, match="2 qid fields"):
        X, _ = read_libsvm(io.BytesIO(text))
    np.testing.assert_array_equal(X.toarray(), [[5, 0], [0, 6], [7, 0]])
    assert "2 qid fields" in read_data(io.BytesIO(text)).notes[0]


@pytest.mark.parametrize("text", [b"", b"\n\n", b"# nothing\n"])
def test_no_rows(text):
    X, y = read_libsvm(io.BytesIO(text))
    assert X.shape == (0, 0)
    assert y.shape == (0,)


@pytest.mark.parametrize(
    ("suffix", "compress"),
    [
        (".gz", gzip.compress),
        (".bz2", bz2.compress),
        (".xz", lzma.compress),
    ],
)
def test_compressed(tmp_path, suffix, compress):
    text = text_of(50)
    path = tmp_path / f"data.svm{suffix}"
    path.write_bytes(compress(text))
    expected, _ = read_libsvm(io.BytesIO(text))
    X, y = read_libsvm(path)
    assert (expected != X).nnz == 0
    write_data(path, X, y)
    assert (read_libsvm(path)[0] != expected).nnz == 0
    path.write_bytes(compress(text)[:-30])
    with pytest.raises(FileError, match=f"complete {suffix} file"):
        read_libsvm(path)
    path.write_bytes(text)
    with pytest.raises(FileError, match=suffix):
        read_libsvm(path)


def test_zstandard(tmp_path):
    zstandard = pytest.importorskip("zstandard")
    text = text_of(50)
    path = tmp_path / "data.svm.zst"
    path.write_bytes(zstandard.ZstdCompressor().compress(text))
    X, y = read_libsvm(path)
    assert (read_libsvm(io.BytesIO(text))[0] != X).nnz == 0
    write_libsvm(path, X, y)
    assert (read_libsvm(path)[0] != X).nnz == 0
    path.write_bytes(b"nonsense")
    with pytest.raises(FileError, match=r"a valid \.zst file"):
        read_libsvm(path)


def test_a_stream_that_cannot_go_back():
    class Pipe(io.BytesIO):
        def seekable(self):
            return False

    X, y = read_libsvm(Pipe(b"1 1:2\n-1 2:3"))
    np.testing.assert_array_equal(X.toarray(), [[2, 0], [0, 3]])
    np.testing.assert_array_equal(y, [1, -1])


@pytest.mark.parametrize(
    "second", [b"1 1:2\n1 1:2 2:3\n", b"1 1:2 3:\n\n", b"1 1:23456\n", b"\n\n1 1:2 3:"]
)
def test_a_file_that_changes_while_it_is_read(monkeypatch, second):
    texts = iter([b"1 1:2 3:4\n", second])
    monkeypatch.setattr(libsvm_text, "line_blocks", lambda *_: [memoryview(next(texts))])
    with pytest.raises(FileError):
        read_libsvm(io.BytesIO(b""))


def test_written_and_read_again(tmp_path):
    rng = np.random.default_rng(0)
    for dtype in (np.float64, np.float32):
        X = sp.random(30, 12, 0.3, format="csr", random_state=rng, dtype=dtype)
        X.data[:3] = 0
        y = rng.standard_normal(30)
        write_libsvm(tmp_path / "data", X, y)
        back, labels = read_libsvm(tmp_path / "data", n_features=12, dtype=dtype)
        np.testing.assert_array_equal(back.toarray(), X.toarray())
        np.testing.assert_array_equal(labels, y)
        assert back.nnz == X.nnz - 3
    with pytest.raises(ValueError, match="30 rows, but y has 29"):
        write_libsvm(tmp_path / "data", X, y[:-1])


def test_the_old_file_stays_when_writing_fails(tmp_path):
    path = tmp_path / "data"
    path.write_text("old")
    path.chmod(0o600)
    with pytest.raises(TypeError), writing(path) as stream:
        stream.write("not bytes")
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]
    with writing(path) as stream:
        stream.write(b"new")
    assert path.read_text() == "new"
    if os.name != "nt":
        assert path.stat().st_mode & 0o777 == 0o600
    with (
        pytest.raises(FileNotFoundError, match="does not exist; make it first"),
        writing(tmp_path / "no" / "such"),
    ):
        pass


@pytest.mark.skipif(os.name == "nt", reason="making links needs a privilege on Windows")
def test_a_link_stays_a_link(tmp_path):
    (tmp_path / "real").write_text("old")
    (tmp_path / "link").symlink_to("real")
    with writing(tmp_path / "link") as stream:
        stream.write(b"new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_text() == "new"


def test_labels_that_are_rounded_are_noticed(tmp_path):
    path = tmp_path / "data"
    path.write_text("1000000000000000001 1:1\n1000000000000000002 1:2\n", encoding="utf-8")
    with pytest.warns(UserWarning, match=r"label 1000000000000000000 is beyond 2\^53"):
        read_libsvm(path)
    path.write_text("1.5 1:1\n1e300 1:2\n", encoding="utf-8")  # a regression
    assert read_libsvm(path)[1].tolist() == [1.5, 1e300]
