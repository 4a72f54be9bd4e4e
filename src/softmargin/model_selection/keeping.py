"""The results of a search in a file, from which the same search resumes after a crash."""

from __future__ import annotations

from typing import Any

import numpy as np

from softmargin.checkpoint import Checkpoint, Recorder, identity
from softmargin.model_selection.sklearn_seam import Fit, Result


class ResultRecorder(Recorder):
    """Records the results of the fits of a search, in the container of other checkpoints."""

    def __init__(self, checkpoint: Checkpoint, identity: Any) -> None:
        self.results: dict[int, Result] = {}
        super().__init__(checkpoint, identity, ())

    def add(self, number: int, result: Result) -> None:
        with self._lock:
            self.results[number] = result
            self._write_if_due()

    def _payload(self) -> bytes:
        import json

        results = {str(k): result for k, result in self.results.items()}
        return json.dumps({"identity": self.identity, "results": results}).encode() + b"\n"

    def _restore(self, header: Any, numbers: Any, variables: Any, complete: bool) -> None:
        for number, result in header["results"].items():
            known = {"fit_error", "test_scores", "n_test_samples", "fit_time", "score_time"}
            if not known <= result.keys():
                raise ValueError("results that are not complete")
            self.results[int(number)] = dict(result)


def recorder(checkpoint: Any, estimator: Any, fits: list[Fit]) -> ResultRecorder:
    """For these fits, in this order; their data and parameters must be the same to resume."""
    if not isinstance(checkpoint, Checkpoint):
        checkpoint = Checkpoint(checkpoint)
    first = fits[0]
    parameters: dict[str, Any] = {"estimator": type(estimator).__name__}
    for name, value in estimator.get_params(deep=True).items():
        if not hasattr(value, "get_params") and name != "steps":
            parameters[f"estimator {name}"] = value
    parameters["scoring"] = repr(first.options["scorer"])
    parameters["candidates"] = repr([sorted(f.parameters.items()) for f in fits if f.split == 0])
    stated = [np.asarray([0.0]) if first.y is None else _plain(first.y)]
    for fit in fits[: 1 + max(fit.split for fit in fits)]:
        stated += [np.asarray(fit.options["train"]), np.asarray(fit.options["test"])]
    for given in (first.options["fit_params"], first.options["score_params"]):
        stated += [_plain(value) for _, value in sorted((given or {}).items())]
    return ResultRecorder(checkpoint, identity(parameters, first.X, stated))


def _plain(values: Any) -> Any:
    """As an array of numbers or of text."""
    array = np.asarray(values)
    return array.astype(str) if array.dtype == object else array
