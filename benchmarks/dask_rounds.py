"""What does a fit on a Dask cluster of processes cost, and does it have the bits of one machine?

    python benchmarks/dask_rounds.py [--data a9a ...] [--blocks 4 16] [--workers 1 2] [--tol 1e-2]
        [--loss squared_hinge] [--C 1]

Weston-Watkins, or one class against the rest with a loss, on LocalClusters of processes with one
thread each.  Prints, for each number of blocks and workers, the rounds, the bytes that the client
sends and receives in a round, the seconds, the relative duality gap, the relative difference of the
primal objective from that of LinearSVC without blocks, and whether coefficients and objectives are
those of LinearSVC(n_blocks=...), to the bit (with one block, that is the ordinary descent, and they
are not).  The seconds of "local" are those of LinearSVC(n_blocks=...).  Data other than digits are
read from the folder named by SOFTMARGIN_DATA.  The workers read their blocks from files.
"""

import argparse
import pickle
import tempfile
import time
import warnings
from pathlib import Path

import dask
import dask.array as da
import numpy as np
from block_rounds import load
from distributed import Client, LocalCluster

from softmargin import LinearSVC
from softmargin.dask import DaskLinearSVC


def chunked(X, y, blocks, folder):
    """Cut where LinearSVC(n_blocks=...) cuts; each block is in a file."""
    edges = np.linspace(0, len(y), blocks + 1).astype(int)
    sizes = tuple(int(size) for size in np.diff(edges))
    rows = []
    for k, (a, size) in enumerate(zip(edges[:-1], sizes, strict=True)):
        path = Path(folder) / f"{k}.pickle"
        path.write_bytes(pickle.dumps(X[a : a + size], protocol=5))
        shape = size, X.shape[1]
        rows.append(da.from_delayed(dask.delayed(read)(path), shape, dtype=X.dtype, meta=X[:0]))
    return da.concatenate(rows), da.from_array(y, chunks=(sizes,))


def read(path):
    return pickle.loads(path.read_bytes())


def timed(machine, *data):
    began = time.perf_counter()
    return machine.fit(*data), time.perf_counter() - began


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", nargs="+", default=["digits"])
    parser.add_argument("--blocks", nargs="+", type=int, default=[4, 16])
    parser.add_argument("--workers", nargs="+", type=int, default=[1, 2])
    parser.add_argument("--tol", type=float, default=1e-2)
    parser.add_argument("--loss", choices=["hinge", "squared_hinge"])
    parser.add_argument("--C", type=float, default=1.0)
    parser.add_argument("--limit", type=float, default=600.0, help="seconds of a fit")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    print(
        "| data | blocks | workers | rounds | kB sent | kB received | s | local s | gap | objective"
        " | same bits |\n|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|---|"
    )
    for name in given.data:
        X, y = load(name)
        options = {"tol": given.tol, "random_state": 0, "max_iter": 20_000}
        options |= {"time_limit": given.limit, "C": given.C}
        options |= {"loss": given.loss} if given.loss else {"multi_class": "weston_watkins"}
        whole = LinearSVC(**options).fit(X, y).solution_.primal_objective
        for blocks in given.blocks:
            local, alone = timed(LinearSVC(**options, n_blocks=blocks), X, y)
            for workers in given.workers:
                found, seconds = remote(X, y, blocks, workers, options)
                cells = row(found, seconds, local, alone, whole)
                print(f"| {name} | {blocks} | {workers} | {cells} |", flush=True)


def remote(X, y, blocks, workers, options):
    with (
        LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=":0") as cluster,
        Client(cluster),
        tempfile.TemporaryDirectory() as folder,
    ):
        return timed(DaskLinearSVC(**options), *chunked(X, y, blocks, folder))


def row(found, seconds, local, alone, whole):
    rounds, solution = found.n_iter_, found.solution_
    sent, received = (found.traffic_[name] / 1e3 / rounds for name in ("sent", "received"))
    same = np.array_equal(found.coef_, local.coef_)
    same = same and solution.primal_objective == local.solution_.primal_objective
    same = same and solution.dual_objective == local.solution_.dual_objective
    apart = abs(solution.primal_objective / whole - 1)
    return (
        f"{rounds} | {sent:.3g} | {received:.3g} | {seconds:.1f} | {alone:.1f} |"
        f" {solution.relative_gap:.1e} | {apart:.1e} | {same}"
    )


if __name__ == "__main__":
    main()
