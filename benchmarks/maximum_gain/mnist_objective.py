"""f of MNIST: what it is, and what a program that keeps kernel values in float32 reports.

    SOFTMARGIN_DATA=<folder> python benchmarks/maximum_gain/mnist_objective.py [--quick]
        [--examples N] [--tolerances 1e-3 1e-5]

LIBSVM rounds kernel values to float32 and sums its objective from them. For one and the same
solution this prints f and the primal objective with kernel values in float64, between which the
optimum lies, and f with each kernel value rounded to float32.
"""

import numpy as np
from experiment import MNIST, Array, arguments, markdown, objectives, progress
from sklearn.metrics.pairwise import rbf_kernel

from softmargin import SVC


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--examples", type=int, help="use only this many (quick: 2000)")
    parser.add_argument("--tolerances", nargs="+", type=float, default=[1e-3, 1e-5])
    args = parser.parse_args()
    X, y = MNIST.load(0, args.examples or (2000 if args.quick else None))
    columns = ["tolerance", "support vectors", "f", "primal objective", "f, values in float32"]
    print(markdown(*columns), markdown(*["---"] * len(columns)), sep="\n", flush=True)
    for tolerance in progress(args.tolerances, "fits"):
        model = SVC(C=MNIST.C, gamma=MNIST.gamma, tol=tolerance, cache_size=8000).fit(X, y)
        beta = np.zeros(len(y))
        beta[model.support_] = model.dual_coef_[0]
        f, rounded = objectives(X, beta, MNIST.gamma)
        primal = primal_objective(X, y, model)
        cells = [f"{tolerance:g}", f"{len(model.support_):,}"]
        cells += [f"{value:,.4f}" for value in (f, primal, rounded)]
        print(markdown(*cells), flush=True)


def primal_objective(X: Array, y: Array, model: SVC) -> float:
    """With kernel values in float64."""
    beta, vectors, decision = model.dual_coef_[0], X[model.support_], np.empty(len(y))
    for start in range(0, len(y), 1000):
        block = slice(start, start + 1000)
        decision[block] = rbf_kernel(X[block], vectors, gamma=MNIST.gamma) @ beta
    loss = np.maximum(1 - y * (decision + model.intercept_[0]), 0).sum()
    return float(0.5 * beta @ decision[model.support_] + MNIST.C * loss)


if __name__ == "__main__":
    main()
