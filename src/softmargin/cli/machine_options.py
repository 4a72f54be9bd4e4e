"""The options that define the machine to train: LIBSVM's short options, each also in long form."""

from __future__ import annotations

import argparse
import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from softmargin.cli.parser import DID_YOU_MEAN, closest
from softmargin.problem.kernel_names import FROM_LIBSVM
from softmargin.working_sets import BY_EXAMPLE, BY_NAME

FORMULATIONS = {
    "c-svc": "SVC",
    "nu-svc": "NuSVC",
    "one-class": "OneClassSVM",
    "epsilon-svr": "SVR",
    "nu-svr": "NuSVR",
}
PYTHON_NAMES = {kind.lower(): name for name, kind in FORMULATIONS.items()}
WORKING_SETS = tuple(dict.fromkeys(("auto", *BY_NAME, *BY_EXAMPLE)))
MULTI_CLASS = {
    "one-vs-one": "ovo",
    "one-vs-rest": "ovr",
    "weston-watkins": "weston_watkins",
    "crammer-singer": "crammer_singer",
}
LINEAR: dict[str, dict[str, Any]] = {
    "weston-watkins": {"multi_class": "weston_watkins"},
    "crammer-singer": {"multi_class": "crammer_singer"},
    "one-vs-rest": {"loss": "hinge"},
    "squared-hinge": {},
    "l1": {"penalty": "l1"},
    "svr": {},
    "squared-svr": {"loss": "squared_epsilon_insensitive"},
}
LIBLINEAR: dict[str, tuple[str, dict[str, Any]]] = {
    "1": ("squared-hinge", {"dual": True}),
    "2": ("squared-hinge", {"dual": False}),
    "3": ("one-vs-rest", {}),
    "4": ("crammer-singer", {}),
    "5": ("l1", {}),
    "11": ("squared-svr", {"dual": False}),
    "12": ("squared-svr", {"dual": True}),
    "13": ("svr", {}),
}
"""The types of LIBLINEAR's ``train -s``."""
LINEAR_REGRESSIONS = ("svr", "squared-svr")
KERNEL_DEFAULTS = {
    **{"formulation": None, "kernel": "rbf", "degree": 3, "gamma": "auto", "coef0": 0.0},
    **{"nu": 0.5, "epsilon": 0.1, "cache_size": None, "working_set": "auto"},
    **{"multi_class": "one-vs-one"},
}


def numbered(names: Sequence[str], also: Mapping[str, str] | None = None) -> Any:
    """A converter that accepts a name, another spelling of it, or its number, as in LIBSVM."""
    spellings = {**{name: name for name in names}, **(also or {})}

    def convert(word: str) -> str:
        if word.lower() in spellings:
            return spellings[word.lower()]
        if word.isdigit() and int(word) < len(names):
            return names[int(word)]
        choices = ", ".join(f"{name} ({k})" for k, name in enumerate(names))
        tip = closest(word, spellings)
        meant = f"{DID_YOU_MEAN}{tip}?" if tip else ""
        raise argparse.ArgumentTypeError(f"{word!r} is not one of {choices}{meant}")

    return convert


def linear(word: str) -> str:
    """A name or, as in LIBLINEAR, a number."""
    if word in LINEAR or word in LIBLINEAR:
        return word
    choices = ", ".join([*LINEAR, *LIBLINEAR])
    tip = closest(word, LINEAR)
    meant = f"{DID_YOU_MEAN}{tip}?" if tip else ""
    raise argparse.ArgumentTypeError(f"{word!r} is not one of {choices}{meant}")


def linear_name(word: str) -> str:
    return LIBLINEAR[word][0] if word in LIBLINEAR else word


def gamma(word: str) -> float | str:
    if word in ("scale", "auto"):
        return word
    try:
        return float(word)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{word!r} is not a number, scale or auto") from None


def gap_tolerance(word: str) -> float:
    """Infinite for "none"."""
    try:
        value = math.inf if word == "none" else float(word)
    except ValueError:
        value = math.nan
    if not value > 0:
        raise argparse.ArgumentTypeError(f"{word!r} is neither a number above 0 nor none")
    return value


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
        raise argparse.ArgumentTypeError(
            f"{word!r} is not a number of threads: use 1 or more, or -1 for all processors"
        )
    return int(word)


def seed(word: str) -> int:
    if not word.isdecimal() or int(word) >= 2**32:
        raise argparse.ArgumentTypeError(f"{word!r} is not a whole number from 0 to 2^32 - 1")
    return int(word)


def respell(argv: Sequence[str]) -> list[str]:
    """Rewrites two options of LIBSVM for argparse: ``-w1 5`` (label 1, weight 5) becomes
    ``--class-weight 1=5``, and ``-h 0`` becomes ``--shrinking 0`` (-h alone is help)."""
    spelled, k = [], 0
    while k < len(argv):
        match = re.fullmatch(r"-w(-?\d+)", argv[k])
        if match and k + 1 < len(argv):
            spelled.append(f"--class-weight={match.group(1)}={argv[k + 1]}")
            k += 1
        elif argv[k] == "-h" and argv[k + 1 : k + 2] in (["0"], ["1"]):
            spelled.append(f"--shrinking={argv[k + 1]}")
            k += 1
        else:
            spelled.append(argv[k])
        k += 1
    return spelled


def add_machine_arguments(parser: argparse.ArgumentParser) -> None:
    _add_problem(parser.add_argument_group("the machine").add_argument)
    _add_solver(parser.add_argument_group("the solver").add_argument)
    _add_linear(parser.add_argument_group("linear machines").add_argument)


def _add_problem(add: Callable[..., Any]) -> None:
    add(
        "-s",
        "--formulation",
        type=numbered(list(FORMULATIONS), PYTHON_NAMES),
        metavar="NAME",
        help="c-svc (0), nu-svc (1), one-class (2), epsilon-svr (3) or nu-svr (4) (default: c-svc)",
    )
    add(
        "-t",
        "--kernel",
        type=numbered(list(FROM_LIBSVM), {"poly": "polynomial"}),
        default="rbf",
        metavar="NAME",
        help="linear (0), polynomial (1), rbf (2), sigmoid (3) or precomputed (4) (default: rbf)",
    )
    add("-d", "--degree", type=int, default=3, help="degree of the polynomial kernel (default: 3)")
    add(
        "-g",
        "--gamma",
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
        "--multi-class",
        choices=tuple(MULTI_CLASS),
        default="one-vs-one",
        metavar="NAME",
        help="how c-svc treats more than two classes: one-vs-one, one-vs-rest, or all of them in"
        " one problem, weston-watkins or crammer-singer; only one-vs-one fits into LIBSVM's format"
        " (default: one-vs-one)",
    )
    add(
        "--class-weight",
        type=class_weight,
        action="append",
        default=[],
        metavar="LABEL=WEIGHT",
        help="multiply C (for nu-svc: the weight of each example) by WEIGHT for class LABEL; also"
        " -wLABEL WEIGHT, as in -w1 5",
    )
    add(
        "-b",
        "--probability",
        choices=("0", "1"),
        default="0",
        help="1: also compute what predict -b 1 needs: probabilities of the classes, or the scale"
        " of a regression's errors; LIBSVM's format gets LIBSVM's probabilities, softmargin's"
        " format those that agree with the prediction (default: 0)",
    )


def add_tolerance(add: Callable[..., Any]) -> None:
    add(
        "-e",
        "--tolerance",
        type=float,
        default=1e-3,
        help="stop when the KKT violation is at most this (default: 0.001)",
    )


def _add_solver(add: Callable[..., Any]) -> None:
    add(
        "-m",
        "--cache-size",
        type=float,
        default=None,
        metavar="MB",
        help="memory for kernel rows (default: up to a quarter of the free memory)",
    )
    add_tolerance(add)
    add(
        "--gap-tol",
        type=gap_tolerance,
        metavar="G",
        help="the relative duality gap that a fit must also reach; with none, only -e counts"
        " (default: 0.001; none for a linear machine, whose -e already limits the gap)",
    )
    add(
        "--shrinking",
        type=switch,
        default=True,
        metavar="0|1",
        help="leave out variables that are probably at their final bound; also -h 0 or -h 1, as in"
        " svm-train (default: 1)",
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
        help="type of the kernel values (default: auto)",
    )
    add(
        "--threads",
        type=threads,
        metavar="N",
        help="number of threads, -1 for one per processor (default: -1, or the value of"
        " OMP_NUM_THREADS; 1 for a linear machine)",
    )
    add("--max-iter", type=int, default=-1, metavar="N", help="limit on the solver's iterations")


def _add_linear(add: Callable[..., Any]) -> None:
    add(
        "--linear",
        type=linear,
        metavar="NAME",
        help="a linear machine instead of a kernel machine: weston-watkins, crammer-singer,"
        " one-vs-rest (hinge loss), squared-hinge (one-vs-rest), l1 (the same with an L1 penalty),"
        " svr or squared-svr; or the number that LIBLINEAR's train -s has for it (1 to 5, 11 to"
        " 13); of the options above, these apply: -c, -p (svr), -e (the relative duality gap),"
        " --gap-tol, --shrinking, --precision (of the weights), --threads, --max-iter (passes) and"
        " class weights",
    )
    add("--no-intercept", action="store_true", help="a linear machine without an intercept")


def make_machine(args: argparse.Namespace, labels: Any) -> Any:
    """The estimator that the options describe; `labels` are those of the training data."""
    import softmargin

    if args.linear:
        return _linear_machine(args, labels)
    if args.no_intercept:
        raise ValueError("--no-intercept is for linear machines (--linear).")
    kind = FORMULATIONS[args.formulation or "c-svc"]
    params: dict[str, Any] = {
        "kernel": FROM_LIBSVM[args.kernel],
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
    params |= _given_gap_tol(args)
    if kind in ("SVC", "SVR", "NuSVR"):
        params["C"] = args.cost
    if kind in ("NuSVC", "OneClassSVM", "NuSVR"):
        params["nu"] = args.nu
    if kind == "SVR":
        params["epsilon"] = args.epsilon
    if args.multi_class != "one-vs-one":
        option = f"--multi-class {args.multi_class}"
        if kind != "SVC":
            raise ValueError(f"{option} is for c-svc; the formulation is {args.formulation}.")
        params["multi_class"] = MULTI_CLASS[args.multi_class]
    if args.class_weight:
        params["class_weight"] = _weights_by_label(args, kind, labels)
    if args.probability == "1":
        params["probability"] = True
    return getattr(softmargin, kind)(**params)


def _linear_machine(args: argparse.Namespace, labels: Any) -> Any:
    import softmargin

    name = linear_name(args.linear)
    regression = name in LINEAR_REGRESSIONS
    for name_of_option, default in KERNEL_DEFAULTS.items():
        if regression and name_of_option == "epsilon":
            continue
        if getattr(args, name_of_option) != default:
            option = name_of_option.replace("_", "-")
            raise ValueError(f"--{option} is for kernel machines; {args.linear} has none.")
    if args.threads not in (None, 1) and "multi_class" in LINEAR[name]:
        raise ValueError(
            f"--threads {args.threads} is for --linear one-vs-rest, whose classes are separate"
            f" problems; the descent of {name} is sequential."
        )
    if args.probability == "1" and regression:
        raise ValueError(f"-b 1 is for classifiers and kernel machines; {args.linear} is neither.")
    kind = "LinearSVR" if regression else "LinearSVC"
    special: dict[str, Any] = {**LINEAR[name], **LIBLINEAR.get(args.linear, ("", {}))[1]}
    special |= _given_gap_tol(args)
    if regression:
        special["epsilon"] = args.epsilon
    if args.class_weight:
        special["class_weight"] = _weights_by_label(args, kind, labels)
    if args.probability == "1":
        special["probability"] = True
    if args.max_iter >= 0:
        special["max_iter"] = args.max_iter
    return getattr(softmargin, kind)(
        C=args.cost,
        tol=args.tolerance,
        shrinking=args.shrinking,
        precision=args.precision,
        fit_intercept=not args.no_intercept,
        random_state=args.seed,
        n_jobs=args.threads,
        **special,
    )


def _given_gap_tol(args: argparse.Namespace) -> dict[str, Any]:
    if args.gap_tol is None:
        return {}
    return {"gap_tol": None if args.gap_tol == math.inf else args.gap_tol}


def _weights_by_label(args: argparse.Namespace, kind: str, labels: Any) -> dict[Any, float]:
    import numpy as np

    if kind not in ("SVC", "NuSVC", "LinearSVC"):
        raise ValueError(
            "class weights are for c-svc, nu-svc and linear classifiers;"
            f" the formulation is {args.formulation or args.linear}."
        )
    known = {str(label): label for label in np.unique(labels).tolist()}
    known |= {f"{label:g}": label for label in known.values() if isinstance(label, float)}
    weights = {}
    for label, weight in args.class_weight:
        if label not in known:
            raise ValueError(f"class weight for {label!r}, but the classes are {', '.join(known)}.")
        weights[known[label]] = weight
    return weights
