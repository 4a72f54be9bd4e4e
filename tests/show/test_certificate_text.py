"""A certificate as it is printed, shown in a notebook, and told by the command line."""

import html.parser
import re
import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from softmargin import SVC, SVR, LinearSVC, NuSVC, NuSVR, OneClassSVM, StopReason
from softmargin.certificate_text import facts
from softmargin.cli.certificate import as_lines

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3))
CLASSES = RNG.integers(0, 3, 60)
MACHINES = {
    "SVC": (SVC(), CLASSES),
    "NuSVC": (NuSVC(nu=0.3), CLASSES),
    "SVR": (SVR(), X[:, 0]),
    "NuSVR": (NuSVR(), X[:, 0]),
    "OneClassSVM": (OneClassSVM(), None),
    "LinearSVC": (
        LinearSVC(multi_class="weston_watkins", tol=1e-3, random_state=0),
        CLASSES,
    ),
}
NAMES = ["gap", "primal", "dual", "KKT", "stopped", "work"]


class Table(html.parser.HTMLParser):
    """The cells of a table, row by row, as a browser would show them."""

    def __init__(self, source):
        super().__init__()
        self.rows, self.open = [], []
        self.feed(source)
        assert not self.open

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)
        if tag == "tr":
            self.rows.append([])

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        assert self.open[-1] in ("th", "td")
        self.rows[-1].append(data)


@pytest.mark.parametrize("name", MACHINES)
def test_the_gap_is_first_everywhere(name):
    machine, y = MACHINES[name]
    solution = machine.fit(X, y).solution_
    lines = str(solution).splitlines()
    assert [line.split()[0] for line in lines] == NAMES
    assert f"{solution.duality_gap:.3g}, {solution.relative_gap:.2g} of the objective" in lines[0]
    rows = Table(solution._repr_html_()).rows
    assert [f"{name:<12}{fact}" for name, fact in rows] == lines
    told = [re.sub(r" \((gap_)?tol 0.001\)", "", line) for line in as_lines(machine)]
    assert told[-len(lines) :] == lines
    assert repr(solution).startswith("Solution(dual_objective=")


def test_the_tolerances_stand_where_they_apply():
    kernel, linear = MACHINES["SVC"][0].fit(X, CLASSES), MACHINES["LinearSVC"][0].fit(X, CLASSES)
    told = facts(kernel.solution_, 1e-3, 1e-4)
    assert told["gap"].endswith(" of the objective (gap_tol 0.0001)")
    assert told["KKT"].endswith(" (tol 0.001)")
    told = facts(linear.solution_, 1e-3, None)
    assert told["gap"].endswith(" of the objective (tol 0.001)")
    assert "tol" not in told["KKT"]


def test_what_is_not_certified_says_so_before_its_gap():
    solution = SVC(kernel="sigmoid", gamma=1.0).fit(X, CLASSES).solution_
    first, second = str(solution).splitlines()[:2]
    assert first.startswith("certified   no. ")
    assert second == "gap         unknown"


@pytest.mark.parametrize("reason", StopReason)
def test_no_template_reaches_a_reader(reason):
    assert "{" not in reason.cause + reason.remedy


def test_max_iter_is_told_with_its_value_where_that_is_known():
    machine = SVC(max_iter=3)
    with pytest.warns(ConvergenceWarning, match=r"^Solver terminated early \(max_iter=3\)\.  "):
        machine.fit(X, CLASSES)
    assert "stopped     Solver terminated early (max_iter)." in str(machine.solution_)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert str(machine.solution_.problems[0]).startswith("gap  ")
