"""What does watching cost?

    python benchmarks/progress_cost.py [--repeats 5]

Fits with a live line and a callback, and measures the CPU time of all that this takes: setting up
the line, calling observers after each slice, closing the line. Prints its share of
the fit's CPU time.
"""

import argparse
import contextlib
import io
import time

import numpy as np

from softmargin import SVC
from softmargin.estimator import base
from softmargin.fitting import progress
from softmargin.watching import Watch

spent = 0.0


def timed(function):
    """`function`, with the time that it takes added up."""

    def call(*args, **kwargs):
        global spent
        begin = time.thread_time()
        try:
            return function(*args, **kwargs)
        finally:
            spent += time.thread_time() - begin

    return call


@contextlib.contextmanager
def timed_shown(*args):
    context = progress.shown(*args)
    observers = timed(context.__enter__)()
    yield observers
    timed(context.__exit__)(None, None, None)


def share():
    """The share of a fit's CPU time, and the fit's."""
    global spent
    rng = np.random.default_rng(0)
    X = rng.normal(size=(8000, 20))
    y = np.sin(2 * X[:, 0]) + 0.3 * rng.normal(size=len(X)) > 0
    spent, begin = 0.0, time.process_time()
    SVC(C=1000.0, gamma=0.05, verbose=1, callbacks=[lambda status: None]).fit(X, y)
    total = time.process_time() - begin
    return spent / total, total


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--repeats", type=int, default=5, help="default: 5")
    args = parser.parse_args()
    Watch.look, Watch.done = timed(Watch.look), timed(Watch.done)
    base.shown = timed_shown
    with contextlib.redirect_stderr(io.StringIO()):
        share()  # imports tqdm
        shares, totals = zip(*(share() for _ in range(args.repeats)), strict=True)
    print(f"{100 * np.median(shares):.2f} % of fits of {np.median(totals):.2f} s of CPU time")


if __name__ == "__main__":
    main()
