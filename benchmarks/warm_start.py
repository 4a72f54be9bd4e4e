"""What does a warm start save along a path of C?

    SOFTMARGIN_DATA=<folder> python benchmarks/warm_start.py [--examples 15000]

Fits C = 2^-3, 2^-2, ..., 2^7 one after the other, each from the previous solution and from zero;
then all rows after a fit of the first nine tenths. Prints the iterations and kernel rows of both
and their ratios, and fails where a warm start takes more iterations or ends at another objective.
"""

import argparse

import numpy as np
from data import load, standardised

from softmargin import SVC


def path(X, y, gamma, warm):
    """Iterations, kernel rows and objectives of the fits along the path."""
    machine = SVC(gamma=gamma, warm_start=warm)
    solutions = [machine.set_params(C=2.0**k).fit(X, y).solution_ for k in range(-3, 8)]
    return np.array([(s.iterations, s.kernel_rows, s.dual_objective) for s in solutions])


def appended(X, y, gamma, warm):
    """The same for the fit of all rows after that of the first nine tenths."""
    machine = SVC(C=8.0, gamma=gamma, warm_start=warm)
    count = len(y) * 9 // 10
    machine.fit(X[:count], y[:count])
    solution = machine.fit(X, y).solution_
    return np.array([(solution.iterations, solution.kernel_rows, solution.dual_objective)])


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--examples", type=int, default=15000, help="at most (default: 15000)")
    args = parser.parse_args()
    print("| data | what | iterations cold | warm | ratio | rows cold | warm | ratio |")
    print("|---|---|---|---|---|---|---|---|", flush=True)
    faults = []
    for name, gamma in (("spambase", 1 / 200), ("letter", 1 / 16)):
        X, y = load(name)
        order = np.random.default_rng(0).permutation(len(y))[: args.examples]
        X, y = standardised(X[order]), y[order]
        for what, run in (("C from 2^-3 to 2^7", path), ("a tenth appended", appended)):
            cold, warm = run(X, y, gamma, False), run(X, y, gamma, True)
            (i, r), (j, q) = cold[:, :2].sum(axis=0), warm[:, :2].sum(axis=0)
            print(
                f"| {name} | {what} | {i:.0f} | {j:.0f} | {j / i:.2f}"
                f" | {r:.0f} | {q:.0f} | {q / r:.2f} |",
                flush=True,
            )
            if j >= i:
                faults.append(f"{name}, {what}: a warm start takes more iterations")
            if not np.allclose(cold[:, 2], warm[:, 2], rtol=1e-4, atol=0):
                faults.append(f"{name}, {what}: objectives differ")
    if faults:
        raise SystemExit("\n".join(faults))


if __name__ == "__main__":
    main()
