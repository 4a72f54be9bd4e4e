"""The state of a fit in a file, from which the same fit goes on after a crash.

The file is one line that says what it is, the SHA-256 of the rest, and the rest: NumPy's ``.npz``
with the variables of each problem begun, and in JSON all else.  Nothing in it is ever executed.  It
is written beside its place and moved there when it is on the disk, so that a crash leaves the old
one or the new one.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import pickle
import threading
import time
import zipfile
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from softmargin.formulations import Model
from softmargin.solution import Solution, StopReason
from softmargin.training import Effort, Point

MAGIC = b"softmargin checkpoint 1\n"
DIGEST = 32

Answer = tuple[Model, Solution, Point]


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
    if callable(value) and hasattr(value, "__qualname__"):
        return f"{value.__module__}.{value.__qualname__}"
    return repr(value)


class Recorder:
    """Records where the problems of one fit stand; threads that solve them share it."""

    def __init__(self, checkpoint: Checkpoint, identity: Any) -> None:
        self.path, self.identity = Path(checkpoint.path), identity
        # Points are noted, and written, at least twice in `every`: those of problems solved side
        # by side are noted at different times.
        self.interval = 0.5 * checkpoint.every
        self.points: dict[int, Point] = {}
        self.answers: dict[int, Answer] = {}
        self._lock = threading.Lock()
        self._noted: dict[int, float] = {}
        self._written = time.perf_counter()
        if self.path.exists():
            self._read()
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
        arrays: dict[str, Any] = {}
        points = {i: a[2] for i, a in self.answers.items()} | self.points
        for i, point in points.items():
            arrays |= {f"beta.{i}.{s}": beta for s, beta in enumerate(point.beta)}
        arrays |= {f"coef.{i}": model.coef for i, (model, _, _) in self.answers.items()}
        header = {
            "identity": self.identity,
            "points": {i: _point_fields(point) for i, point in points.items()},
            "answers": {i: _answer_fields(*a[:2]) for i, a in self.answers.items()},
        }
        arrays["header"] = np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)
        stream = io.BytesIO()
        np.savez_compressed(stream, **arrays)
        return stream.getvalue()

    def _read(self) -> None:
        try:
            content = self.path.read_bytes()
            digest, payload = content[len(MAGIC) :][:DIGEST], content[len(MAGIC) + DIGEST :]
            known = content.startswith(MAGIC)
            if not known or hashlib.sha256(payload).digest() != digest:
                problem = "is damaged" if known else "is not a checkpoint of this version"
                raise self._refusal(f"the file {problem}")
            with np.load(io.BytesIO(payload), allow_pickle=False) as arrays:
                header = json.loads(arrays["header"].tobytes())
                self._check_identity(header["identity"])
                self._restore(header, arrays)
        except (OSError, zipfile.BadZipFile, KeyError, TypeError) as error:
            raise self._refusal(f"the file cannot be read ({error})") from error

    def _restore(self, header: Any, arrays: Any) -> None:
        for i, known in header["points"].items():
            beta = [arrays[f"beta.{i}.{s}"] for s in range(known["parts"])]
            point = Point(beta, known["precision"], Effort(**known["effort"]))
            if i not in header["answers"]:
                self.points[int(i)] = point
                continue
            model, solution = header["answers"][i]["model"], dict(header["answers"][i]["solution"])
            solution["stop_reason"] = StopReason[solution["stop_reason"]]
            answer = Model(coef=arrays[f"coef.{i}"], **model), Solution(**solution), point
            self.answers[int(i)] = answer

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

    def _refusal(self, why: str) -> ValueError:
        return ValueError(
            f"checkpoint={os.fspath(self.path)!r}: {why}. It is left as it is. To start afresh,"
            " remove it or name another file."
        )


def _point_fields(point: Point) -> dict[str, Any]:
    return {
        "parts": len(point.beta),
        "precision": point.precision,
        "effort": asdict(point.effort),
    }


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
