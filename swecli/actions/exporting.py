"""Write a stored session as a page, as Markdown or as JSON."""

from __future__ import annotations

from swecli.models.action import ActionResult, Invocation
from swecli.models.counts import pluralize
from swecli.models.errors import UsageError
from swecli.models.json_value import dumps
from swecli.pages.page import FORMATS, format_session, write_new_file
from swecli.redact import redact_value
from swecli.store.session_manager import SessionManager
from swecli.text import short_path


def export_session(sessions: SessionManager, asked: Invocation) -> ActionResult:
    """Export the current session: a shell gets its text if no file is named, a prompt a new file in the user's folder.
    Raises UsageError, BadInput."""
    is_typed_in_session = asked.prefix == "/"
    words = list(asked.words)
    form = asked.value("--format")
    if not form:
        default = "html" if is_typed_in_session else "json"
        form = words.pop(0) if words else default
    if form not in FORMATS:
        raise UsageError(
            f"Unknown format {form!r:.40} (choose: {', '.join(FORMATS)}).",
            f"For example: {asked.prefix}export html",
        )
    session = sessions.session
    if is_typed_in_session and not session.interactions:
        raise UsageError("There is nothing to export yet: this session has no turn.")
    exported = sessions.archive.export(session.id)
    if "--with-secrets" not in asked.flags:
        exported = redact_value(exported)
    text = format_session(form, exported)
    file = " ".join(words)
    if is_typed_in_session and not file:
        file = f"swecli-{session.id[:8]}.{form}"
    if not file and form == "json":
        return ActionResult(exported, (dumps(exported, indent=2),))
    if not file:
        return ActionResult(exported, (text,), exact=text)
    path = asked.file(file)
    write_new_file(path, text, "Name another file.")
    line = f"exported {pluralize(session.interactions, 'turn')} to {short_path(path)}"
    return ActionResult({"path": str(path), "format": form}, (line,))
