"""The command ``softmargin``: one module per sub-command.

Each module has a docstring, which is the help text; ``add_arguments(parser)``; and ``run(args)``,
which returns the exit code and raises ValueError or OSError for bad input.  Slow imports are in
``run``, so that ``softmargin --help`` answers at once.
"""

from __future__ import annotations

import argparse
import codecs
import signal
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Any

import softmargin
from softmargin.cli.parser import USAGE, Parser, closest
from softmargin.cli.terminal import discard, message, say

SUBCOMMANDS = (
    *("train", "predict", "scale", "check", "subset", "info", "report", "convert", "grid", "easy"),
    *("demo", "completion"),
)

OK, BAD_INPUT, INTERRUPTED = 0, 1, 130
EXIT_CODES = "exit codes: 0 success, 1 bad input, 2 wrong usage, 130 interrupted"
ABOUT = """Support vector machines that are exact, fast and observable, from the command line.

examples:
  softmargin demo                              # see it work
  softmargin train --target species iris.csv   # writes iris.csv.softmargin
  softmargin predict new.csv iris.csv.softmargin
  softmargin help train                        # the options of a sub-command
"""


def command() -> int:
    """The entry point of the installed command.  Only the command uses the estimators of this
    process, so they do without scikit-learn's base classes, whose import is slow."""
    from softmargin import estimator

    estimator.PLAIN = True
    return main()


def _take_interrupts() -> None:
    """Makes Ctrl-C raise KeyboardInterrupt; before, ``__main__`` lets it end the process at once.
    NumPy is imported first, because it reports an interrupt during its import as a broken
    installation."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_DFL:
        import numpy  # noqa: F401
        import scipy.sparse  # noqa: F401

        signal.signal(signal.SIGINT, signal.default_int_handler)


def main(argv: Sequence[str] | None = None) -> int:
    if hasattr(sys.stdout, "reconfigure"):
        codecs.register_error("softmargin", _otherwise_encoded)
        sys.stdout.reconfigure(errors="softmargin")
    parser, words = _parser(), list(sys.argv[1:] if argv is None else argv)
    if words[:1] == ["help"]:
        words = [*words[1:2], "--help"]
    if words and not words[0].startswith("-") and words[0] not in SUBCOMMANDS:
        parser.fail(f"there is no sub-command {words[0]!r}", closest(words[0], SUBCOMMANDS))
    args, unknown = parser.parse_known_args(_respelled(words))
    if args.subcommand is None and not unknown:
        parser.print_help(sys.stderr)
        return USAGE
    if unknown:  # reported here, because argparse would show the usage of all sub-commands
        parser = getattr(args, "parser", parser)
        options = [name for action in parser._actions for name in action.option_strings]
        tips = [tip for word in unknown if (tip := closest(word, options))]
        parser.fail(f"unrecognized arguments: {' '.join(unknown)}", ", ".join(tips))
    args.words = words[1:]
    command = f"softmargin {args.subcommand}"
    try:
        _take_interrupts()
        code: int = args.run(args)
        if sys.stdout:
            sys.stdout.flush()
    except KeyboardInterrupt as interrupt:
        words = ["interrupted", *map(str, interrupt.args)]
        say(": ".join([command, *words]), file=sys.stderr, hanging=2)
        return INTERRUPTED
    except BrokenPipeError:
        discard(sys.stdout)  # the reader of the pipe is gone
        return BAD_INPUT
    except (ValueError, OSError, MemoryError) as error:
        message("error", _in_words(error), command)
        return BAD_INPUT
    return code


def _otherwise_encoded(error: UnicodeError) -> tuple[str | bytes, int]:
    """Writes undecodable bytes of file names unchanged, and escapes other characters that the
    encoding lacks."""
    try:
        return codecs.lookup_error("surrogateescape")(error)
    except UnicodeError:
        return codecs.backslashreplace_errors(error)


def _in_words(error: Exception) -> str:
    if isinstance(error, OSError) and error.filename and error.strerror:
        return f"{error.filename}: {error.strerror}"
    if isinstance(error, OSError) and error.strerror:  # no file: what was written to is a stream
        return f"standard output: {error.strerror}"
    if isinstance(error, MemoryError):
        return f"not enough memory ({error or 'in the core'})"
    return str(error)


def _parser() -> Parser:
    parser = Parser(prog="softmargin", description=ABOUT, epilog=EXIT_CODES)
    parser.add_argument("--version", action="version", version=f"%(prog)s {softmargin.__version__}")
    subparsers = parser.add_subparsers(
        title="sub-commands", dest="subcommand", metavar="<sub-command>"
    )
    for name in SUBCOMMANDS:
        module = import_module(f"softmargin.cli.{name}")
        purpose = module.__doc__.partition("\n")[0] if module.__doc__ else None
        subparser = subparsers.add_parser(
            name, help=purpose, description=module.__doc__, epilog=EXIT_CODES
        )
        module.add_arguments(subparser)
        subparser.set_defaults(run=module.run, parser=subparser)
    return parser


def commands() -> dict[str, argparse.ArgumentParser]:
    """The parser of each sub-command."""
    (subparsers,) = _parser()._subparsers._group_actions  # type: ignore[union-attr]
    choices: Any = subparsers.choices
    return dict(choices)


def _respelled(argv: Sequence[str]) -> list[str]:
    """Rewrites options that argparse cannot parse; a sub-command does so in its ``respell``."""
    if not argv or argv[0] not in SUBCOMMANDS:
        return list(argv)
    module = import_module(f"softmargin.cli.{argv[0]}")
    respell = getattr(module, "respell", list)
    return [argv[0], *respell(argv[1:])]
