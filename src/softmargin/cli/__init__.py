"""The command ``softmargin``: one module per sub-command.

A sub-command's module has a docstring, which is its help; ``add_arguments(parser)``; and
``run(args)``, which returns the exit code and raises ValueError or OSError for bad input.  What it
computes with it imports in ``run``, so that ``softmargin --help`` answers at once.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from importlib import import_module

import softmargin

SUBCOMMANDS = ("demo",)

OK, BAD_INPUT, USAGE, INTERRUPTED = 0, 1, 2, 130
EXIT_CODES = "exit codes: 0 success, 1 bad input, 2 wrong usage, 130 interrupted"


def main(argv: Sequence[str] | None = None) -> int:
    parser = _parser()
    args = parser.parse_args(argv)
    if args.subcommand is None:
        parser.print_help(sys.stderr)
        return USAGE
    try:
        code: int = args.run(args)
        sys.stdout.flush()
    except KeyboardInterrupt:
        print(f"softmargin {args.subcommand}: interrupted", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        # Who was reading has left: nothing more to say, also not when Python closes stdout.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return BAD_INPUT
    except (ValueError, OSError) as error:
        print(f"softmargin {args.subcommand}: error: {error}", file=sys.stderr)
        return BAD_INPUT
    return code


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
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        module.add_arguments(subparser)
        subparser.set_defaults(run=module.run)
    return parser
