"""How long does the prediction of a single row take?

    python benchmarks/peers/latency.py

A machine of about 1,000 support vectors with 50 features, made up data; the packages take turns,
and the median over batches of calls is printed in microseconds.
"""

import time

import numpy as np
import sklearn.svm

import softmargin

BATCHES, CALLS = 40, 100


def main() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(1020, 50)), rng.integers(0, 2, 1020)
    machines = {
        "softmargin": softmargin.SVC().fit(X, y),
        "scikit-learn": sklearn.svm.SVC().fit(X, y),
    }
    seconds: dict[str, list[float]] = {name: [] for name in machines}
    for _ in range(BATCHES):
        for name, machine in machines.items():
            start = time.perf_counter()
            for row in range(CALLS):
                machine.predict(X[row : row + 1])
            seconds[name].append((time.perf_counter() - start) / CALLS)
    for name, machine in machines.items():
        median = np.median(seconds[name]) * 1e6
        print(f"{name}: {median:.0f} us a row, {len(machine.support_)} support vectors")


if __name__ == "__main__":
    main()
