"""A fitted machine in words: what it is, what it holds, and how optimal it is."""

from __future__ import annotations

from typing import Any

KINDS = {
    "SVC": "C-SVC",
    "NuSVC": "nu-SVC",
    "OneClassSVM": "one-class",
    "SVR": "epsilon-SVR",
    "NuSVR": "nu-SVR",
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
}


def as_dict(machine: Any) -> dict[str, Any]:
    """For JSON; `machine` is an estimator or a record."""
    kind, params, values = _parts(machine)
    kernel = params["kernel"]
    numbers = {**params, "gamma": values.get("_gamma")}
    result: dict[str, Any] = {
        "machine": KINDS[kind],
        "kernel": kernel,
        **{name: numbers[name] for name in KERNEL_PARAMETERS[kernel]},
        **{name: params[name] for name in MACHINE_PARAMETERS[kind] if name in params},
        "features": values["n_features_in_"],
        "support_vectors": len(values["support_"]),
    }
    if "classes_" in values:
        result["classes"] = values["classes_"].tolist()
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
    skip = ("machine", "kernel", "features", "support_vectors", "classes", "certificate")
    numbers = [
        f"{k} {v:g}" for k, v in facts.items() if k not in skip and isinstance(v, float | int)
    ]
    lines = [
        f"machine     {', '.join([facts['machine'], facts['kernel'] + ' kernel', *numbers])}",
        f"features    {facts['features']}",
    ]
    if "classes" in facts:
        lines.append(f"classes     {_listing(facts['classes'])}")
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
        f"work        {certificate['iterations']} iterations, {certificate['kernel_rows']} kernel"
        f" rows, {certificate['seconds']:.3g} s{several}",
    ]


def _stop_sentence(certificate: dict[str, Any]) -> str:
    from softmargin.solution import StopReason

    reason = StopReason[certificate["stop_reason"].upper()]
    return reason.cause.replace(" (max_iter={max_iter})", " (max_iter)")


def _listing(values: Any, most: int = 12) -> str:
    shown = [str(value) for value in values[:most]]
    more = f" ... {len(values)} in all" if len(values) > most else ""
    return " ".join(shown) + more
