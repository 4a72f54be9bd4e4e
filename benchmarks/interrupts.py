"""How soon does a fit react to Ctrl-C?

    python benchmarks/interrupts.py [--times 20] [--examples 10000] [--machines SVC LinearSVC]

A child process fits again and again and gets a SIGINT at a random moment of each fit.  Measures
the time from the signal until KeyboardInterrupt is raised, or, with on_interrupt="keep", until the
model is there; of that, until the solver has stopped, the rest being its certificate.  A kept
model's duality gap is recomputed from its attributes and compared with its certificate.  Prints a
table in Markdown; fails where raising takes more than 0.2 s or a certificate is wrong.
"""

import argparse
import json
import random
import signal
import subprocess
import sys
import time
import warnings

import numpy as np

MACHINES = {
    "SVC": {"C": 1000.0, "gamma": 0.05, "tol": 1e-8},
    "NuSVC": {"nu": 0.05, "gamma": 0.05, "tol": 1e-8},
    "SVR": {"C": 1000.0, "gamma": 0.05, "epsilon": 0.1, "tol": 1e-8},
    "NuSVR": {"C": 100.0, "nu": 0.3, "gamma": 0.05, "tol": 1e-8},
    "OneClassSVM": {
        "nu": 0.5,
        "gamma": 0.05,
        "tol": 1e-13,
        "working_set": "second-order",
        "precision": "float64",
    },
    "LinearSVC": {
        "multi_class": "weston_watkins",
        "C": 100.0,
        "tol": 1e-14,
        "max_iter": 10**9,
        "fit_intercept": False,
    },
}
CLASSIFIERS = ("SVC", "NuSVC")
PROMISED = {"float64": 1e-6, "float32": 0.05}
"""The largest relative error of a gap, by the precision of the kernel rows that certify it: these
are float32 only where rounding is at most a hundredth of the violation."""


def make_data(name, count):
    """A problem that takes long: noisy, so that many variables stay at their bounds."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(count, 30))
    z = np.sin(2 * X[:, 0]) + 0.3 * rng.normal(size=count)
    if name == "LinearSVC":
        return X, np.digitize(z, [-0.6, -0.2, 0.2, 0.6])
    return X, z > 0 if name in CLASSIFIERS else None if name == "OneClassSVM" else z


# --- the child ---------------------------------------------------------------------------------


def child(name, on_interrupt, count, times, longest):
    """Fits; reports how long that takes, when it is ready for a signal and, as JSON, how and when
    each fit ended."""
    import softmargin

    warnings.simplefilter("ignore")
    X, y = make_data(name, count)
    first = getattr(softmargin, name)(**MACHINES[name], time_limit=longest).fit(X, y)
    print(first.solution_.seconds, flush=True)  # so that signals come before a fit's end
    for _ in range(times):
        machine = getattr(softmargin, name)(**MACHINES[name], on_interrupt=on_interrupt)
        stopped = []
        machine.set_params(callbacks=[lambda status, at=stopped: at.append(time.time())])
        print("ready", flush=True)
        try:
            machine.fit(X, y)
            answer = {"reason": machine.solution_.stop_reason.name}
        except KeyboardInterrupt:
            answer = {"reason": "KeyboardInterrupt"}
        answer["at"] = time.time()
        if answer["reason"] == "INTERRUPTED":
            # The last look but one is when the solver has stopped, the last one is the end.
            answer["solver"] = stopped[-2] if len(stopped) > 1 else answer["at"]
            answer["certified"] = machine.solution_.duality_gap
            answer["precision"] = machine.solution_.precision
            answer["recomputed"] = recomputed_gap(name, machine, X, y)
        print(json.dumps(answer), flush=True)


# --- gaps, recomputed --------------------------------------------------------------------------


def recomputed_gap(name, machine, X, y):
    """Primal minus dual objective, from the fitted attributes and kernel values of our own."""
    if name == "LinearSVC":
        return _linear_gap(machine, X, y)
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
    # The width of the tube is the best one for w and b, which is one of the errors.
    widths = np.sort(error)[::-1]
    losses = C * (np.cumsum(widths) - np.arange(1, len(y) + 1) * widths)
    return norm + (parameters["nu"] * C * len(y) * widths + losses).min() - fitted


def _linear_gap(machine, X, y):
    """Weston-Watkins: the dual variables that a warm start would continue from give the dual."""
    kept, W, C = machine._kept, machine.coef_, machine.get_params()["C"]
    scores = X @ W.T
    losses = np.maximum(0, 1 + scores - np.take_along_axis(scores, y[:, None], axis=1))
    losses[np.arange(len(y)), y] = 0
    return (W**2).sum() + C * losses.sum() - C * kept.share.sum()


# --- the parent --------------------------------------------------------------------------------


def interrupt(name, on_interrupt, args):
    """The child's answers, with the seconds that each took."""
    command = [sys.executable, __file__, "--child", name, on_interrupt]
    for option in ("examples", "times", "longest"):
        command += [f"--{option}", str(getattr(args, option))]
    answers = []
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        latest = 0.8 * float(process.stdout.readline())
        for _ in range(args.times):
            assert process.stdout.readline().strip() == "ready"
            time.sleep(random.uniform(0, latest))
            sent = time.time()
            process.send_signal(signal.SIGINT)
            answer = json.loads(process.stdout.readline())
            answers.append({**answer, "sent": sent})
    return answers


def report(name, on_interrupt, answers):
    """Prints a row; returns what is wrong."""
    seconds = [answer["at"] - answer["sent"] for answer in answers]
    solver = [max(0.0, a["solver"] - a["sent"]) for a in answers if "solver" in a]
    wrong = [
        (abs(a["certified"] - a["recomputed"]) / abs(a["recomputed"]), PROMISED[a["precision"]])
        for a in answers
        if "certified" in a
    ]
    columns = [
        f"{np.median(seconds):.3f}",
        f"{max(seconds):.3f}",
        f"{max(solver):.3f}" if solver else "-",
        f"{max(wrong)[0]:.1e}" if wrong else "-",
    ]
    print(f"| {name} | {on_interrupt} | {' | '.join(columns)} |", flush=True)
    expected = {"raise": "KeyboardInterrupt", "keep": "INTERRUPTED"}[on_interrupt]
    faults = [f"{name}: {a['reason']}" for a in answers if a["reason"] != expected]
    if on_interrupt == "raise" and max(seconds) > 0.2:
        faults.append(f"{name}: took {max(seconds):.3f} s to raise")
    faults += [f"{name}: a certificate is off by {w:.1e}" for w, most in wrong if w > most]
    return faults


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--times", type=int, default=20, help="per machine (default: 20)")
    parser.add_argument("--examples", type=int, default=10000, help="default: 10000")
    parser.add_argument("--longest", type=float, default=1.5, help="wait up to (default: 1.5 s)")
    parser.add_argument("--machines", nargs="+", default=list(MACHINES), choices=MACHINES)
    parser.add_argument("--child", nargs=2, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.child:
        return child(*args.child, args.examples, args.times, args.longest)
    random.seed(0)
    print(
        "| machine | on_interrupt | median s | longest s | longest s until stopped"
        " | relative error of the gap |"
    )
    print("|---|---|---|---|---|---|", flush=True)
    faults = []
    for name in args.machines:
        for on_interrupt in ("raise", "keep"):
            faults += report(name, on_interrupt, interrupt(name, on_interrupt, args))
    if faults:
        raise SystemExit("\n".join(faults))
    return None


if __name__ == "__main__":
    main()
