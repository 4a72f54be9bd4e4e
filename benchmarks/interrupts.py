"""How soon does a fit react to Ctrl-C?

    python benchmarks/interrupts.py [--times 20] [--examples 20000]

Starts a fit in a child process, sends it SIGINT at a random moment, and measures the time until
KeyboardInterrupt is raised, or, with on_interrupt="keep", until the model is there.  A kept model's
duality gap is recomputed from its coefficients and compared with its certificate.  Prints a table
in Markdown; fails where a reaction takes more than 0.2 s (raise) or a certificate is wrong.
"""

import argparse
import json
import random
import signal
import subprocess
import sys
import time

import numpy as np

CHILD = """
import json, sys, time, warnings
warnings.simplefilter("ignore")
import numpy as np
import softmargin
sys.path.insert(0, {folder!r})
from interrupts import make_data, recomputed_gap
name, on_interrupt, count = {name!r}, {on_interrupt!r}, {count}
X, y = make_data(name, count)
machine = getattr(softmargin, name)(**{parameters!r}, on_interrupt=on_interrupt)
print("ready", flush=True)
answer = {{}}
try:
    machine.fit(X, y)
    answer["reason"] = machine.solution_.stop_reason.name
except KeyboardInterrupt:
    answer["reason"] = "KeyboardInterrupt"
answer["at"] = time.time()
if answer["reason"] == "INTERRUPTED":
    answer["certified"] = machine.solution_.duality_gap
    answer["recomputed"] = recomputed_gap(name, machine, X, y)
print(json.dumps(answer), flush=True)
"""
MACHINES = {
    "SVC": {"C": 1000.0, "gamma": 0.05},
    "NuSVC": {"nu": 0.05, "gamma": 0.05},
    "SVR": {"C": 1000.0, "gamma": 0.05, "epsilon": 0.1},
    "NuSVR": {"C": 100.0, "nu": 0.3, "gamma": 0.05},
    "OneClassSVM": {"nu": 0.5, "gamma": 0.05, "tol": 1e-12},
}


def make_data(name, count):
    """A problem that takes long: noisy, so that many variables stay at their bounds."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(count, 30))
    z = np.sin(2 * X[:, 0]) + 0.3 * rng.normal(size=count)
    return X, {"SVC": z > 0, "NuSVC": z > 0, "OneClassSVM": None}.get(name, z)


def recomputed_gap(name, machine, X, y):
    """Primal minus dual objective, from the fitted attributes and kernel values of our own."""
    parameters, coef = machine.get_params(), machine.dual_coef_[0]
    f, norm = _expansion(X, machine, coef)
    b, n = machine.intercept_[0], len(X)
    if name == "OneClassSVM":
        rho = -b
        return norm - parameters["nu"] * n * rho + np.maximum(0, rho - f).sum()
    if name == "SVC":
        slack = np.maximum(0, 1 - np.where(y, 1, -1) * (f + b)).sum()
        return norm + parameters["C"] * slack - np.abs(coef).sum()
    if name == "NuSVC":
        # Coefficients were divided by rho, unless there was no margin yet; alpha adds up to nu n.
        scale = parameters["nu"] * n / np.abs(coef).sum()
        rho = 0.0 if abs(scale - 1) < 1e-9 else scale
        slack = np.maximum(0, rho - scale * np.where(y, 1, -1) * (f + b)).sum()
        return scale**2 * norm - parameters["nu"] * n * rho + slack
    return _regression_gap(name, machine, y, f, norm)


def _expansion(X, machine, coef):
    """f(x) = sum_i coef_i K(x_i, x) at the examples, and f's squared norm."""
    from sklearn.metrics.pairwise import rbf_kernel

    gamma = machine.get_params()["gamma"]
    blocks = np.array_split(np.arange(len(X)), max(1, len(X) // 500))
    f = np.concatenate(
        [rbf_kernel(X[rows], machine.support_vectors_, gamma=gamma) @ coef for rows in blocks]
    )
    return f, coef @ f[machine.support_]


def _regression_gap(name, machine, y, f, norm):
    parameters, coef, b = machine.get_params(), machine.dual_coef_[0], machine.intercept_[0]
    error, C = np.abs(y - f - b), parameters["C"]
    fitted = y[machine.support_] @ coef
    if name == "SVR":
        loss = C * np.maximum(0, error - parameters["epsilon"]).sum()
        return norm + loss - fitted + parameters["epsilon"] * np.abs(coef).sum()
    # Any width of the tube is feasible, and the fit's own is no attribute: the best one, which is a
    # quantile of the errors, gives a gap that the certified one must not be below.
    width = np.quantile(error, 1 - parameters["nu"])
    loss = parameters["nu"] * C * len(y) * width + C * np.maximum(0, error - width).sum()
    return max(norm + loss - fitted, machine.solution_.duality_gap)


def interrupt_once(name, on_interrupt, count, wait):
    """The child's answer, with the seconds it took to react."""
    script = CHILD.format(
        folder=__file__.rpartition("/")[0] or ".",
        name=name,
        on_interrupt=on_interrupt,
        count=count,
        parameters=MACHINES[name],
    )
    child = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    assert child.stdout.readline().strip() == "ready"
    time.sleep(wait)
    sent = time.time()
    child.send_signal(signal.SIGINT)
    answer = json.loads(child.stdout.readline())
    child.wait()
    return {**answer, "seconds": answer["at"] - sent}


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--times", type=int, default=20, help="per machine (default: 20)")
    parser.add_argument("--examples", type=int, default=20000, help="default: 20000")
    parser.add_argument("--longest", type=float, default=3.0, help="wait up to (default: 3 s)")
    args = parser.parse_args()
    random.seed(0)
    print("| machine | on_interrupt | median s | longest s | worst certificate |")
    print("|---|---|---|---|---|", flush=True)
    faults = []
    for name in MACHINES:
        for on_interrupt in ("raise", "keep"):
            answers = [
                interrupt_once(name, on_interrupt, args.examples, random.uniform(0, args.longest))
                for _ in range(args.times)
            ]
            faults += report(name, on_interrupt, answers)
    if faults:
        raise SystemExit("\n".join(faults))


def report(name, on_interrupt, answers):
    """Prints a row; returns what is wrong."""
    seconds = [answer["seconds"] for answer in answers]
    wrong = [
        abs(a["certified"] - a["recomputed"]) / abs(a["recomputed"])
        for a in answers
        if "certified" in a
    ]
    worst = f"{max(wrong):.1e}" if wrong else "-"
    print(
        f"| {name} | {on_interrupt} | {np.median(seconds):.3f} | {max(seconds):.3f} | {worst} |",
        flush=True,
    )
    expected = {"raise": "KeyboardInterrupt", "keep": "INTERRUPTED"}[on_interrupt]
    faults = [f"{name}: {a['reason']}" for a in answers if a["reason"] != expected]
    if on_interrupt == "raise" and max(seconds) > 0.2:
        faults.append(f"{name}: took {max(seconds):.3f} s to raise")
    if wrong and max(wrong) > 1e-6:
        faults.append(f"{name}: the certificate is off by {max(wrong):.1e}")
    return faults


if __name__ == "__main__":
    main()
