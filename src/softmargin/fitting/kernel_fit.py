"""The fit of a kernel machine: large problems are solved separately, small ones in groups."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softmargin.checkpoint import Recorder
from softmargin.fitting.held_out import Folds, solve_folds
from softmargin.fitting.kernel_solver import Settings, train
from softmargin.fitting.planning import Plan
from softmargin.fitting.problems import Problems, Stated
from softmargin.fitting.slices import Point
from softmargin.fitting.small_problems import train_together
from softmargin.fitting.warm_start import Kept, KeptGroup, KeptProblems
from softmargin.problem.formulations import Array
from softmargin.problem.kernels import Kernel, Sources
from softmargin.solution import Certificates, Solution


@dataclass(frozen=True)
class Answers:
    """The answers of some problems of a fit, in the same arrays."""

    numbers: range
    coef: Any
    """As in `Model`."""
    intercept: Array
    certificates: Certificates
    beta: Sequence[Array]
    held_out: Array | None = None
    """For each variable, the decision value of its example in the fold that holds it out; None if
    the folds were not solved."""

    @property
    def final(self) -> bool:
        return all(reason.final for reason in set(self.certificates.columns["stop_reason"]))

    def kept(self, problems: Problems) -> KeptGroup:
        stated = problems.state(self.numbers)
        return KeptGroup.of(stated.ids, stated.starts, self.beta, stated.formulation.dual())


@dataclass(frozen=True)
class FitResult:
    """What solving all problems of a kernel machine gives."""

    kernel: Kernel
    problems: Problems
    answers: list[Answers]

    @cached_property
    def certificates(self) -> Certificates:
        return Certificates.concatenate([answer.certificates for answer in self.answers])

    @property
    def iterations(self) -> NDArray[np.int64]:
        """The number of iterations of each problem."""
        iterations: NDArray[np.int64] = self.certificates.columns["iterations"]
        return iterations

    @property
    def intercept(self) -> Array:
        """The intercept of each problem."""
        return np.concatenate([answer.intercept for answer in self.answers])

    @property
    def held_out(self) -> Array | None:
        """`Answers.held_out` of all problems, one problem after another; None if the folds of any
        problem were not solved."""
        found = [answer.held_out for answer in self.answers]
        return None if any(own is None for own in found) else np.concatenate(found)  # type: ignore[arg-type]

    @property
    def final(self) -> bool:
        """Whether the solver itself ended every problem."""
        return all(answer.final for answer in self.answers)

    def kept(self) -> KeptProblems:
        """What a warm start needs."""
        names = [self.problems.name(k) for k in range(len(self.problems.sizes))]
        return KeptProblems(names, [answer.kept(self.problems) for answer in self.answers])


@dataclass(frozen=True)
class KernelFit:
    problems: Problems
    sources: Sources
    plan: Callable[[int], Plan]
    """How to solve a problem with this many examples."""
    settings: Settings
    recorder: Recorder | None
    kept: Mapping[Any, Kept]
    """The solutions of the last fit to continue from, by problem name."""
    folds: Folds | None = None
    """The folds of probability, which are solved after each problem."""

    def solve(self, numbers: range) -> Answers:
        """Solves these problems: several small ones, or a single one."""
        begin = time.perf_counter()
        answers = self._solve(numbers)
        in_solvers = float(answers.certificates.columns["seconds"].sum())
        self.settings.watch.spent(max(time.perf_counter() - begin - in_solvers, 0.0))
        return answers

    def _solve(self, numbers: range) -> Answers:
        stated = self.problems.state(numbers)
        if len(numbers) == 1:
            return self._alone(numbers, stated)
        plan = self.plan(int(np.diff(stated.starts).max()))
        start = self._starts(numbers, stated)
        answer = train_together(
            stated, self.sources, plan, self.settings, numbers.start, start, self.folds
        )
        self._check_faults(answer.certificates, answer.models.faults, numbers)
        models = answer.models
        return Answers(
            numbers,
            models.coef,
            models.intercept,
            answer.certificates,
            answer.beta,
            answer.held_out,
        )

    def _alone(self, numbers: range, stated: Stated) -> Answers:
        number, recorder = numbers.start, self.recorder
        held_out: Array | None = None

        def solve_its_folds(solver: Any) -> None:
            nonlocal held_out
            assert self.folds
            of_folds, watch = self.folds.state(numbers), self.settings.watch
            held_out = solve_folds(solver, of_folds, self.folds, watch, number)

        if recorder and number in recorder.answers:
            answer = recorder.answers[number]
            self.settings.watch.done(number, answer[1], active=len(stated.ids))
        else:
            answer = train(
                stated.formulation,
                lambda arithmetic: self.sources(arithmetic, stated.ids),
                self.plan(len(stated.ids)),
                self.settings,
                number,
                self._start(number, stated),
                solve_its_folds if self.folds else None,
            )
            model, solution, _ = answer
            self._check_faults([solution], {0: model.fault}, numbers)
            if recorder:
                recorder.done(number, answer)
        model, solution, point = answer
        certificates = Certificates.of([solution])
        intercept = np.array([model.intercept])
        return Answers(numbers, model.coef, intercept, certificates, point.beta, held_out)

    def _start(self, number: int, stated: Stated) -> Point | None:
        """The point to continue from, of a checkpoint or of the last fit, if there is one."""
        arithmetics = self.plan(len(stated.ids)).arithmetics
        if self.recorder and number in self.recorder.points:
            point = self.recorder.points[number]
            known = point.precision in arithmetics
            return point if known else replace(point, precision=arithmetics[0])
        name = self.problems.name(number) if self.kept else None
        if not self.kept or name not in self.kept:
            return None
        beta = self.kept[name].start(stated.ids, stated.formulation.dual())
        return Point(beta, arithmetics[0])

    def _starts(self, numbers: range, stated: Stated) -> list[Array]:
        """The start values of the problems, by part."""
        beta = [part.start.copy() for part in stated.formulation.dual().parts]
        for k in range(len(numbers)) if self.kept else ():
            one = slice(stated.starts[k], stated.starts[k + 1])
            number = numbers[k]
            start = self._start(number, self.problems.state(range(number, number + 1)))
            for values, given in zip(beta, start.beta if start else [], strict=False):
                values[one] = given
        return beta

    def _check_faults(
        self, solutions: Sequence[Solution], faults: Mapping[int, str | None], numbers: range
    ) -> None:
        """Raises ValueError if a problem was solved but its optimum is of no use (see
        `Model.fault`)."""
        tol = self.settings.tolerances.tol
        for k, fault in faults.items():
            if fault and solutions[k].kkt_violation <= tol:
                name = self.problems.name(numbers[k])
                raise ValueError(fault if name is None else f"Classes {name}: {fault}")
