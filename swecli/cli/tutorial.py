"""`swecli tutorial`: make a small project, and start a session in it with the next line ready to be taken."""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace

from swecli.actions.tutorial import FILES, MODEL, STEPS, make_project
from swecli.cli.event_loop import run_event_loop
from swecli.cli.flags import Parser, subcommand
from swecli.cli.startup import configure, make_folders
from swecli.cli.subcommands import named_file
from swecli.llm.registry import choose_model
from swecli.models.action import ActionResult
from swecli.models.errors import UsageError
from swecli.models.ids import uuid7

_FOLDER = "swecli-tutorial"


@subcommand
def _tutorial(parser: Parser) -> None:
    """Try swecli in ten minutes, offline: a small project, and fourteen lines that Tab fills in."""
    parser.add_argument(
        "folder", nargs="?", default=_FOLDER, help=f"where to make the project (default {_FOLDER})"
    )
    parser.add_argument("--make", action="store_true", help="only make the project")
    parser.set_defaults(run=_run)


def _run(args: argparse.Namespace) -> ActionResult | int:
    is_terminal = sys.stdin.isatty() and sys.stdout.isatty()
    if not (args.make or is_terminal):
        raise UsageError("This is not a terminal.", "Start it in one, or add --make.")
    folder = named_file(args, args.folder)
    make_project(folder)
    if args.make:
        line = f"Made {' and '.join(FILES)} in {folder}. Next: cd {folder}"
        return ActionResult({"folder": str(folder)}, (line,))
    folder = folder.resolve()
    configured = configure(args, folder, {"model": MODEL, "mode": "ask"})
    make_folders(configured.paths)
    # a database of its own: strategies count from P-1, and yours stay as they are
    tutorials = configured.paths.data / "tutorials"
    tutorials.mkdir(exist_ok=True)
    database = str(tutorials / f"{uuid7()}.db")
    configured = replace(configured, settings=replace(configured.settings, db=database))
    why = "the answers are recorded ones, everything else is real"
    choice = replace(choose_model(configured.settings, configured.environ), why=why)
    # late: --help and --make need no line editor
    from swecli.repl.repl import REPL

    return run_event_loop(REPL(replace(configured, choice=choice, suggestions=STEPS)).run())
