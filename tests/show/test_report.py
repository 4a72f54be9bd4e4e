"""The report: one file, all of what it promises, opened in a browser."""

import json
import re
import shutil
import subprocess
from html.parser import HTMLParser

import numpy as np
import pytest
from sklearn.datasets import load_diabetes, load_iris, make_moons
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import softmargin
from softmargin import SVC, SVR, LinearSVC, NuSVC, NuSVR, OneClassSVM
from softmargin.cli import main

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
pytestmark = pytest.mark.thread_unsafe(reason="matplotlib's settings are those of the process")


class Outside(HTMLParser):
    """Collects what a page refers to, and checks that its elements are closed."""

    VOID = ("meta", "br", "link", "img")

    def __init__(self):
        super().__init__()
        self.references, self.open = [], []

    def handle_starttag(self, tag, attrs):
        if tag not in self.VOID:
            self.open.append(tag)
        self.references += [
            value for name, value in attrs if name in ("src", "href", "xlink:href", "srcset")
        ]

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        if tag not in self.VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def checked(path):
    text = path.read_text("utf-8")
    page = Outside()
    page.feed(text)
    assert not page.open
    assert all(reference.startswith(("#", "data:")) for reference in page.references)
    assert "<script" not in text
    assert not re.search(r"https?://", text)
    assert all(link.startswith("#") for link in re.findall(r"url\(['\"]?([^)'\"]*)", text))
    return text


def iris():
    X, y = load_iris(return_X_y=True)
    return X, np.array(["setosa", "versicolor", "virginica"])[y]


@pytest.mark.parametrize(
    ("machine", "data"),
    [
        *(
            (SVC(), iris()),
            (NuSVC(nu=0.3), iris()),
            (LinearSVC(multi_class="weston_watkins", random_state=0), iris()),
        ),
        *((SVR(), load_diabetes(return_X_y=True)), (NuSVR(), load_diabetes(return_X_y=True))),
        *((OneClassSVM(nu=0.1), (iris()[0], None)), (SVC(), make_moons(200, random_state=0))),
    ],
)
def test_report_of_every_machine(machine, data, tmp_path):
    X, y = data
    machine.fit(X, y).report(tmp_path / "report.html", X, y)
    text = checked(tmp_path / "report.html")
    for words in ("The machine", "Certificate", "Convergence", "On the data given", "Versions"):
        assert f"<h2>{words}</h2>" in text
    assert f"{machine.solution_.primal_objective:.10g}" in text
    if y is not None and y.dtype.kind == "U":
        right = (machine.predict(X) == y).mean()
        assert f"<b>{right:.2%}</b>" in text
        assert "<table class=confusion>" in text


def test_report_without_data_and_after_a_limit(tmp_path):
    machine = SVC(max_iter=1)
    with pytest.warns(match="terminated early"):
        machine.fit(*iris())
    machine.report(tmp_path / "report.html")
    text = checked(tmp_path / "report.html")
    assert "Solver terminated early (max_iter=1)" in text
    assert "On the data given" not in text
    assert "<h2>Slowest parts</h2>" in text
    assert "setosa against versicolor" in text


def test_a_fit_without_a_course_says_so(tmp_path, monkeypatch):
    machine = SVC().fit(*iris())
    one = tuple(np.array([value]) for value in (0.1, 1.0, 1.0))
    monkeypatch.setattr("softmargin.plotting.convergence.course", lambda machine: one)
    machine.report(tmp_path / "report.html")
    assert "The fit was too short to plot" in checked(tmp_path / "report.html")


def test_labels_cannot_become_markup(tmp_path):
    X, y = make_moons(100, random_state=0)
    labels = np.array(["<script>alert(1)</script>", "a\x1b[31mb $x"])[y]
    SVC().fit(X, labels).report(tmp_path / "report.html", X, labels)
    assert "\x1b" not in checked(tmp_path / "report.html")


def test_foreign_labels_are_named(tmp_path):
    X, y = iris()
    machine = SVC().fit(X, y)
    machine.report(tmp_path / "report.html", X, np.arange(len(y)) % 3)
    assert "none of the machine&#x27;s classes" in checked(tmp_path / "report.html")
    machine.report(tmp_path / "report.html", X)
    assert "There are no labels" in checked(tmp_path / "report.html")


def test_many_classes_list_their_confusions(tmp_path):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 3)), np.arange(300) % 30
    machine = LinearSVC(multi_class="weston_watkins", random_state=0, tol=0.1).fit(X, y)
    machine.report(tmp_path / "report.html", X, y)
    text = checked(tmp_path / "report.html")
    assert "The most frequent confusions" in text
    assert "<table class=confusion>" not in text


def test_calibration_where_there_are_probabilities(tmp_path):
    X, y = make_moons(400, noise=0.3, random_state=0)
    machine = SVC().fit(X, y)
    sure = 1 / (1 + np.exp(-2 * machine.decision_function(X)))
    machine.predict_proba = lambda X: np.stack([1 - sure, sure], axis=1)
    from softmargin.plotting.calibration import reliability
    from softmargin.report.calibration import calibration
    from softmargin.report.subject import Subject

    assert "Calibration" in calibration(Subject.of(machine, X, y))
    said, so, counts = reliability(np.repeat([0.6, 0.9], 50), np.arange(100) % 10 < 6)
    assert counts.sum() == 100
    assert so[:5].mean() == pytest.approx(0.6)
    assert said[0] == pytest.approx(0.6)


def test_without_matplotlib_the_tables_are_there(tmp_path, monkeypatch):
    from softmargin.report import pictures

    monkeypatch.setattr(pictures, "available", lambda: False)
    X, y = iris()
    SVC().fit(X, y).report(tmp_path / "report.html", X, y)
    text = checked(tmp_path / "report.html")
    assert "<svg" not in text
    assert "pip install softmargin[plot]" in text
    assert "<table class=confusion>" in text


# --- files and the command line -----------------------------------------------------------------


def test_model_files_keep_the_history(tmp_path):
    X, y = make_moons(300, noise=0.2, random_state=0)
    machine = SVC().fit(X, y)
    machine.save(tmp_path / "m.softmargin")
    loaded = softmargin.load(tmp_path / "m.softmargin", mmap=False)
    assert loaded.history_.tobytes() == machine.history_.tobytes()
    loaded.save(tmp_path / "again.softmargin")
    again = softmargin.load(tmp_path / "again.softmargin", mmap=False)
    assert again.history_.tobytes() == machine.history_.tobytes()


def test_long_histories_are_thinned(tmp_path, short_slices):
    X, y = make_moons(600, noise=0.3, random_state=0)
    machine = SVC(C=100.0, working_set="second-order").fit(X, y)
    assert len(machine.history_) > 200
    machine.save(tmp_path / "m.softmargin")
    kept = softmargin.load(tmp_path / "m.softmargin", mmap=False).history_
    assert len(kept) == 200
    assert kept[-1] == machine.history_[-1]


@pytest.fixture
def csv(tmp_path):
    X, y = iris()
    path = tmp_path / "iris.csv"
    lines = [",".join([*map(str, row), label]) for row, label in zip(X, y, strict=True)]
    path.write_text("a,b,c,d,species\n" + "\n".join(lines) + "\n")
    return path


@pytest.mark.parametrize("suffix", [".softmargin", ".model"])
def test_command(suffix, tmp_path, csv, capsys):
    X, y = iris()
    model, output = str(tmp_path / f"m{suffix}"), tmp_path / "report.html"
    if suffix == ".model":
        y = np.unique(y, return_inverse=True)[1]
        rows = "\n".join(
            f"{t} 1:{r[0]} 2:{r[1]} 3:{r[2]} 4:{r[3]}" for r, t in zip(X, y, strict=True)
        )
        data = tmp_path / "iris.svm"
        data.write_text(rows + "\n")
        SVC().fit(X, y).save(model, format="libsvm")
        args = [model, str(data)]
    else:
        SVC().fit(X, y).save(model)
        args = [model, str(csv), "--target", "species"]
    assert main(["report", *args, "-o", str(output)]) == 0
    assert capsys.readouterr().out.strip() == str(output)
    text = checked(output)
    assert "On iris." in text
    assert "accuracy" in text
    assert ("does not carry a certificate" in text) == (suffix == ".model")
    assert ("does not keep the history of the fit" in text) == (suffix == ".model")


def test_command_refuses_other_data(tmp_path, capsys):
    X, y = iris()
    SVC().fit(X[:, :2], y).save(tmp_path / "m.softmargin")
    np.savez(tmp_path / "data.npz", X=X, y=y)
    args = ["report", str(tmp_path / "m.softmargin"), str(tmp_path / "data.npz")]
    assert main(args) == 1
    assert "has 4 features" in capsys.readouterr().err
    assert not (tmp_path / "m.softmargin.html").exists()


# --- in a browser -------------------------------------------------------------------------------


def opened(path, folder, dark=False):
    """The page as Chromium has it, what its console says, and what it asked the network for."""
    log = folder / "net.json"
    command = [
        *(CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run"),
        *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
        *("--enable-logging=stderr", f"--user-data-dir={folder / 'profile'}"),
        *(f"--log-net-log={log}", "--window-size=1000,1600", "--virtual-time-budget=2000"),
        *(["--blink-settings=preferredColorScheme=0"] if dark else []),
        *("--dump-dom", path.as_uri()),
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stderr
    console = [line for line in done.stderr.splitlines() if "CONSOLE" in line]
    events = json.loads(log.read_text())["events"]
    asked = {
        event["params"]["url"]
        for event in events
        if str(event.get("params", {}).get("url", "")).startswith(("http:", "https:"))
        if event["params"].get("initiator", "not an origin") != "not an origin"
    }
    return done.stdout, console, asked


@pytest.mark.slow
@pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed")
@pytest.mark.parametrize("dark", [False, True])
def test_in_chromium(tmp_path, dark):
    X, y = make_moons(300, noise=0.2, random_state=0)
    SVC().fit(X, y).report(tmp_path / "report.html", X, y)
    page, console, asked = opened(tmp_path / "report.html", tmp_path, dark)
    assert page.count("<svg") == 3
    assert "Certificate" in page
    assert console == []
    assert asked == set()


@pytest.mark.slow
@pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed")
def test_a_page_that_loads_and_fails_would_be_noticed(tmp_path):
    page = '<img src="http://127.0.0.1:9/x.png"><script>missing()</script>'
    (tmp_path / "bad.html").write_text(f"<!doctype html><body>{page}</body>")
    _, console, asked = opened(tmp_path / "bad.html", tmp_path)
    assert any("missing is not defined" in line for line in console)
    assert asked == {"http://127.0.0.1:9/x.png"}


def test_report_of_a_search(tmp_path):
    from softmargin import GridSearchCV

    X, y = load_iris(return_X_y=True)
    machine = make_pipeline(StandardScaler(), SVC())
    search = GridSearchCV(machine, {"svc__C": [0.1, 1.0, 10.0], "svc__gamma": [0.01, 0.1, 1.0]})
    search.fit(X, y).report(tmp_path / "report.html", X, y)
    page = (tmp_path / "report.html").read_text()
    assert "<h2>Search</h2>" in page
    assert "The score of all candidates." in page
    GridSearchCV(SVC(), {"C": [0.1, 1.0]}).fit(X, y).report(tmp_path / "one.html")
    assert "<h2>Search</h2>" in (tmp_path / "one.html").read_text()
