"""The procedure of LIBSVM's practical guide, as a transcript, on data like the guide's first.

svmguide1 cannot be shipped (benchmarks/guide.py runs the guide on it). What the guide shows is that
features of very different ranges spoil the rbf kernel, that scaling mends it, and that a better C
and gamma add to it; here the same, on points in rings whose features are stretched.
"""

import re
import shlex

import numpy as np
import pytest

from softmargin import cli
from softmargin.io import write_data

TRANSCRIPT = """
$ softmargin train -q guide1
$ softmargin predict guide1.t guide1.model guide1.t.predict
Accuracy = A% (classification)
$ softmargin scale -l -1 -u 1 -s range1 -o guide1.scale guide1
$ softmargin scale -r range1 -o guide1.t.scale guide1.t
$ softmargin train -q guide1.scale
$ softmargin predict guide1.t.scale guide1.scale.model guide1.t.predict
Accuracy = B% (classification)
$ softmargin train -v 5 -c 32 -g 2 guide1.scale
Cross Validation Accuracy = C%
$ softmargin train -q -c 32 -g 2 guide1.scale
$ softmargin predict guide1.t.scale guide1.scale.model guide1.t.predict
Accuracy = D% (classification)
$ softmargin easy -q --log2c -1,5,2 --log2g 3,-3,-2 guide1 guide1.t
$ softmargin predict guide1.t guide1.softmargin guide1.t.predict
Accuracy = E% (classification)
"""


def rings(count, rng):
    angle, inner = rng.uniform(0, 2 * np.pi, count), rng.random(count) < 0.5
    radius = np.where(inner, 1.0, 1.8) + 0.12 * rng.standard_normal(count)
    X = np.column_stack([radius * np.cos(angle), radius * np.sin(angle), rng.random((count, 2))])
    return X * [50.0, 400.0, 0.3, 90.0] + [20.0, 0.0, 0.0, 100.0], inner.astype(int)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(1)
    write_data("guide1", *rings(400, rng))
    write_data("guide1.t", *rings(500, rng))


def test_the_guide(folder, capsys):
    accuracy, lines = {}, TRANSCRIPT.strip().splitlines()
    for k, line in enumerate(lines):
        if not line.startswith("$ softmargin "):
            continue
        assert cli.main(shlex.split(line)[2:]) == 0
        printed = capsys.readouterr().out
        expected = lines[k + 1] if k + 1 < len(lines) and lines[k + 1][0] != "$" else ""
        if expected:
            letter = re.search(r" = ([A-E])%", expected).group(1)
            pattern = re.escape(expected).replace(f"{letter}%", r"([\d.]+)%(?: \(\d+/\d+\))?")
            accuracy[letter] = float(re.fullmatch(pattern, printed.strip()).group(1))
        else:
            assert printed == ""
    assert accuracy["A"] < 75  # as in the guide, little better than a guess
    assert accuracy["B"] > accuracy["A"] + 10
    assert min(accuracy[letter] for letter in "CDE") > 97
