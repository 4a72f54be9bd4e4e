"""Fits to a folder of blocks: the same optimum as in memory, with few blocks in memory at once."""

import subprocess
import sys
from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp

from softmargin import LinearSVC, LinearSVR
from softmargin.checkpoint import Checkpoint
from softmargin.fitting import blocks
from softmargin.io import BlockFolder, FileError, ParquetBlocks
from tests.cases.linear import iris

OPTIONS = {"tol": 1e-3, "C": 0.1, "random_state": 0}


def folder_of(path, X, y, count, *weight):
    edges = np.linspace(0, len(y), count + 1).astype(int)
    return BlockFolder.write(
        path, ((X[a:b], y[a:b], *(w[a:b] for w in weight)) for a, b in pairwise(edges))
    )


@pytest.mark.parametrize("layout", [np.asarray, sp.csr_matrix])
@pytest.mark.parametrize(
    "options", [{"multi_class": "weston_watkins"}, {"class_weight": "balanced"}], ids=str
)
def test_the_bits_of_blocks_in_memory(tmp_path, layout, options):
    X, y = iris()
    X = layout(X)
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    found = LinearSVC(**OPTIONS, **options).fit(folder_of(tmp_path / "rows", X, names, 4))
    local = LinearSVC(n_blocks=4, **OPTIONS, **options).fit(X, names)
    np.testing.assert_array_equal(found.coef_, local.coef_)
    assert found.solution_.converged
    assert found.solution_.primal_objective == local.solution_.primal_objective
    assert found.n_features_in_ == 4
    np.testing.assert_array_equal(found.predict(X), local.predict(X))


def test_regression_weights_and_an_empty_block(tmp_path):
    rng = np.random.default_rng(0)
    X, weight = rng.standard_normal((60, 4)), np.arange(60) % 3
    y = X @ [1.0, 0.0, -1.0, 2.0] + rng.standard_normal(60)
    pieces = [(X[:20], y[:20], weight[:20]), (X[:0], y[:0]), (X[20:], y[20:], weight[20:])]
    folder = BlockFolder.write(tmp_path / "rows", pieces)
    assert len(folder) == 3
    found = LinearSVR(epsilon=0.2, **OPTIONS).fit(folder)
    repeated = LinearSVR(epsilon=0.2, **OPTIONS).fit(
        np.repeat(X, weight, axis=0), np.repeat(y, weight)
    )
    assert found.coef_.shape == (4,)
    assert found.solution_.converged
    assert found.solution_.primal_objective == pytest.approx(
        repeated.solution_.primal_objective, rel=2e-3
    )


def test_a_fit_from_disk_resumes_from_its_checkpoint(tmp_path):
    X, y = iris()
    folder = folder_of(tmp_path / "rows", X, y, 3)
    options = {**OPTIONS, "loss": "hinge", "checkpoint": Checkpoint(tmp_path / "fit", 0.0)}
    with pytest.warns(UserWarning, match="max_iter=15"):
        LinearSVC(max_iter=15, **{**options, "tol": 1e-6}).fit(folder)
    seen = []
    resumed = LinearSVC(callbacks=[seen.append], **{**options, "tol": 1e-6}).fit(folder)
    assert seen[0].iterations == 15
    assert resumed.solution_.converged
    assert not (tmp_path / "fit").exists()


def test_errors(tmp_path):
    X, y = iris()
    folder = folder_of(tmp_path / "rows", X, y, 2)
    with pytest.raises(ValueError, match="contain their targets and weights"):
        LinearSVC().fit(folder, y)
    for options in ({"penalty": "l1"}, {"n_blocks": 2}, {"warm_start": True}, {"dual": False}):
        with pytest.raises(ValueError, match=f"{next(iter(options))}=.*needs the data in memory"):
            LinearSVC(**options).fit(folder)
    with pytest.raises(FileExistsError, match="not empty"):
        folder_of(tmp_path / "rows", X, y, 2)
    with pytest.raises(ValueError, match="not a complete folder"):
        BlockFolder(tmp_path)
    with pytest.raises(ValueError, match="no blocks"):
        BlockFolder.write(tmp_path / "none", [])
    with pytest.raises(ValueError, match=r"different numbers of features: \[2, 4\]"):
        BlockFolder.write(tmp_path / "different", [(X, y), (X[:, :2], y)])
    with pytest.raises(ValueError, match="not a complete folder"):
        BlockFolder(tmp_path / "different")
    (tmp_path / "rows" / "blocks.json").write_text(
        (tmp_path / "rows" / "blocks.json").read_text().replace('"version": 1', '"version": 9')
    )
    with pytest.raises(ValueError, match="version 9"):
        BlockFolder(tmp_path / "rows")


def test_the_tree_of_sums_is_that_of_the_cluster():
    rng = np.random.default_rng(0)
    for count in (1, 7, 8, 9, 64, 65, 100, 513):
        steps = [blocks.Step(rng.normal(size=3), *rng.normal(size=4)) for _ in range(count)]
        level = steps
        while len(level) > 1:
            size = blocks.FAN_IN
            level = [blocks.add(level[a : a + size]) for a in range(0, len(level), size)]
        found = blocks.add_up(iter(steps))
        np.testing.assert_array_equal(found.change, level[0].change)
        assert (found.rise, found.gap) == (level[0].rise, level[0].gap)


MEMORY = """
import resource, sys
import numpy as np
from softmargin import LinearSVC
from softmargin.io import BlockFolder

def blocks():
    rng = np.random.default_rng(0)
    for _ in range(16):
        X = rng.normal(size=(10_000, 100))
        yield X, X[:, 0] + rng.normal(size=len(X)) > 0

folder = BlockFolder.write(sys.argv[1], blocks())
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
LinearSVC(C=1e-5, tol=0.1, random_state=0).fit(folder)
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1000)
"""


@pytest.mark.memory
@pytest.mark.skipif(sys.platform != "linux", reason="ru_maxrss has other units")
@pytest.mark.thread_unsafe(reason="a process of its own, which takes long")
def test_memory_is_that_of_few_blocks(tmp_path):
    """128 MB in blocks of 8 MB."""
    command = [sys.executable, "-c", MEMORY, str(tmp_path / "rows")]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    assert float(ran.stdout) < 40


MAPPED = """
import sys
import numpy as np, scipy.sparse as sp
from softmargin import LinearSVC

folder, layout = sys.argv[1:]
rows, features, pieces = 10_000, 100, 16
X = np.lib.format.open_memmap(folder + "/X.npy", "w+", np.float64, (pieces * rows, features))
y = np.empty(len(X))
rng = np.random.default_rng(0)
for k in range(pieces):
    own = slice(k * rows, (k + 1) * rows)
    X[own] = rng.normal(size=(rows, features))
    y[own] = X[own, 0] + rng.normal(size=rows) > 0
X.flush()
X = np.load(folder + "/X.npy", mmap_mode="r")
if layout == "sparse":
    starts = np.arange(len(X) + 1, dtype=np.int32) * features
    indices = np.tile(np.arange(features, dtype=np.int32), len(X))
    np.save(folder + "/indices.npy", indices)
    indices = np.load(folder + "/indices.npy", mmap_mode="r")
    X = sp.csr_matrix((X.reshape(-1), indices, starts), shape=X.shape, copy=False)

def private():
    # Not the pages of mapped files.
    line = next(line for line in open("/proc/self/status") if line.startswith("RssAnon"))
    return int(line.split()[1]) / 1000

before, most = private(), [0.0]
watch = lambda status: most.append(private() - before) and None
machine = LinearSVC(C=1e-5, tol=0.1, n_blocks=16, random_state=0, callbacks=[watch]).fit(X, y)
assert machine.solution_.converged
print(max(most))
"""


@pytest.mark.memory
@pytest.mark.skipif(sys.platform != "linux", reason="/proc")
@pytest.mark.thread_unsafe(reason="a process of its own, which takes long")
@pytest.mark.parametrize("layout", ["dense", "sparse"])
def test_mapped_arrays_are_not_copied(tmp_path, layout):
    """128 MB, and as much again for sparse indices."""
    command = [sys.executable, "-c", MAPPED, str(tmp_path), layout]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert ran.returncode == 0, ran.stderr
    assert float(ran.stdout) < 40


def test_row_groups_of_a_parquet_file(tmp_path):
    pyarrow, parquet = (pytest.importorskip(name) for name in ("pyarrow", "pyarrow.parquet"))
    X, y = iris()
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    weight = 1.0 + np.arange(len(y)) % 2
    path = tmp_path / "rows.parquet"
    columns = {name: X[:, k] for k, name in enumerate("abcd")}
    table = pyarrow.table({**columns, "species": names, "w": weight})
    parquet.write_table(table, path, row_group_size=50)
    blocks = ParquetBlocks(path, target="species", weight="w")
    assert len(blocks) == 3
    found = LinearSVC(**OPTIONS).fit(blocks)
    local = LinearSVC(n_blocks=3, **OPTIONS).fit(X, names, weight)
    np.testing.assert_array_equal(found.coef_, local.coef_)
    assert found.feature_names_in_.tolist() == list("abcd")
    with pytest.raises(FileError, match="no_such"):
        ParquetBlocks(path, target="no_such")
    (tmp_path / "broken.parquet").write_bytes(b"not Parquet")
    with pytest.raises(FileError, match="valid Parquet"):
        ParquetBlocks(tmp_path / "broken.parquet")
