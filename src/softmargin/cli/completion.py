"""Print a script that completes the command in a shell.

examples:
  . <(softmargin completion bash)   # in ~/.bashrc
  softmargin completion zsh > ~/.zfunc/_softmargin
"""

from __future__ import annotations

import argparse


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", choices=("bash", "zsh"), help="for which shell")


def run(args: argparse.Namespace) -> int:
    from softmargin.cli import commands

    options = {name: _options(parser) for name, parser in commands().items()}
    print(bash(options) if args.shell == "bash" else zsh(options))
    return 0


def _options(parser: argparse.ArgumentParser) -> dict[str, str]:
    """The long options of a sub-command and what they are for."""
    return {
        option: (action.help or "").split(" (default")[0]
        for action in parser._actions
        for option in action.option_strings
        if option.startswith("--")
    }


def bash(options: dict[str, dict[str, str]]) -> str:
    cases = "\n".join(f'    {name}) words="{" ".join(o)}" ;;' for name, o in options.items())
    return f"""\
_softmargin() {{
  local current=${{COMP_WORDS[COMP_CWORD]}} words
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W "{" ".join(options)} --help --version" -- "$current"))
    return
  fi
  case ${{COMP_WORDS[1]}} in
{cases}
  esac
  case $current in
    -*) COMPREPLY=($(compgen -W "$words" -- "$current")) ;;
    *) COMPREPLY=($(compgen -f -- "$current")) ;;
  esac
}}
complete -o filenames -F _softmargin softmargin"""


def zsh(options: dict[str, dict[str, str]]) -> str:
    def described(option: str, text: str) -> str:
        clean = text.replace("'", "").replace("[", "(").replace("]", ")").replace(":", " -")
        return f"'{option}[{clean}]'"

    cases = "\n".join(
        f"    {name}) _arguments {' '.join(described(*o) for o in some.items())} '*:file:_files' ;;"
        for name, some in options.items()
    )
    # zsh autoloads a file in $fpath by running the whole text as the function, so the first call
    # must also complete.
    return f"""\
#compdef softmargin
_softmargin() {{
  if (( CURRENT == 2 )); then
    compadd {" ".join(options)}
    return
  fi
  local command=$words[2]
  shift words
  (( CURRENT-- ))
  case $command in
{cases}
  esac
}}
if [[ $funcstack[1] = _softmargin ]]; then
  _softmargin "$@"
else
  compdef _softmargin softmargin
fi"""
