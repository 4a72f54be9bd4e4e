"""``python -m softmargin`` is the command ``softmargin``."""

import signal
import sys


def command() -> int:
    """The entry point of the installed command.  Until the work begins, Ctrl-C ends the process
    at once: a traceback of half an import would help nobody."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from softmargin import cli

    return cli.command()


if __name__ == "__main__":
    sys.exit(command())
