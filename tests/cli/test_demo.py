"""The command `softmargin`, and its sub-command `demo`, as a user meets them."""

import os
import re
import subprocess
import sys

import pytest

import softmargin
from softmargin import cli
from softmargin.cli import demo

COMMAND = [sys.executable, "-m", "softmargin"]


def certificates(output: str) -> list[dict[str, float]]:
    """The leading number of each of these lines, for every problem of the demo."""
    names = ("primal", "dual", "gap", "violation")
    columns = [re.findall(rf"^  {name} +(\S+)", output, re.MULTILINE) for name in names]
    return [
        dict(zip(names, map(float, numbers), strict=True)) for numbers in zip(*columns, strict=True)
    ]


@pytest.mark.parametrize("tol", [1e-3, 1e-6])
def test_demo_prints_certificates_that_hold(capsys, tol):
    assert cli.main(["demo", "--tol", str(tol)]) == 0
    output = capsys.readouterr().out
    found = certificates(output)
    assert len(found) == 3
    for certificate in found:
        difference = certificate["primal"] - certificate["dual"]
        rounding = 1e-9 * abs(certificate["primal"])
        assert certificate["dual"] <= certificate["primal"]
        assert certificate["gap"] == pytest.approx(difference, rel=0.01, abs=rounding)
        assert 0 <= certificate["violation"] <= tol
    assert output.count("The solution is optimal to the tolerance.") == 3


def test_demo_says_what_it_solved_and_how_well_it_does(capsys):
    assert cli.main(["demo"]) == 0
    output = capsys.readouterr().out
    for formulation in ("C-SVC", "epsilon-SVR", "one-class"):
        assert formulation in output
    assert "45 pairs of classes" in output
    accuracies = [float(found) for found in re.findall(r"([\d.]+)% right of", output)]
    assert len(accuracies) == 2
    assert min(accuracies) > 85  # always answering the commoner class gives 70
    assert len(re.findall(r"^  time +\d+\.\d+ s$", output, re.MULTILINE)) == 3


@pytest.mark.parametrize("tol", ["0", "-1", "nan"])
def test_bad_input_is_named_and_exits_with_1(capsys, tol):
    assert cli.main(["demo", "--tol", tol]) == 1
    captured = capsys.readouterr()
    assert captured.err.startswith("softmargin demo: error:")
    assert "'tol'" in captured.err
    assert str(float(tol)) in captured.err


@pytest.mark.parametrize("arguments", [["nonsense"], ["demo", "--tol", "small"], ["demo", "more"]])
def test_wrong_usage_exits_with_2(capsys, arguments):
    with pytest.raises(SystemExit) as stop:
        cli.main(arguments)
    assert stop.value.code == 2
    assert arguments[-1] in capsys.readouterr().err


def test_no_subcommand_prints_help_and_exits_with_2(capsys):
    assert cli.main([]) == 2
    assert "demo" in capsys.readouterr().err


def test_interruption_exits_with_130(capsys, monkeypatch):
    def interrupted(tol):
        raise KeyboardInterrupt

    monkeypatch.setattr(demo, "_tasks", interrupted)
    assert cli.main(["demo"]) == 130
    assert capsys.readouterr().err == "softmargin demo: interrupted\n"


@pytest.mark.parametrize("name", cli.SUBCOMMANDS)
def test_every_subcommand_explains_itself(capsys, name):
    with pytest.raises(SystemExit) as stop:
        cli.main([name, "--help"])
    assert stop.value.code == 0
    assert cli.EXIT_CODES in capsys.readouterr().out


def test_version():
    answer = subprocess.run([*COMMAND, "--version"], capture_output=True, text=True, check=True)
    assert answer.stdout == f"softmargin {softmargin.__version__}\n"


def test_help_does_not_wait_for_scikit_learn():
    script = (
        "import sys; from softmargin.cli import main\n"
        "try: main(['--help'])\n"
        "except SystemExit: pass\n"
        "sys.exit('sklearn' in sys.modules or 'numpy' in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", script], capture_output=True, check=True)


@pytest.mark.skipif(os.name == "nt", reason="Windows reports a closed pipe in other words")
def test_a_reader_that_leaves_gets_no_traceback():
    with subprocess.Popen(
        [*COMMAND, "demo"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        process.stdout.close()
        assert process.stderr.read() == ""
    assert process.returncode == 1


def test_public_names_are_found_and_others_are_not():
    assert {*softmargin.__all__} <= {*dir(softmargin)}
    for name in softmargin.__all__:
        assert getattr(softmargin, name).__name__ == name
    with pytest.raises(AttributeError, match="no_such_name"):
        softmargin.no_such_name  # noqa: B018
