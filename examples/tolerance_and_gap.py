"""Tolerance and gap.

A smaller `tol` costs iterations and closes the gap between primal and dual objective. The
accuracy on new data stops changing long before: the certificate is about the training problem.
"""

import sys

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from softmargin import SVC

X, y = load_breast_cancer(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
scaler = StandardScaler().fit(X_train)
tolerances = [1, 0.3, 0.1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6]
machines = [SVC(C=10, tol=tol, gap_tol=None) for tol in tolerances]  # only tol counts
for machine in machines:
    machine.fit(scaler.transform(X_train), y_train)

print("   tol  iterations      gap  accuracy")
for tol, machine in zip(tolerances, machines, strict=True):
    accuracy = machine.score(scaler.transform(X_test), y_test)
    solution = machine.solution_
    print(f"{tol:6.0e} {solution.iterations:11d} {solution.relative_gap:8.1e} {accuracy:9.3f}")

figure, (left, right) = plt.subplots(1, 2, figsize=(8, 3), layout="constrained")
left.loglog(tolerances, [m.solution_.relative_gap for m in machines], marker=".", color="#2b6cb0")
left.set(xlabel="tol", ylabel="relative gap")
right.semilogx(tolerances, [m.solution_.iterations for m in machines], marker=".", color="#dd7a1f")
right.set(xlabel="tol", ylabel="iterations")

figure.savefig(sys.argv[1] if len(sys.argv) > 1 else "tolerance_and_gap.png", dpi=100)
