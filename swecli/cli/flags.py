"""The flags of `swecli`, and nothing else."""

from __future__ import annotations

import argparse
from typing import NoReturn

from swecli.models.errors import UsageError

DESCRIPTION = "A coding assistant in the terminal whose memory you can see, tune and trust."
EPILOG = """\
subcommands:
  swecli sessions    list, show, search, rename, fork, delete, export
  swecli playbook    list, show, add, edit, remove, log, undo
  swecli config      get, path
  swecli db          path, check, backup
  swecli models      what can be used here, and how
  swecli doctor      what works on this machine
Each takes --help, and --json where it lists.

exit codes of -p: 0 done · 1 failed · 2 usage · 42 bad input · 53 a cap was reached · 75 the provider failed, a retry
may help · 130 SIGINT · 143 SIGTERM"""


class Parser(argparse.ArgumentParser):
    """argparse that raises one line instead of printing a page."""

    def error(self, message: str) -> NoReturn:
        """Raises UsageError."""
        raise UsageError(message, f"See `{self.prog} --help`.")


def build_parser() -> Parser:
    """The parser of a run (the subcommands have their own)."""
    parser = Parser(
        prog="swecli",
        description=DESCRIPTION,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    add = parser.add_argument
    add("prompt", nargs="?", default="", help="becomes the first message")
    add("-c", "--continue", action="store_true", dest="go_on", help="go on with this directory's last session")
    add("-r", "--resume", nargs="?", const="", default=None, metavar="ID|NAME", help="resume; without a name, a picker")
    add("-p", "--print", action="store_true", dest="headless", help="answer one prompt without a screen and exit")
    add("-m", "--model", metavar="PROVIDER/NAME", help="for example openai/gpt-4o, ollama_chat/qwen3, demo")
    add("--window", metavar="N[+S]|full|auto", help="reflection window: interactions sent verbatim (default 5)")
    add("--mode", metavar="MODE", help="ask (default), edits, plan or auto")
    add("--max-turns", metavar="N", help="requests to the model in one turn, at most")
    add("--max-budget-usd", metavar="X", help="stop the turn when it has cost this much")
    add("--output-format", choices=("text", "json", "stream-json"), default="text", help="with -p")
    add("--no-color", action="store_true", help="plain text")
    add("--db", metavar="URL", help="database file or sqlite:/// URL")
    add("--config", metavar="FILE", help="another settings file")
    add("-C", "--cwd", metavar="DIR", help="work in this directory")
    add("--version", action="store_true", help="print the version")
    return parser
