"""Which fits of a search can share their work, and the tasks that do it."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

import joblib  # type: ignore[import-untyped]
import numpy as np
import scipy.sparse as sp
import sklearn
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from softmargin.estimator.base import parameter_names
from softmargin.estimator.kernel_machine import KernelMachine
from softmargin.estimator.linear_machine import LinearMachine
from softmargin.fitting.memory import LITTLE, cache_bytes
from softmargin.model_selection import engine
from softmargin.model_selection.folds import Data, Fold
from softmargin.model_selection.sklearn_seam import Fit, has_callbacks, response_methods
from softmargin.model_selection.warm_paths import WarmTask
from softmargin.model_selection.whole_kernels import WholeKernels

OWN_WAY = {"callbacks": None, "checkpoint": None, "time_limit": None, "warm_start": False}
"""A machine with other values of these wants each of its fits to be its own."""

OWN_WAY_OF_KERNELS = {**OWN_WAY, "max_iter": -1, "working_set": "auto"}
Examples = tuple[Data, dict[int, Fold]]
"""Examples, and folds of them by number."""


class Sharing:
    """The fits of a search that can share their work: those of a machine of ours, alone or at the
    end of a pipeline, with scores that depend on its predictions alone."""

    def __init__(
        self, search: Any, fits: list[Fit], threads: int, available: int | None = None
    ) -> None:
        """`available`: bytes of memory where the tasks run, if that is not this process."""
        self.estimator, self.fits, self.threads = search.estimator, fits, threads
        self.available = available
        self.first = fits[0]
        scorer = self.first.options["scorer"]
        machine = last_step(self.estimator)
        methods = response_methods(scorer, machine) if _is_ours(machine) else None
        self.possible = (
            methods is not None
            and methods <= {"predict", "decision_function"}
            and not has_callbacks(search)
            and not has_callbacks(self.estimator)
            and not set(self.first.options["fit_params"] or ()) - {self._weight_name}
        )
        self.wishes = engine.Wishes(
            values="decision_function" in (methods or ()),
            train=bool(self.first.options["return_train_score"]),
            held_out=bool(search.refit) and bool(getattr(machine, "probability", False)),
        )
        self._candidates: dict[int, Any] = {}

    def __getstate__(self) -> dict[str, Any]:
        """For tasks in another process, which compute there what is not a parameter or an example;
        the search itself, which may have a client, stays here."""
        names = ("estimator", "threads", "available", "possible", "wishes")
        state = {name: self.__dict__[name] for name in names}
        fits = [fit.without_search() for fit in self.fits]
        return {**state, "fits": fits, "first": fits[0], "_candidates": {}}

    @property
    def _weight_name(self) -> str | None:
        if not isinstance(self.estimator, Pipeline):
            return "sample_weight"
        if sklearn.get_config()["enable_metadata_routing"]:
            return None
        return f"{self.estimator.steps[-1][0]}__sample_weight"

    @cached_property
    def weight(self) -> Any:
        given = (self.first.options["fit_params"] or {}).get(self._weight_name)
        return None if given is None else np.asarray(given, dtype=np.float64)

    @cached_property
    def splits(self) -> dict[int, tuple[Any, Any]]:
        return {f.split: (f.options["train"], f.options["test"]) for f in self.fits}

    def candidate(self, number: int) -> Any:
        """The estimator of a fit with its parameters, not fitted; None if it cannot be shared."""
        fit = self.fits[number]
        if fit.candidate not in self._candidates:
            try:
                found = _with(self.estimator, fit.parameters)
            except Exception:  # the ordinary way says what is wrong
                found = None
            self._candidates[fit.candidate] = found
        return self._candidates[fit.candidate]

    def tasks(self, numbers: Sequence[int]) -> Iterator[Any]:
        """The tasks of these fits, without those that cannot be shared.  One at a time, because
        each may need data of its own."""
        if not self.possible:
            return
        own = [k for k in numbers if self.candidate(k) is not None]
        if not isinstance(self.estimator, Pipeline):
            yield from self._tasks(self._whole, own)
            return
        groups: dict[Any, list[int]] = {}
        for k in own:
            groups.setdefault((self._transformers(k), self.fits[k].split), []).append(k)
        for (_, split), members in groups.items():
            try:
                data, fold = self._transformed(self.candidate(members[0]), split)
            except Exception:  # the ordinary way says what is wrong
                continue
            yield from self._tasks((data, {split: fold}), members)

    def units(self, numbers: Sequence[int]) -> list[dict[int, list[int]]]:
        """The same fits by kernel, and for each kernel by split.  Fits of one kernel and one split
        stay together, so units on different machines give the bits of all tasks on one."""
        own = [k for k in numbers if self.candidate(k) is not None] if self.possible else []
        units: dict[Any, dict[int, list[int]]] = {}
        for k, key in zip(own, self._kernel_keys(own), strict=True):
            if key is not None:
                units.setdefault(key, {}).setdefault(self.fits[k].split, []).append(k)
        return list(units.values())

    def _kernel_keys(self, numbers: list[int]) -> list[Any]:
        """What tells the kernel of each fit from those of others; None if it cannot be shared."""
        machines = [last_step(self.candidate(k)) for k in numbers]
        if isinstance(self.estimator, Pipeline):
            # gamma="scale" depends on transformed examples and might equal another gamma.
            gammas = {m.gamma for m in machines if hasattr(m, "gamma")}
            apart = len(gammas) <= 1 or not any(isinstance(gamma, str) for gamma in gammas)
            kernels = [_stated_kernel(m) if apart else None for m in machines]
            return list(zip(map(self._transformers, numbers), kernels, strict=True))
        if self._whole is None:
            return [None] * len(numbers)
        folds = self._whole[1]
        keys: list[Any] = []
        for k, machine in zip(numbers, machines, strict=True):
            if isinstance(machine, LinearMachine):
                keys.append(type(machine))
                continue
            kernel = folds[self.fits[k].split].kernel(machine)
            keys.append(None if kernel.positive_semidefinite is False else (type(machine), kernel))
        return keys

    def _tasks(self, data: Examples | None, numbers: list[int]) -> Iterator[Any]:
        if data is None or not numbers:
            return
        examples, folds = data
        cells = [(k, self.fits[k].split, last_step(self.candidate(k))) for k in numbers]
        kernels = [cell for cell in cells if _solves_pairs(cell[2])]
        if kernels and self._fits_into_memory(kernels[0][2], examples.X.shape[0]):
            yield from engine.make_tasks(self._kernels(examples), folds, kernels)
            cells = [cell for cell in cells if not _solves_pairs(cell[2])]
        yield from self._warm_tasks(folds, cells)

    def _warm_tasks(self, folds: dict[int, Fold], cells: list[Any]) -> Iterator[WarmTask]:
        tasks: dict[Any, WarmTask] = {}
        for number, split, machine in cells:
            kernel = None if isinstance(machine, LinearMachine) else folds[split].kernel(machine)
            if kernel is not None and kernel.positive_semidefinite is False:
                continue
            key = type(machine), kernel, split
            task = tasks.setdefault(key, WarmTask(folds[split], self.threads))
            task.cells.append(engine.Cell(number, machine))
        yield from tasks.values()

    def _kernels(self, data: Data) -> WholeKernels:
        """Those of the whole X are kept: a later round needs the same products."""
        if isinstance(self.estimator, Pipeline):
            return WholeKernels(data.X, self.threads)
        return self._whole_kernels

    @cached_property
    def _whole_kernels(self) -> WholeKernels:
        assert self._whole is not None
        return WholeKernels(self._whole[0].X, self.threads)

    @cached_property
    def _whole(self) -> Examples | None:
        """All examples with all folds; None if they are not valid."""
        machine = last_step(self.estimator)
        if getattr(machine, "kernel", None) == "precomputed" and not hasattr(self.first.X, "shape"):
            return None  # scikit-learn does not split a list into rows and columns
        try:
            X, y = _validated(machine, self.first.X, self.first.y)
            data = Data.of(machine, X, y, self.weight)
            return data, {k: data.fold(k, *split) for k, split in self.splits.items()}
        except Exception:  # the ordinary way says what is wrong
            return None

    def _transformers(self, number: int) -> Any:
        """What tells the transformers of a candidate from those of others."""
        last = self.estimator.steps[-1][0]
        return joblib.hash(
            {
                name: value
                for name, value in self.fits[number].parameters.items()
                if name != last and not name.startswith(f"{last}__")
            }
        )

    def _transformed(self, pipeline: Any, split: int) -> tuple[Data, Fold]:
        """The examples of one fold, as the machine at the end of the pipeline sees them."""
        train, test = (np.asarray(rows) for rows in self.splits[split])
        X, y = self.first.X, self.first.y
        transformers = clone(pipeline[:-1]) if len(pipeline.steps) > 1 else None
        seen, unseen = _rows(X, train), _rows(X, test)
        if transformers is not None:
            seen = transformers.fit_transform(seen, None if y is None else _rows(y, train))
            unseen = transformers.transform(unseen)
        stack = sp.vstack if sp.issparse(seen) else np.vstack
        numbers = np.concatenate([train, test])
        both = stack([seen, unseen])
        targets = None if y is None else np.asarray(y)[numbers]
        machine = pipeline.steps[-1][1]
        examples, targets = _validated(machine, both, targets)
        weight = None if self.weight is None else self.weight[numbers]
        data = Data(examples, targets, weight, numbers)
        places = np.arange(len(numbers))
        return data, Fold(split, places[: len(train)], places[len(train) :], data)

    def _fits_into_memory(self, machine: Any, count: int) -> bool:
        """Products, two kernel matrices in use, and the copies of all threads."""
        needed = 8 * count**2 * (3 + self.threads)
        if machine.cache_size == "auto" and self.available is not None:
            return needed <= max(LITTLE, self.available // 4)
        return needed <= cache_bytes(machine.cache_size, needed)


def last_step(estimator: Any) -> Any:
    """The machine of a pipeline, or the machine itself."""
    return estimator.steps[-1][1] if type(estimator) is Pipeline else estimator


def _stated_kernel(machine: Any) -> Any:
    """The kernel as far as it is known without examples."""
    if isinstance(machine, LinearMachine):
        return type(machine)
    own = copy.copy(machine)
    own.gamma = 1.0 if isinstance(own.gamma, str) else own.gamma
    return type(machine), own._make_kernel(None, np.ones(1))


def _is_ours(machine: Any) -> bool:
    return isinstance(machine, (KernelMachine, LinearMachine))


def _solves_pairs(machine: Any) -> bool:
    """Whether this is a kernel machine whose problems are those of `folds`: others share their work
    by warm starts."""
    return isinstance(machine, KernelMachine) and getattr(machine, "multi_class", "ovo") == "ovo"


def _with(estimator: Any, parameters: dict[str, Any]) -> Any:
    """The estimator with these parameters; None if its machine must be fitted in its own way."""
    if isinstance(estimator, Pipeline):
        own = clone(estimator).set_params(**clone(parameters, safe=False))
    else:
        own = copy.copy(estimator)
        if not _is_ours(own) or not parameters.keys() <= parameter_names(own):
            return None
        for name, value in parameters.items():
            setattr(own, name, value)
    machine = last_step(own)
    if not _is_ours(machine):
        return None
    machine._validate_params()
    scored = isinstance(machine, KernelMachine) and not _solves_pairs(machine)
    if scored and machine.probability:
        return None
    usual = OWN_WAY if isinstance(machine, LinearMachine) else OWN_WAY_OF_KERNELS
    unusual = any(getattr(machine, name) != value for name, value in usual.items())
    if unusual or callable(getattr(machine, "kernel", None)) or machine.precision == "float32":
        return None
    return own


def _rows(values: Any, rows: Any) -> Any:
    """Rows of whatever the user passes as X or y."""
    from sklearn.utils import _safe_indexing

    return _safe_indexing(values, rows)


def _validated(machine: Any, X: Any, y: Any) -> tuple[Any, Any]:
    """X and y as the machine's fit would validate them."""
    own = copy.copy(machine)
    numeric = own.__sklearn_tags__().estimator_type == "regressor"
    X, y = own._validate_examples(X, y, numeric_target=numeric)
    return X, np.empty(X.shape[0]) if y is None else y
