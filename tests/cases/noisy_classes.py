"""Classes that overlap, with some wrong labels: where probabilities are far from 0 and 1."""

from sklearn.datasets import make_classification


def data(classes, count=300, seed=0):
    """Training examples with their classes, and as many test examples."""
    X, y = make_classification(
        2 * count,
        6,
        n_informative=5,
        n_redundant=0,
        n_classes=classes,
        flip_y=0.2,
        random_state=seed,
    )
    return X[:count], y[:count], X[count:], y[count:]
