"""A fitted machine in words: what it is, what it holds, and how optimal it is."""

from __future__ import annotations

from typing import Any

KINDS = {
    "SVC": "C-SVC",
    "NuSVC": "nu-SVC",
    "OneClassSVM": "one-class",
    "SVR": "epsilon-SVR",
    "NuSVR": "nu-SVR",
    "LinearSVC": "linear",
}
KERNEL_PARAMETERS = {
    "linear": (),
    "poly": ("degree", "gamma", "coef0"),
    "rbf": ("gamma",),
    "sigmoid": ("gamma", "coef0"),
    "precomputed": (),
}
MACHINE_PARAMETERS = {
    "SVC": ("C",),
    "NuSVC": ("nu",),
    "OneClassSVM": ("nu",),
    "SVR": ("C", "epsilon"),
    "NuSVR": ("C", "nu"),
    "LinearSVC": ("multi_class", "C"),
}


def as_dict(machine: Any) -> dict[str, Any]:
    """For JSON; `machine` is an estimator or a record."""
    kind, params, values = _parts(machine)
    result: dict[str, Any] = {"machine": KINDS[kind]}
    if kind != "LinearSVC":
        numbers = {**params, "gamma": values.get("_gamma")}
        result["kernel"] = params["kernel"]
        result |= {name: numbers[name] for name in KERNEL_PARAMETERS[params["kernel"]]}
    result |= {name: params[name] for name in MACHINE_PARAMETERS[kind] if name in params}
    result["features"] = values["n_features_in_"]
    if "support_" in values:
        result["support_vectors"] = len(values["support_"])
    if "classes_" in values:
        result["classes"] = values["classes_"].tolist()
    if "classes_" in values and "_n_support" in values:
        result["support_vectors_by_class"] = values["_n_support"].tolist()
    solution = values.get("solution_")
    result["certificate"] = None if solution is None else _certificate(solution)
    return result


def _parts(machine: Any) -> tuple[str, dict[str, Any], dict[str, Any]]:
    if hasattr(machine, "attributes"):
        return machine.kind, machine.params, machine.attributes
    return type(machine).__name__, machine.get_params(deep=False), vars(machine)


def _certificate(solution: Any) -> dict[str, Any]:
    return {
        "primal_objective": solution.primal_objective,
        "dual_objective": solution.dual_objective,
        "duality_gap": solution.duality_gap,
        "relative_gap": solution.relative_gap,
        "kkt_violation": solution.kkt_violation,
        "stop_reason": solution.stop_reason.name.lower(),
        "converged": solution.converged,
        "iterations": solution.iterations,
        "kernel_rows": solution.kernel_rows,
        "seconds": solution.seconds,
        "problems": max(len(solution.problems), 1),
    }


def as_lines(machine: Any) -> list[str]:
    facts = as_dict(machine)
    certificate = facts["certificate"]
    names = ("multi_class", *KERNEL_PARAMETERS["poly"], "C", "nu", "epsilon")
    words = [facts["machine"], *([f"{facts['kernel']} kernel"] if "kernel" in facts else [])]
    words += [f"{k} {_short(facts[k])}" for k in names if k in facts]
    lines = [f"machine     {', '.join(words)}", f"features    {facts['features']}"]
    if "classes" in facts:
        lines.append(f"classes     {_listing(facts['classes'])}")
    if "support_vectors" in facts:
        counts = facts.get("support_vectors_by_class", ())
        by_class = f" ({_listing(counts)} by class)" if len(counts) > 1 else ""
        lines.append(f"support     {facts['support_vectors']} vectors{by_class}")
    if certificate is None:
        return [*lines, "certificate none: this format does not carry one"]
    several = f", {certificate['problems']} pairs of classes" if certificate["problems"] > 1 else ""
    reason = _stop_sentence(certificate)
    return [
        *lines,
        f"primal      {certificate['primal_objective']:.10g}",
        f"dual        {certificate['dual_objective']:.10g}",
        f"gap         {certificate['duality_gap']:.3g}, {certificate['relative_gap']:.2g} of the"
        " objective",
        f"violation   {certificate['kkt_violation']:.3g} of the optimality conditions",
        f"stopped     {reason}",
        f"work        {certificate['iterations']} {_work(facts)},"
        f" {certificate['seconds']:.3g} s{several}",
    ]


def _stop_sentence(certificate: dict[str, Any]) -> str:
    from softmargin.solution import StopReason

    reason = StopReason[certificate["stop_reason"].upper()]
    return reason.cause.replace(" (max_iter={max_iter})", " (max_iter)")


def _work(facts: dict[str, Any]) -> str:
    if "kernel" not in facts:
        return "passes"
    return f"iterations, {facts['certificate']['kernel_rows']} kernel rows"


def _short(value: Any) -> str:
    return value if isinstance(value, str) else f"{value:g}"


def _listing(values: Any, most: int = 12) -> str:
    shown = [str(value) for value in values[:most]]
    more = f" ... {len(values)} in all" if len(values) > most else ""
    return " ".join(shown) + more
