"""What does watching cost?

    python benchmarks/progress_cost.py [--repeats 15]

Interleaves fits without and with a live line, a callback and a history of every slice, and prints
the median of the ratios of their CPU times.
"""

import argparse
import contextlib
import io
import time

import numpy as np

from softmargin import SVC


def seconds(**parameters):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4000, 20))
    y = np.sin(2 * X[:, 0]) + 0.3 * rng.normal(size=len(X)) > 0
    begin = time.process_time()
    SVC(C=1000.0, gamma=0.05, n_jobs=1, **parameters).fit(X, y)
    return time.process_time() - begin


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--repeats", type=int, default=15, help="default: 15")
    args = parser.parse_args()
    ratios, plain = [], []
    with contextlib.redirect_stderr(io.StringIO()):
        seconds(verbose=1)  # imports tqdm
        for _ in range(args.repeats):
            plain.append(seconds())
            ratios.append(seconds(verbose=1, callbacks=[lambda status: None]) / plain[-1])
    low, high = np.quantile(ratios, [0.25, 0.75])
    print(
        f"{np.median(plain):.2f} s per fit; watched fits take {np.median(ratios):.4f} of that"
        f" (quartiles {low:.4f} to {high:.4f})"
    )


if __name__ == "__main__":
    main()
