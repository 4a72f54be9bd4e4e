"""Examples in a folder of blocks, for fits to data that are larger than memory.

The folder has a file ``blocks.json`` with the number of blocks, and a folder per block of arrays in
NumPy's format: X.npy, or data.npy, indices.npy and indptr.npy of CSR; y.npy; weight.npy.
``blocks.json`` is written last, so a folder with this file is complete.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from softmargin.io.atomic import replacing

INDEX = "blocks.json"
VERSION = 1


class BlockFolder:
    """Examples in blocks on disk, for `LinearSVC.fit` and `LinearSVR.fit`.

    Parameters
    ----------
    path : str or path
        A folder that :meth:`write` has made.

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
        folder = Path(path)
        folder.mkdir(parents=True, exist_ok=True)
        if any(folder.iterdir()):
            raise FileExistsError(f"{str(path)!r} is not empty. Name a new folder for the blocks.")
        count = 0
        for count, block in enumerate(blocks, start=1):
            _write(folder / str(count - 1), *block)
        if not count:
            raise ValueError("There are no blocks to write.")
        with replacing(folder / INDEX) as stream:
            stream.write(json.dumps({"version": VERSION, "blocks": count}).encode())
        return cls(folder)

    def __len__(self) -> int:
        return self.count

    def read(self, k: int) -> tuple[Any, Any, Any]:
        """X, y and the weights of a block."""
        folder = self.path / str(k)
        y, weight = _load(folder, "y"), _load(folder, "weight")
        if (folder / "X.npy").exists():
            return _load(folder, "X"), y, weight
        shape = tuple(_load(folder, "shape").tolist())
        arrays = tuple(_load(folder, name) for name in ("data", "indices", "indptr"))
        return sp.csr_matrix(arrays, shape=shape, copy=False), y, weight


def _load(folder: Path, name: str) -> Any:
    return np.load(folder / f"{name}.npy", allow_pickle=False)


def _write(folder: Path, X: Any, y: Any, weight: Any = None) -> None:
    from softmargin.estimator.block_fit import load

    block = load(X, y, weight)
    if block.y.dtype.hasobject:
        raise ValueError(f"y has values of the type {block.y.dtype}; use numbers or text.")
    folder.mkdir()
    arrays = {"y": block.y, "weight": block.weight}
    if sp.issparse(block.X):
        arrays |= {name: getattr(block.X, name) for name in ("data", "indices", "indptr")}
        arrays["shape"] = np.array(block.X.shape)
    else:
        arrays["X"] = np.ascontiguousarray(block.X)
    for name, array in arrays.items():
        np.save(folder / f"{name}.npy", array, allow_pickle=False)
