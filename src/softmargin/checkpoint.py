"""The state of a fit in a file, from which the same fit goes on after a crash.

The file is one line that says what it is, the SHA-256 of the rest, and the rest: a line of JSON,
and then as plain numbers the variables of each problem begun and the coefficients of each solved.
How many these are follows from the fit that goes on, never from the file, and nothing in it is ever
executed.  It is written beside its place and moved there when it is on the disk, so that a crash
leaves the old one or the new one.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import pickle
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, fields
from functools import partial
from pathlib import Path
from typing import Any, Protocol, TypeVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from softmargin.formulations import Dual, Model
from softmargin.solution import Solution, StopReason
from softmargin.training import Effort, Point
from softmargin.watching import Scale

MAGIC = b"softmargin checkpoint 2\n"
DIGEST = 32
NUMBER = np.dtype("<f8")
JSON_TYPES = {
    "float": (int, float),
    "int": (int,),
    "str": (str,),
    "str | None": (str, type(None)),
}

Answer = tuple[Model, Solution, Point]
T = TypeVar("T")


class CheckpointError(ValueError):
    """A file that a fit cannot go on from."""


@dataclass(frozen=True)
class Checkpoint:
    """A file for ``checkpoint=``, and the seconds of work that a crash may cost."""

    path: str | os.PathLike[str]
    every: float = 60.0


def identity(parameters: dict[str, Any], X: Any, stated: Iterable[Any]) -> Any:
    """What must agree for a fit to go on from a checkpoint: parameters, by their text, and data, by
    a digest of the examples and of what states the problems."""
    digest = hashlib.sha256()
    for array in _arrays(X):
        _add(digest, array)
    for value in stated:
        _add(digest, np.asarray(value))
    text = {name: _text(value) for name, value in sorted(parameters.items())}
    return {"parameters": text, "data": digest.hexdigest()}


def _arrays(X: Any) -> list[NDArray[Any]]:
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
    """As ``repr``, but without addresses, which are others in the next process."""
    if callable(value) and hasattr(value, "__qualname__"):
        return f"{value.__module__}.{value.__qualname__}"
    if isinstance(value, partial):
        named = [f"{name}={_text(item)}" for name, item in sorted(value.keywords.items())]
        return f"partial({', '.join([_text(value.func), *map(_text, value.args), *named])})"
    if repr(value) == object.__repr__(value) and hasattr(value, "__dict__"):
        named = [f"{name}={_text(item)}" for name, item in sorted(vars(value).items())]
        return f"{_text(type(value))}({', '.join(named)})"
    return repr(value)


Take = Callable[[int], NDArray[np.float64]]
"""Gives the next so many numbers of a file."""


class Variables(Protocol):
    """The variables of one problem, as they stand in a file."""

    @property
    def coefficients(self) -> int:
        """How many a solved problem has."""

    def read(self, take: Take) -> list[Any]:
        """ValueError for variables that a solver could not start from."""


@dataclass(frozen=True)
class DualVariables:
    """Those of a kernel machine, by part."""

    dual: Dual

    @property
    def coefficients(self) -> int:
        return len(self.dual.p)

    def read(self, take: Take) -> list[Any]:
        beta = [take(len(part.start)) for part in self.dual.parts]
        for values, part in zip(beta, self.dual.parts, strict=True):
            if not ((part.lower <= values) & (values <= part.upper)).all():
                raise ValueError("variables out of their bounds")
        return beta


class Recorder:
    """Records where the problems of one fit stand; threads that solve them share it."""

    def __init__(
        self, checkpoint: Checkpoint, identity: Any, variables: Sequence[Variables]
    ) -> None:
        self.path, self.identity = Path(checkpoint.path), identity
        # Points are noted, and written, at least twice in `every`: those of problems solved side
        # by side are noted at different times.
        self.interval = 0.5 * checkpoint.every
        self.points: dict[int, Point] = {}
        self.answers: dict[int, Answer] = {}
        self.scales: dict[int, Scale] = {}  # of the watch, which fills them
        self._lock = threading.Lock()
        self._noted: dict[int, float] = {}
        self._written = time.perf_counter()
        if self.path.exists():
            self._read(variables)
        elif not os.access(self.path.parent, os.W_OK):
            raise ValueError(
                f"checkpoint={os.fspath(self.path)!r}: the folder does not exist or cannot be"
                " written to. Name a file in a folder of yours."
            )

    def note(self, problem: int, point: Callable[[], Point]) -> None:
        """Between two slices: notes the problem's point if it is time to."""
        now = time.perf_counter()
        if now - self._noted.setdefault(problem, now) < self.interval:
            return
        with self._lock:
            self.points[problem], self._noted[problem] = point(), now
            self._write_if_due()

    def done(self, problem: int, answer: Answer) -> None:
        """A problem has ended: for good, or where it may go on another time."""
        with self._lock:
            self.points.pop(problem, None)
            if answer[1].stop_reason.final:
                self.answers[problem] = answer
            else:
                self.points[problem] = answer[2]
            self._write_if_due()

    def left(self, problem: int, point: Point) -> None:
        """A problem has ended at this point, and would end there again at once."""
        with self._lock:
            self.points[problem] = point
            self._write_if_due()

    def close(self, finished: bool) -> None:
        """The fit has ended.  If nothing is left to do, the file is removed."""
        if finished:
            self.path.unlink(missing_ok=True)
        else:
            self._write()

    def _write_if_due(self) -> None:
        if time.perf_counter() - self._written >= self.interval:
            self._write()

    def _write(self) -> None:
        payload = self._payload()
        beside = self.path.with_name(self.path.name + ".new")
        with open(beside, "wb") as stream:
            stream.write(MAGIC + hashlib.sha256(payload).digest())
            stream.write(payload)
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(beside, self.path)
        _sync_folder(self.path.parent)
        self._written = time.perf_counter()

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
            digest, payload = content[len(MAGIC) :][:DIGEST], content[len(MAGIC) + DIGEST :]
            known = content.startswith(MAGIC)
            if not known or hashlib.sha256(payload).digest() != digest:
                problem = "is damaged" if known else "is not a checkpoint of this version"
                raise self._refusal(f"the file {problem}")
            text, _, numbers = payload.partition(b"\n")
            header = json.loads(text)
            self._check_identity(header["identity"])
            self._restore(header, _Numbers(numbers), variables)
        except CheckpointError:
            raise
        except (OSError, LookupError, TypeError, ValueError, AttributeError, RecursionError) as e:
            raise self._refusal(f"the file cannot be read ({e})") from e

    def _restore(self, header: Any, numbers: _Numbers, variables: Sequence[Variables]) -> None:
        begun = [i for i in range(len(variables)) if str(i) in header["points"]]
        points = {i: _point(header["points"][str(i)], numbers, variables[i]) for i in begun}
        solved = [i for i in begun if str(i) in header["answers"]]
        for i in solved:
            known = header["answers"][str(i)]
            coef = numbers.take(variables[i].coefficients)
            model = _typed(Model, known["model"], coef=coef)
            reason = StopReason[known["solution"]["stop_reason"]]
            solution = _typed(Solution, known["solution"], stop_reason=reason, problems=())
            if not np.isfinite([*coef, model.intercept]).all():
                raise ValueError("coefficients that are not finite")
            self.answers[i] = (model, solution, points.pop(i))
        if numbers.left or len(begun) != len(header["points"]):
            raise ValueError("more numbers than the fit has")
        self.points = points
        scales = header.get("scales", {})  # without, the progress starts at 0
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
        if found["data"] != self.identity["data"]:
            raise self._refusal("it belongs to a fit of other data (X, y or weights differ)")

    def _refusal(self, why: str) -> CheckpointError:
        return CheckpointError(
            f"checkpoint={os.fspath(self.path)!r}: {why}. It is left as it is. To start afresh,"
            " remove it or name another file."
        )


class _Numbers:
    """The numbers of a file, to be taken one array after another."""

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
    if known["precision"] not in ("float32", "float64"):
        raise ValueError(f"precision {known['precision']!r}")
    return Point(beta, known["precision"], _typed(Effort, known["effort"]))


def _scale(known: Any) -> Scale:
    scale = _typed(Scale, known)
    if not (0 <= scale.first < math.inf and 0 <= scale.progress <= 1):
        raise ValueError(f"scale {known!r}")
    return scale


def _typed(kind: type[T], known: Any, **others: Any) -> T:
    """A dataclass of what JSON says and of `others`, each value of its field's type."""
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
    known = {f.name: getattr(solution, f.name) for f in fields(solution) if f.name != "problems"}
    return {
        "model": {f.name: getattr(model, f.name) for f in fields(model) if f.name != "coef"},
        "solution": {**known, "stop_reason": solution.stop_reason.name},
    }


def _sync_folder(folder: Path) -> None:
    """Puts the new name on the disk too, where the system can."""
    if os.name != "posix":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
