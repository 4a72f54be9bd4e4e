"""``machine.save(path)`` and ``softmargin.load(path)``."""

from __future__ import annotations

from typing import Any

from softmargin.io.models.checks import checked_estimator
from softmargin.io.models.formats import FORMATS, read_any_model, write_any_model


class Saving:
    """Gives an estimator the method ``save``."""

    def save(self, path: Any, *, format: str = "native") -> None:
        """Write the fitted machine to a file that :func:`softmargin.load` can read.

        If writing fails, there is no new file, and an old one is unchanged.

        Parameters
        ----------
        path : str or path
        format : {"native", "libsvm", "liblinear"}, default="native"
            softmargin's own format keeps everything, including the certificate; LIBSVM's text
            format is for svm-predict, LIBLINEAR's for its ``predict``.
        """
        from sklearn.utils.validation import check_is_fitted

        if format not in FORMATS:
            raise ValueError(f"format={format!r} is not known: use one of {', '.join(FORMATS)}.")
        check_is_fitted(self)
        from softmargin.io.models.record import Record

        write_any_model(path, Record.of(self), format)


def load(path: Any, *, mmap: bool = True) -> Any:
    """The fitted machine in a file: softmargin's own format, LIBSVM's or LIBLINEAR's.

    Parameters
    ----------
    path : str or path
    mmap : bool, default=True
        Memory-map the arrays of a file in softmargin's format instead of reading them: large
        models open at once and processes share them. The file must then not change while the
        machine is used.

    Returns
    -------
    machine : the estimator.  If it comes from LIBSVM's or LIBLINEAR's format, its ``solution_`` is
        None: those files contain no certificate.

    Examples
    --------
    >>> import os, tempfile, softmargin
    >>> machine = softmargin.SVC().fit([[0.0], [1.0], [2.0], [3.0]], ["a", "a", "b", "b"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "machine.softmargin")
    ...     machine.save(path)
    ...     print(softmargin.load(path, mmap=False).predict([[0.5], [2.5]]))
    ['a' 'b']
    """
    return checked_estimator(read_any_model(path, mmap=mmap), path)
