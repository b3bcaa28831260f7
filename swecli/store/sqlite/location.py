"""Which file is meant by what the user gives as a database."""

from __future__ import annotations

from pathlib import Path

from swecli.models.errors import BadInput


def locate(location: str | Path) -> Path | None:
    """The file meant by a path or a sqlite:/// URL; None for a database in memory. Raises BadInput."""
    text = str(location)
    if "://" not in text:
        if not text.strip():
            raise BadInput("No database is named.", "Give a path or a sqlite:/// URL.")
        return None if text == ":memory:" else Path(text).expanduser().absolute()
    # late: a plain path needs no URL parser, and a command that only names the file none of what comes with it
    from sqlalchemy.engine import make_url  # noqa: PLC0415
    from sqlalchemy.exc import ArgumentError  # noqa: PLC0415

    # late: a plain path needs no URL parser, and a command that only names the file none of what comes with it

    try:
        url = make_url(text)
    except ArgumentError:
        raise BadInput("The database URL cannot be read.", "Give a path or a sqlite:/// URL.") from None
    if url.get_backend_name() != "sqlite":
        raise BadInput(f"A database of kind {url.get_backend_name()!r} cannot be used.", "Give a sqlite:/// URL.")
    if not url.database or url.database == ":memory:":
        return None
    return Path(url.database).expanduser().absolute()
