"""`swecli tutorial`: make a small project, and start a session in it with the next line ready to be taken."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from swecli.actions.tutorial import FILES, MODEL, STEPS, make_project
from swecli.cli.actions import offer
from swecli.cli.event_loop import run_event_loop
from swecli.cli.startup import make_folders
from swecli.cli.workspace import process_folder
from swecli.config.configuration import read_configuration
from swecli.config.paths import project_root
from swecli.config.settings import Start
from swecli.llm.choosing import choose_model
from swecli.models.action import Action, ActionResult, Flag, Invocation, Need, Words
from swecli.models.errors import UsageError
from swecli.models.ids import uuid7

_FOLDER = "swecli-tutorial"
_MAX_FOLDERS = 100  # of tutorials beside each other


@Action(
    Need.SETTINGS,
    Words("[FOLDER]", f"where to make the project (default {_FOLDER}, outside a repository)", "?"),
    (Flag("--make", "only make the project"),),
    in_session=False,
)
def tutorial(start: Start, invocation: Invocation) -> ActionResult:
    """Try swecli in ten minutes, offline: a small project, and fourteen lines that Tab fills in"""
    only_makes = "--make" in invocation.flags
    is_terminal = sys.stdin.isatty() and sys.stdout.isatty()
    if not (only_makes or is_terminal):
        raise UsageError("This is not a terminal.", "Start it in one, or add --make.")
    folder = (
        invocation.file(invocation.text)
        if invocation.text
        else _unused_folder(invocation.folder, start.environ)
    )
    make_project(folder)
    if not only_makes:
        return ActionResult(None, code=_begin_session(start, folder.resolve()))
    current_folder = process_folder()
    target = folder.relative_to(current_folder) if folder.is_relative_to(current_folder) else folder
    line = f"Made {' and '.join(FILES)} in {target}. Next: cd {target}"
    return ActionResult({"folder": str(folder)}, (line,))


def _unused_folder(here: Path, environ: Mapping[str, str]) -> Path:
    """Return a folder that is not there yet: here, or in the home folder if here is in a repository, whose status would
    name it."""
    root = project_root(here)
    home = environ.get("HOME")
    base = Path(home) if home and (root / ".git").exists() else here
    numbers = ("", *(f"-{number}" for number in range(2, _MAX_FOLDERS)))
    folders = (base / f"{_FOLDER}{number}" for number in numbers)
    return next((folder for folder in folders if not folder.exists()), base / _FOLDER)


def _begin_session(start: Start, folder: Path) -> int:
    """Run a session in the project, and return its exit code."""
    flags = {"model": MODEL, "mode": "ask"}
    configured = read_configuration(folder, start.environ, flags, config=start.config)
    make_folders(configured.paths)
    # a database of its own: strategies count from P-1, and yours stay as they are
    tutorials = configured.paths.data / "tutorials"
    tutorials.mkdir(exist_ok=True)
    database = str(tutorials / f"{uuid7()}.db")
    configured = replace(configured, settings=replace(configured.settings, db=database))
    reason = "the answers are recorded ones, everything else is real"
    choice = replace(choose_model(configured.settings, configured.environ), reason=reason)
    # late: --help and --make need no line editor
    from swecli.repl.repl import REPL

    return run_event_loop(REPL(replace(configured, choice=choice, suggestions=STEPS)).run())


offer(tutorial)
