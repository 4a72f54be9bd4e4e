"""Solve three problems on data that scikit-learn ships, and show how optimal the answers are.

A C-SVC for ten classes, an epsilon-SVR and a one-class machine are trained on three quarters of
their data. For each, the command prints the problem, its certificate, the work done, and the
score on the other quarter.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import softmargin

if TYPE_CHECKING:
    from softmargin.estimator.kernel_machine import KernelMachine


class Task(NamedTuple):
    question: str
    formulation: str
    parameters: str
    machine: KernelMachine
    training: tuple[Any, Any]
    held_out: tuple[Any, Any]
    judge: Callable[[Any, Any], str]
    """Compares the true and the predicted targets and returns a sentence."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--tol",
        type=float,
        default=1e-3,
        help="stop when the KKT violation is at most this (default: %(default)g);"
        " a smaller one closes the gap between primal and dual",
    )


def run(args: argparse.Namespace) -> int:
    print(f"softmargin {softmargin.__version__}: every answer comes with its certificate")
    for task in _tasks(args.tol):
        task.machine.fit(*task.training)
        print("", *_report(task), sep="\n", flush=True)
    return 0


def _tasks(tol: float) -> Iterator[Task]:
    yield _digits(tol)
    yield _diabetes(tol)
    yield _tumours(tol)


def _digits(tol: float) -> Task:
    from sklearn.datasets import load_digits

    X, y = load_digits(return_X_y=True)
    training, held_out = _split(X / 16, y)
    return Task(
        question="Handwritten digits: which of the ten is it?",
        formulation="C-SVC, one-vs-one",
        parameters="C 10",
        machine=softmargin.SVC(C=10, tol=tol),
        training=training,
        held_out=held_out,
        judge=_accuracy,
    )


def _diabetes(tol: float) -> Task:
    from sklearn.datasets import load_diabetes
    from sklearn.metrics import r2_score

    training, held_out = _split(*load_diabetes(return_X_y=True))
    return Task(
        question="Diabetes: how far has it come after a year?",
        formulation="epsilon-SVR",
        parameters="C 100, epsilon 10",
        machine=softmargin.SVR(C=100, epsilon=10, gamma=1.0, tol=tol),
        training=training,
        held_out=held_out,
        judge=lambda y, predicted: f"R^2 {r2_score(y, predicted):.3f} on {len(y)} rows",
    )


def _tumours(tol: float) -> Task:
    """Trained only on benign tumours, which are labelled +1; malignant ones are labelled -1."""
    import numpy as np
    from sklearn.datasets import load_breast_cancer
    from sklearn.preprocessing import StandardScaler

    X, benign = load_breast_cancer(return_X_y=True)
    training, (unseen, ones) = _split(X[benign == 1], benign[benign == 1])
    malignant = X[benign == 0]
    scaler = StandardScaler().fit(training[0])
    return Task(
        question="Tumours: which are unlike the benign ones?",
        formulation="one-class",
        parameters="nu 0.05",
        machine=softmargin.OneClassSVM(nu=0.05, gamma=0.01, tol=tol),
        training=(scaler.transform(training[0]), None),
        held_out=(
            scaler.transform(np.concatenate([unseen, malignant])),
            np.concatenate([ones, np.full(len(malignant), -1)]),
        ),
        judge=_accuracy,
    )


def _split(X: Any, y: Any) -> tuple[tuple[Any, Any], tuple[Any, Any]]:
    from sklearn.model_selection import train_test_split

    X_training, X_held_out, y_training, y_held_out = train_test_split(X, y, random_state=0)
    return (X_training, y_training), (X_held_out, y_held_out)


def _accuracy(y: Any, predicted: Any) -> str:
    return f"{(y == predicted).mean():.1%} right of {len(y)} rows"


def _report(task: Task) -> list[str]:
    machine, solution = task.machine, task.machine.solution_
    rows, features = task.training[0].shape
    pairs = f" ({len(solution.problems)} pairs of classes)" if solution.problems else ""
    X, y = task.held_out
    lines = {
        "problem": f"{task.formulation}{pairs}, {rows} x {features}",
        "": f"{machine.kernel} kernel, gamma {machine._gamma:.3g}, {task.parameters}",
        "primal": f"{solution.primal_objective:<18.10g}the optimum is not above",
        "dual": f"{solution.dual_objective:<18.10g}nor below",
        "gap": f"{solution.duality_gap:<18.3g}{solution.relative_gap:.2g} of the objective",
        "violation": f"{solution.kkt_violation:<18.3g}largest KKT violation (tol {machine.tol:g})",
        "stopped": f"{solution.stop_reason.cause} {solution.stop_reason.remedy}".rstrip(),
        "work": f"{solution.iterations} iterations, {solution.kernel_rows} kernel rows computed,"
        f" {solution.cache_hits} from cache",
        "time": f"{solution.seconds:.3f} s",
        "held-out": task.judge(y, machine.predict(X)),
    }
    return [task.question, *(f"  {name:<11}{text}" for name, text in lines.items())]
