"""The certificate of a fit: how close to the optimum it came, and why the solver stopped."""

from __future__ import annotations

import enum
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from math import inf, nan
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softmargin import certificate_text


class StopReason(enum.Enum):
    """Why a fit ended: the cause, and what to do about it."""

    CONVERGED = ("The solution is optimal to the tolerance.", "")
    STATIONARY = (
        "Stationary, not certified: the KKT conditions hold to the tolerance, but the kernel is not"
        " positive semi-definite, so a better solution may exist.",
        "Use a positive semi-definite kernel where the optimum matters.",
    )
    MAX_ITER = (
        "Solver terminated early (max_iter).",
        "Consider pre-processing your data with StandardScaler or MinMaxScaler. Or raise max_iter.",
    )
    TIME_LIMIT = (
        "The fit was stopped by its time limit.",
        "Allow more time, raise tol, or continue from here with warm_start=True.",
    )
    INTERRUPTED = (
        "The fit was interrupted.",
        "Continue from here with warm_start=True.",
    )
    CALLBACK = (
        "The fit was stopped by a callback.",
        "Continue from here with warm_start=True.",
    )
    NO_PROGRESS = (
        "No step makes measurable progress any more, but the tolerance is not reached.",
        "Raise tol, lower C, or scale the data; for the gap, raise gap_tol.",
    )
    STUCK = (
        "No pair that maximum-gain selection may choose can move, though others would.",
        "Use working_set='hybrid-maximum-gain', which cannot get stuck.",
    )
    UNBOUNDED = (
        "The problem has no finite solution: with C=inf no slack is allowed,"
        " and the data cannot be fitted without slack.",
        "Use a finite C.",
    )

    __hash__ = object.__hash__  # Enum's own hash is 50 times slower (a microsecond)

    @property
    def final(self) -> bool:
        """Whether the solver itself ended the fit, rather than a limit or the user."""
        return self in (
            StopReason.CONVERGED,
            StopReason.STATIONARY,
            StopReason.NO_PROGRESS,
            StopReason.STUCK,
        )

    @property
    def cause(self) -> str:
        return self.value[0]

    @property
    def remedy(self) -> str:
        return self.value[1]

    def cause_with(self, max_iter: int) -> str:
        """The cause; for MAX_ITER, with the value of `max_iter`."""
        return self.cause.replace("(max_iter)", f"(max_iter={max_iter})")


SOLVED = (StopReason.CONVERGED, StopReason.STATIONARY)
"""The stop reasons of fits whose KKT conditions hold to the tolerance."""


class Convexity(enum.Enum):
    """Whether the kernel is positive semi-definite, and how that is known; from best to worst.
    Only a positive semi-definite kernel makes the dual problem convex and the primal objective an
    upper bound on its optimum."""

    BY_CONSTRUCTION = "The kernel is positive semi-definite by construction."
    CHECKED = "The kernel matrix of the training examples is positive semi-definite: checked."
    ASSUMED = (
        "Assumes a positive semi-definite kernel: the kernel matrix of the training examples was"
        " not checked as a whole."
    )
    REFUTED = "The kernel is not positive semi-definite."

    @classmethod
    def worst(cls, several: Iterable[Convexity]) -> Convexity:
        return max(several, key=list(cls).index)

    __hash__ = object.__hash__


@dataclass(frozen=True)
class Solution:
    """The certificate of a fit.

    The objectives are those of the problem as stated in :mod:`softmargin.problem.formulations`, or
    by `LinearSVC`: the primal is minimised, the dual is maximised, and the optimum lies between the
    two.  If a fit solved several problems (one per pair of classes), objectives, counts and seconds
    are sums, ``kkt_violation`` is the largest, and ``problems`` holds one certificate per problem.
    The tolerance of a fit applies to ``kkt_violation``.  For a `LinearSVC`, it applies to
    ``relative_gap``, and ``iterations`` counts passes over the data.

    All of this holds for a positive semi-definite kernel.  ``convexity`` says how that is known,
    and ``certified`` whether it is.  A kernel matrix that is positive semi-definite up to a small
    error is certified with a ``curvature_allowance``: the optimum may exceed the primal objective
    by that much.
    """

    dual_objective: float
    primal_objective: float
    kkt_violation: float
    iterations: int
    kernel_rows: int
    kernel_evaluations: int
    cache_hits: int
    seconds: float
    stop_reason: StopReason
    working_set: str
    working_set_reason: str
    precision: str
    convexity: Convexity = Convexity.BY_CONSTRUCTION
    curvature_allowance: float = 0.0
    problems: Sequence[Solution] = field(default=(), repr=False)

    def __str__(self) -> str:
        return "\n".join(certificate_text.lines(certificate_text.facts(self)))

    def _repr_html_(self) -> str:
        return certificate_text.as_html(self)

    def as_plain(self) -> dict[str, Any]:
        """The fields as text and numbers, without the certificates of the problems: what files
        store."""
        return {name: plain(getattr(self, name)) for name in _FIELDS}

    @classmethod
    def from_plain(
        cls, known: Mapping[str, Any], problems: Sequence[Solution] = (), *, complete: bool = True
    ) -> Solution:
        """The inverse of `as_plain`.  Raises ValueError(expected, found) if a value does not have
        the type of its field.  Unless `complete` is set, fields that an older version did not write
        become "" or NaN, and the convexity ASSUMED."""
        given = known if complete else {**_UNKNOWN, **known}
        values = {name: _checked(name, kind, given.get(name)) for name, kind in _FIELDS.items()}
        return cls(**values, problems=problems)

    # Plain data for pickle and for skops, which has no enumerations.
    def __getstate__(self) -> dict[str, Any]:
        return {**self.as_plain(), "problems": self.problems}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(vars(Solution.from_plain(state, state["problems"])))

    @property
    def duality_gap(self) -> float:
        """Primal minus dual objective, plus the curvature allowance: an upper bound on the distance
        to the optimum.  Infinite if the kernel is not positive semi-definite."""
        if self.convexity is Convexity.REFUTED:
            return inf
        return self.primal_objective - self.dual_objective + self.curvature_allowance

    @property
    def relative_gap(self) -> float:
        """The duality gap divided by the larger of the two objectives (in absolute value).
        Infinite if the gap or the primal objective is; with C=inf, any margin violation makes the
        primal infinite."""
        if self.convexity is Convexity.REFUTED:
            return inf
        primal, dual = self.primal_objective, self.dual_objective
        return float(relative_gap(primal, dual, self.curvature_allowance))

    @property
    def converged(self) -> bool:
        """Whether the KKT conditions hold to ``tol`` and the relative gap is at most ``gap_tol``
        (for a `LinearSVC`: the relative gap is at most both).  If the fit is not `certified`, the
        solution need not be optimal."""
        return self.stop_reason in SOLVED

    @property
    def certified(self) -> bool:
        """Whether the duality gap is known to bound the distance to the optimum."""
        return self.convexity in (Convexity.BY_CONSTRUCTION, Convexity.CHECKED)

    @classmethod
    def combine(cls, problems: Sequence[Solution]) -> Solution:
        """One certificate for a fit that solved several problems."""
        if len(problems) == 1:
            return problems[0]
        every = problems if isinstance(problems, Certificates) else Certificates.of(problems)
        column = every.columns

        def common(names: Iterable[str]) -> str:
            return ", ".join(dict.fromkeys(names))

        reasons = dict.fromkeys(column["stop_reason"])
        unfinished = [reason for reason in reasons if reason not in SOLVED]
        unfinished += [reason for reason in reasons if reason is not StopReason.CONVERGED]
        return cls(
            dual_objective=sum(column["dual_objective"].tolist()),
            primal_objective=sum(column["primal_objective"].tolist()),
            kkt_violation=float(column["kkt_violation"].max()),
            iterations=int(column["iterations"].sum()),
            kernel_rows=int(column["kernel_rows"].sum()),
            kernel_evaluations=int(column["kernel_evaluations"].sum()),
            cache_hits=int(column["cache_hits"].sum()),
            seconds=float(column["seconds"].sum()),
            stop_reason=unfinished[0] if unfinished else StopReason.CONVERGED,
            working_set=common(column["working_set"]),
            working_set_reason=common(column["working_set_reason"]),
            precision=common(column["precision"]),
            convexity=Convexity.worst(set(column["convexity"])),
            curvature_allowance=float(column["curvature_allowance"].sum()),
            problems=every,
        )


def relative_gap(primal: Any, dual: Any, allowance: Any = 0.0) -> NDArray[np.float64]:
    """The duality gap divided by the larger of the two objectives (in absolute value), of one
    problem or each of many; infinite if an objective is."""
    scale = np.maximum(np.abs(primal), np.abs(dual))
    finite = scale < inf
    gap = np.subtract(primal, dual, out=np.zeros_like(scale), where=finite) + allowance
    gap = np.divide(gap, scale, out=np.zeros_like(scale), where=finite & (scale > 0))
    return np.where(finite, gap, inf)


class Certificates(Sequence[Solution]):
    """The certificates of many problems, stored as one array per field, because there can be
    hundreds of thousands of pairs of classes."""

    def __init__(self, columns: dict[str, NDArray[Any]]) -> None:
        self.columns = columns

    @classmethod
    def of(cls, solutions: Iterable[Solution]) -> Certificates:
        every = list(solutions)
        return cls({name: _column([getattr(s, name) for s in every]) for name in _FIELDS})

    @classmethod
    def filled(cls, count: int, **values: Any) -> Certificates:
        """Certificates of `count` problems; a value that is not an array applies to all of them."""
        return cls(
            {
                name: value if isinstance(value, np.ndarray) else _column([value] * count)
                for name, value in values.items()
            }
        )

    @classmethod
    def concatenate(cls, some: Sequence[Certificates]) -> Certificates:
        if len(some) == 1:
            return some[0]
        return cls({name: np.concatenate([one.columns[name] for one in some]) for name in _FIELDS})

    # Plain data, as for a single certificate, in lists.
    def __getstate__(self) -> dict[str, Any]:
        return {name: [plain(v) for v in column.tolist()] for name, column in self.columns.items()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.columns = {
            name: _column([_checked(name, _FIELDS[name], value) for value in values])
            for name, values in state.items()
        }

    def __len__(self) -> int:
        return len(self.columns["stop_reason"])

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, slice):
            return tuple(self[k] for k in range(*key.indices(len(self))))
        row = {name: column[key] for name, column in self.columns.items()}
        for name, value in row.items():
            row[name] = value.item() if isinstance(value, np.generic) else value
        return Solution(**row)

    def __iter__(self) -> Iterator[Solution]:
        rows = zip(*(column.tolist() for column in self.columns.values()), strict=True)
        return (Solution(**dict(zip(self.columns, row, strict=True))) for row in rows)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, (Certificates, tuple)) and tuple(self) == tuple(other)

    def __hash__(self) -> int:
        return hash(tuple(self))


_FIELDS = {field.name: str(field.type) for field in fields(Solution) if field.name != "problems"}
"""The type of each field, except `problems`."""

_UNKNOWN = {name: "" if kind == "str" else nan for name, kind in _FIELDS.items()} | {
    "convexity": Convexity.ASSUMED.name,
    "curvature_allowance": 0.0,
}


def plain(value: Any) -> Any:
    if isinstance(value, enum.Enum):
        return value.name
    return value.item() if isinstance(value, np.generic) else value


def _checked(name: str, kind: str, value: Any) -> Any:
    """The value of a field from what `plain` has made of it."""
    for choices, what in ((StopReason, "reason for stopping"), (Convexity, "convexity")):
        if kind == choices.__name__:
            if not isinstance(value, str) or value not in choices.__members__:
                raise ValueError(f"a known {what}", value)
            return choices[value]
    if type(value) not in ((str,) if kind == "str" else (int, float)):
        raise ValueError(f"{'text' if kind == 'str' else 'a number'} as {name}", value)
    return value


def _column(values: list[Any]) -> NDArray[Any]:
    """A numeric array for numbers, else an array of objects."""
    if values and isinstance(values[0], (int, float)):
        return np.array(values)
    column = np.empty(len(values), dtype=object)
    column[:] = values
    return column
