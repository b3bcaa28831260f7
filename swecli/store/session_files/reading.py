"""A file that holds a session: an export of swecli, or a transcript of another tool, found by looking."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from swecli.discovery import declared_in
from swecli.models.errors import BadInput
from swecli.store.session_files import transcripts
from swecli.store.session_files.importing import Imported, import_session
from swecli.store.session_files.transcripts.base import Format, Line, Transcript
from swecli.store.sqlite.database import Database

LARGEST = 100_000_000  # bytes: a session is held in memory while it is checked
_HEAD = 65_536
_HINT = (
    "What can be imported: exports (swecli sessions export ID > FILE) and transcripts of Claude Code, codex, pi "
    "and aider."
)


def import_file(database: Database, path: Path) -> Imported:
    """Take in the session that a file holds. What is broken in a transcript is skipped and named.

    Raises:
        BadInput: it cannot be read, is too large, holds no session, or one that is already here.
    """
    try:
        size = path.stat().st_size
        if size > LARGEST:
            raise BadInput(
                f"{path} has {size / 1e6:,.0f} MB; files of up to {LARGEST / 1e6:,.0f} MB can be imported.",
                "Split it, or import the session it ends with.",
            )
        with path.open(encoding="utf-8", errors="replace") as file:
            head = file.read(_HEAD)
        found = next((one for one in declared_in(transcripts, Format) if one.fits(head)), None)  # type: ignore[type-abstract]  # only looked for
        if found is None:
            return import_session(database, _export(path))
        transcript = Transcript(found.name, str(path.absolute().parent))
        with path.open(encoding="utf-8", errors="replace", newline="\n") as file:
            found.read(_lines(file), transcript)
    except OSError as error:
        raise BadInput(f"{path} cannot be read: {error.strerror}.", _HINT) from error
    whole = transcript.archive()
    if not whole:
        raise BadInput(f"{path} looks like a transcript of {found.name}, but no turn of it can be read.", _HINT)
    imported = import_session(database, whole, transcript.lines)
    return replace(imported, tool=found.name, skipped=tuple(transcript.skipped))


def _lines(file: Any) -> Iterator[Line]:
    for number, text in enumerate(file, 1):
        if text.strip() or not text.endswith("\n"):
            yield number, text.rstrip("\n")


def _export(path: Path) -> Any:
    try:
        return json.loads(path.read_bytes())
    except (ValueError, RecursionError) as error:
        raise BadInput(f"{path} is no session that swecli can read: {error}.", _HINT) from error
