"""How many passes do blocks of examples take, and how much CPU time?

    python benchmarks/block_rounds.py [--data digits a9a ...] [--blocks 1 4 16] [--tol 1e-3]
        [--limit 600] [--jobs 2]

Weston-Watkins, C = 1, blocks in turn on one thread: the same rounds, to the bit, as on a cluster.
With --jobs, on several threads; seconds are then by the clock, and a number stands for the bits.
1 block is the ordinary descent.  Prints a table in Markdown.  Data other than digits are read from
the folder named by SOFTMARGIN_DATA; "made_up" has 2 million sparse rows and 5 classes.
"""

import argparse
import hashlib
import time
import warnings

import numpy as np
import scipy.sparse as sp
from data import load_sparse
from sklearn.datasets import load_digits
from walrus import data

from softmargin import LinearSVC


def load(name):
    if name == "digits":
        X, y = load_digits(return_X_y=True)
        return X / 16, y
    if name == "made_up":
        return made_up()
    if not hasattr(data, name):  # two classes
        return load_sparse(name)
    found = getattr(data, name)()
    X = found.X.tocsr() if sp.issparse(found.X) else np.ascontiguousarray(found.X)
    return X.astype(np.float64), found.y


def made_up(rows=2_000_000, features=200, entries=10, classes=5):
    """Sparse rows, each of the class with the largest of some random scores, and noise."""
    rng = np.random.default_rng(0)
    starts = np.arange(0, rows * entries + 1, entries, dtype=np.int32)
    column = rng.integers(0, features, rows * entries, dtype=np.int32)
    X = sp.csr_matrix((rng.standard_normal(rows * entries), column, starts), (rows, features))
    X.sum_duplicates()
    scores = X @ rng.normal(size=(features, classes)) + rng.normal(size=(rows, classes))
    return X, scores.argmax(axis=1)


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", nargs="+", default=["digits"])
    parser.add_argument("--blocks", nargs="+", type=int, default=[1, 2, 4, 16])
    parser.add_argument("--tol", type=float, default=1e-3)
    parser.add_argument("--most", type=int, default=20000, help="passes of a fit")
    parser.add_argument("--limit", type=float, default=600.0, help="seconds of a fit")
    parser.add_argument("--jobs", type=int, help="threads")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    clock = time.perf_counter if given.jobs else time.process_time
    kind = f"s, {given.jobs} threads" if given.jobs else "CPU s"
    print(f"| data | blocks | passes | {kind} | relative gap | W, MB | bits |")
    print("|---|--:|--:|--:|--:|--:|---|")
    for name in given.data:
        X, y = load(name)
        for blocks in given.blocks:
            machine = LinearSVC(
                multi_class="weston_watkins",
                tol=given.tol,
                max_iter=given.most,
                random_state=0,
                time_limit=given.limit,
                n_blocks=blocks,
                n_jobs=given.jobs if blocks > 1 else None,
            )
            began = clock()
            machine.fit(X, y)
            seconds, gap = clock() - began, machine.solution_.relative_gap
            bits = hashlib.sha256(machine.coef_.tobytes()).hexdigest()[:8]
            size = 8e-6 * (machine.coef_.size + len(machine.coef_))
            print(
                f"| {name} | {blocks} | {machine.n_iter_:,} | {seconds:.1f} | {gap:.1e} |"
                f" {size:.2g} | {bits} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
