"""Run subcommands: load their module, parse their arguments, open the store and print the result."""

from __future__ import annotations

import argparse
import os
import sys
import unicodedata
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from swecli.cli.flags import Parser
from swecli.cli.startup import configure, make_start
from swecli.cli.workspace import working_folder
from swecli.config.paths import Paths, project_root
from swecli.config.settings import Start
from swecli.config.trust import TrustLedger
from swecli.folders import path_exists
from swecli.models.errors import BadInput, DamagedDatabase, SwecliError
from swecli.models.json_value import dumps
from swecli.text import LONGEST_ERROR, complaint, one_line, sanitize

if TYPE_CHECKING:
    from swecli.app import Runtime
    from swecli.models.action import ActionResult
    from swecli.store.session_manager import SessionManager


def run_subcommand(name: str, argv: list[str]) -> int:
    """Run `swecli NAME ...`, print its result and return the exit code. Raises SwecliError."""
    parser = Parser.for_subcommand(name)
    default = parser.get_default("default_action")
    if default and not _names_action(parser, argv):
        argv = [default, *argv]
    args = parser.parse_args(argv)
    working_folder(args.cwd)  # raises before anything is done
    result = args.run(args)  # an exit code if it printed its result itself
    return result if isinstance(result, int) else _print_result(result, args.json)


def _names_action(parser: Parser, argv: Sequence[str]) -> bool:
    """Return whether the first argument stands for an action, a known one or a mistyped one, or asks for the help."""
    if not argv:
        return False
    if argv[0].startswith("-"):
        return argv[0] in ("-h", "--help")
    return argv[0] in parser.action_names or not parser.get_default("default_takes_words")


def configuration_of(args: argparse.Namespace) -> Start:
    """Return the configuration of work in the folder of a subcommand. Raises ConfigError, BadInput."""
    return configure(args, working_folder(args.cwd), {"db": args.db})


def existing_database(configured: Start) -> str | Path:
    """Return the database's location for reading; a missing database is not created but replaced by one in memory.
    Raises BadInput if the user named a missing one, DamagedDatabase for an empty file."""
    # late: a usage error needs no database
    from swecli.store.sqlite.files import locate

    path = locate(configured.database)
    if path is not None and not path_exists(path):
        if configured.settings.db:
            raise BadInput(
                f"There is no database {path}.",
                "Check the path; `swecli --db` creates one when you chat.",
            )
        notice = f"There is no database {path} yet; the first message creates it."
        sys.stderr.write(one_line(notice, LONGEST_ERROR) + "\n")
        return ":memory:"
    if path is not None and not path.stat().st_size:
        empty = f"The database {path} is empty (0 bytes): its contents are gone."
        raise DamagedDatabase(empty, "Start swecli to create a new one in it.")
    return configured.database


@contextmanager
def open_sessions(
    args: argparse.Namespace, *, create: bool = False, resume: bool = False
) -> Iterator[SessionManager]:
    """Open the store, which must exist unless `create`, for reading if it cannot be written; with `resume` in the
    session that `args` name, this directory's last, or an unsaved one of this project. Raises SwecliError."""
    configured = configuration_of(args)
    location = configured.database if create else existing_database(configured)
    # late: a usage error and a missing database need no store
    from swecli.store.session_manager import SessionManager

    sessions = SessionManager.open(location, even_read_only=True)
    with closing(sessions.database):
        if resume:
            _resume(sessions, working_folder(args.cwd), vars(args).get("session"))
        for notice in sessions.database.notices:
            sys.stderr.write(complaint(notice, "") + "\n")
        yield sessions


def _resume(sessions: SessionManager, directory: Path, ref: str | None) -> None:
    # late: as above
    from swecli.models.session import Session
    from swecli.tools.projects import open_project

    place = open_project(sessions.database, directory)
    try:
        sessions.resume(ref, str(directory), place=place)
    except BadInput:
        if ref:
            raise
        session = Session(id="", working_directory=str(directory), project=place.project)
        session.subfolder = place.subfolder
        sessions.use(session)


@contextmanager
def open_runtime(args: argparse.Namespace) -> Iterator[Runtime]:
    """Build the runtime of a run without a user to ask. Raises SwecliError."""
    # late: --help and usage errors need no database
    from swecli.app import build_runtime
    from swecli.headless.runner import refuse

    with closing(build_runtime(make_start(args), refuse)) as runtime:
        yield runtime


@cache
def instructions_in(directory: str) -> str:
    """Load the instruction files of a directory; "" if it does not exist."""
    # late: few subcommands need it
    from swecli.context.instructions import load_instructions

    folder = Path(directory)
    if not directory or not folder.is_dir():
        return ""
    trust = TrustLedger.find(Paths.find(os.environ)).trust_in(project_root(folder))
    home = Path(os.environ.get("HOME") or "/")
    return load_instructions(folder, trust, home=home).text


def write_file(path: Path, text: str, hint: str) -> None:
    """Write a file requested by the user. Raises BadInput with this hint."""
    try:
        path.write_text(text, encoding="utf-8")
    except (OSError, ValueError) as error:
        raise BadInput(
            f"{path} cannot be written: {getattr(error, 'strerror', None) or error}.", hint
        ) from error


def positive_int(text: str) -> int:
    """Parse a count from 1, for argparse."""
    if not text.isdecimal() or len(text) > 9 or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number above 0")
    return int(text)


def _print_result(result: ActionResult, as_json: bool) -> int:
    """Print a result as JSON or text. Return its exit code."""
    if not as_json and result.exact is not None and not sys.stdout.isatty():
        _write("", result.exact)
        return result.code
    _write(format_result(result, as_json))
    if as_json and result.note:  # then stdout is the value's alone
        sys.stderr.write(complaint(result.note, "") + "\n")
    return result.code


def format_result(result: ActionResult, as_json: bool) -> str:
    """Format a result as JSON or as lines of text, each with its end."""
    if as_json:
        return dumps(result.value, indent=2) + "\n"
    events = filter(None, (event.describe() for event in result.events))
    texts = (*result.lines, *result.note.splitlines(), *events)
    lines = (*_format_table(result.head, result.rows), *map(sanitize, texts))
    return "".join(f"{line}\n" for line in lines)


def _write(text: str, exact: str = "") -> None:
    """Write text, then `exact` unchanged, for another program."""
    try:
        sys.stdout.write(text)
        if exact:
            sys.stdout.flush()
            sys.stdout.buffer.write(exact.encode("utf-8", "replace"))
    except BrokenPipeError:
        raise
    except OSError as error:
        raise SwecliError(f"The output cannot be written: {error.strerror}.") from error


def _format_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Format rows as aligned columns under a head, [] without rows; the last column is not padded."""
    if not rows:
        return []
    texts = [[" ".join(sanitize(cell).split()) for cell in row] for row in (head, *rows)]
    widths = [max(map(_width, column)) for column in zip(*texts, strict=True)]
    widths[-1] = 0
    lines = []
    for row in texts:
        padded = [
            cell + " " * (width - _width(cell)) for cell, width in zip(row, widths, strict=True)
        ]
        lines.append("  ".join(padded).rstrip())
    return lines


def _width(text: str) -> int:
    return len(text) + sum(unicodedata.east_asian_width(letter) in "WF" for letter in text)
