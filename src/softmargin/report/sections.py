"""The sections of a report, in their order.  Each takes the subject and returns HTML, which is
empty if the section has no content."""

from __future__ import annotations

import platform
from collections.abc import Callable
from typing import Any

import numpy as np

import softmargin
from softmargin.cli.certificate import KINDS, MACHINE_PARAMETERS
from softmargin.problem.kernel_names import PARAMETERS
from softmargin.report.calibration import calibration
from softmargin.report.html import facts, note, number, section, table, text
from softmargin.report.judgement import judgement
from softmargin.report.pictures import picture
from softmargin.report.subject import Subject

MOST_PROBLEMS = 10

Facts = list[tuple[str, str]]
"""Names and values, which are HTML."""


def machine_section(subject: Subject) -> str:
    rows = [*_stated(subject), *_trained_on(subject), *_columns(subject)]
    return section("The machine", facts((name, value) for name, value in rows if value))


def _stated(subject: Subject) -> Facts:
    """The machine and its parameters."""
    record, params = subject.record, subject.record.params
    rows = [("machine", f"{text(record.kind)} ({text(KINDS[record.kind])})")]
    if "kernel" in params:
        rows.append(("kernel", _kernel(params, record.attributes.get("_gamma"))))
    rows += [(name, number(params[name], 6)) for name in MACHINE_PARAMETERS[record.kind]]
    shown = {name for name, _ in rows} | {"kernel", "gamma"}
    return [*rows, ("other parameters", _changed(subject.machine, shown))]


def _kernel(params: dict[str, Any], gamma: Any) -> str:
    kernel = params["kernel"]
    if callable(kernel):
        return text(repr(kernel))
    numbers = {**params, "gamma": gamma}
    return ", ".join([text(kernel), *(f"{k} {number(numbers[k], 6)}" for k in PARAMETERS[kernel])])


def _trained_on(subject: Subject) -> Facts:
    """What the data were, as far as the machine knows, and its support vectors."""
    values, rows = subject.record.attributes, []
    if "shape_fit_" in values:
        shape = " x ".join(number(length) for length in values["shape_fit_"])
        rows.append(("trained on", f"{shape} (examples x features)"))
    else:
        rows.append(("features", number(values["n_features_in_"])))
    if "classes_" in values:
        rows.append(("classes", _listing(values["classes_"].tolist())))
    if "support_" in values:
        counts = values["_n_support"].tolist() if "classes_" in values else []
        by_class = f" (by class: {_listing(counts)})" if counts else ""
        rows.append(("support vectors", f"{number(len(values['support_']))}{by_class}"))
    return rows


def _columns(subject: Subject) -> Facts:
    """The names of the columns, and how the machine scales them."""
    values, scale, rows = subject.record.attributes, subject.record.scale, []
    names = values.get("feature_names_in_")
    if names is not None:
        rows.append(("feature names", _listing(names.tolist())))
    if values.get("_target_name") is not None:
        rows.append(("target", text(values["_target_name"])))
    if scale is not None:
        words = "by the ranges of the training data; the machine does this itself"
        rows.append(("scaling", f"to [{scale.lower:g}, {scale.upper:g}] {words}"))
    return rows


def _changed(machine: Any, shown: set[str]) -> str:
    """The parameters that are not at their defaults."""
    defaults = type(machine)().get_params(deep=False)
    params = machine.get_params(deep=False)
    changed = [
        f"{text(name)}={text(repr(value))}"
        for name, value in params.items()
        if name not in shown and repr(value) != repr(defaults[name])
    ]
    return ", ".join(changed) or "at their defaults"


def _listing(values: list[Any], most: int = 20) -> str:
    more = f" ... {len(values):,} in all" if len(values) > most else ""
    return text(", ".join(str(value) for value in values[:most])) + more


def certificate_section(subject: Subject) -> str:
    solution = subject.solution
    if solution is None:
        return section("Certificate", note("None: this file format does not carry a certificate."))
    measure = subject.machine._measure
    kind, mark = ("good", "✓") if solution.converged else ("warn", "!")
    cause = solution.stop_reason.cause_with(max_iter=subject.machine.max_iter)
    remedy = "" if solution.converged else f" {solution.stop_reason.remedy}"
    verdict = f"<p class='verdict {kind}'>{mark} {text(cause + remedy)}</p>"
    stopping = f" (tol {number(subject.machine.tol)})"
    violation, gap = (stopping, "") if measure.name == "violation" else ("", stopping)
    rows = [
        ("primal objective", f"{solution.primal_objective:.10g} (upper bound on the optimum)"),
        ("dual objective", f"{solution.dual_objective:.10g} (lower bound)"),
        ("duality gap", f"{solution.duality_gap:.3g}"),
        ("relative gap", f"{solution.relative_gap:.2g}{gap}"),
        ("KKT violation", f"{solution.kkt_violation:.3g}{violation}"),
        ("passes" if measure.name == "relative gap" else "iterations", number(solution.iterations)),
        *_kernel_work(solution),
        ("seconds", number(solution.seconds, 3)),
        ("working set", _working_set(solution)),
        ("precision", text(solution.precision)),
    ]
    return section("Certificate", verdict, facts(rows))


def _working_set(solution: Any) -> str:
    """With its reason; of several problems, the reason of the longest."""
    longest = max(solution.problems or [solution], key=lambda one: one.seconds)
    which = "of the longest problem: " if solution.problems else ""
    return text(f"{solution.working_set} ({which}{longest.working_set_reason})")


def _kernel_work(solution: Any) -> list[tuple[str, str]]:
    if not solution.kernel_rows:
        return []
    return [
        (
            "kernel rows",
            f"{number(solution.kernel_rows)} (from the cache: {number(solution.cache_hits)})",
        )
    ]


def convergence_section(subject: Subject) -> str:
    if subject.solution is None or not hasattr(subject.machine, "history_"):
        return section(
            "Convergence",
            note("This machine was loaded from a file that does not keep the history of the fit."),
        )
    from softmargin.plotting.convergence import course, plot_convergence

    _, _, primal = course(subject.machine)
    if np.isfinite(primal).sum() < 2:
        words = "The fit was too short to plot: it ended before it could be observed a second time."
        return section("Convergence", note(words))

    def draw(ax: Any) -> None:
        plot_convergence(subject.machine, ax)
        ax.set_title("")

    several = subject.solution.problems
    of = f"all {len(several):,} problems, added up" if several else "the fit"
    return section(
        "Convergence",
        picture(draw, f"The history of {of}. The optimum lies in the shaded gap.", height=3.0),
    )


def search_section(subject: Subject) -> str:
    """The map of the search that found the parameters."""
    search = subject.search
    if search is None:
        return ""
    found = [(name, text(value)) for name, value in search.best_params_.items()]
    best = facts([*found, ("score", f"{search.best_score_:.4g}")])
    try:
        drawn = picture(lambda ax: _draw_search(search, ax), "The score of all candidates.")
    except ValueError:  # fewer than two parameters with several numbers: there is no map
        drawn = ""
    return section("Search", best, drawn)


def _draw_search(search: Any, ax: Any) -> None:
    from softmargin.plotting.search import plot_search

    plot_search(search, ax=ax)


def slowest_section(subject: Subject) -> str:
    solution = subject.solution
    if solution is None or not solution.problems:
        return ""
    names = _problem_names(subject)
    order = sorted(range(len(solution.problems)), key=lambda k: -solution.problems[k].seconds)
    rows = []
    for k in order[:MOST_PROBLEMS]:
        one = solution.problems[k]
        share = one.seconds / solution.seconds if solution.seconds else 0.0
        rows.append(
            (
                text(names[k]),
                f"{one.seconds:.3g}",
                f"{share:.1%}",
                number(one.iterations),
                number(one.kernel_rows),
                f"{one.relative_gap:.1e}",
            )
        )
    heads = ("problem", "seconds", "share", "iterations", "kernel rows", "relative gap")
    of = f"{min(MOST_PROBLEMS, len(order))} of {len(order):,} problems"
    return section(
        "Slowest parts", f"<p class=under>{of}, by the time they took</p>", table(heads, rows)
    )


def _problem_names(subject: Subject) -> list[str]:
    from softmargin.estimator.one_vs_one import pairs

    count = len(subject.solution.problems)
    classes = subject.record.attributes.get("classes_")
    if subject.record.scores_classes:
        return [f"{label} against the rest" for label in subject.record.attributes["classes_"]]
    if classes is not None and not subject.record.is_linear and len(pairs(len(classes))) == count:
        return [f"{classes[i]} against {classes[j]}" for i, j in pairs(len(classes))]
    return [f"part {k + 1}" for k in range(count)]


def versions_section(subject: Subject) -> str:
    import numpy
    import scipy
    import sklearn

    rows = [
        ("softmargin", softmargin.__version__),
        ("Python", platform.python_version()),
        ("NumPy", numpy.__version__),
        ("SciPy", scipy.__version__),
        ("scikit-learn", sklearn.__version__),
        ("system", f"{platform.system()} {platform.machine()}"),
    ]
    words = (
        "The versions that wrote this report. A machine from a file may have been trained with"
        " others."
    )
    return section("Versions", facts((name, text(value)) for name, value in rows), note(words))


SECTIONS: tuple[Callable[[Subject], str], ...] = (
    machine_section,
    certificate_section,
    convergence_section,
    search_section,
    judgement,
    calibration,
    slowest_section,
    versions_section,
)
