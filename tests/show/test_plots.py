"""Pictures: what is drawn is what the machine says."""

import numpy as np
import pytest
from sklearn.datasets import load_iris, make_moons
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from softmargin import SVC, SVR, LinearSVC, NuSVC, NuSVR, OneClassSVM
from softmargin.plotting import plot_convergence, plot_decision, plot_support

matplotlib = pytest.importorskip("matplotlib", reason="matplotlib is not installed")
matplotlib.use("agg")
from matplotlib import pyplot  # noqa: E402

pytestmark = pytest.mark.thread_unsafe(reason="pyplot keeps its figures in globals")


@pytest.fixture(autouse=True)
def closed_figures():
    yield
    pyplot.close("all")


def moons():
    return make_moons(300, noise=0.2, random_state=0)


def waves(n=120):
    rng = np.random.default_rng(0)
    x = np.sort(rng.uniform(0, 10, n))[:, None]
    return x, np.sin(x[:, 0]) + 0.2 * rng.normal(size=n)


def three_classes(n=900):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(n, 4))
    return X, np.digitize(X[:, 0] + 0.3 * rng.normal(size=n), [-0.4, 0.4])


# --- convergence --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "machine",
    [
        *(SVC(C=10.0), NuSVC(nu=0.6), SVC(C=10.0, working_set="second-order")),
        *(
            LinearSVC(multi_class="weston_watkins", random_state=0),
            LinearSVC(loss="hinge", n_jobs=2, random_state=0),
        ),
    ],
)
@pytest.mark.parametrize("slices", ["of_time", "of_one_step"])
def test_totals_end_at_the_certificate(machine, slices, request):
    """The history's sums over all problems end at the sums of the certificate, and on the way the
    optimum lies between them.  Slices of one step end between two problems, too."""
    if slices == "of_one_step":
        request.getfixturevalue("short_slices")
    X, y = three_classes()
    machine.fit(X, y)
    history, solution = machine.history_, machine.solution_
    assert history["dual"][-1] == pytest.approx(solution.dual_objective, rel=1e-9)
    assert history["primal"][-1] <= solution.primal_objective + 1e-9 * abs(solution.dual_objective)
    known = np.isfinite(history["primal"])
    assert known[-1]
    if isinstance(machine, LinearSVC):  # whose primal objective is an estimate on the way
        return
    slack = 1e-6 * abs(solution.dual_objective)
    assert (history["primal"][known] >= solution.dual_objective - slack).all()
    assert (history["dual"] <= solution.primal_objective + slack).all()


def test_gaps_on_the_way_are_those_of_a_fit_that_stops_there(short_slices, monkeypatch):
    monkeypatch.setattr("softmargin.watching.MEASURING_SHARE", 1e9)
    X, y = moons()
    machine = SVC(working_set="second-order", shrinking=False, time_limit=1e9).fit(X, y)
    history = machine.history_
    known = np.flatnonzero(np.isfinite(history["gap"]) & (history["iterations"] > 0))
    assert len(known) > 10
    for row in history[known[:: max(1, len(known) // 4)]]:
        stopped = SVC(working_set="second-order", shrinking=False, max_iter=int(row["iterations"]))
        with pytest.warns() if row["violation"] > stopped.tol else _nothing():
            stopped.fit(X, y)
        assert row["gap"] == pytest.approx(stopped.solution_.duality_gap, rel=1e-9, abs=1e-9)


def _nothing():
    from contextlib import nullcontext

    return nullcontext()


def test_start_of_a_fit_is_in_its_history():
    """Before the first step w = 0: every example has a loss of 1."""
    X, y = moons()
    first = SVC(C=3.0).fit(X, y).history_[0]
    assert (first["iterations"], first["dual"]) == (0, 0.0)
    assert first["primal"] == pytest.approx(3.0 * len(X))


@pytest.mark.parametrize("show", ["objectives", "gap"])
@pytest.mark.parametrize("classes", [2, 3])
def test_plot_of_the_convergence(classes, show):
    X, y = three_classes()
    machine = SVC().fit(X[y < classes], y[y < classes])
    figure, ax = pyplot.subplots()
    assert plot_convergence(machine, ax, show=show) is ax
    assert len(ax.lines) == (2 if show == "objectives" else 1)  # not one for each pair
    assert len(pyplot.get_fignums()) == 1
    figure.canvas.draw()


def test_convergence_of_a_tiny_fit():
    machine = SVC().fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1])
    assert len(plot_convergence(machine).lines) == 2


def test_unknown_quantity():
    machine = SVC().fit(*moons())
    with pytest.raises(ValueError, match="show='all'"):
        plot_convergence(machine, show="all")


@pytest.mark.parametrize("plot", [plot_convergence, plot_decision, plot_support])
def test_plot_of_an_unfitted_machine(plot):
    with pytest.raises(NotFittedError):
        plot(SVC(), *(() if plot is plot_convergence else moons()))


# --- decision -----------------------------------------------------------------------------------


def ringed(ax):
    """How many points have a ring."""
    return sum(
        len(drawn.get_offsets())
        for drawn in ax.collections
        if len(drawn.get_linewidths()) and drawn.get_linewidths()[0] == pytest.approx(0.8)
        if hasattr(drawn, "get_sizes") and len(drawn.get_sizes())
    )


@pytest.mark.parametrize("machine", [SVC(), NuSVC(nu=0.3), SVC(kernel="linear")])
def test_support_vectors_are_ringed(machine):
    X, y = moons()
    ax = plot_decision(machine.fit(X, y), X, y)
    assert ringed(ax) == len(machine.support_)
    assert "support vectors" in ax.get_title()


def test_other_data_have_no_rings():
    X, y = moons()
    ax = plot_decision(SVC().fit(X, y), X[::2], y[::2])
    assert ringed(ax) == 0
    assert ax.get_title() == ""


def test_linear_machine_has_no_support_vectors_to_ring():
    X, y = moons()
    assert (
        ringed(
            plot_decision(LinearSVC(multi_class="weston_watkins", random_state=0).fit(X, y), X, y)
        )
        == 0
    )


def test_pipeline_of_three_classes_with_names():
    X, y = load_iris(return_X_y=True)
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    pipeline = make_pipeline(StandardScaler(), SVC()).fit(X[:, :2], names)
    ax = plot_decision(pipeline, X[:, :2], names)
    assert ringed(ax) == len(pipeline[-1].support_)
    assert [t.get_text() for t in ax.get_legend().get_texts()] == [
        "setosa",
        "versicolor",
        "virginica",
    ]


def test_two_features_of_four():
    X, y = load_iris(return_X_y=True)
    machine = SVC().fit(X, y)
    with pytest.raises(ValueError, match="choose them"):
        plot_decision(machine, X, y)
    ax = plot_decision(machine, X, y, features=(2, 3), resolution=30)
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("feature 2", "feature 3")
    plot_decision(machine, X, y, features=(0, 3), others=X[0], resolution=30)


def test_data_frames_are_drawn_by_name():
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    X, y = load_iris(return_X_y=True)
    frame = pandas.DataFrame(X, columns=["a", "b", "c", "d"])
    machine = SVC().fit(frame, y)
    ax = plot_decision(machine, frame, y, features=("c", "d"), resolution=30)
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("c", "d")


def test_one_class_machine_and_regressions():
    X, y = moons()
    assert ringed(plot_decision(OneClassSVM(nu=0.1).fit(X), X)) > 0
    plot_decision(SVR().fit(X, X[:, 0]), X, X[:, 0], resolution=30)
    x, z = waves()
    machine = SVR(epsilon=0.2).fit(x, z)
    assert ringed(plot_decision(machine, x, z)) == len(machine.support_)
    plot_decision(NuSVR().fit(x, z), x)
    with pytest.raises(ValueError, match="Only regressions"):
        plot_decision(SVC().fit(X[:, :1], y), X[:, :1], y)


def test_precomputed_kernel_has_no_features():
    X, y = moons()
    with pytest.raises(ValueError, match="no features"):
        plot_decision(SVC(kernel="precomputed").fit(X @ X.T, y), X @ X.T, y)


# --- support ------------------------------------------------------------------------------------


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("C", [0.1, 10.0])
def test_margins_tell_support_vectors_from_others(classes, C):
    """The optimality conditions: beyond a margin of 1 there is no support vector, below only."""
    from softmargin.plotting.support import margins

    X, y = three_classes()
    X, y = X[y < classes], y[y < classes]
    machine = SVC(C=C, tol=1e-6).fit(X, y)
    values, support = margins(machine, X, y), np.isin(np.arange(len(X)), machine.support_)
    assert (values[~support] >= 1 - 1e-5).all()
    assert (values[support] <= 1 + 1e-5).all()


@pytest.mark.parametrize(
    "machine", [SVC(), LinearSVC(multi_class="weston_watkins", random_state=0), NuSVC(nu=0.5)]
)
def test_negative_margins_are_the_errors(machine):
    from softmargin.plotting.support import margins

    X, y = three_classes()
    pipeline = make_pipeline(StandardScaler(), machine).fit(X, y)
    values, wrong = margins(pipeline, X, y), pipeline.predict(X) != y
    assert (values[wrong] <= 0).all()
    if isinstance(machine, LinearSVC):
        assert (values[~wrong] >= 0).all()


@pytest.mark.parametrize(
    ("machine", "data"),
    [
        *(
            (SVC(), moons()),
            (LinearSVC(multi_class="weston_watkins", random_state=0), three_classes()),
            (SVR(), waves()),
        ),
        *((NuSVR(), waves()), (OneClassSVM(nu=0.1), (moons()[0], None))),
    ],
)
def test_plot_of_the_support_vectors(machine, data):
    X, y = data
    machine.fit(X, y)
    figure, ax = pyplot.subplots()
    assert plot_support(machine, X, y, ax) is ax
    heights = sum(patch.get_height() for patch in ax.patches)
    assert heights == len(X)  # every example is in one bin
    if hasattr(machine, "support_"):
        assert f"{len(machine.support_):,} of" in ax.get_title()
    figure.canvas.draw()


def test_margins_need_classes_that_the_machine_knows():
    X, y = moons()
    machine = SVC().fit(X, y)
    with pytest.raises(ValueError, match="y is missing"):
        plot_support(machine, X)
    with pytest.raises(ValueError, match="not a class of the machine"):
        plot_support(machine, X, y + 7)


@pytest.mark.parametrize("machine", [SVC(), SVR(C=0.01, gamma=5.0)])
def test_small_problems_have_their_start_in_the_history(machine):
    """Otherwise the sums over all pairs of classes would have their final values from the start."""
    X, y = load_iris(return_X_y=True)
    history = machine.fit(X, y).history_
    starts = history[history["iterations"] == 0]
    assert len(starts) == (1 if isinstance(machine, SVR) else 3)
    assert history["primal"][0] > history["primal"][-1]
    assert history["dual"][0] < history["dual"][-1]
    if isinstance(machine, SVR):  # the loss of predicting 0 everywhere
        assert history["primal"][0] == pytest.approx(0.01 * np.maximum(0, y - 0.1).sum())


def test_a_map_of_a_search():
    from softmargin import GridSearchCV
    from softmargin.plotting import plot_search

    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    y = (X[:, 0] ** 2 + X[:, 1] > 0.5).astype(int)
    points = {"C": [0.1, 1, 10, 100], "gamma": [0.01, 0.1, 1], "kernel": ["rbf", "poly"]}
    search = GridSearchCV(SVC(), points, cv=3).fit(X, y)
    ax = plot_search(search)
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("C", "gamma")
    names = [text.get_text() for text in ax.get_legend().get_texts()]
    assert names[-1] == f"best: {search.best_score_:.4g}"
    assert plot_search(search, "gamma", "C", time=True).get_xlabel() == "gamma"
    one = GridSearchCV(SVC(), {"C": [1, 2]}, cv=3).fit(X, y)
    with pytest.raises(ValueError, match="this search varies C"):
        plot_search(one)
    pyplot.close("all")


@pytest.mark.parametrize("epsilon", [1e-9, 0.01, 0.3])
def test_a_narrow_tube_makes_no_needles(epsilon):
    X, y = waves()
    ax = plot_support(SVR(C=0.1, epsilon=epsilon).fit(X, y), X, y)
    assert len(ax.patches) < 200


def test_the_picture_begins_when_the_solver_does():
    machine = SVC().fit(*moons())
    seconds, dual, primal = (np.array(z) for z in ([0.9, 0.95, 1.0], [0, 1, 2.0], [9, 5, 2.0]))
    machine.__dict__["_history"] = type("History", (), {"array": staticmethod(lambda: recorded)})
    recorded = np.rec.fromarrays(
        [seconds, dual, primal, [0, 1, 2]], names="seconds,dual,primal,iterations"
    )
    assert plot_convergence(machine).get_xlim() == (0.9, 1.0)
    recorded["seconds"][0] = 0.1
    assert plot_convergence(machine).get_xlim() == (0.0, 1.0)


@pytest.mark.parametrize("classes", [2, 3])
def test_a_reliability_diagram(classes):
    """Points at the mean probability and the share that happened; bars that count all examples."""
    from softmargin.plotting import plot_calibration

    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 2))
    y = (X[:, 0] > 0).astype(int) + (X[:, 1] > 0.5) * (classes == 3)
    machine = SVC(probability=True).fit(X[:100], y[:100])
    ax = plot_calibration(machine, X[100:], y[100:], bins=4)
    p = machine.predict_proba(X[100:])
    told = p[:, 1] if classes == 2 else p.max(axis=1)
    happened = y[100:] == (1 if classes == 2 else machine.predict(X[100:]))
    parts = np.argsort(told).reshape(4, 25)
    drawn = ax.containers[0].lines[0]
    np.testing.assert_allclose(drawn.get_xdata(), told[parts].mean(axis=1))
    np.testing.assert_allclose(drawn.get_ydata(), happened[parts].mean(axis=1))
    bars = ax.figure.axes[1].patches
    assert sum(bar.get_height() for bar in bars) == 100
    assert ("predicted class" in ax.get_xlabel()) == (classes == 3)
    with pytest.raises(ValueError, match="Fit it with probability=True"):
        plot_calibration(SVC().fit(X, y), X, y)
    with pytest.raises(ValueError, match="bins must be 1 or more"):
        plot_calibration(machine, X, y, bins=0)
    with pytest.raises(ValueError, match="a class for each of the 200 rows"):
        plot_calibration(machine, X, y[:10])
    pyplot.close("all")
