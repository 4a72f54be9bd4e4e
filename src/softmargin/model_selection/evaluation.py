"""All fits of a search: shared where that is possible, watched, limited and kept."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from joblib import effective_n_jobs  # type: ignore[import-untyped]

from softmargin.model_selection import engine
from softmargin.model_selection.accuracies import Accuracies
from softmargin.model_selection.held_out import HeldOut
from softmargin.model_selection.keeping import ResultRecorder, recorder
from softmargin.model_selection.progress import Show, State, live
from softmargin.model_selection.pruning import rounds
from softmargin.model_selection.sharing import Sharing, last_step
from softmargin.model_selection.sklearn_seam import Fit, Result, has_callbacks, scored
from softmargin.model_selection.stand_in import StandIn, row_numbers
from softmargin.problem.convexity import one_blas_thread
from softmargin.solution import StopReason
from softmargin.watching import Watch


class Evaluation:
    """Runs the fits of one search.  `observe` gets the state of the search now and then."""

    def __init__(
        self,
        search: Any,
        fits: list[Fit],
        ordinary: Callable[[Iterable[Fit]], list[Result]],
        observe: Callable[[State, Fit | None, Result | None], None] | None = None,
    ) -> None:
        self.search, self.fits, self.ordinary, self.observe = search, fits, ordinary, observe
        self.remote = self._on_cluster()
        if self.remote is None:
            self.threads = effective_n_jobs(search.n_jobs)
            self.sharing = Sharing(search, fits, self.threads)
        else:
            self.threads = self.remote.threads
            self.sharing = Sharing(search, fits, self.threads, self.remote.available)
        self.found: dict[int, Result] = {}
        self.watch = Watch(len(fits), 1.0, time_limit=search.time_limit)
        self.state = State(len(fits))
        self.recorder: ResultRecorder | None = None
        self.running: list[Any] = []
        self.held_out = HeldOut(1 + max(fit.split for fit in fits))

    def results(self) -> list[Result]:
        """In the order of the fits.  Those that were left out have NaN as scores."""
        search = self.search
        if search.checkpoint is not None:
            self.recorder = recorder(search.checkpoint, search.estimator, self.fits)
            self.found.update(self.recorder.results)
        try:
            with (
                self.watch.interruptible(search.on_interrupt == "keep"),
                live(type(search).__name__, search.verbose == 1) as show,
            ):
                self.show = show
                self._run_rounds()
                self._tell(ended=self.watch.stop is None)
            if self.recorder:
                self.recorder.close(finished=self.watch.stop is None)
        finally:
            if self.remote:
                self.remote.close()
            if self.recorder:
                self.recorder.release()
        return self._completed()

    def _on_cluster(self) -> Any:
        """The tasks of the search on its client's cluster; None without a client."""
        if self.search.client is None:
            return None
        if has_callbacks(self.search) or has_callbacks(self.search.estimator):
            raise ValueError(
                "Callbacks of scikit-learn see the fits of this process, and with client= there are"
                " none. Remove the callbacks, or the client."
            )
        from softmargin.dask.search import SearchTasks

        return SearchTasks(self.search.client, self.search.wait_limit)

    def _run_rounds(self) -> None:
        splits = 1 + max(fit.split for fit in self.fits)
        candidates = 1 + max(fit.candidate for fit in self.fits)
        places = {(fit.candidate, fit.split): k for k, fit in enumerate(self.fits)}
        self.rounds = rounds(self.search, self.fits[0].options["scorer"], candidates, splits)
        for number, result in self.found.items():
            self._note(number, result)
        for cells in self.rounds:
            numbers = [places[cell] for cell in cells if places[cell] not in self.found]
            self._run(numbers)
            if self.watch.expired():
                return

    def _run(self, numbers: list[int]) -> None:
        with one_blas_thread():
            for answers in self._answers(numbers):
                for answer in answers:
                    self._score(answer)
        self.running.clear()
        if not self.watch.expired():
            self._run_ordinarily([k for k in numbers if k not in self.found])

    def _answers(self, numbers: list[int]) -> Iterable[list[engine.Answer]]:
        if self.remote:
            found: Iterable[list[engine.Answer]] = self.remote.answers(
                self.sharing, numbers, self._stopped, self._tell
            )
            return found
        tasks = self._watched(self.sharing.tasks(numbers))
        wishes = self.sharing.wishes
        return engine.run(tasks, self.threads, wishes, self._stopped, self._tell)

    def _watched(self, tasks: Iterable[Any]) -> Iterable[Any]:
        for task in tasks:
            self.running.append(task)
            yield task

    def _stopped(self) -> bool:
        return self.watch.expired() is not None

    def _run_ordinarily(self, numbers: list[int]) -> None:
        """All at once, unless the search is watched, limited or kept."""
        search = self.search
        if self.remote:
            for ended in self.remote.results(self.sharing, numbers, self._stopped, self._tell):
                for number, result in ended:
                    self._keep(number, result)
            return
        watched = search.time_limit is not None or search.checkpoint is not None
        watched = watched or search.on_interrupt == "keep" or self.observe is not None
        size = max(4 * self.threads, 1) if watched else len(numbers)
        for begin in range(0, len(numbers), max(size, 1)):
            if self.watch.expired():
                return
            some = numbers[begin : begin + size]
            results = self.ordinary(self.fits[k] for k in some)
            for number, result in zip(some, results, strict=True):
                self._keep(number, result)

    def _score(self, answer: engine.Answer) -> None:
        if answer.predictions is None:
            return
        fit = self.fits[answer.cell.number]
        self.held_out.add(fit.candidate, fit.split, answer)
        result = self.accuracies.result(answer) if self.accuracies else None
        if result is None:
            stand_in = StandIn(answer.cell.machine, answer.predictions, len(self.rows))
            result = fit.run(stand_in, self.rows)
        result["fit_time"] = answer.seconds
        self._keep(answer.cell.number, result)

    @property
    def rows(self) -> Any:
        if not hasattr(self, "_rows"):
            from sklearn.utils.validation import _num_samples

            self._rows = row_numbers(_num_samples(self.fits[0].X))
        return self._rows

    @property
    def accuracies(self) -> Accuracies | None:
        if not hasattr(self, "_accuracies"):
            first = self.fits[0]
            machine = last_step(self.search.estimator)
            self._accuracies = Accuracies.of(first, machine, first.y)
        return self._accuracies

    def _keep(self, number: int, result: Result) -> None:
        self.found[number] = result
        if self.recorder:
            self.recorder.add(number, result)
        self._note(number, result)
        if self.observe:
            self.observe(self.state, self.fits[number], result)

    def _note(self, number: int, result: Result) -> None:
        """Remembers the score, and whether it makes its candidate the best."""
        fit = self.fits[number]
        scores = self.rounds.scores[fit.candidate]
        scores[fit.split] = scored(result["test_scores"], self.search.refit)
        mean = float(scores.mean())  # NaN until all its splits are done
        if not np.isnan(mean):
            self.held_out.judge(fit.candidate, mean)
        if not np.isnan(mean) and not mean <= self.state.best:
            self.state.best, self.state.best_parameters = mean, fit.parameters

    def _tell(self, ended: bool = False) -> None:
        shares = [task.done * len(task.cells) for task in self.running if task.done < 1]
        self.state.done = self.state.total if ended else len(self.found) + sum(shares)
        self.state.seconds = self.watch.seconds
        self.show(self.state)
        if self.observe:
            self.observe(self.state, None, None)

    show: Show

    def _completed(self) -> list[Result]:
        """All results, with NaN for the fits that were left out."""
        left_out = [k for k in range(len(self.fits)) if k not in self.found]
        complete = ~np.isnan(self.rounds.scores).any(axis=1)
        if self.watch.stop and left_out and not complete.any():
            if self.watch.stop is StopReason.INTERRUPTED:
                raise KeyboardInterrupt
            raise ValueError(
                f"time_limit={self.search.time_limit} ended before any candidate was evaluated"
                " on all folds. Allow more time, or use fewer folds or candidates."
            )
        for k in left_out:
            self.found[k] = _gap(self.fits[k], next(iter(self.found.values())))
        return [self.found[k] for k in range(len(self.fits))]


def _gap(fit: Fit, like: Result) -> Result:
    """The result of a fit that was left out, of the same form as another one."""

    def empty(scores: Any) -> Any:
        return dict.fromkeys(scores, np.nan) if isinstance(scores, dict) else np.nan

    gap: Result = {
        "fit_error": None,
        "n_test_samples": len(fit.options["test"]),
        "fit_time": np.nan,
        "score_time": np.nan,
    }
    for name in ("test_scores", "train_scores"):
        if name in like:
            gap[name] = empty(like[name])
    return gap
