"""Figure 6: where hybrid maximum gain needs less work than the others, over C and gamma.

    SOFTMARGIN_DATA=<folder> python benchmarks/maximum_gain/figure6_parameters.py [--quick]
        [--orders N] [--examples N] [--cache MB] [--steps N] [--figure figure6.png]

connect-4; C and gamma = 1 / (2 sigma^2) over a factor of 10,000 around the values of Table 1. Work
is counted as evaluations of the kernel function, which no other process disturbs.
"""

from dataclasses import replace

import numpy as np
from experiment import CONNECT4, Run, data_arguments, fit, heading, markdown, parsed, progress
from matplotlib.figure import Figure
from paper import HMG, MVP, RULES, SO


def degenerate(run: Run, examples: int) -> str:
    if run.support >= 0.99 * examples:
        return "nearly all are support vectors"
    return "nearly all at C" if run.bounded >= 0.99 * run.support else ""


def main() -> None:
    parser = data_arguments(__doc__, ["connect4"], orders=1)
    parser.add_argument(
        "--steps", type=int, default=5, help="values of C and of gamma (default: 5)"
    )
    parser.add_argument("--figure", default="figure6.png", help="where the picture goes")
    args = parsed(parser)
    factors = np.logspace(-2, 2, args.steps if not args.quick else 3)
    heading(args, "C", "gamma", f"{MVP} (million)", SO, HMG, "least", "degenerate")
    grid = [(C * CONNECT4.C, g * CONNECT4.gamma) for C in factors for g in factors]
    values = []
    for C, gamma in progress(grid, "settings"):
        problem = replace(CONNECT4, C=C, sigma=(2 * gamma) ** -0.5)
        runs = [
            Run.median(
                [
                    fit(problem, order, rule, examples=args.examples, cache_megabytes=args.cache)
                    for order in range(args.orders)
                ]
            )
            for rule in RULES
        ]
        values.append([run.kernel_values for run in runs])
        least = RULES[int(np.argmin(values[-1]))].name
        note = degenerate(runs[1], args.examples or 30_555)
        cells = [f"{value:,.1f}" for value in values[-1]]
        print(markdown(f"{C:.3g}", f"{gamma:.3g}", *cells, least, note), flush=True)
    draw(factors, np.array(values), args.figure)


def draw(factors: np.ndarray, values: np.ndarray, path: str) -> None:
    """Hybrid maximum gain's work over that of each of the others: below 1 it needs less."""
    figure = Figure(figsize=(10, 4), layout="constrained")
    size = len(factors)
    for axes, other, name in zip(figure.subplots(1, 2), (0, 1), (MVP, SO), strict=True):
        ratio = (values[:, 2] / values[:, other]).reshape(size, size)
        image = axes.pcolormesh(
            np.log10(factors * CONNECT4.gamma), np.log10(factors * CONNECT4.C), np.log2(ratio),
            cmap="RdBu_r", vmin=-1, vmax=1, shading="nearest",
        )  # fmt: skip
        axes.set(xlabel="log10 of gamma", ylabel="log10 of C", title=f"against {name}")
    figure.colorbar(image, label="log2 of the ratio of kernel values")
    figure.savefig(path, dpi=150)


if __name__ == "__main__":
    main()
