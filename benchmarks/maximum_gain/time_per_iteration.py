"""Time per iteration of hybrid maximum gain and of second order, where every row is cached.

    SOFTMARGIN_DATA=<folder> python benchmarks/maximum_gain/time_per_iteration.py [--quick]

Both rules solve the same problem of n examples of MNIST (0-4 against 5-9), in turns of some
iterations each, from a kernel matrix that is in memory, without shrinking. CPU time, so that other
processes disturb little; the ratio is the median over the turns. The most violating pair is shown
for comparison.
"""

import time

import numpy as np
from experiment import MNIST, arguments, make_solver, markdown, progress
from sklearn.metrics.pairwise import rbf_kernel

from softmargin.problem.kernels import CORES
from softmargin.working_sets import HybridMaximumGain, MostViolatingPair, SecondOrder

RULES = (SecondOrder(), HybridMaximumGain(), MostViolatingPair())
ITERATIONS = 200  # of one turn


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--examples", type=int, help="n (default: 10000, quick: 2000)")
    args = parser.parse_args()
    n = args.examples or (2_000 if args.quick else 10_000)
    turns = 10 if args.quick else 60
    X, y = MNIST.load(0, n)
    K = rbf_kernel(X, gamma=MNIST.gamma).astype(np.float32)
    rows = CORES["float32"].Rows.precomputed(K)
    solvers = [make_solver(rows, y, MNIST.C, rule, False, 2**20) for rule in RULES]
    for solver in solvers:
        solver.run(2000, 1e9)  # the rows that are needed most are then cached
    seconds = np.empty((turns, len(RULES)))
    for turn in progress(range(turns), "turns"):
        for r, solver in enumerate(solvers):
            begin = time.process_time()
            before = solver.run(0, 0.0).iterations
            done = solver.run(ITERATIONS, 1e9).iterations - before
            seconds[turn, r] = (time.process_time() - begin) / done if done else np.nan
    print(f"n = {n}, {turns} turns of {ITERATIONS} iterations.\n")
    print(markdown("rule", "microseconds per iteration", "over second order"))
    print(markdown(*["---"] * 3))
    for r, rule in enumerate(RULES):
        ratio = np.nanmedian(seconds[:, r] / seconds[:, 0])
        print(markdown(rule.name, f"{1e6 * np.nanmedian(seconds[:, r]):.1f}", f"{ratio:.2f}"))


if __name__ == "__main__":
    main()
