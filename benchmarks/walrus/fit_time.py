"""Whole fits to a relative gap of 1e-3 (C = 1, no intercept), CPU seconds, means over five orders
of the examples, the variants in turn: newton against sorted, with shrinking and extrapolation in
both; without one of them; float64 weights throughout; sorted with none of these, which is the
paper's program; and how often examples are visited, and how often their support only.
Infinite: not done after 200 seconds (of the clock, in one of the two precisions)."""

from __future__ import annotations

from common import arguments, print_table, timed_fit
from data import ALL

options = arguments(__doc__)
VARIANTS = {
    "newton": {},
    "sorted": {"method": "sorted"},
    "newton, no extrapolation": {"extrapolation": False},
    "newton, no shrinking": {"shrinking": False},
    "newton, float64": {"precision": "float64"},
    "paper's program": {
        "method": "sorted",
        "shrinking": False,
        "extrapolation": False,
        "precision": "float64",
    },
}


def row(name: str) -> list[object]:
    data = ALL[name]()
    seconds: dict[str, list[float]] = {variant: [] for variant in VARIANTS}
    rounds = 1 if name in ("udhr_lang", "aloi_like", "mnist") else 5
    for seed in range(rounds):
        for variant, settings in VARIANTS.items():
            fit = timed_fit(data, limit=200, seed=seed, **settings)
            seconds[variant].append(fit.seconds)
            if variant == "newton":
                visits = f"{fit.visits / len(data.y):.1f}"
                support = f"{fit.support_visits / len(data.y):.1f}"
                passes, checks = fit.passes, fit.checks
    mean = {variant: sum(values) / rounds for variant, values in seconds.items()}
    return [
        *(name, data.classes, *mean.values()),
        mean["sorted"] / mean["newton"],
        mean["paper's program"] / mean["newton"],
        *(passes, visits, support, checks),
    ]


header = ["data", "k", *(f"{variant} (s)" for variant in VARIANTS), "sorted / newton"]
header += ["paper's program / newton", "passes", "visits / n", "support only / n", "checks"]
print_table(header, (row(name) for name in options.data))
