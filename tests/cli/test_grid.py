"""softmargin grid: what grid.py does."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
from sklearn.model_selection import PredefinedSplit

from softmargin import SVC, SVR, GridSearchCV, cli
from softmargin.cli.cross_validation import splits
from softmargin.cli.grid_search import GridSearch, Point, best, edge_note
from softmargin.io import read_data, write_data
from softmargin.model_selection import engine

SMALL = ("--log2c", "-1,5,2", "--log2g", "1,-5,-2")


@pytest.fixture(autouse=True)
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    X = rng.standard_normal((90, 4)).round(3)
    write_data("three", X, np.argmax(X[:, :3] + 0.5 * rng.standard_normal((90, 3)), axis=1) + 1)
    write_data("numbers", X, np.sin(X @ [1, 2, -1, 0]))


def run(*args):
    return cli.main([str(arg) for arg in args])


def rows(text):
    return [tuple(map(float, m)) for m in re.findall(r"log2c=(\S+) log2g=(\S+) rate=(\S+)", text)]


def test_points_as_they_come_and_the_best_one(capsys):
    assert run("grid", *SMALL, "three") == 0
    out = capsys.readouterr().out
    assert len(rows(out)) == 16
    C, gamma, rate = map(float, out.splitlines()[-1].split())
    top = max(rows(out), key=lambda row: (row[2], -row[0], row[1]))
    assert (np.log2(C), np.log2(gamma)) == top[:2]
    assert rate == pytest.approx(top[2])


@pytest.mark.parametrize("regression", [False, True])
def test_the_scores_are_those_of_our_search(regression, capsys):
    name = "numbers" if regression else "three"
    options = ("-s", "epsilon-svr", "-p", "0.05") if regression else ()
    assert run("grid", "-e", "1e-8", *options, "--json", *SMALL, name) == 0
    told = json.loads(capsys.readouterr().out)
    data = read_data(name)
    X, y = data.X.toarray(), data.y
    machine = SVR(tol=1e-8, epsilon=0.05) if regression else SVC(tol=1e-8)
    fold = np.zeros(len(y), dtype=int)
    for k, (_, held_out) in enumerate(splits(machine, y, 5, 0)):
        fold[held_out] = k
    points = {"C": [0.5, 2, 8, 32], "gamma": [2, 0.5, 0.125, 0.03125]}
    scoring = "neg_mean_squared_error" if regression else "accuracy"
    found = GridSearchCV(machine, points, cv=PredefinedSplit(fold), scoring=scoring).fit(X, y)
    expected = dict(
        zip(
            [(p["C"], p["gamma"]) for p in found.cv_results_["params"]],
            found.cv_results_["mean_test_score"],
            strict=True,
        )
    )
    name = "mean_squared_error" if regression else "accuracy"
    for point in told["points"]:
        score = expected[point["C"], point["gamma"]]
        assert point[name] == pytest.approx(abs(score), rel=1e-5)
    assert told[name] == pytest.approx(max(expected.values()) * (-1 if regression else 1), rel=1e-5)


def test_out_and_resume(capsys, monkeypatch):
    assert run("grid", *SMALL, "--out", "points", "three") == 0
    whole = capsys.readouterr().out
    lines = Path("points").read_text().splitlines()
    assert len(lines) == 16
    Path("points").write_text("\n".join(lines[:10]) + "\nlog2c=5 log")  # as after a crash
    assert run("grid", *SMALL, "--resume", "--out", "points", "three") == 0
    again = capsys.readouterr().out
    assert len(rows(again)) == 6
    assert again.splitlines()[-1] == whole.splitlines()[-1]
    assert run("grid", "--resume", "three") == cli.BAD_INPUT
    assert "name the file" in capsys.readouterr().err


def test_csv_and_a_picture(capsys):
    pytest.importorskip("matplotlib")
    assert run("grid", *SMALL, "--csv", "--png", "map.png", "three") == 0
    out = capsys.readouterr().out.splitlines()
    assert out[0] == "C,gamma,accuracy"
    assert len(out) == 17
    assert Path("map.png").read_bytes().startswith(b"\x89PNG")


def test_a_regression_is_recognised(capsys):
    assert run("grid", "--out", "points", "numbers") == cli.BAD_INPUT
    assert "did you mean -s epsilon-svr?" in capsys.readouterr().err
    assert not Path("points").exists()


@pytest.mark.parametrize("command", ["grid", "easy"])
def test_ctrl_c_keeps_the_best_so_far(command, capsys, monkeypatch):
    original, begun = engine.Task.run, []

    def run_and_interrupt(self, *rest):
        begun.append(self)
        if len(begun) > 12:
            raise KeyboardInterrupt
        return original(self, *rest)

    monkeypatch.setattr(engine.Task, "run", run_and_interrupt)
    code = run(command, "--threads", "1", *SMALL, "three")
    told = capsys.readouterr()
    assert code == (cli.INTERRUPTED if command == "grid" else 0)
    assert "interrupted after 8 of 16 points" in told.err
    assert Path("three.softmargin").exists() == (command == "easy")


def test_where_kernels_are_not_shared(monkeypatch):
    data = read_data("three")
    grid = [(1.0, -1.0), (3.0, -3.0)]
    shared, alone = (
        GridSearch(SVC(tol=1e-8, cache_size=size), data, grid, 5, 0, 1).run()
        for size in ("auto", 0.01)
    )
    assert sorted(shared, key=repr) == sorted(alone, key=repr)


def test_the_best_point_and_the_edge():
    grid = [(c, g) for c in (0.0, 1.0, 2.0) for g in (0.0, 1.0, 2.0)]
    points = [Point(1, 1, 0.5), Point(2, 0, 0.9), Point(1, 2, 0.9), Point(1, 0, 0.9)]
    assert best(points) == Point(1, 2, 0.9)
    assert edge_note(Point(1, 1, 0.5), grid) == ""
    assert "larger C (--log2c) and smaller gamma (--log2g)" in edge_note(Point(2, 0, 0.9), grid)
