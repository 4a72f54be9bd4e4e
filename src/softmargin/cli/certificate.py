"""A fitted machine as a report: its parameters, its contents, and its certificate."""

from __future__ import annotations

from typing import Any

from softmargin import certificate_text
from softmargin.cli.terminal import label_text
from softmargin.io.models.record import Record
from softmargin.problem.kernel_names import PARAMETERS

KINDS = {
    "SVC": "C-SVC",
    "NuSVC": "nu-SVC",
    "OneClassSVM": "one-class",
    "SVR": "epsilon-SVR",
    "NuSVR": "nu-SVR",
    "LinearSVC": "linear",
    "LinearSVR": "linear regression",
}
MACHINE_PARAMETERS = {
    "SVC": ("C",),
    "NuSVC": ("nu",),
    "OneClassSVM": ("nu",),
    "SVR": ("C", "epsilon"),
    "NuSVR": ("C", "nu"),
    "LinearSVC": ("multi_class", "penalty", "loss", "C"),
    "LinearSVR": ("loss", "C", "epsilon"),
}

TOLERANCES = ("tol", "gap_tol")


def as_dict(machine: Any) -> dict[str, Any]:
    """For JSON; `machine` is an estimator or a record."""
    record = _record(machine)
    params, values = record.params, record.attributes
    result: dict[str, Any] = {"machine": KINDS[record.kind]}
    if "kernel" in params:
        numbers = {**params, "gamma": values.get("_gamma")}
        result["kernel"] = params["kernel"]
        result |= {name: numbers[name] for name in PARAMETERS[params["kernel"]]}
    if record.scores_classes:
        result["multi_class"] = params["multi_class"]
    names = (*MACHINE_PARAMETERS[record.kind], *TOLERANCES)
    result |= {name: params[name] for name in names if name in params}
    result["features"] = values["n_features_in_"]
    if "feature_names_in_" in values:
        result["columns"] = values["feature_names_in_"].tolist()
    if values.get("_target_name") is not None:
        result["target"] = values["_target_name"]
    if "_scaling" in values:
        result["scaled_to"] = list(values["_scaling"][:2])
    if "support_" in values:
        result["support_vectors"] = len(values["support_"])
    if "classes_" in values:
        result["classes"] = values["classes_"].tolist()
    if "classes_" in values and "_n_support" in values:
        result["support_vectors_by_class"] = values["_n_support"].tolist()
    solution = values.get("solution_")
    result["certificate"] = None if solution is None else _certificate(solution)
    return result


def _record(machine: Any) -> Record:
    return machine if isinstance(machine, Record) else Record.of(machine)


def _certificate(solution: Any) -> dict[str, Any]:
    return {
        "primal_objective": solution.primal_objective,
        "dual_objective": solution.dual_objective,
        "duality_gap": solution.duality_gap,
        "relative_gap": solution.relative_gap,
        "kkt_violation": solution.kkt_violation,
        "stop_reason": solution.stop_reason.name.lower(),
        "converged": solution.converged,
        "certified": solution.certified,
        "convexity": solution.convexity.name.lower(),
        "iterations": solution.iterations,
        "kernel_rows": solution.kernel_rows,
        "seconds": solution.seconds,
        "problems": max(len(solution.problems), 1),
    }


def as_lines(machine: Any) -> list[str]:
    facts, solution = as_dict(machine), _record(machine).attributes.get("solution_")
    names = ("multi_class", *PARAMETERS["poly"], "C", "nu", "epsilon")
    words = [facts["machine"], *([f"{facts['kernel']} kernel"] if "kernel" in facts else [])]
    words += [f"{k} {_short(facts[k])}" for k in names if k in facts]
    lines = [f"machine     {', '.join(words)}", f"features    {facts['features']}{_named(facts)}"]
    if "scaled_to" in facts:
        lower, upper = facts["scaled_to"]
        lines.append(f"scaling     to [{lower:g}, {upper:g}] by the machine itself, as in training")
    if "target" in facts:
        lines.append(f"target      {facts['target']}")
    if "classes" in facts:
        lines.append(f"classes     {listing(facts['classes'], separator=', ')}")
    if "support_vectors" in facts:
        counts = facts.get("support_vectors_by_class", ())
        by_class = f" ({listing(counts)} by class)" if len(counts) > 1 else ""
        lines.append(f"support     {facts['support_vectors']} vectors{by_class}")
    if solution is None:
        return [*lines, "certificate none: this format does not carry one"]
    certificate = certificate_text.facts(solution, *(facts.get(name) for name in TOLERANCES))
    return [*lines, *certificate_text.lines(certificate)]


def _short(value: Any) -> str:
    return value if isinstance(value, str) else f"{value:g}"


def _named(facts: dict[str, Any]) -> str:
    return f": {listing(facts['columns'], separator=', ')}" if "columns" in facts else ""


def listing(values: Any, most: int = 12, separator: str = " ") -> str:
    shown = [label_text(value) or "''" for value in values[:most]]
    more = f" ... {len(values)} in all" if len(values) > most else ""
    return separator.join(shown) + more
