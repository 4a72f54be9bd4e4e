"""The gallery: runs examples/*.py, and makes a page of each from its docstring, code and output.

As a hook of mkdocs it adds the pages to the site.  The pictures are made as the site is built.
An example is a script with a docstring, whose first line is its title; it may print, and it saves
one picture to the path it is given: ``python examples/kernels.py kernels.png``.
"""

import ast
import contextlib
import io
import os
import runpy
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

os.environ["MPLBACKEND"] = "agg"

EXAMPLES = Path(__file__).parent.parent / "examples"


@dataclass(frozen=True)
class Example:
    name: str
    title: str
    text: str
    code: str
    printed: str
    picture: bytes


def scripts() -> list[Path]:
    """The examples in the order of the gallery: the README's picture first."""
    return sorted(
        EXAMPLES.glob("*.py"), key=lambda path: (path.stem != "margin_and_certificate", path)
    )


def run(script: Path) -> Example:
    """Runs a script as a user would, and takes down what it says, prints and draws."""
    from matplotlib import pyplot

    tree = ast.parse(script.read_text(encoding="utf-8"))
    docstring = ast.get_docstring(tree)
    if not docstring:
        raise ValueError(f"{script.name} has no docstring")
    title, _, text = docstring.partition("\n")
    printed = io.StringIO()
    arguments = sys.argv
    with tempfile.TemporaryDirectory() as folder:
        picture = Path(folder) / "picture.png"
        sys.argv = [str(script), str(picture)]
        try:
            with contextlib.redirect_stdout(printed):
                runpy.run_path(str(script), run_name="__main__")
        finally:
            sys.argv = arguments
            pyplot.close("all")
        return Example(
            script.stem,
            title.rstrip("."),
            text.strip(),
            _without_docstring(script, tree),
            printed.getvalue(),
            picture.read_bytes(),
        )


def _without_docstring(script: Path, tree: ast.Module) -> str:
    lines = script.read_text(encoding="utf-8").splitlines()
    return "\n".join(lines[tree.body[0].end_lineno :]).strip()


def page(example: Example) -> str:
    printed = f"```text\n{example.printed.rstrip()}\n```\n\n" if example.printed else ""
    return (
        f"# {example.title}\n\n{example.text}\n\n"
        f"![{example.title}]({example.name}.png)\n\n{printed}"
        f"```python\n{example.code}\n```\n\n"
        f"`python examples/{example.name}.py {example.name}.png` draws the picture.\n"
    )


def overview(examples: list[Example]) -> str:
    """A card for each: its picture, its title and the first sentence, all one link."""
    cards = "\n\n".join(
        f"[![]({each.name}.png) **{each.title}** {_first_sentence(each.text)}]({each.name}.md)"
        for each in examples
    )
    return (
        "---\nhide: [navigation, toc]\n---\n\n# Gallery\n\n"
        "Short scripts of the folder `examples`. Each is run when this site is built,"
        " and the pictures and the printed lines are what it produced.\n\n"
        f'<div class="cards" markdown>\n\n{cards}\n\n</div>\n'
    )


def _first_sentence(text: str) -> str:
    return " ".join(text.split()).partition(". ")[0].rstrip(".").replace("`", "") + "."


def on_files(files: Any, config: Any, **_: Any) -> Any:
    from mkdocs.structure.files import File

    examples = [run(script) for script in scripts()]
    made: dict[str, str | bytes] = {"gallery/index.md": overview(examples)}
    for example in examples:
        made[f"gallery/{example.name}.md"] = page(example)
        made[f"gallery/{example.name}.png"] = example.picture
    for path, content in made.items():
        files.append(File.generated(config, path, content=content))
    return files


def on_config(config: Any, **_: Any) -> Any:
    """The entry ``Gallery: gallery/`` of the navigation becomes the list of its pages."""
    pages: list[Any] = ["gallery/index.md", *(f"gallery/{path.stem}.md" for path in scripts())]
    config.nav = [
        {"Gallery": pages} if entry == {"Gallery": "gallery/"} else entry for entry in config.nav
    ]
    return config
