"""Which file is meant by what the user gives as a database."""

from __future__ import annotations

from pathlib import Path

from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError

from swecli.models.errors import BadInput


def locate(location: str | Path) -> Path | None:
    """The file meant by a path or a sqlite:/// URL; None for a database in memory. Raises BadInput."""
    text = str(location)
    if "://" not in text:
        if not text.strip():
            raise BadInput("No database is named.", "Give a path or a sqlite:/// URL.")
        return None if text == ":memory:" else Path(text).expanduser().absolute()
    try:
        url = make_url(text)
    except ArgumentError:
        raise BadInput("The database URL cannot be read.", "Give a path or a sqlite:/// URL.") from None
    if url.get_backend_name() != "sqlite":
        raise BadInput(f"A database of kind {url.get_backend_name()!r} cannot be used.", "Give a sqlite:/// URL.")
    if not url.database or url.database == ":memory:":
        return None
    return Path(url.database).expanduser().absolute()
