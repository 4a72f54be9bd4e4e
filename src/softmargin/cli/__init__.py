"""The command ``softmargin``: one module per sub-command.

A sub-command's module has a docstring, which is its help; ``add_arguments(parser)``; and
``run(args)``, which returns the exit code and raises ValueError or OSError for bad input.  What it
computes with it imports in ``run``, so that ``softmargin --help`` answers at once.
"""

from __future__ import annotations

import argparse
import codecs
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Any

import softmargin

SUBCOMMANDS = (
    *("train", "predict", "scale", "check", "subset", "info", "convert", "easy", "demo"),
    "completion",
)

OK, BAD_INPUT, USAGE, INTERRUPTED = 0, 1, 2, 130
EXIT_CODES = "exit codes: 0 success, 1 bad input, 2 wrong usage, 130 interrupted"


def main(argv: Sequence[str] | None = None) -> int:
    if hasattr(sys.stdout, "reconfigure"):
        codecs.register_error("softmargin", _otherwise_encoded)
        sys.stdout.reconfigure(errors="softmargin")
    parser = _parser()
    args, unknown = parser.parse_known_args(_respelled(sys.argv[1:] if argv is None else argv))
    if args.subcommand is None:
        parser.print_help(sys.stderr)
        return USAGE
    if unknown:  # argparse would show the usage of all sub-commands
        args.parser.error(_unrecognized(unknown, args.parser))
    try:
        code: int = args.run(args)
        if sys.stdout:
            sys.stdout.flush()
    except KeyboardInterrupt as interrupt:
        words = ": ".join(["interrupted", *map(str, interrupt.args)])
        print(f"softmargin {args.subcommand}: {words}", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        # Who was reading has left: nothing more to say, also not when Python closes stdout.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return BAD_INPUT
    except (ValueError, OSError, MemoryError) as error:
        print(f"softmargin {args.subcommand}: error: {_in_words(error)}", file=sys.stderr)
        return BAD_INPUT
    return code


def _otherwise_encoded(error: UnicodeError) -> tuple[str | bytes, int]:
    """Names of files as the bytes that they are; what else the encoding does not have, escaped."""
    try:
        return codecs.lookup_error("surrogateescape")(error)
    except UnicodeError:
        return codecs.backslashreplace_errors(error)


def _unrecognized(words: Sequence[str], parser: argparse.ArgumentParser) -> str:
    from difflib import get_close_matches

    options = [option for action in parser._actions for option in action.option_strings]
    meant = [match for word in words for match in get_close_matches(word, options, 1, 0.8)]
    remedy = f" (did you mean {', '.join(meant)}?)" if meant else ""
    return f"unrecognized arguments: {' '.join(words)}{remedy}"


def _in_words(error: Exception) -> str:
    if isinstance(error, OSError) and error.filename and error.strerror:
        return f"{error.filename}: {error.strerror}"
    if isinstance(error, MemoryError):
        return f"not enough memory ({error or 'in the core'})"
    return str(error)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="softmargin", description=softmargin.__doc__, epilog=EXIT_CODES
    )
    parser.add_argument("--version", action="version", version=f"%(prog)s {softmargin.__version__}")
    subparsers = parser.add_subparsers(dest="subcommand", metavar="<sub-command>")
    for name in SUBCOMMANDS:
        module = import_module(f"softmargin.cli.{name}")
        purpose = module.__doc__.partition("\n")[0] if module.__doc__ else None
        subparser = subparsers.add_parser(
            name,
            help=purpose,
            description=module.__doc__,
            epilog=EXIT_CODES,
            formatter_class=_Help,
            conflict_handler="resolve",  # train's -h is LIBSVM's; help is then --help alone
            allow_abbrev=False,
        )
        module.add_arguments(subparser)
        subparser.set_defaults(run=module.run, parser=subparser)
    return parser


class _Help(argparse.HelpFormatter):
    """Wraps the paragraphs of a docstring to the terminal, and leaves indented lines alone."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        return "\n\n".join(
            part if "\n  " in part else super(_Help, self)._fill_text(part, width, indent)
            for part in text.strip().split("\n\n")
        )


def commands() -> dict[str, argparse.ArgumentParser]:
    """The parser of each sub-command."""
    (subparsers,) = _parser()._subparsers._group_actions  # type: ignore[union-attr]
    choices: Any = subparsers.choices
    return dict(choices)


def _respelled(argv: Sequence[str]) -> list[str]:
    """Options that argparse cannot tell, as it can: a sub-command may have `respell`."""
    if not argv or argv[0] not in SUBCOMMANDS:
        return list(argv)
    module = import_module(f"softmargin.cli.{argv[0]}")
    respell = getattr(module, "respell", list)
    return [argv[0], *respell(argv[1:])]
