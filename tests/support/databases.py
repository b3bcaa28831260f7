"""The databases of a test: what it opens here is closed when it ends, and nothing else may still be open then."""

from __future__ import annotations

import sqlite3
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from swecli.store.sqlite import database
from swecli.store.sqlite.database import Database

ROOT = Path(__file__).parents[2]
OWN_CODE = (str(ROOT / "swecli"), str(ROOT / "tests"), str(ROOT / "lab"))


@dataclass
class Opened:
    """The connections of the running test, each with the lines of our own code that opened it, and what closes those
    that the test itself opened."""

    connections: list[tuple[sqlite3.Connection, str]] = field(default_factory=list)
    closers: list[Callable[[], None]] = field(default_factory=list)

    def close(self) -> list[str]:
        """Close what the test opened; return who opened a connection that is open all the same. It is not closed here:
        a thread that still uses it would crash the interpreter."""
        for close in reversed(self.closers):
            close()
        left = self.still_open()
        self.closers.clear()
        self.connections.clear()
        return left

    def still_open(self) -> list[str]:
        """Return who opened each of the connections that are open."""
        return [opener for connection, opener in self.connections if _is_open(connection)]


OPENED = Opened()


def open_database(location: str | Path, **options: Any) -> Database:
    """Open a database as the product does; it is closed when the test ends."""
    opened = database.open_database(location, **options)
    OPENED.closers.append(opened.close)
    return opened


def _is_open(connection: sqlite3.Connection) -> bool:
    """Return whether a connection was not closed."""
    try:
        connection.total_changes  # noqa: B018  raises once it is closed
    except sqlite3.ProgrammingError:
        return False
    return True


def _record(event: str, args: tuple[Any, ...]) -> None:
    """Audit hook that records each connection to SQLite. Python warns of one that nobody closed from 3.13 on, and only
    when it is collected."""
    if event == "sqlite3.connect/handle":
        OPENED.connections.append((args[0], _opener()))


def _opener() -> str:
    """Return the lines of our own code that are running, the innermost first."""
    lines = []
    frame = sys._getframe(2)
    while frame is not None:
        code = frame.f_code
        if code.co_filename.startswith(OWN_CODE):
            lines.append(f"{Path(code.co_filename).relative_to(ROOT)}:{frame.f_lineno}")
        frame = frame.f_back  # type: ignore[assignment]
    return " < ".join(lines)


sys.addaudithook(_record)
