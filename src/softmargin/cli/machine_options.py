"""The options that say which machine to train: LIBSVM's short ones, and long ones beside them."""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from typing import Any

FORMULATIONS = {
    "c-svc": "SVC",
    "nu-svc": "NuSVC",
    "one-class": "OneClassSVM",
    "epsilon-svr": "SVR",
    "nu-svr": "NuSVR",
}
WORKING_SETS = (
    *("auto", "most-violating-pair", "second-order", "maximum-gain", "hybrid-maximum-gain"),
    "block",
)
LINEAR = {
    "weston-watkins": "weston_watkins",
    "crammer-singer": "crammer_singer",
    "one-vs-rest": "ovr",
}
KERNEL_DEFAULTS = {
    **{"formulation": "c-svc", "kernel": "rbf", "degree": 3, "gamma": "auto", "coef0": 0.0},
    **{"nu": 0.5, "epsilon": 0.1, "cache_size": None, "working_set": "auto"},
}
KERNELS = {
    "linear": "linear",
    "polynomial": "poly",
    "rbf": "rbf",
    "sigmoid": "sigmoid",
    "precomputed": "precomputed",
}


def numbered(names: Sequence[str]) -> Any:
    """A converter that takes a name or, as LIBSVM does, its number."""

    def convert(word: str) -> str:
        if word in names:
            return word
        if word.isdigit() and int(word) < len(names):
            return names[int(word)]
        choices = ", ".join(f"{name} ({k})" for k, name in enumerate(names))
        raise argparse.ArgumentTypeError(f"{word!r} is not one of {choices}")

    return convert


def gamma(word: str) -> float | str:
    if word in ("scale", "auto"):
        return word
    try:
        return float(word)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{word!r} is not a number, scale or auto") from None


def class_weight(word: str) -> tuple[str, float]:
    label, separator, weight = word.rpartition("=")
    try:
        if separator:
            return label, float(weight)
    except ValueError:
        pass
    raise argparse.ArgumentTypeError(f"{word!r} is not of the form LABEL=WEIGHT")


def switch(word: str) -> bool:
    if word not in ("0", "1"):
        raise argparse.ArgumentTypeError(f"{word!r} is neither 0 nor 1")
    return word == "1"


def threads(word: str) -> int:
    if not re.fullmatch(r"-?[1-9]\d{0,8}", word):
        raise argparse.ArgumentTypeError(f"{word!r} is neither 1 or more nor -1 (all processors)")
    return int(word)


def seed(word: str) -> int:
    if not word.isdecimal() or int(word) >= 2**32:
        raise argparse.ArgumentTypeError(f"{word!r} is not a whole number from 0 to 2^32 - 1")
    return int(word)


def respell(argv: Sequence[str]) -> list[str]:
    """LIBSVM's ``-w1 5`` (label 1, weight 5) as ``--class-weight 1=5``, which argparse knows."""
    spelled, k = [], 0
    while k < len(argv):
        match = re.fullmatch(r"-w(-?\d+)", argv[k])
        if match and k + 1 < len(argv):
            spelled.append(f"--class-weight={match.group(1)}={argv[k + 1]}")
            k += 1
        else:
            spelled.append(argv[k])
        k += 1
    return spelled


def add_machine_arguments(parser: argparse.ArgumentParser) -> None:
    _add_problem(parser)
    _add_solver(parser)
    _add_linear(parser)


def _add_problem(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add(
        *("-s", "--formulation"),
        type=numbered(list(FORMULATIONS)),
        default="c-svc",
        metavar="NAME",
        help="c-svc (0), nu-svc (1), one-class (2), epsilon-svr (3) or nu-svr (4) (default: c-svc)",
    )
    add(
        *("-t", "--kernel"),
        type=numbered(list(KERNELS)),
        default="rbf",
        metavar="NAME",
        help="linear (0), polynomial (1), rbf (2), sigmoid (3) or precomputed (4) (default: rbf)",
    )
    add("-d", "--degree", type=int, default=3, help="degree of the polynomial kernel (default: 3)")
    add(
        *("-g", "--gamma"),
        type=gamma,
        default="auto",
        help="gamma of the rbf, polynomial and sigmoid kernels: a number, auto (1 / features) or"
        " scale (1 / (features * variance)) (default: auto, as in svm-train)",
    )
    add(
        "-r",
        "--coef0",
        type=float,
        default=0.0,
        help="constant of the polynomial and sigmoid kernels (default: 0)",
    )
    add(
        "-c",
        "--cost",
        type=float,
        default=1.0,
        metavar="C",
        help="C of c-svc, epsilon-svr and nu-svr (default: 1)",
    )
    add(
        "-n",
        "--nu",
        type=float,
        default=0.5,
        help="nu of nu-svc, one-class and nu-svr (default: 0.5)",
    )
    add(
        "-p",
        "--epsilon",
        type=float,
        default=0.1,
        help="half the width of the tube of epsilon-svr (default: 0.1)",
    )
    add(
        "--class-weight",
        type=class_weight,
        action="append",
        default=[],
        metavar="LABEL=WEIGHT",
        help="multiply C (of nu-svc: the weight of each example) by WEIGHT for class LABEL; also"
        " -wLABEL WEIGHT, as in -w1 5",
    )
    add(
        "-b",
        "--probability",
        choices=("0", "1"),
        default="0",
        help="1 is refused, with the way to get probabilities (default: 0)",
    )


def _add_solver(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add(
        *("-m", "--cache-size"),
        type=float,
        default=None,
        metavar="MB",
        help="memory for kernel rows (default: up to a quarter of what is free)",
    )
    add(
        "-e",
        "--tolerance",
        type=float,
        default=1e-3,
        help="how much the optimality conditions may be violated (default: 0.001)",
    )
    add(
        "-h",
        "--shrinking",
        type=switch,
        default=True,
        metavar="0|1",
        help="take variables that seem settled out of the problem (default: 1)",
    )
    add(
        "--working-set",
        choices=WORKING_SETS,
        default="auto",
        metavar="NAME",
        help=f"how the solver chooses the variables to work on: {', '.join(WORKING_SETS)}"
        " (default: auto)",
    )
    add(
        "--precision",
        choices=("auto", "float32", "float64"),
        default="auto",
        help="of the kernel values (default: auto)",
    )
    add(
        "--threads",
        type=threads,
        metavar="N",
        help="how many threads train, -1 for one per processor (default: -1, or what"
        " OMP_NUM_THREADS says; of a linear machine 1)",
    )
    add("--max-iter", type=int, default=-1, metavar="N", help="limit on the solver's iterations")


def _add_linear(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add(
        "--linear",
        choices=tuple(LINEAR),
        metavar="NAME",
        help="a linear machine instead of a kernel machine: weston-watkins, crammer-singer or"
        " one-vs-rest; of the options above -c, -e (then the relative duality gap), -h, --precision"
        " (of the weights), --threads (one-vs-rest), --max-iter (passes) and class weights apply",
    )
    add("--no-intercept", action="store_true", help="a linear machine without a constant")


def make_machine(args: argparse.Namespace, labels: Any) -> Any:
    """The estimator that the options ask for; `labels` are those of the training data."""
    import softmargin

    if args.probability == "1":
        raise ValueError(
            "-b 1: no probabilities are trained here. Calibrate the machine with scikit-learn's"
            " CalibratedClassifierCV, or use predict --decision-values. Models of svm-train -b 1"
            " give theirs with predict -b 1."
        )
    if args.linear:
        return _linear_machine(args, labels)
    if args.no_intercept:
        raise ValueError("--no-intercept is for linear machines (--linear).")
    kind = FORMULATIONS[args.formulation]
    params: dict[str, Any] = {
        "kernel": KERNELS[args.kernel],
        "degree": args.degree,
        "gamma": args.gamma,
        "coef0": args.coef0,
        "tol": args.tolerance,
        "shrinking": args.shrinking,
        "cache_size": "auto" if args.cache_size is None else args.cache_size,
        "max_iter": args.max_iter,
        "working_set": args.working_set,
        "precision": args.precision,
        "n_jobs": args.threads,
    }
    if kind in ("SVC", "SVR", "NuSVR"):
        params["C"] = args.cost
    if kind in ("NuSVC", "OneClassSVM", "NuSVR"):
        params["nu"] = args.nu
    if kind == "SVR":
        params["epsilon"] = args.epsilon
    if args.class_weight:
        params["class_weight"] = _weights_by_label(args, kind, labels)
    return getattr(softmargin, kind)(**params)


def _linear_machine(args: argparse.Namespace, labels: Any) -> Any:
    from softmargin import LinearSVC

    for name, default in KERNEL_DEFAULTS.items():
        if getattr(args, name) != default:
            option = name.replace("_", "-")
            raise ValueError(f"--{option} is for kernel machines; a linear machine has none.")
    if args.threads not in (None, 1) and args.linear != "one-vs-rest":
        raise ValueError(
            f"--threads {args.threads} is for --linear one-vs-rest, whose classes are separate"
            f" problems; the descent of {args.linear} is sequential."
        )
    limit = {} if args.max_iter < 0 else {"max_iter": args.max_iter}
    weights = _weights_by_label(args, "LinearSVC", labels) if args.class_weight else None
    return LinearSVC(
        LINEAR[args.linear],
        C=args.cost,
        tol=args.tolerance,
        shrinking=args.shrinking,
        precision=args.precision,
        fit_intercept=not args.no_intercept,
        class_weight=weights,
        random_state=args.seed,
        n_jobs=args.threads,
        **limit,
    )


def _weights_by_label(args: argparse.Namespace, kind: str, labels: Any) -> dict[Any, float]:
    import numpy as np

    if kind not in ("SVC", "NuSVC", "LinearSVC"):
        raise ValueError(
            "class weights are for c-svc, nu-svc and linear machines;"
            f" the formulation is {args.formulation}."
        )
    known = {str(label): label for label in np.unique(labels).tolist()}
    known |= {f"{label:g}": label for label in known.values() if isinstance(label, float)}
    weights = {}
    for label, weight in args.class_weight:
        if label not in known:
            raise ValueError(f"class weight for {label!r}, but the classes are {', '.join(known)}.")
        weights[known[label]] = weight
    return weights
