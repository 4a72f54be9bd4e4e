"""The state of a fit in a file, from which the same fit resumes after a crash.

The file is a line that names its format, the SHA-256 of the rest, and the rest: a line of JSON,
then, as plain numbers, the variables of each problem begun and the coefficients of each problem
solved.  How many numbers these are is determined by the fit that resumes, never by the file, and
nothing in the file is ever executed.  A crash during writing leaves the old file or the new one.
If the disk is full, the checkpoint is lost, but the fit continues.
"""

from __future__ import annotations

import ast
import hashlib
import json
import math
import os
import pickle
import threading
import time
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, fields, is_dataclass
from numbers import Real
from pathlib import Path
from typing import Any, Protocol, TypeVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from softmargin.fitting.slices import Effort, Point
from softmargin.io.atomic import FileInUse, FileLock, replacing
from softmargin.problem.formulations import Dual, Model
from softmargin.problem.kernels import CORES
from softmargin.solution import Solution
from softmargin.watching import Scale

MAGIC = b"softmargin checkpoint 3\n"
MAGIC_2 = b"softmargin checkpoint 2\n"
"""Version 2 is still read.  It stored parameters as ``repr`` writes them, and kernel functions by
their names; a fit with such a function cannot resume from it."""
DIGEST = 32
NUMBER = np.dtype("<f8")
SAME_KERNEL = 1e-9
"""Largest difference between values of the same kernel function, relative to the largest value."""
LONGEST_LITERAL = 10_000
JSON_TYPES = {
    "float": (int, float),
    "int": (int,),
    "str": (str,),
    "str | None": (str, type(None)),
}

Answer = tuple[Model, Solution, Point]
T = TypeVar("T")


class CheckpointError(ValueError):
    """A fit cannot resume from this file."""


class CheckpointWarning(UserWarning):
    """A checkpoint could not be written; the fit continues without it."""


@dataclass(frozen=True)
class Checkpoint:
    """A file for ``checkpoint=``, and the most seconds of work that a crash may cost."""

    path: str | os.PathLike[str]
    every: float = 60.0


def identity(
    parameters: dict[str, Any], X: Any, stated: Iterable[Any], kernel_values: Any = None
) -> Any:
    """What must match for a fit to resume from a checkpoint: the parameters, as text; the data, as
    a digest of the examples and of what states the problems; and, for a kernel function, some of
    its values, because neither its name nor its code determines them."""
    digest = hashlib.sha256()
    for array in arrays_of(X):
        _add(digest, array)
    for value in stated:
        number = isinstance(value, Real) and not isinstance(value, bool)
        _add(digest, np.asarray(value, np.float64 if number else None))
    known = {name: _text(value) for name, value in sorted(parameters.items())}
    values = None if kernel_values is None else np.asarray(kernel_values).tolist()
    return {"parameters": known, "data": digest.hexdigest(), "kernel_values": values}


def arrays_of(X: Any) -> list[NDArray[Any]]:
    if sp.issparse(X):
        return [np.asarray(X.shape), X.data, X.indices, X.indptr]
    if isinstance(X, np.ndarray) and X.dtype != object:
        return [X]
    return [np.frombuffer(pickle.dumps(X, protocol=4), dtype=np.uint8)]


def _add(digest: Any, array: NDArray[Any]) -> None:
    digest.update(f"{array.dtype.str}{array.shape}".encode())
    rows = max(1, 2**22 // max(1, array[:1].nbytes)) if array.ndim else 1
    for start in range(0, len(array) if array.ndim else 1, rows):
        block = array[start : start + rows] if array.ndim else array
        digest.update(np.ascontiguousarray(block).tobytes())


def _text(value: Any) -> str:
    """The same text for equal parameters of different types: 10, 10.0, np.float64(10)."""
    if callable(value):
        return "a function"
    if isinstance(value, (bool, np.bool_)):
        return str(bool(value))
    if isinstance(value, Real):
        return repr(float(value)).removesuffix(".0")
    if isinstance(value, str):
        return repr(str(value))
    if isinstance(value, dict):
        return f"{{{', '.join(sorted(f'{_text(k)}: {_text(v)}' for k, v in value.items()))}}}"
    if is_dataclass(value):
        named = [f"{field.name}={_text(getattr(value, field.name))}" for field in fields(value)]
        return f"{type(value).__name__}({', '.join(named)})"
    return repr(value)


def _from_version_2(found: Any, ours: dict[str, str]) -> Any:
    """The identity in a file of version 2, as version 3 would have written it.  Parameters that did
    not exist in version 2 are taken from `ours`, which is safe: a fit may start from any feasible
    point."""
    parameters = dict(ours)
    for name, text in found["parameters"].items():
        try:
            parameters[name] = _text(ast.literal_eval(text[:LONGEST_LITERAL]))
        except (SyntaxError, ValueError):
            parameters[name] = text
    return {**found, "parameters": parameters, "kernel_values": None}


Take = Callable[[int], NDArray[np.float64]]
"""Returns the next numbers of a file, as many as its argument says."""


class Variables(Protocol):
    """How a file stores the variables of one problem."""

    @property
    def coefficients(self) -> int:
        """How many coefficients a solved problem has."""

    def read(self, take: Take) -> list[Any]:
        """Reads the variables; ValueError if a solver could not start from them."""


@dataclass(frozen=True)
class DualVariables:
    """The variables of a kernel machine, by part."""

    dual: Dual

    @property
    def coefficients(self) -> int:
        return len(self.dual.p) * len(self.dual.coefficients([p.start for p in self.dual.parts]))

    def read(self, take: Take) -> list[Any]:
        beta = [take(len(part.start)) for part in self.dual.parts]
        for values, part in zip(beta, self.dual.parts, strict=True):
            if not ((part.lower <= values) & (values <= part.upper)).all():
                raise ValueError("variables out of their bounds")
        return beta


class Recorder:
    """Records the state of the problems of one fit; the threads that solve them share it."""

    def __init__(
        self, checkpoint: Checkpoint, identity: Any, variables: Sequence[Variables]
    ) -> None:
        # A symbolic link is followed: it stays, and its target is the checkpoint.
        self.name, self.path = checkpoint.path, Path(os.path.realpath(checkpoint.path))
        self.identity = identity
        # Points are noted, and written, at least twice in `every` seconds, because problems solved
        # in parallel note theirs at different times.
        self.interval = 0.5 * checkpoint.every
        self.points: dict[int, Point] = {}
        self.answers: dict[int, Answer] = {}
        self.scales: dict[int, Scale] = {}  # shared with the watch, which fills them
        self._lock = threading.Lock()
        self._noted: dict[int, float] = {}
        self._written = time.perf_counter()
        self._warned = False
        self._file_lock = self._locked()
        try:
            if self.path.exists():
                self._read(variables)
        except BaseException:
            self.release()
            raise

    def _locked(self) -> FileLock:
        """Locks the file for this fit, after checking that it can be written."""
        if self.path.exists() and not self.path.is_file():
            raise self._refusal("this is not a regular file, but a folder, a pipe or a device")
        if not os.access(self.path.parent, os.W_OK):
            raise CheckpointError(
                f"checkpoint={os.fspath(self.name)!r}: the folder does not exist or cannot be"
                " written to. Name a file in a folder of yours."
            )
        try:
            return FileLock(self.path)
        except FileInUse:
            raise CheckpointError(
                f"checkpoint={os.fspath(self.name)!r}: another fit is using this file, in this"
                " process or another one. Give each fit a file of its own, or wait until the other"
                " one has ended."
            ) from None
        except OSError as error:
            raise CheckpointError(
                f"checkpoint={os.fspath(self.name)!r}: the file cannot be locked ({error}). Name a"
                " file in a folder of yours."
            ) from error

    def release(self) -> None:
        """Lets other fits use the file."""
        self._file_lock.release()

    def note(self, problem: int, point: Callable[[], Point]) -> None:
        """Called between two slices: notes the problem's point if that is due."""
        now = time.perf_counter()
        if now - self._noted.setdefault(problem, now) < self.interval:
            return
        with self._lock:
            self.points[problem], self._noted[problem] = point(), now
            self._write_if_due()

    def done(self, problem: int, answer: Answer) -> None:
        """A problem has ended: it is solved, or it was stopped at a point from which it can
        resume."""
        with self._lock:
            self.points.pop(problem, None)
            if answer[1].stop_reason.final:
                self.answers[problem] = answer
            else:
                self.points[problem] = answer[2]
            self._write_if_due()

    def left(self, problem: int, point: Point) -> None:
        """A problem has ended at this point.  If the fit resumes from there, the problem ends again
        at once."""
        with self._lock:
            self.points[problem] = point
            self._write_if_due()

    def close(self, finished: bool) -> None:
        """The fit has ended.  If nothing is left to do, the file is removed."""
        if not finished:
            self._write()
            return
        try:
            self.path.unlink(missing_ok=True)
        except OSError as error:
            self._warn("removed", error)

    def _write_if_due(self) -> None:
        if time.perf_counter() - self._written >= self.interval:
            self._write()

    def _write(self) -> None:
        """A failure here does not stop the fit: writing is tried again when it is next due."""
        payload = self._payload()
        try:
            with replacing(self.path) as stream:
                stream.write(MAGIC + hashlib.sha256(payload).digest())
                stream.write(payload)
        except OSError as error:
            self._warn("written", error)
        self._written = time.perf_counter()

    def _warn(self, what: str, error: OSError) -> None:
        if self._warned:
            return
        self._warned = True
        warnings.warn(
            f"checkpoint={os.fspath(self.name)!r} could not be {what} ({error.strerror or error})."
            " The fit continues, and its model is kept.",
            CheckpointWarning,
            stacklevel=2,
        )

    def _payload(self) -> bytes:
        points = {i: a[2] for i, a in self.answers.items()} | self.points
        arrays = [beta for i in sorted(points) for beta in points[i].beta]
        arrays += [self.answers[i][0].coef for i in sorted(self.answers)]
        header = {
            "identity": self.identity,
            "points": {i: _point_fields(point) for i, point in points.items()},
            "answers": {i: _answer_fields(*a[:2]) for i, a in self.answers.items()},
            "scales": {i: asdict(self.scales[i]) for i in points if i in self.scales},
        }
        numbers = b"".join(np.asarray(array, NUMBER).tobytes() for array in arrays)
        return json.dumps(header).encode() + b"\n" + numbers

    def _read(self, variables: Sequence[Variables]) -> None:
        try:
            content = self.path.read_bytes()
            magic, rest = content[: len(MAGIC)], content[len(MAGIC) :]
            digest, payload = rest[:DIGEST], rest[DIGEST:]
            known = magic in (MAGIC, MAGIC_2)
            if not known or hashlib.sha256(payload).digest() != digest:
                problem = "is damaged" if known else "is not a checkpoint of this version"
                raise self._refusal(f"the file {problem}")
            text, _, numbers = payload.partition(b"\n")
            header = json.loads(text)
            found, complete = header["identity"], magic == MAGIC
            self._check_identity(
                found if complete else _from_version_2(found, self.identity["parameters"])
            )
            self._restore(header, _Numbers(numbers), variables, complete)
        except CheckpointError:
            raise
        except (OSError, LookupError, TypeError, ValueError, AttributeError, RecursionError) as e:
            raise self._refusal(f"the file cannot be read ({e})") from e

    def _restore(
        self, header: Any, numbers: _Numbers, variables: Sequence[Variables], complete: bool
    ) -> None:
        """`complete`: whether certificates have all their fields; those of version 2 lack some."""
        begun = [i for i in range(len(variables)) if str(i) in header["points"]]
        points = {i: _point(header["points"][str(i)], numbers, variables[i]) for i in begun}
        solved = [i for i in begun if str(i) in header["answers"]]
        for i in solved:
            known = header["answers"][str(i)]
            coef = numbers.take(variables[i].coefficients)
            model = _typed(Model, known["model"], coef=coef)
            solution = Solution.from_plain(known["solution"], complete=complete)
            if not np.isfinite([*coef, model.intercept]).all():
                raise ValueError("coefficients that are not finite")
            self.answers[i] = (model, solution, points.pop(i))
        if numbers.left or len(begun) != len(header["points"]):
            raise ValueError("more numbers than the fit has")
        self.points = points
        scales = header.get("scales", {})  # if missing, progress starts at 0
        self.scales = {i: _scale(scales[str(i)]) for i in begun if str(i) in scales}

    def _check_identity(self, found: Any) -> None:
        ours, theirs = self.identity["parameters"], found["parameters"]
        changed = [
            f"{name}={theirs.get(name)} there, {name}={ours.get(name)} here"
            for name in sorted({*ours, *theirs})
            if ours.get(name) != theirs.get(name)
        ]
        if changed:
            raise self._refusal(f"it belongs to a fit with other parameters ({'; '.join(changed)})")
        self._check_kernel(found["kernel_values"])
        if found["data"] != self.identity["data"]:
            raise self._refusal("it belongs to a fit of other data (X, y or weights differ)")

    def _check_kernel(self, found: Any) -> None:
        """Rejects another kernel function, but allows for the rounding of another processor."""
        if (found is None) != (self.identity["kernel_values"] is None):
            raise self._refusal("it belongs to a fit with another kernel")
        if found is None:
            return
        ours, theirs = (np.asarray(v, np.float64) for v in (self.identity["kernel_values"], found))
        if ours.shape != theirs.shape:
            return  # the data differ, which the caller reports
        difference = np.abs(ours - theirs)
        if not difference.max() <= SAME_KERNEL * np.abs(ours).max():
            i, j = np.unravel_index(int(difference.argmax()), ours.shape)
            raise self._refusal(
                "it belongs to a fit with another kernel function (the same two examples have the"
                f" kernel value {theirs[i, j]:.6g} there, {ours[i, j]:.6g} here)"
            )

    def _refusal(self, why: str) -> CheckpointError:
        return CheckpointError(
            f"checkpoint={os.fspath(self.name)!r}: {why}. Nothing was changed. To start afresh,"
            " remove it or name another file."
        )


class _Numbers:
    """The numbers of a file, taken one array after another."""

    def __init__(self, content: bytes) -> None:
        self.left = memoryview(content)

    def take(self, count: int) -> NDArray[np.float64]:
        size = count * NUMBER.itemsize
        taken, self.left = self.left[:size], self.left[size:]
        if len(taken) != size:
            raise ValueError("fewer numbers than the fit has")
        return np.frombuffer(taken, NUMBER).astype(np.float64)


def _point(known: Any, numbers: _Numbers, variables: Variables) -> Point:
    beta = variables.read(numbers.take)
    if known["precision"] not in CORES:
        raise ValueError(f"precision {known['precision']!r}")
    return Point(beta, known["precision"], _typed(Effort, known["effort"]))


def _scale(known: Any) -> Scale:
    scale = _typed(Scale, known)
    if not (0 <= scale.first < math.inf and 0 <= scale.progress <= 1):
        raise ValueError(f"scale {known!r}")
    return scale


def _typed(kind: type[T], known: Any, **others: Any) -> T:
    """A dataclass from JSON values and `others`; checks that each value has its field's type."""
    values = dict(others)
    for field in fields(kind):  # type: ignore[arg-type]
        if field.name in others:
            continue
        values[field.name] = value = known[field.name]
        if type(value) not in JSON_TYPES[str(field.type)]:
            raise TypeError(f"{field.name} {value!r}")
    return kind(**values)


def _point_fields(point: Point) -> dict[str, Any]:
    return {"precision": point.precision, "effort": asdict(point.effort)}


def _answer_fields(model: Model, solution: Solution) -> dict[str, Any]:
    return {
        "model": {f.name: getattr(model, f.name) for f in fields(model) if f.name != "coef"},
        "solution": solution.as_plain(),
    }
