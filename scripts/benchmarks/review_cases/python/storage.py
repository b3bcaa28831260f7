"""The inventory in a SQLite database, and its export."""

from __future__ import annotations

import csv
import os
import sqlite3
import tempfile
from collections.abc import Iterable
from decimal import Decimal
from pathlib import Path
from threading import Lock

from inventory import Batch

_lock = Lock()
_cache: dict[str, int] = {}


def open_database(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE IF NOT EXISTS batch (article TEXT, pieces INTEGER, price TEXT)")
    return connection


def store(connection: sqlite3.Connection, batches: Iterable[Batch]) -> None:
    """Store batches, all or none."""
    rows = [(batch.article, batch.pieces, str(batch.price)) for batch in batches]
    with connection:
        connection.executemany("INSERT INTO batch VALUES (?, ?, ?)", rows)


def load(connection: sqlite3.Connection, article: str) -> list[Batch]:
    rows = connection.execute("SELECT article, pieces, price FROM batch WHERE article = ?", (article,))
    return [Batch(name, pieces, Decimal(price)) for name, pieces, price in rows]


def count_cached(connection: sqlite3.Connection, article: str) -> int:
    """Return the number of pieces, counted at most once per process."""
    with _lock:
        if article not in _cache:
            _cache[article] = sum(batch.pieces for batch in load(connection, article))
        return _cache[article]


def export(batches: Iterable[Batch], folder: Path, name: str) -> Path:
    """Write a CSV file into `folder`. Raises ValueError for a name that leads out of it."""
    target = (folder / name).resolve()
    if not target.is_relative_to(folder.resolve()):
        raise ValueError(f"{name} is outside of {folder}")
    handle, temporary = tempfile.mkstemp(dir=folder)
    try:
        with os.fdopen(handle, "w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerows((batch.article, batch.pieces, batch.price) for batch in batches)
        Path(temporary).replace(target)
    except BaseException:
        Path(temporary).unlink()
        raise
    return target
