"""The Python snippets of the pages run unchanged, in order, as a reader would run them; links and
pictures are whole; the architecture names every module."""

import html
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
WRITTEN = sorted(
    str(path.relative_to(ROOT)) for path in (*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"))
)
PAGES = [page for page in WRITTEN if "```python" in (ROOT / page).read_text("utf-8")]


@pytest.mark.thread_unsafe(reason="changes the working directory")
@pytest.mark.parametrize("page", PAGES)
def test_snippets_run(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for snippet in re.findall(r"```python\n(.*?)```", (ROOT / page).read_text("utf-8"), re.DOTALL):
        if "sklearn.callback" in snippet:
            pytest.importorskip("sklearn.callback", reason="scikit-learn 1.9 and later")
        if "softmargin.dask" in snippet:
            pytest.importorskip("distributed")
        exec(snippet, names)
    assert names
    assert not list(tmp_path.iterdir()), "a checkpoint is left"


@pytest.mark.parametrize("page", WRITTEN)
def test_links_lead_somewhere(page):
    """Links to files and pictures; the build of the site checks the anchors."""
    text = re.sub(r"```.*?```", "", (ROOT / page).read_text("utf-8"), flags=re.DOTALL)
    for link in re.findall(r"\]\(([^)\s]+)\)", text):
        if not link.startswith(("http", "#", "gallery/")):  # the gallery is made by the build
            assert ((ROOT / page).parent / link.partition("#")[0]).exists(), link


@pytest.mark.parametrize("path", sorted(ROOT.glob("docs/*.svg")), ids=lambda path: path.name)
def test_terminal_pictures_keep_their_spaces(path):
    """Browsers ignore xml:space on the picture as a whole."""
    lines = re.findall("<text[^>]*>", path.read_text("utf-8"))
    assert lines
    assert all('xml:space="preserve"' in line for line in lines)


def test_the_picture_of_the_help_is_up_to_date(monkeypatch):
    """Made by ``(echo '$ softmargin --help'; COLUMNS=90 softmargin --help) | python
    docs/terminal_picture.py > docs/terminal_help.svg``."""
    from softmargin import cli

    monkeypatch.setenv("COLUMNS", "90")
    drawn = re.findall(
        "<text[^>]*>(.*)</text>", (ROOT / "docs/terminal_help.svg").read_text("utf-8")
    )
    assert list(map(html.unescape, drawn)) == [
        "$ softmargin --help",
        *cli._parser().format_help().splitlines(),
    ]


def rooms() -> dict[str, str]:
    """What the tree in docs/architecture.md says about each folder."""
    tree = (ROOT / "docs" / "architecture.md").read_text("utf-8").partition("```\n")[2]
    said: dict[str, str] = {}
    within: list[tuple[int, str]] = []  # the folders around a line, and their indentation
    for line in tree.partition("```")[0].splitlines():
        indent = len(line) - len(line.lstrip())
        while within and within[-1][0] >= indent:
            within.pop()
        name, _, rest = line.strip().partition(" ")
        if name.endswith("/"):
            within.append((indent, name))
            line = rest
        folder = "".join(name for _, name in within)
        said[folder] = f"{said.get(folder, '')} {line}"
    return said


def test_the_architecture_names_every_module():
    said = rooms()
    modules = [
        path.relative_to(ROOT)
        for path in (ROOT / "src").rglob("*")
        if path.suffix in (".py", ".hpp", ".cpp") and path.name != "__init__.py"
    ]
    missing = [
        str(path)
        for path in modules
        if not re.search(rf"\b{path.stem}\b", said.get(f"{path.parent.as_posix()}/", ""))
    ]
    assert not missing, "docs/architecture.md does not name them"


@pytest.mark.parametrize(
    "name", ["io.read_data", "io.FileError", "checkpoint.Checkpoint", "plotting.plot_convergence"]
)
def test_names_that_the_pages_call_by_their_module(name):
    code = f"import softmargin; softmargin.{name}"
    subprocess.run([sys.executable, "-c", code], check=True)
