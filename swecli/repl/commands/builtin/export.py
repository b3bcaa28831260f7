"""`/export`: this session as a file to send on."""

from __future__ import annotations

import contextlib
from pathlib import Path

from swecli.models.errors import UsageError
from swecli.redact import redact_value
from swecli.repl.commands.base import CommandContext, command
from swecli.repl.startup_banner import short_path

_FORMATS = (("html", "one page, for a browser"), ("md", "Markdown"), ("json", "everything, can be imported again"))


@command(usage="[html|md|json] [FILE]", complete=lambda runtime: _FORMATS)
async def export(ctx: CommandContext, args: str) -> None:
    """Write this session to a file: a page (html), Markdown or JSON, secrets redacted"""
    # late: templates and Markdown are loaded for this command alone
    from swecli.pages.session import FORMATS, session_as  # noqa: PLC0415

    form, _, name = (args or "html").partition(" ")
    if form not in FORMATS:
        raise UsageError(f"Unknown format {form!r} (choose: {', '.join(FORMATS)}).", "For example: /export html")
    session = ctx.runtime.sessions.current_session
    if session is None or not session.interactions:
        raise UsageError("There is nothing to export yet: this session has no turn.")
    path = ctx.runtime.cwd / (Path(name.strip()).expanduser() if name else f"swecli-{session.id[:8]}.{form}")
    text = session_as(form, redact_value(ctx.runtime.sessions.export(session.id)))
    _write(path, text.encode("utf-8", "replace"))
    turns = f"{session.interactions} turn{'' if session.interactions == 1 else 's'}"
    ctx.screen.note(f"exported {turns} to {short_path(path)}")


def _write(path: Path, data: bytes) -> None:
    """Write a new file, whole or not at all. Raises UsageError when it is there already or cannot be written."""
    try:
        file = path.open("xb")
    except FileExistsError as error:
        raise UsageError(f"{short_path(path)} exists already.", "Name another file: /export html FILE") from error
    except OSError as error:
        raise UsageError(f"{short_path(path)} cannot be written: {error.strerror}.") from error
    try:
        with file:
            file.write(data)
    except OSError as error:
        with contextlib.suppress(OSError):
            path.unlink()
        raise UsageError(f"{short_path(path)} cannot be written: {error.strerror}.") from error
