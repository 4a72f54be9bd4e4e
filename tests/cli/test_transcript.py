"""The transcript of docs/cli.md on a table with names, run unchanged."""

import csv
import re
import shlex
from pathlib import Path

from sklearn.datasets import load_iris

from softmargin import cli

PAGE = Path(__file__).parents[2] / "docs" / "cli.md"


def write(path, names, rows):
    with open(path, "w", newline="") as stream:
        csv.writer(stream).writerows([names, *rows])


def test_the_transcript(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    iris = load_iris()
    names = [name.removesuffix(" (cm)").replace(" ", "_") for name in iris.feature_names]
    species = iris.target_names[iris.target].tolist()
    rows = iris.data.tolist()
    labelled = list(zip(rows, species, strict=True))
    write("iris.csv", [*names, "species"], [[*row, name] for row, name in labelled])
    write("permuted.csv", [*names[::-1], "species"], [[*row[::-1], name] for row, name in labelled])
    write("new.csv", names[::-1], [row[::-1] for row in rows])
    write("narrow.csv", names[:0:-1], [row[:0:-1] for row in rows])
    text = PAGE.read_text("utf-8").partition("## A table with names")[2]
    transcript = re.search(r"```text\n(.*?)```", text, re.DOTALL).group(1)
    for part in transcript.split("$ softmargin ")[1:]:
        command, _, expected = part.partition("\n")
        cli.main(shlex.split(command))
        told = capsys.readouterr()
        assert told.out + told.err == expected, command
