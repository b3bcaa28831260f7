"""The subcommands: what a shell can ask of sessions, playbook, settings, database, models and this machine."""

from __future__ import annotations

import argparse
import importlib
import os
import sys
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from swecli.cli.flags import Parser
from swecli.cli.startup import Ground, find_ground, from_here, go_to
from swecli.headless.plain import complaint, dumps, plain
from swecli.llm.price_table import prepare_environment
from swecli.models.errors import BadInput, SwecliError

if TYPE_CHECKING:
    from swecli.store.sqlite.database import Database


def run_subcommand(name: str, argv: list[str]) -> int:
    """Run `swecli NAME ...`. Raises SwecliError."""
    prepare_environment(os.environ)
    module = importlib.import_module(f"swecli.cli.{name}")
    parser = Parser(prog=f"swecli {name}", description=module.__doc__)
    module.add_arguments(parser)
    unsaid = getattr(module, "UNSAID", "")
    if unsaid and (not argv or (argv[0].startswith("-") and argv[0] not in ("-h", "--help"))):
        argv = [unsaid, *argv]
    args = parser.parse_args(argv)
    args.db = from_here(args.db) if args.cwd else args.db
    go_to(args.cwd)
    return int(module.run(args))


def common(parser: argparse.ArgumentParser) -> None:
    """The flags every subcommand takes."""
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--db", metavar="URL", help="database file or sqlite:/// URL")
    parser.add_argument("--config", metavar="FILE", help="another settings file")
    parser.add_argument("-C", "--cwd", metavar="DIR", help="as if started in this directory")


def ground_of(args: argparse.Namespace) -> Ground:
    """Directory, paths and settings as a run here would have them. Raises ConfigError, BadInput."""
    return find_ground(args.config, {"db": args.db})


def location_of(ground: Ground) -> str | Path:
    """Where the store is."""
    return ground.settings.db or ground.paths.database


def location_to_read(ground: Ground) -> tuple[str | Path, str]:
    """Where the store is, for who asks it something: one that is not there is not made for that.

    With it comes a line for `naming`, "" where the store is there. Raises BadInput where the user named it.
    """
    # late: a wrong argument needs no database
    from swecli.store.sqlite.location import locate  # noqa: PLC0415

    location = location_of(ground)
    path = locate(location)
    if path is None or path.exists():
        return location, ""
    if ground.settings.db:
        raise BadInput(f"There is no database {path}.", "Check the path; `swecli --db` makes one where you chat.")
    return ":memory:", f"There is no database {path} yet; the first message makes it."


@contextmanager
def naming(line: str) -> Iterator[None]:
    """Behind the block, the line; where what is asked for is not found, with the error that says so."""
    try:
        yield
    except BadInput as error:
        error.hint = f"{error.hint} {line}".strip()
        raise
    if line:
        sys.stderr.write(complaint(line, "") + "\n")


@contextmanager
def stored(args: argparse.Namespace, *, make: bool = False) -> Iterator[Database]:
    """The open database. With `make` a missing one is made.

    Raises SwecliError.
    """
    # late: a wrong argument needs no database
    from swecli.store.sqlite.database import open_database  # noqa: PLC0415

    ground = ground_of(args)
    location, missing = (location_of(ground), "") if make else location_to_read(ground)
    database = open_database(location, to_read=not make)
    try:
        for notice in database.unreported():
            sys.stderr.write(complaint(notice, "") + "\n")
        with naming(missing):
            yield database
    finally:
        database.close()


def say(text: str) -> None:
    """A line on stdout; control letters in stored text do not reach the terminal."""
    _write(plain(text))


def say_exactly(text: str) -> None:
    """A text on stdout as it is, for another program: no letter of it is left out or put differently."""
    sys.stdout.flush()
    _guarded(lambda: sys.stdout.buffer.write(text.encode("utf-8", "replace")))


def say_json(value: Any) -> None:
    """Indented JSON on stdout."""
    _write(dumps(value, indent=2))


def _write(text: str) -> None:
    _guarded(lambda: sys.stdout.write(text + "\n"))


def _guarded(write: Callable[[], object]) -> None:
    try:
        write()
    except BrokenPipeError:
        raise
    except OSError as error:
        raise SwecliError(f"The output cannot be written: {error.strerror}.") from error


def tell(args: argparse.Namespace, value: Any, text: str) -> int:
    """What was done: as JSON where that is wanted, else in words. Returns 0."""
    say_json(value) if args.json else say(text)
    return 0


def table(rows: Sequence[Sequence[object]], head: Sequence[str]) -> None:
    """Aligned columns; the last one is as long as it is."""
    texts = [[" ".join(plain(str(cell)).split()) for cell in row] for row in (head, *rows)]
    widths = [max(_width(row[i]) for row in texts) for i in range(len(head) - 1)]
    for row in texts:
        cells = [cell + " " * (width - _width(cell)) for cell, width in zip(row, widths, strict=False)]
        say("  ".join([*cells, row[-1]]).rstrip())


def _width(text: str) -> int:
    """Columns on a terminal."""
    return len(text) + sum(unicodedata.east_asian_width(letter) in "WF" for letter in text)


def positive(text: str) -> int:
    """A count from 1 on, for argparse."""
    if not text.isdecimal() or len(text) > 9 or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number above 0")
    return int(text)
