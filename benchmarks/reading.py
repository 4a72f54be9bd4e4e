"""How fast LIBSVM's text is read: softmargin, scikit-learn, LIBSVM's own Python reader.

    python benchmarks/reading.py [--megabytes 500] [--peers scikit-learn libsvm]

Makes a file of that size (rows of 40 entries with six digits) in a temporary folder, reads it once
with each, each in a process of its own, and prints seconds, megabytes per second of the clock and
of processor time, the processor time relative to softmargin's on one thread, and the most memory
that the process used beyond what the result takes.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

ENTRIES, FEATURES = 40, 5000


def make(path: Path, megabytes: int) -> None:
    """Blocks of 2,000 random rows, again and again: what is read does not depend on variety."""
    rng = np.random.default_rng(0)
    lines = []
    for _ in range(2000):
        indices = np.sort(rng.choice(FEATURES, ENTRIES, replace=False)) + 1
        pairs = zip(indices, rng.standard_normal(ENTRIES), strict=True)
        lines.append(f"{rng.choice([-1, 1]):+d} " + " ".join(f"{i}:{v:.6g}" for i, v in pairs))
    block = ("\n".join(lines) + "\n").encode()
    with open(path, "wb") as stream:
        while stream.tell() < megabytes * 1_000_000:
            stream.write(block)
        # The first reader shall not share the disk with the writer.
        stream.flush()
        os.fsync(stream.fileno())


def read(reader: str, path: str) -> dict[str, float]:
    """Reads the file in this process."""
    if reader.startswith("softmargin"):
        from softmargin.io.data.libsvm_text import read_libsvm

        threads = int(reader.partition(" ")[2] or 0) or None

        def load() -> int:
            X, _ = read_libsvm(path, n_threads=threads)
            return X.data.nbytes + X.indices.nbytes + X.indptr.nbytes

    elif reader == "scikit-learn":
        from sklearn.datasets import load_svmlight_file

        def load() -> int:
            X, _ = load_svmlight_file(path)
            return X.data.nbytes + X.indices.nbytes + X.indptr.nbytes

    else:
        from libsvm.svmutil import svm_read_problem

        def load() -> int:
            _, X = svm_read_problem(path, return_scipy=True)
            return X.data.nbytes + X.indices.nbytes + X.indptr.nbytes

    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    wall, processor = time.perf_counter(), time.process_time()
    size = load()
    seconds, used = time.perf_counter() - wall, time.process_time() - processor
    peak = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024
    return {"seconds": seconds, "processor": used, "beyond": (peak - size) / 1e6}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--megabytes", type=int, default=500)
    parser.add_argument("--peers", nargs="*", default=["scikit-learn", "libsvm"])
    parser.add_argument("--one", nargs=2, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.one:
        print(json.dumps(read(*args.one)))
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "made.svm"
        make(path, args.megabytes)
        size = path.stat().st_size / 1e6
        print(f"{size:.0f} MB, {os.cpu_count()} processors")
        print(
            f"{'reader':<16}{'seconds':>9}{'MB/s':>8}{'MB/s of processor':>20}{'relative':>11}"
            f"{'MB beyond':>12}"
        )
        least = 0.0
        for reader in ("softmargin 1", "softmargin", *args.peers):
            command = [sys.executable, __file__, "--one", reader, str(path)]
            r = json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout)
            least = least or r["processor"]
            print(
                f"{reader:<16}{r['seconds']:>9.2f}{size / r['seconds']:>8.0f}"
                f"{size / r['processor']:>20.0f}{r['processor'] / least:>11.1f}"
                f"{r['beyond']:>12.0f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
