"""Writes the page of every sub-command, from what its ``--help`` is made of.

python docs/make_cli_pages.py          writes docs/cli/*.md
python docs/make_cli_pages.py --check  says whether they are up to date
"""

import argparse
import sys
from pathlib import Path

from softmargin.cli import EXIT_CODES, commands

FOLDER = Path(__file__).parent / "cli"
TITLES = {
    "positional arguments": "Arguments",
    "options": "Options",
    "the machine": "The machine",
    "the solver": "The solver",
    "linear machines": "Linear machines",
    "tables (.csv, .parquet)": "Tables (`.csv`, `.parquet`)",
}
NOTE = "<!-- Made by docs/make_cli_pages.py from the command's own help: change it there. -->"


def page(name: str, parser: argparse.ArgumentParser) -> str:
    """One page: what it is for, how it is called, its arguments, examples."""
    about, _, examples = (parser.description or "").strip().partition("\nexamples:\n")
    positionals = [a for a in parser._actions if not a.option_strings]
    options = [a for a in parser._actions if a.option_strings and a.dest != "help"]
    usage = " ".join(
        [
            f"softmargin {name}",
            *(["[options]"] if options else []),
            *(_placeholder(a) for a in positionals),
        ]
    )
    parts = [f"# softmargin {name}", NOTE, about.strip(), f"```text\n{usage}\n```"]
    if examples:
        lines = [line[2:] for line in examples.rstrip().splitlines()]
        parts.append("## Examples\n\n```sh\n" + "\n".join(lines) + "\n```")
    for group in parser._action_groups:
        actions = [a for a in group._group_actions if a.dest != "help"]
        if actions:
            title = TITLES.get(group.title or "", group.title or "")
            parts.append(f"## {title}\n\n" + "\n".join(_item(action) for action in actions))
    return "\n\n".join([*parts, f"{EXIT_CODES[0].upper()}{EXIT_CODES[1:]}."]) + "\n"


def _placeholder(action: argparse.Action) -> str:
    name = "{" + ",".join(action.choices) + "}" if action.choices else action.metavar or action.dest
    return f"[{name}]" if action.nargs == "?" else str(name)


def _item(action: argparse.Action) -> str:
    if not action.option_strings:
        return f"- `{_placeholder(action)}`: {action.help or 'one of them'}"
    value = ""
    if action.nargs != 0:
        metavar = action.metavar
        if isinstance(metavar, tuple):
            value = " " + " ".join(metavar)
        elif metavar is None and action.choices:
            value = " {" + ",".join(map(str, action.choices)) + "}"
        else:
            value = f" {metavar or action.dest.upper()}"
    spelled = ", ".join(action.option_strings)
    text = (action.help or "").replace("%(default)g", str(action.default))
    return f"- `{spelled}{value}`: {text}"


def pages() -> dict[Path, str]:
    return {FOLDER / f"{name}.md": page(name, parser) for name, parser in commands().items()}


def main() -> int:
    if "--check" in sys.argv:
        stale = [
            path.name
            for path, text in pages().items()
            if not path.is_file() or path.read_text(encoding="utf-8") != text
        ]
        print(f"out of date: {', '.join(stale)}" if stale else "up to date")
        return bool(stale)
    FOLDER.mkdir(exist_ok=True)
    for path, text in pages().items():
        path.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
