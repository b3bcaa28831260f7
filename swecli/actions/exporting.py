"""Write a stored session as a page, as Markdown or as JSON."""

from __future__ import annotations

import re
from pathlib import Path

from swecli.models.action import ActionResult, Invocation
from swecli.models.counts import pluralize
from swecli.models.errors import BadInput, UsageError
from swecli.models.json_value import dumps
from swecli.pages.page import FORMATS, format_session, write_new_file
from swecli.redact import redact_value
from swecli.store.session_manager import SessionManager
from swecli.text import short_path

_MAX_NAME = 40  # characters of a title in the name of a file
_MAX_EXPORTS = 100  # of one session in one folder


def _unused_name(folder: Path, title: str, session_id: str, form: str) -> str:
    """Return a name for a file that is not there yet: of the session's title, of its id if the title has no letter."""
    words = "-".join(re.findall(r"\w+", title.lower()))[:_MAX_NAME].rstrip("-")
    stem = f"swecli-{words or session_id[:8]}"
    numbers = ("", *(f"-{number}" for number in range(2, _MAX_EXPORTS)))
    names = (f"{stem}{number}.{form}" for number in numbers)
    return next((name for name in names if not (folder / name).exists()), f"{stem}.{form}")


def _make_folder(sessions: SessionManager, here: Path) -> Path:
    """Make and return the folder for exports that the user gave no name: beside the database, since in the working
    folder git would list them. Without a file for the database it is `here`. Raises BadInput."""
    database = sessions.database.path
    if database is None:
        return here
    folder = database.parent / "exports"
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
    except OSError as error:
        raise BadInput(
            f"{folder} cannot be made: {error.strerror}.", "Name a file: /export html talk.html"
        ) from error
    return folder


def export_session(sessions: SessionManager, invocation: Invocation) -> ActionResult:
    """Export the current session: a shell gets its text if no file is named, a prompt a new file beside the database.
    Raises UsageError, BadInput."""
    is_typed_in_session = invocation.prefix == "/"
    words = list(invocation.words)
    form = invocation.value("--format")
    if not form:
        default = "html" if is_typed_in_session else "json"
        form = words.pop(0) if words else default
    if form not in FORMATS:
        raise UsageError(
            f"Unknown format {form!r:.40} (choose: {', '.join(FORMATS)}).",
            f"For example: {invocation.prefix}export html",
        )
    session = sessions.session
    if is_typed_in_session and not session.interactions:
        raise UsageError("There is nothing to export yet: this session has no turn.")
    exported = sessions.archive.export(session.id)
    if "--with-secrets" not in invocation.flags:
        exported = redact_value(exported)
    text = format_session(form, exported)
    file = " ".join(words)
    if is_typed_in_session and not file:
        folder = _make_folder(sessions, invocation.folder)
        title = session.title or str(exported["first_query"])  # as in the list of sessions
        file = str(folder / _unused_name(folder, title, session.id, form))
    if not file and form == "json":
        return ActionResult(exported, (dumps(exported, indent=2),))
    if not file:
        return ActionResult(exported, (text,), exact=text)
    path = invocation.file(file)
    write_new_file(path, text, "Name another file.")
    line = f"exported {pluralize(session.interactions, 'turn')} to {short_path(path)}"
    return ActionResult({"path": str(path), "format": form}, (line,))
