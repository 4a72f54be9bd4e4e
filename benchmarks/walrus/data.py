"""The data sets of the Walrus benchmarks, from the folder named by SOFTMARGIN_DATA."""

from __future__ import annotations

import gzip
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.feature_extraction.text import TfidfTransformer, TfidfVectorizer
from sklearn.model_selection import train_test_split


@dataclass(frozen=True)
class DataSet:
    name: str
    X: Any
    y: Any
    X_test: Any
    y_test: Any

    @property
    def classes(self) -> int:
        return len(np.unique(self.y))


def folder() -> Path:
    try:
        return Path(os.environ["SOFTMARGIN_DATA"])
    except KeyError:
        raise SystemExit("Set SOFTMARGIN_DATA to the folder of the data sets.") from None


def dna() -> DataSet:
    return _dense("dna", lambda X: X)


def satimage() -> DataSet:
    file = np.load(folder() / "satimage.npz")
    low, high = file["X_train"].min(axis=0), file["X_train"].max(axis=0)
    return _dense("satimage", lambda X: 2 * (X - low) / (high - low) - 1)


def mnist() -> DataSet:
    return _dense("mnist", lambda X: X / 255.0)


def letter() -> DataSet:
    return _dense("letter", lambda X: X / 7.5 - 1)


def plant_margin() -> DataSet:
    file = np.load(folder() / "plant_margin.npz")
    X = file["X"].astype(np.float64)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    return _split("plant_margin", X, file["y"])


def omniglot_small() -> DataSet:
    return _dense("omniglot_small", lambda X: X / max(1.0, X.max()))


def news20_bow() -> DataSet:
    file = np.load(folder() / "news20_bow.npz", allow_pickle=True)
    X, X_test = (_csr(file, prefix) for prefix in ("X_train_", "X_test_"))
    tfidf = TfidfTransformer(sublinear_tf=True).fit(X)
    return DataSet(
        "news20_bow", tfidf.transform(X), file["y_train"], tfidf.transform(X_test), file["y_test"]
    )


def banking77() -> DataSet:
    return _text("banking77")


def clinc150() -> DataSet:
    return _text("clinc150")


def udhr_lang() -> DataSet:
    return _text("udhr_lang", analyzer="char_wb", ngram_range=(1, 3), max_features=60_000)


def sector_like() -> DataSet:
    """Clusters in the shape of sector: 105 classes, 6,412 examples, 55,197 sparse features."""
    rng = np.random.default_rng(0)
    k, n, d, per_row = 105, 6412 + 1000, 55_197, 160
    y = rng.integers(k, size=n)
    topics = rng.integers(d, size=(k, 300))
    own = rng.random((n, per_row)) < 0.25
    columns = np.where(
        own,
        topics[y[:, None], rng.integers(300, size=(n, per_row))],
        (d * rng.random((n, per_row)) ** 3).astype(int),
    )
    rows = np.repeat(np.arange(n), per_row)
    X = sp.csr_matrix((np.ones(n * per_row), (rows, columns.ravel())), shape=(n, d))
    X = TfidfTransformer().fit_transform(X)
    return DataSet("sector_like", X[:6412], y[:6412], X[6412:], y[6412:])


def aloi_like(n: int = 20_000) -> DataSet:
    """Gaussian clusters in the shape of aloi: 1,000 classes, 128 features (of 81,000 examples,
    the first 20,000)."""
    rng = np.random.default_rng(0)
    centres = rng.standard_normal((1000, 128))
    y = rng.integers(1000, size=n + 2000)
    X = centres[y] + 1.2 * rng.standard_normal((len(y), 128))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    return DataSet("aloi_like", X[:n], y[:n], X[n:], y[n:])


ALL = {
    loader.__name__: loader
    for loader in (
        *(dna, satimage, mnist, news20_bow, letter, banking77, plant_margin),
        *(sector_like, clinc150, omniglot_small, udhr_lang, aloi_like),
    )
}
SMALL = ("dna", "satimage", "letter", "plant_margin")


def _dense(name: str, scale: Any) -> DataSet:
    file = np.load(folder() / f"{name}.npz")

    def part(key: str) -> Any:
        return scale(np.ascontiguousarray(file[key], dtype=np.float64))

    if "X" in file:
        return _split(name, part("X"), file["y"])
    return DataSet(name, part("X_train"), file["y_train"], part("X_test"), file["y_test"])


def _split(name: str, X: Any, y: Any) -> DataSet:
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.25, random_state=0, stratify=y)
    return DataSet(name, X, y, X_test, y_test)


def _csr(file: Any, prefix: str) -> Any:
    parts = [file[prefix + part] for part in ("data", "indices", "indptr")]
    return sp.csr_matrix(tuple(parts), shape=tuple(file[prefix + "shape"]))


def _text(name: str, **options: Any) -> DataSet:
    with gzip.open(folder() / f"{name}.jsonl.gz", "rt") as lines:
        records = [json.loads(line) for line in lines]
    parts = {"train": ([], []), "test": ([], [])}
    for record in records:
        texts, labels = parts["train" if record["split"] == "train" else "test"]
        texts.append(record["text"])
        labels.append(record["label"])
    vectorizer = TfidfVectorizer(sublinear_tf=True, **options)
    X = vectorizer.fit_transform(parts["train"][0])
    return DataSet(
        name,
        X,
        np.array(parts["train"][1]),
        vectorizer.transform(parts["test"][0]),
        np.array(parts["test"][1]),
    )
