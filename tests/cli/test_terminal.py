"""What reaches a terminal: no control characters, lines that break at words, short errors."""

import io
import os
import re
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from softmargin import cli
from softmargin.cli.terminal import has_colours, printable, say
from softmargin.fitting.progress import live_line

EVIL = "a\x1b[2J\nb"


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def test_what_a_terminal_would_obey_is_escaped():
    assert printable(EVIL) == r"a\x1b[2J\nb"
    assert printable("caf\u00e9 \u202e \x9b \udc9b \udce9") == (
        "caf\u00e9 \\u202e \\x9b \\x9b \udce9"
    )


@pytest.mark.skipif(os.name == "nt", reason="such names are not possible there")
def test_names_and_labels_are_printed_on_one_line(capfdbinary):
    name = f"{EVIL}.csv"
    Path(name).write_text(f'"{EVIL}",label\n' + f'1,"{EVIL}"\n2,c\n' * 5)
    model = f"{EVIL}.softmargin"
    Path("broken.csv").write_text(f'"{EVIL}",label\nx,1\n2,1\nx,1\n')
    for command in (
        ["check", name],
        ["check", "broken.csv"],
        ["train", name, model],
        ["train", "--target", "x", name],
        ["info", model],
        ["predict", name, model],
        ["predict", name, model, f"{EVIL}.out"],
        ["predict", "broken.csv", model],
        ["easy", "--log2c", "0,0,1", "--log2g", "0,0,1", name],
        ["convert", model, f"{EVIL}2.softmargin"],
        ["subset", name, "1"],
        ["train", f"missing{EVIL}"],
        ["train", "two", EVIL, EVIL],
        [f"nonsense{EVIL}"],
    ):
        with suppress(SystemExit):
            cli.main(command)
        told = b"".join(capfdbinary.readouterr())
        assert told
        assert b"\x1b" not in told, command
        assert not re.search(rb"2J\nb", told), command


def test_long_lines_break_at_words_on_a_terminal_alone(monkeypatch):
    words = " ".join(["unbreakable"] * 20)
    monkeypatch.setattr("softmargin.cli.terminal.columns", lambda stream: 40)
    terminal, file = Terminal(), io.StringIO()
    say(words, file=terminal, hanging=4)
    say(words, file=file)
    lines = terminal.getvalue().splitlines()
    assert max(map(len, lines)) < 40
    assert all(line.startswith("    unbreakable") for line in lines[1:])
    assert file.getvalue() == words + "\n"


def test_colours_are_for_terminals_that_want_them(monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("WT_SESSION", "1")
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert has_colours(Terminal())
    assert not has_colours(io.StringIO())
    monkeypatch.setenv("NO_COLOR", "1")
    assert not has_colours(Terminal())
    monkeypatch.delenv("NO_COLOR")
    monkeypatch.setenv("TERM", "dumb")
    assert not has_colours(Terminal())


@pytest.mark.parametrize(
    ("command", "error", "tip"),
    [
        ("trian data", "softmargin: error: there is no sub-command 'trian'", "train"),
        (
            "train --gama 2 two",
            "softmargin train: error: unrecognized arguments: --gama",
            "--gamma",
        ),
        (
            "train --precision flot32 x",
            "softmargin train: error: argument --precision: ",
            "float32",
        ),
        ("train --frobnicate two", "unrecognized arguments: --frobnicate", None),
        ("--versio", "softmargin: error: unrecognized arguments: --versio", "--version"),
        ("train -t rfb two", "argument -t/--kernel: 'rfb' is not one of linear (0), poly", "rbf"),
        ("train -s c_svc two", "argument -s/--formulation: 'c_svc' is not one of", "c-svc"),
        ("train -c ten two", "argument -c/--cost: 'ten' is not a number", None),
        ("train -d 1.5 two", "argument -d/--degree: '1.5' is not a whole number", None),
        ("help trian", "there is no sub-command 'trian'", "train"),
    ],
)
def test_an_error_a_tip_and_where_to_read_more(command, error, tip, capsys):
    with pytest.raises(SystemExit) as stopped:
        cli.main(command.split())
    assert stopped.value.code == cli.USAGE
    first, *tips, last = capsys.readouterr().err.splitlines()
    assert error in first
    assert tips == ([f"tip: did you mean {tip}?"] if tip else [])
    assert last.endswith("--help says how it is used")


def test_kernels_and_machines_have_their_names_in_python_too():
    Path("two").write_text("1 1:1\n-1 1:-1\n")
    assert cli.main(["train", "-q", "-t", "poly", "-s", "SVR", "two"]) == 0
    model = Path("two.model").read_text()
    assert model.startswith("svm_type epsilon_svr\nkernel_type polynomial\n")


@pytest.mark.parametrize("command", ["", *cli.SUBCOMMANDS])
def test_help_is_a_sub_command(command, capsys):
    for words in (["help", *command.split()], [*command.split(), "--help"]):
        with pytest.raises(SystemExit) as stopped:
            cli.main(words)
        assert stopped.value.code == 0
    told = capsys.readouterr().out
    assert told[: len(told) // 2] == told[len(told) // 2 :]


@pytest.mark.skipif(os.name == "nt", reason="signals are others there")
@pytest.mark.parametrize("module", ["softmargin", "softmargin.cli.parser", "numpy", "datetime"])
def test_an_interrupt_of_the_imports_shows_no_traceback(module):
    program = (
        "import os, signal, sys\n"
        "class Interrupt:\n"
        "    def find_spec(self, name, *rest):\n"
        f"        if name == {module!r} and 'softmargin' in sys.modules:\n"
        "            os.kill(os.getpid(), signal.SIGINT)\n"
        "sys.meta_path.insert(0, Interrupt())\n"
        "from softmargin.__main__ import command\n"
        "sys.argv[1:] = ['train', 'missing']\n"
        "sys.exit(command())\n"
    )
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, check=False)
    if module == "softmargin":  # imported before us
        assert (ended.returncode, b"missing" in ended.stderr) == (cli.BAD_INPUT, True)
    else:
        assert (ended.returncode, ended.stderr) == (-signal.SIGINT, b"")


@pytest.mark.parametrize("command", ["", *cli.SUBCOMMANDS])
def test_h_is_help(command, capsys):
    with pytest.raises(SystemExit) as stopped:
        cli.main([*command.split(), "-h"])
    assert stopped.value.code == 0
    assert "usage: softmargin" in capsys.readouterr().out


@pytest.mark.parametrize("width", [80, 120])
def test_help_fits_the_terminal(width, monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", str(width))
    for command in ("", *cli.SUBCOMMANDS):
        with pytest.raises(SystemExit):
            cli.main([*command.split(), "--help"])
        for line in capsys.readouterr().out.splitlines():
            assert len(line) <= width, line
            assert not re.search(r"\b(svm|scikit|maximum)-$", line)


@pytest.mark.skipif(os.name == "nt", reason="there is no pty on Windows")
def test_help_in_a_real_terminal_has_colours():
    import pty

    leader, follower = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "80"}
    environment.pop("NO_COLOR", None)
    command = [sys.executable, "-m", "softmargin", "train", "-h"]
    process = subprocess.Popen(command, stdout=follower, stderr=follower, env=environment)
    os.close(follower)
    shown = b""
    while True:
        try:
            piece = os.read(leader, 4096)
        except OSError:
            break
        if not piece:
            break
        shown += piece
    os.close(leader)
    assert process.wait() == 0
    assert b"\x1b[36m--gamma\x1b[0m" in shown


def test_a_narrow_terminal_shows_whole_facts():
    facts = "3/10 problems, violation 1.0e+00 > 1e-03, 405 it, objective 123.456"
    for columns in (20, 40, 60, 80, 120):
        line = live_line("SVC", 0.3, 2.0, facts, columns)
        assert len(line) <= columns
        shown = line.partition("00:02, ")[2].split(", ")
        if columns > 40:
            assert shown == facts.split(", ")[: len(shown)]
    assert shown == facts.split(", ")
