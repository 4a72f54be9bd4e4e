"""One broken file per error: in ``data/invalid``, with what is said of each in ``messages.txt``."""

import shutil
import tracemalloc
from pathlib import Path

import pytest

import softmargin
from softmargin import cli
from softmargin.io import FileError
from softmargin.io.data.libsvm_text import read_libsvm
from softmargin.io.data.ranges import read_range

FOLDER = Path(__file__).parents[1] / "data" / "invalid"
READERS = {
    "data": read_libsvm,
    "model": softmargin.load,
    "native": softmargin.load,
    "range": read_range,
}
COMMANDS = {"data": ["train"], "model": ["info"], "native": ["info"], "range": ["scale", "-r"]}
FILES = sorted(path for name in READERS for path in (FOLDER / name).iterdir())
MESSAGES = (FOLDER / "messages.txt").read_text(encoding="utf-8").splitlines()


def name_of(path):
    return path.relative_to(FOLDER).as_posix()


def message_of(path):
    name = name_of(path)
    (message,) = [line for line in MESSAGES if line.startswith((f"{name},", f"{name}:"))]
    return message


def test_every_message_has_its_file():
    assert len(MESSAGES) == len(FILES)


@pytest.mark.thread_unsafe(reason="tracemalloc sees all threads")
@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_the_message_says_where_and_what(path):
    reader = READERS[path.parent.name]
    with pytest.raises(FileError) as caught:
        reader(path)
    tracemalloc.start()  # now that whatever is imported late is there
    with pytest.raises(FileError):
        reader(path)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    message = str(caught.value).replace(f"{FOLDER.as_posix()}/", "")
    if path.parent.name == "native":  # what was found is in the words of NumPy, SciPy or zipfile
        message, expected = (text.partition("expected ")[2] for text in (message, message_of(path)))
        assert message == expected
    else:
        assert message == message_of(path)
    assert peak < 10 * path.stat().st_size + 2**20


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_the_command_line_says_the_same_without_a_traceback(path, tmp_path, monkeypatch, capsys):
    if path.stem in ("attribute_is_a_method", "parameter_is_unknown"):
        pytest.skip("matters to the estimator only, which info does not make")
    monkeypatch.chdir(tmp_path)
    shutil.copy(path, tmp_path / path.name)
    (tmp_path / "some.svm").write_text("1 1:2\n-1 1:3\n")
    extra = ["some.svm"] if path.parent.name == "range" else []
    code = cli.main([*COMMANDS[path.parent.name], path.name, *extra])
    captured = capsys.readouterr()
    assert code == cli.BAD_INPUT
    assert captured.out == ""
    command = COMMANDS[path.parent.name][0]
    assert captured.err.startswith(f"softmargin {command}: error: {path.name}")
    assert "Traceback" not in captured.err


def test_check_lists_all_broken_lines(tmp_path, capsys):
    path = tmp_path / "all.svm"
    path.write_bytes(
        b"".join(
            (FOLDER / "data" / f"{name}.txt").read_bytes()
            for name in ("index_is_zero", "value_is_a_word", "label_is_missing")
        )
    )
    assert cli.main(["check", str(path)]) == cli.BAD_INPUT
    lines = capsys.readouterr().out.splitlines()
    assert [line.partition(": ")[0] for line in lines] == [
        f"{path}, line 1, column 3",
        f"{path}, line 2, column 5",
        f"{path}, line 4, column 1",
    ]
