"""A grid of C and gamma by cross-validation, for ``grid`` and ``easy``.

The folds of all points share their kernels and solutions (:mod:`softmargin.model_selection`).
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from softmargin.cli.machine_options import add_tolerance

Exponents = tuple[float, float]
"""log2 of C and of gamma."""


def exponents(word: str) -> list[float]:
    """The exponents from BEGIN to END (included) in steps of STEP."""
    try:
        begin, end, step = (float(part) for part in word.split(","))
    except ValueError:
        raise argparse.ArgumentTypeError(f"{word!r} is not of the form BEGIN,END,STEP") from None
    count = (end - begin) / step if step else -1
    if not 0 <= count < 1000:
        raise argparse.ArgumentTypeError(
            f"{word!r}: STEP must lead from BEGIN to END, in at most 1000 values"
        )
    if max(abs(begin), abs(end)) > 1000:
        raise argparse.ArgumentTypeError(f"{word!r}: powers of two from -1000 to 1000 are possible")
    return [begin + k * step for k in range(int(count + 1e-9) + 1)]


def respell(argv: Sequence[str]) -> list[str]:
    """Joins ``--log2c -5,15,2`` to one word: argparse would take ``-5,15,2`` for an option."""
    spelled: list[str] = []
    for word in argv:
        if spelled and spelled[-1] in ("--log2c", "--log2g", "-log2c", "-log2g"):
            spelled[-1] = f"--{spelled[-1].lstrip('-')}={word}"
        else:
            spelled.append(word)
    return spelled


def add_grid_arguments(parser: argparse.ArgumentParser) -> None:
    """The options that say which points are tried, and how."""
    add = parser.add_argument
    for letter, name, default in (("c", "C", "-5,15,2"), ("g", "gamma", "3,-15,-2")):
        add(
            f"--log2{letter}",
            type=exponents,
            default=default,
            metavar="BEGIN,END,STEP",
            help=f"log2 of the values of {name} (default: {default})",
        )
    add("-v", "--folds", type=int, default=5, help="folds of cross-validation (default: 5)")
    add_tolerance(add)
    add("--threads", type=int, default=os.cpu_count() or 1, help="threads (default: all cores)")


@dataclass(frozen=True)
class Point:
    """A point of the grid: the score of C = 2^log2c and gamma = 2^log2g."""

    log2c: float
    log2g: float
    score: float
    """Accuracy, or for a regression minus the mean squared error: larger is better."""

    @property
    def C(self) -> float:  # noqa: N802 - the name of the parameter
        return float(2.0**self.log2c)

    @property
    def gamma(self) -> float:
        return float(2.0**self.log2g)


def best(points: Iterable[Point]) -> Point | None:
    """The best point; among equals the one with the smallest C, and then the largest gamma."""
    return max(points, key=lambda p: (p.score, -p.log2c, p.log2g), default=None)


def edge_note(point: Point, grid: Sequence[Exponents]) -> str:
    """A sentence if the point is on the edge of the grid, or ""."""
    from softmargin.model_selection.edges import edges

    candidates = [{"log2c": c, "log2g": g} for c, g in grid]
    ways = edges({"log2c": point.log2c, "log2g": point.log2g}, candidates)
    if not ways:
        return ""
    named = {"log2c": "C", "log2g": "gamma"}
    where = " and ".join(f"{way} {named[name]} (--{name})" for name, way in ways.items())
    return f"the best point is on the edge of the grid: try {where} too."


@dataclass
class GridSearch:
    machine: Any
    examples: Any
    grid: Sequence[Exponents]
    folds: int
    seed: int
    threads: int
    on_point: Callable[[Point], None] = lambda point: None
    """Called with each point as it comes."""
    show: Callable[[str, float], None] = lambda text, fraction: None
    """Called now and then with a text and the share that is done."""
    points: list[Point] = field(default_factory=list)

    def run(self) -> list[Point]:
        """All points that are not there yet; those found so far stay in `points` if it is
        interrupted."""
        self.begin = time.perf_counter()
        known = {(point.log2c, point.log2g) for point in self.points}
        self.before = len(known)
        self.open = [place for place in self.grid if place not in known]
        self._run_shared()
        done = {(point.log2c, point.log2g) for point in self.points}
        for place in self.open:
            if place not in done:
                self._run_alone(place)
        return self.points

    def _at(self, place: Exponents) -> Any:
        parameters = {**self.machine.get_params(deep=False)}
        parameters |= {"C": 2.0 ** place[0], "gamma": 2.0 ** place[1]}
        return type(self.machine)(**parameters)

    def _run_shared(self) -> None:
        from softmargin.cli.cross_validation import splits
        from softmargin.fitting.memory import cache_bytes
        from softmargin.model_selection import engine
        from softmargin.model_selection.folds import Data
        from softmargin.model_selection.whole_kernels import WholeKernels

        X, y = self.examples.X, self.examples.y
        needed = 8 * len(y) ** 2 * (3 + self.threads)
        if not self.open or needed > cache_bytes(self.machine.cache_size, needed):
            return
        numeric = type(self.machine).__name__ == "SVR"
        X, y = self.machine._validate_examples(X, y, numeric_target=numeric)
        data = Data.of(self.machine, X, y, None)
        cut = splits(self.machine, y, min(self.folds, len(y)), self.seed)
        folds = {k: data.fold(k, *split) for k, split in enumerate(cut)}
        places = [(place, k) for place in self.open for k in folds]
        cells = [(number, k, self._at(place)) for number, (place, k) in enumerate(places)]
        tasks = engine.make_tasks(WholeKernels(data.X, self.threads), folds, cells)
        self.losses: dict[Exponents, list[float]] = {place: [] for place in self.open}

        def waiting() -> None:
            shares = sum(task.done * len(task.cells) for task in tasks)
            self._show_progress(shares / len(folds))

        for answers in engine.run(tasks, self.threads, engine.Wishes(), waiting=waiting):
            for answer in answers:
                self._count(places[answer.cell.number][0], answer, len(folds))

    def _count(self, place: Exponents, answer: Any, folds: int) -> None:
        """Adds up the errors of a fold; the last fold completes the point."""
        found, y = answer.predictions, self.examples.y
        if found is None:
            return
        if found.classes is not None:
            loss = float((found.classes[found.winners] != y[found.rows]).sum())
        else:
            loss = float(((found.values - y[found.rows]) ** 2).sum())
        self.losses[place].append(loss)
        if len(self.losses[place]) == folds:
            mean = sum(self.losses[place]) / len(y)
            self._found(Point(*place, 1 - mean if found.classes is not None else -mean))

    def _run_alone(self, place: Exponents) -> None:
        """A point whose fits could not be shared."""
        from softmargin.cli.cross_validation import cross_predict, scores

        machine = self._at(place)
        predicted = cross_predict(machine, self.examples, self.folds, self.seed, lambda *_: None)
        result = scores(machine, self.examples.y, predicted)
        score = result["accuracy"] if "accuracy" in result else -result["mean_squared_error"]
        self._found(Point(*place, score))
        self._show_progress(len(self.points) - self.before)

    def _found(self, point: Point) -> None:
        self.points.append(point)
        self.on_point(point)

    def _show_progress(self, done: float) -> None:
        total = len(self.open)
        fraction = done / total if total else 1.0
        taken = time.perf_counter() - self.begin
        left = f", {taken * (1 / fraction - 1):.0f} s left" if fraction > 0.02 else ""
        leader = best(self.points)
        found = f", best {score_text(leader.score)}" if leader else ""
        self.show(f"{self.before + int(done)} of {len(self.grid)} points{found}{left}", fraction)


def score_text(score: float) -> str:
    return f"{100 * score:.4g}%" if score >= 0 else f"MSE {-score:.4g}"


def make_machine(tolerance: float, epsilon: float | None = None) -> Any:
    """The machine whose C and gamma are searched: for classes, or with an epsilon for numbers."""
    from softmargin import SVC, SVR

    return SVC(tol=tolerance) if epsilon is None else SVR(tol=tolerance, epsilon=epsilon)
