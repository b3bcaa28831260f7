"""The subcommands, a module each: their flags, the store as they open it, and what they write on stdout."""

from __future__ import annotations

import argparse
import importlib
import os
import sys
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

from swecli.cli.flags import Parser
from swecli.cli.startup import enter_directory, read_configuration
from swecli.config.settings import Start
from swecli.headless.plain import complaint, dumps, plain
from swecli.llm.price_table import prepare_environment
from swecli.models.errors import BadInput, SwecliError

if TYPE_CHECKING:
    from swecli.playbook.action import ActionResult
    from swecli.store.session_manager import SessionManager


_MODULES = dict.fromkeys(("db", "sql", "stats", "report", "doctor"), "stored") | {"learn": "playbook"}


def run_subcommand(name: str, argv: list[str]) -> int:
    """Run `swecli NAME ...` and print its answer; a review has printed its own and returns the exit code. Raises
    SwecliError."""
    prepare_environment(os.environ)
    parser = make_parser(name)
    default = parser.get_default("default_action")
    if default and (not argv or (argv[0].startswith("-") and argv[0] not in ("-h", "--help"))):
        argv = [default, *argv]
    args = parser.parse_args(argv)
    enter_directory(args)
    done = args.run(args)
    return done if isinstance(done, int) else _print_result(done, args.json)


def make_parser(name: str) -> Parser:
    """The parser of `swecli NAME`: the function of that name declares its actions or arguments, its docstring is what
    --help begins with."""
    declare = getattr(importlib.import_module(f"swecli.cli.{_MODULES.get(name, name)}"), name)
    parser = Parser(prog=f"swecli {name}", description=declare.__doc__)
    declare(parser)
    if parser.get_default("run") is not None:  # else its actions have them
        parser.add_common_flags()
    return parser


def configuration_of(args: argparse.Namespace) -> Start:
    """Directory, paths and settings as a run in this directory would have them. Raises ConfigError, BadInput."""
    return read_configuration(args.config, {"db": args.db})


@contextmanager
def existing_database(configured: Start) -> Iterator[str | Path]:
    """Where the store is, to read from it: a missing one is not made, an empty one in memory stands in for it. Raises
    BadInput where the user named a missing one."""
    # late: a wrong argument needs no database
    from swecli.store.sqlite.files import locate  # noqa: PLC0415

    location, missing = configured.database, ""
    path = locate(location)
    if path is not None and not path.exists():
        if configured.settings.db:
            raise BadInput(f"There is no database {path}.", "Check the path; `swecli --db` creates one when you chat.")
        location, missing = ":memory:", f"There is no database {path} yet; the first message creates it."
    try:
        yield location
    except BadInput as error:
        error.hint = f"{error.hint} {missing}".strip()
        raise
    if missing:
        sys.stderr.write(complaint(missing, "") + "\n")


@contextmanager
def open_sessions(args: argparse.Namespace, *, make: bool = False) -> Iterator[SessionManager]:
    """The store, opened; with `make` a missing database is made. Raises SwecliError."""
    configured = configuration_of(args)
    with nullcontext(configured.database) if make else existing_database(configured) as location:
        # late: a wrong argument, and a database that is not there, need none of it
        from swecli.store.session_manager import SessionManager  # noqa: PLC0415

        sessions = SessionManager.open(location, to_read=not make)
        with closing(sessions.database):
            for notice in sessions.database.notices:
                sys.stderr.write(complaint(notice, "") + "\n")
            yield sessions


def write_file(path: Path, text: str, hint: str) -> None:
    """Write what was asked for. Raises BadInput with what else can be done."""
    try:
        path.write_text(text, encoding="utf-8")
    except (OSError, ValueError) as error:
        raise BadInput(f"{path} cannot be written: {getattr(error, 'strerror', None) or error}.", hint) from error


def positive(text: str) -> int:
    """A count from 1 on, for argparse."""
    if not text.isdecimal() or len(text) > 9 or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number above 0")
    return int(text)


def print_line(text: str) -> None:
    """A line on stdout. Raises SwecliError where it cannot be written."""
    _write([plain(text)])


def _print_result(result: ActionResult, json: bool) -> int:
    """Print an answer, for programs or for people. Returns its exit code."""
    if json:
        _write([dumps(result.value, indent=2)])
    elif result.exact is not None and not sys.stdout.isatty():
        _write([], result.exact)
    else:
        note = [result.note] if result.note else []
        _write([*table_lines(result.head, result.rows), *map(plain, (*result.lines, *note))])
    return result.code


def _write(lines: Iterable[str], exact: str = "") -> None:
    """Lines, then a text for another program: no letter of it is left out or put differently."""
    try:
        for line in lines:
            sys.stdout.write(f"{line}\n")
        if exact:
            sys.stdout.flush()
            sys.stdout.buffer.write(exact.encode("utf-8", "replace"))
    except BrokenPipeError:
        raise
    except OSError as error:
        raise SwecliError(f"The output cannot be written: {error.strerror}.") from error


def table_lines(head: Sequence[str], rows: Sequence[Sequence[object]]) -> list[str]:
    """Aligned columns under their head, nothing without rows; the last one is as long as it is."""
    if not rows:
        return []
    texts = [["" if cell is None else " ".join(plain(str(cell)).split()) for cell in row] for row in (head, *rows)]
    widths = [max(map(_width, column)) for column in zip(*texts, strict=True)][:-1]
    return [
        "  ".join(
            [*(cell + " " * (width - _width(cell)) for cell, width in zip(row, widths, strict=False)), row[-1]]
        ).rstrip()
        for row in texts
    ]


def _width(text: str) -> int:
    return len(text) + sum(unicodedata.east_asian_width(letter) in "WF" for letter in text)
