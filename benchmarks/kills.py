"""Does a fit that is killed again and again finish, and lose no more work than promised?

    python benchmarks/kills.py [--times 20] [--machines SVC LinearSVC]

A child process fits with a checkpoint every 0.1 s, is killed (SIGKILL) at random moments and
started again; after that many kills it may finish.  What a checkpoint holds is read from the
file itself.  Prints a table in Markdown: how many kills left a checkpoint, the iterations (of
LinearSVC: passes) of a fit never killed, of the one killed, and those lost, that is done after the
last checkpoint before a kill; and the relative difference of the final objective.  Fails where a
child started before its checkpoint, a checkpoint is older than it may be, or the objectives differ
by more than the gaps.
"""

import argparse
import json
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import softmargin
from softmargin.checkpoint import DIGEST, MAGIC, Checkpoint

MACHINES = {
    "SVC": {"C": 1000.0, "gamma": 0.1, "tol": 1e-4},
    "NuSVC": {"nu": 0.1, "gamma": 0.05, "tol": 1e-6},
    "SVR": {"C": 1000.0, "gamma": 0.1, "epsilon": 0.1, "tol": 1e-2},
    "NuSVR": {"C": 100.0, "nu": 0.3, "gamma": 0.1, "tol": 1e-4},
    "OneClassSVM": {
        "nu": 0.3,
        "gamma": 0.8,
        "tol": 1e-9,
        "cache_size": 1,
        "working_set": "second-order",
    },
    "LinearSVC": {
        "multi_class": "weston_watkins",
        "C": 1.0,
        "tol": 1e-6,
        "max_iter": 10**6,
        "random_state": 0,
    },
}
EXAMPLES = {"SVC": 8000, "NuSVC": 6000, "OneClassSVM": 10000, "LinearSVC": 20000}
EVERY = 0.1


def make_data(name):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(EXAMPLES.get(name, 4000), 10))
    z = np.sin(2 * X[:, 0]) + 0.3 * rng.normal(size=len(X))
    if name == "LinearSVC":
        return X, np.digitize(z, [-0.6, -0.2, 0.2, 0.6])
    return X, z > 0 if name in ("SVC", "NuSVC") else None if name == "OneClassSVM" else z


def child(name, path):
    """Fits, and reports its progress."""
    X, y = make_data(name)

    def tell(status):
        print(time.time(), status.iterations, flush=True)

    watched = {"checkpoint": Checkpoint(path, every=EVERY), "callbacks": [tell]}
    machine = getattr(softmargin, name)(**MACHINES[name], **watched).fit(X, y)
    print("end", machine.solution_.iterations, machine.solution_.dual_objective, flush=True)


def run(name, path, patience):
    """The child's lines, as lists of words, until its end or its death after `patience` seconds
    of fitting."""
    command = [sys.executable, __file__, "--child", name, str(path)]
    lines, deadline = [], None
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        for line in process.stdout:
            lines.append(line.split())
            deadline = deadline or time.time() + patience
            if time.time() > deadline:
                process.send_signal(signal.SIGKILL)
                break
    return lines


def saved_iterations(path):
    """The iterations that the checkpoint has recorded; 0 without a checkpoint."""
    if not path.exists():
        return 0
    header = json.loads(path.read_bytes()[len(MAGIC) + DIGEST :].partition(b"\n")[0])
    return header["points"]["0"]["effort"]["iterations"]


def kill_again_and_again(name, path, times):
    """The kills that left a checkpoint, the iterations lost, and what is wrong."""
    kept, lost, faults = 0, 0, []
    for kill in range(1, times + 1):
        start = saved_iterations(path)
        lines = run(name, path, patience=random.uniform(0.02, 0.4))
        if lines[-1][0] == "end":
            faults.append(f"{name}: it ended before kill {kill}")
            break
        reports = [(float(at), int(iterations)) for at, iterations in lines]
        saved = saved_iterations(path)
        kept, lost = kept + path.exists(), lost + reports[-1][1] - max(saved, start)
        # A slice and the writing may come between.
        due = [done for at, done in reports if at < reports[-1][0] - EVERY - 0.1]
        if reports[0][1] < start or saved < start:
            faults.append(f"{name}: kill {kill}: {start} were saved, but it started before")
        if due and saved < due[-1]:
            faults.append(f"{name}: kill {kill}: {saved} were saved, but {due[-1]} were due")
    return kept, lost, faults


def measure(name, times):
    """Prints a row; returns what is wrong."""
    whole = getattr(softmargin, name)(**MACHINES[name]).fit(*make_data(name)).solution_
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "checkpoint"
        kept, lost, faults = kill_again_and_again(name, path, times)
        _, iterations, objective = run(name, path, patience=1e9)[-1]
    difference = abs(float(objective) - whole.dual_objective)
    print(
        f"| {name} | {times} | {kept} | {whole.iterations} | {iterations} | {lost}"
        f" | {difference / abs(whole.dual_objective):.1e} | {whole.relative_gap:.1e} |",
        flush=True,
    )
    if difference > 2 * whole.duality_gap:
        faults.append(f"{name}: the objectives differ by {difference:.3g}, more than the gaps")
    return faults


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--times", type=int, default=20, help="kills (default: 20)")
    parser.add_argument("--machines", nargs="+", default=list(MACHINES), choices=MACHINES)
    parser.add_argument("--child", nargs=2, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.child:
        return child(*args.child)
    random.seed(0)
    columns = ["machine", "kills", "checkpoints", "iterations, never killed", "iterations, killed"]
    columns += ["lost", "relative error of the objective", "relative gap"]
    print(f"| {' | '.join(columns)} |\n{'|---' * len(columns)}|", flush=True)
    faults = [fault for name in args.machines for fault in measure(name, args.times)]
    if faults:
        raise SystemExit("\n".join(faults))
    return None


if __name__ == "__main__":
    main()
