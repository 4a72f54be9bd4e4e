"""Examples in a folder of blocks, for fits to data that are larger than memory.

The folder has a file ``blocks.json`` with the number of blocks and of features and the names of the
columns, if they have any, and a folder per block of arrays in NumPy's format: X.npy, or data.npy,
indices.npy and indptr.npy of CSR; y.npy; weight.npy.  ``blocks.json`` is written last, so a folder
with this file is complete.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from softmargin.io.atomic import replacing

INDEX = "blocks.json"
VERSION = 1


class Blocks:
    """Examples in blocks that are read one at a time."""

    count: int

    def __len__(self) -> int:
        return self.count

    def read(self, k: int) -> tuple[Any, Any, Any]:
        """X, y and the weights of a block."""
        raise NotImplementedError


class BlockFolder(Blocks):
    """Examples in blocks on disk, for `LinearSVC.fit` and `LinearSVR.fit`.

    Parameters
    ----------
    path : str or path
        A folder that :meth:`write` or ``softmargin convert --to blocks`` has made.

    Attributes
    ----------
    features : int
        The number of features.
    feature_names : tuple of str
        Empty unless the data came from a table.
    target_name : str or None
        The name of the target column; None unless the data came from a table.

    Examples
    --------
    >>> import os, tempfile
    >>> import numpy as np
    >>> from softmargin import LinearSVC
    >>> from softmargin.io import BlockFolder
    >>> rng = np.random.default_rng(0)
    >>> def blocks():
    ...     for _ in range(3):
    ...         X = rng.normal(size=(50, 2))
    ...         yield X, X[:, 0] > 0
    >>> with tempfile.TemporaryDirectory() as path:
    ...     folder = BlockFolder.write(os.path.join(path, "rows"), blocks())
    ...     machine = LinearSVC(random_state=0).fit(folder)
    >>> machine.solution_.converged
    True
    """

    def __init__(self, path: Any) -> None:
        self.path = Path(path)
        try:
            known = json.loads((self.path / INDEX).read_text("utf-8"))
            self.count, version = int(known["blocks"]), known["version"]
            self.features = int(known["features"])
            self.feature_names = tuple(known["feature_names"])
            self.target_name = known["target_name"]
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise ValueError(
                f"{str(path)!r} is not a complete folder of blocks ({error}). Make one with"
                " softmargin.io.BlockFolder.write."
            ) from error
        if version != VERSION:
            raise ValueError(
                f"{str(path)!r} has blocks of version {version}; this softmargin reads {VERSION}."
            )

    @classmethod
    def write(cls, path: Any, blocks: Iterable[tuple[Any, ...]]) -> BlockFolder:
        """Write blocks, of which only one is in memory at a time.

        Parameters
        ----------
        path : str or path
            A folder that does not exist yet, or is empty.
        blocks : iterable of (X, y) or (X, y, sample_weight)
            Every X has the same columns; it is dense or sparse.  float32 stays float32, which is
            half as much to read; everything else becomes float64.
        """
        folder = empty_folder(path)
        widths = [write_block(folder / str(k), *block) for k, block in enumerate(blocks)]
        filled = {width for width in widths if width is not None}
        if len(filled) > 1:
            raise ValueError(
                f"The blocks have different numbers of features: {sorted(filled)}. Give all the"
                " same columns."
            )
        return cls._complete(folder, len(widths), max(filled, default=0))

    @classmethod
    def _complete(
        cls,
        folder: Path,
        count: int,
        features: int,
        names: Sequence[str] = (),
        target: str | None = None,
    ) -> BlockFolder:
        """Ends the writing of a folder."""
        if not count:
            raise ValueError("There are no blocks to write.")
        index = {
            "version": VERSION,
            "blocks": count,
            "features": features,
            "feature_names": list(names),
            "target_name": target,
        }
        with replacing(folder / INDEX) as stream:
            stream.write(json.dumps(index).encode())
        return cls(folder)

    def read(self, k: int) -> tuple[Any, Any, Any]:
        """X, y and the weights of a block."""
        folder = self.path / str(k)
        y, weight = _load(folder, "y"), _load(folder, "weight")
        if (folder / "X.npy").exists():
            return _load(folder, "X"), y, weight
        arrays = tuple(_load(folder, name) for name in ("data", "indices", "indptr"))
        return sp.csr_matrix(arrays, shape=(len(y), self.features), copy=False), y, weight

    def targets(self) -> Any:
        """y of all blocks, without reading their examples."""
        return np.concatenate([_load(self.path / str(k), "y") for k in range(self.count)])

    @property
    def shape(self) -> tuple[int, int]:
        rows = (np.load(self.path / str(k) / "y.npy", "r").shape[0] for k in range(self.count))
        return sum(rows), self.features


def empty_folder(path: Any) -> Path:
    """The folder, made if it is not there."""
    folder = Path(path)
    folder.mkdir(parents=True, exist_ok=True)
    if any(folder.iterdir()):
        raise FileExistsError(f"{str(path)!r} is not empty. Name a new folder for the blocks.")
    return folder


def change_targets(folder: Path, count: int, change: Callable[[Any], Any]) -> None:
    """Replaces y of each block of a folder that is being written."""
    for k in range(count):
        np.save(folder / str(k) / "y.npy", change(_load(folder / str(k), "y")), allow_pickle=False)


def _load(folder: Path, name: str) -> Any:
    return np.load(folder / f"{name}.npy", allow_pickle=False)


def write_block(folder: Path, X: Any, y: Any, weight: Any = None) -> int | None:
    """Writes a block; returns its number of features, None if it has no rows."""
    from softmargin.estimator.block_fit import load

    block = load(X, y, weight)
    if block.y.dtype.hasobject:
        raise ValueError(f"y has values of the type {block.y.dtype}; use numbers or text.")
    folder.mkdir()
    arrays = {"y": block.y, "weight": block.weight}
    if sp.issparse(block.X):
        arrays |= {name: getattr(block.X, name) for name in ("data", "indices", "indptr")}
    else:
        arrays["X"] = np.ascontiguousarray(block.X)
    for name, array in arrays.items():
        np.save(folder / f"{name}.npy", array, allow_pickle=False)
    return int(block.X.shape[1]) if len(block.y) else None
