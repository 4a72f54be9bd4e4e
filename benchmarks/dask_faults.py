"""Does a fit on a Dask cluster survive the loss of workers, without a hang?

    python benchmarks/dask_faults.py [--repeats 10] [--cases "round 1" loading ...]

Two worker processes; a worker is killed (SIGKILL) in some round, while the data are loaded, three
times in a fit, or for good; or the scheduler is shut down, and the fit resumes on a new cluster
from its checkpoint.  Every fit has a time limit.  Prints a table in Markdown: fits that reached
their tolerance, the largest relative difference of the objective from that of an undisturbed fit,
how often blocks were lost, the median of the seconds lost, and the longest time of all fits from
one round to the next (of "scheduler", the seconds of both fits).  Fails if a fit does not converge
or the objectives differ by more than the gaps.
"""

import argparse
import operator
import os
import signal
import statistics
import sys
import tempfile
import threading
import time
from pathlib import Path

import dask
import dask.array as da
import numpy as np
from distributed import Client, LocalCluster

from softmargin.checkpoint import Checkpoint
from softmargin.dask import ClusterError, DaskLinearSVC

CASES = ("none", "round 1", "round 3", "last round", "loading", "three times", "for good")
LIMIT, TOL, BLOCKS = 300.0, 1e-2, 4


def rows(block_info=None):
    k = block_info[None]["chunk-location"][0]
    time.sleep(0.3)  # so that there is time to be killed in
    return np.random.default_rng(k).normal(size=(2000, 20))


def data():
    X = da.map_blocks(
        rows, chunks=((2000,) * BLOCKS, (20,)), dtype=float, meta=np.empty((0, 0), float)
    )
    return X, (X[:, 0] + X[:, 1] ** 2 > 1).astype(int)


def start():
    # A LocalCluster gives a worker up that takes longer than this to restart.  Its default of 15 s
    # may be too short on a busy machine.
    dask.config.set({"distributed.deploy.lost-worker-timeout": LIMIT})
    return LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0")


def kill(cluster, which=0, for_good=False):
    nannies = [nanny for nanny in cluster.workers.values() if nanny.pid]
    nanny = nannies[which % len(nannies)]
    nanny.auto_restart = not for_good
    os.kill(nanny.pid, signal.SIGKILL)


def rounds_of(case, last):
    return {
        "round 1": [1],
        "round 3": [3],
        "last round": [last - 1],
        "three times": [2, last // 2, last - 2],
        "for good": [3],
    }.get(case, [])


def fit(cluster, client, case, last):
    due, seen = rounds_of(case, last), []

    def disturb(status):
        seen.append(time.perf_counter())
        if due and status.iterations >= due[0]:
            due.pop(0)
            # Each time the other one: a worker that was just started holds nothing to lose.
            kill(cluster, len(due), case == "for good")

    machine = DaskLinearSVC(
        loss="hinge",
        C=0.1,
        tol=TOL,
        random_state=0,
        callbacks=[disturb],
        client=client,
        time_limit=LIMIT,
        wait_limit=60.0,
    )
    if case == "loading":
        threading.Timer(0.2, kill, [cluster]).start()
    began = time.perf_counter()
    machine.fit(*data())
    if due:
        raise SystemExit(f"{case}: the fit ended before all workers were killed")
    ended = time.perf_counter()
    return machine, ended - began, max(map(operator.sub, [*seen, ended], [began, *seen]))


def run(case, last, repeats):
    """Fits one after another on a cluster of two workers, warmed up by an undisturbed fit."""
    found = []
    while len(found) < repeats:
        with start() as cluster, Client(cluster) as client:
            _, undisturbed, _ = fit(cluster, client, "none", last)
            for _ in range(1 if case == "for good" else repeats - len(found)):
                client.wait_for_workers(2, timeout=LIMIT)
                machine, seconds, longest = fit(cluster, client, case, last)
                found.append((machine, seconds - undisturbed, longest))
                reason = machine.solution_.stop_reason
                print(f"{case}: {reason}, {seconds:.1f} s, {longest:.1f} s", file=sys.stderr)
    return found


def resumed(last):
    """The scheduler is shut down in the middle; a new cluster resumes."""
    with tempfile.TemporaryDirectory() as folder:
        options = {
            "loss": "hinge",
            "C": 0.1,
            "tol": TOL,
            "random_state": 0,
            "checkpoint": Checkpoint(Path(folder) / "fit", 0.1),
            "wait_limit": 5.0,
        }
        cluster = start()
        with Client(cluster) as client:

            def shut(status):
                if status.iterations == last // 2:
                    cluster.close()

            began = time.perf_counter()
            try:
                DaskLinearSVC(callbacks=[shut], client=client, **options).fit(*data())
                raise SystemExit("scheduler: the fit ended before it was shut down")
            except ClusterError as error:
                print(f"scheduler: {error}", file=sys.stderr)
        with start() as cluster, Client(cluster) as client:
            machine = DaskLinearSVC(client=client, **options).fit(*data())
        seconds = time.perf_counter() - began
        return machine, seconds, seconds


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--repeats", type=int, default=10)
    parser.add_argument("--cases", nargs="+", default=[*CASES[1:], "scheduler"])
    given = parser.parse_args()
    with start() as cluster, Client(cluster) as client:
        calm, *_ = fit(cluster, client, "none", 0)
    best, last = calm.solution_.primal_objective, calm.n_iter_
    print(f"{last} rounds undisturbed\n")
    print("| killed | fits | converged | objective | losses | s lost | longest wait, s |")
    print("|---|--:|--:|--:|--:|--:|--:|")
    for case in given.cases:
        if case == "scheduler":
            found = [resumed(last) for _ in range(given.repeats)]
        else:
            found = run(case, last, given.repeats)
        machines, lost, longest = zip(*found, strict=True)
        solutions = [machine.solution_ for machine in machines]
        apart = max(abs(s.primal_objective / best - 1) for s in solutions)
        losses = "/".join(str(machine.traffic_["losses"]) for machine in machines)
        good = sum(s.converged for s in solutions)
        print(
            f"| {case} | {len(found)} | {good} | {apart:.1e} | {losses} |"
            f" {statistics.median(lost):.1f} | {max(longest):.1f} |",
            flush=True,
        )
        if good < len(found) or apart > TOL:
            raise SystemExit(f"{case}: not the right answer")


if __name__ == "__main__":
    main()
