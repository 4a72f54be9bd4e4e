"""Regression with a tube.

`SVR` ignores errors smaller than epsilon: examples inside the tube have no influence, and only
those on its edge or outside are support vectors. `NuSVR` finds the width of the tube itself,
so that a fraction nu of the examples may lie outside.
"""

import sys

import matplotlib.pyplot as plt
import numpy as np

from softmargin import SVR, NuSVR

rng = np.random.default_rng(0)
x = np.sort(rng.uniform(0, 6, 120))
z = np.sin(x) + 0.2 * rng.normal(size=len(x))
line = np.linspace(0, 6, 300)

machines = {
    "SVR, epsilon = 0.1": SVR(epsilon=0.1),
    "SVR, epsilon = 0.4": SVR(epsilon=0.4),
    "NuSVR, nu = 0.2": NuSVR(nu=0.2),
}
figure, axes = plt.subplots(1, 3, figsize=(11, 3.2), layout="constrained", sharey=True)
for ax, (name, machine) in zip(axes, machines.items(), strict=True):
    machine.fit(x[:, None], z)
    errors = np.abs(z - machine.predict(x[:, None]))
    # NuSVR's tube ends where its free support vectors are, that is at the smallest of their errors.
    width = machine.epsilon if isinstance(machine, SVR) else errors[machine.support_].min()
    predicted = machine.predict(line[:, None])
    ax.fill_between(line, predicted - width, predicted + width, color="#2b6cb0", alpha=0.12)
    ax.plot(line, predicted, color="#2b6cb0")
    supports = np.isin(np.arange(len(x)), machine.support_)
    ax.scatter(x[~supports], z[~supports], s=8, color="0.6")
    ax.scatter(x[supports], z[supports], s=14, color="#dd7a1f")
    ax.set_title(f"{name}: {supports.sum()} support vectors of {len(x)}", fontsize=10)

figure.savefig(sys.argv[1] if len(sys.argv) > 1 else "regression_tube.png", dpi=100)
