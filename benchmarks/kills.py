"""Does a fit that is killed again and again get to its end, and lose no more than it may?

    python benchmarks/kills.py [--times 20]

A child process fits with a checkpoint every 0.1 s and is killed (SIGKILL) at random moments, then
started again until it ends.  Prints, for each kill, the iterations that the child had reported and
those that its successor went on from; and the final objective beside that of a fit never killed.
"""

import argparse
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from softmargin import SVC
from softmargin.checkpoint import Checkpoint

PARAMETERS = {"C": 1000.0, "gamma": 0.1, "tol": 1e-4}
EVERY = 0.1
REPORT = 0.02


def make_data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4000, 10))
    return X, np.sin(2 * X[:, 0]) + 0.3 * rng.normal(size=len(X)) > 0


def child(path):
    """Fits, and says how far it is."""
    X, y = make_data()

    def tell(status):
        print(time.time(), status.iterations, status.objective, flush=True)

    machine = SVC(**PARAMETERS, checkpoint=Checkpoint(path, every=EVERY), callbacks=[tell])
    machine.fit(X, y)
    print("end", machine.solution_.iterations, machine.solution_.dual_objective, flush=True)


def run(path, patience):
    """The child's lines, as lists of words, until its end or its death after `patience` seconds
    of fitting."""
    command = [sys.executable, __file__, "--child", str(path)]
    lines, deadline = [], None
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        for line in process.stdout:
            lines.append(line.split())
            deadline = deadline or time.time() + patience
            if time.time() > deadline:
                process.send_signal(signal.SIGKILL)
                break
    return lines


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--times", type=int, default=20, help="kills (default: 20)")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.child:
        return child(args.child)
    random.seed(0)
    X, y = make_data()
    whole = SVC(**PARAMETERS).fit(X, y).solution_
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "checkpoint"
        faults = kill_again_and_again(path, args.times)
        last = run(path, patience=1e9)[-1]
    difference = abs(float(last[2]) - whole.dual_objective)
    print(f"never killed: {whole.iterations} iterations, objective {whole.dual_objective:.9g}")
    print(f"killed:       {last[1]} iterations, objective {float(last[2]):.9g}")
    if difference > 2 * whole.duality_gap:
        faults.append(f"the objectives differ by {difference:.3g}, more than the gaps")
    if faults:
        raise SystemExit("\n".join(faults))
    return None


def kill_again_and_again(path, times):
    """Prints a line per kill; returns what is wrong."""
    faults, before = [], []
    for kill in range(times):
        lines = run(path, patience=random.uniform(0.02, 0.4))
        if lines[-1][0] == "end":
            print(f"it ended before kill {kill + 1}")
            break
        resumed = int(lines[0][1])
        if before:
            died = float(before[-1][0])
            safe = [int(words[1]) for words in before if float(words[0]) < died - EVERY - 0.1]
            print(f"killed at {before[-1][1]} iterations, went on to {resumed} at the first look")
            if safe and resumed < safe[-1]:
                faults.append(f"kill {kill}: went on from {resumed}, but {safe[-1]} were safe")
        before = lines
    return faults


if __name__ == "__main__":
    main()
