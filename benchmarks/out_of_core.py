"""Does a fit to data on disk stay within its memory, and how fast does it read?

    python benchmarks/out_of_core.py FOLDER [--gigabytes 10] [--limit 2] [--tol 0.01] [--cold]

Makes a folder of blocks (two classes, dense float32, 1,000 features, 100 MB a block), and fits
LinearSVC to it in a process whose address space is limited to this many GB (RLIMIT_AS).  Prints the
certificate, passes, seconds, peak memory, and MB/s read by the fit and by reading the same files
alone; then the objective of a small copy, from disk and in memory.  With --cold, the system forgets
the files of a block (POSIX_FADV_DONTNEED) before each time that it is read, so that all reads are
from the disk and not from the system's file cache.
"""

import argparse
import os
import resource
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

from softmargin import LinearSVC
from softmargin.io import BlockFolder

FEATURES, ROWS = 1000, 25_000  # 100 MB of float32


def blocks(count, rows=ROWS):
    truth = np.random.default_rng(1).normal(size=FEATURES) / np.sqrt(FEATURES)
    for k in range(count):
        rng = np.random.default_rng([2, k])
        X = rng.standard_normal((rows, FEATURES), dtype=np.float32)
        X /= np.float32(np.sqrt(FEATURES))
        yield X, X @ truth * np.sqrt(FEATURES) + rng.normal(size=rows) > 0


def machine(tol):
    return LinearSVC(loss="hinge", C=0.01, tol=tol, random_state=0, max_iter=500)


def forget(files):
    for file in files:
        descriptor = os.open(file, os.O_RDONLY)
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(descriptor)


def child(path, limit, tol, cold):
    resource.setrlimit(resource.RLIMIT_AS, (int(limit * 1e9),) * 2)
    reads = []

    class Counting(BlockFolder):
        def read(self, k):
            if cold:
                forget((path / str(k)).iterdir())
            found = super().read(k)
            reads.append(found[0].nbytes)
            return found

    folder = Counting(path)
    began = time.perf_counter()
    for k in range(len(folder)):
        folder.read(k)
    alone = sum(reads) / 1e6 / (time.perf_counter() - began)
    reads.clear()
    began = time.perf_counter()
    fitted = machine(tol).fit(folder)
    seconds = time.perf_counter() - began
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    print(fitted.solution_)
    print(
        f"{seconds:.0f} s, {len(reads) / len(folder):.0f} times through the data, peak memory"
        f" {peak:.2f} GB of {limit:g} allowed,"
        f" {sum(reads) / 1e6 / seconds:.0f} MB/s; reading alone {alone:.0f} MB/s",
        flush=True,
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--gigabytes", type=float, default=10.0)
    parser.add_argument("--limit", type=float, default=2.0)
    parser.add_argument("--tol", type=float, default=0.01)
    parser.add_argument("--cold", action="store_true", help="without the system's file cache")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.child:
        child(given.folder, given.limit, given.tol, given.cold)
        return
    count = max(1, round(given.gigabytes * 1e9 / (4 * FEATURES * ROWS)))
    big, small = given.folder / "big", given.folder / "small"
    if not big.exists():
        BlockFolder.write(big, blocks(count))
        os.sync()  # pages that are not written yet cannot be forgotten
    options = ["--limit", str(given.limit), "--tol", str(given.tol), *["--cold"] * given.cold]
    subprocess.run([sys.executable, __file__, str(big), "--child", *options], check=True)
    if not small.exists():
        BlockFolder.write(small, blocks(4, 2000))
    pieces = list(blocks(4, 2000))
    X, y = (np.concatenate([piece[k] for piece in pieces]) for k in (0, 1))
    disk, memory = machine(1e-6).fit(BlockFolder(small)), machine(1e-6).fit(X, y)
    objectives = [fit.solution_.primal_objective for fit in (disk, memory)]
    print(f"small copy: from disk {objectives[0]:.9g}, in memory {objectives[1]:.9g}")


if __name__ == "__main__":
    main()
