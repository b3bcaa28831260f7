"""`/export`: write this session to a file, without secrets."""

from __future__ import annotations

from pathlib import Path

from swecli.models.counts import pluralize
from swecli.models.errors import UsageError
from swecli.redact import redact_value
from swecli.repl.commands.base import CommandContext, command
from swecli.repl.render.formatting import short_path

_FORMATS = (
    ("html", "one page, for a browser"),
    ("md", "Markdown"),
    ("json", "everything, can be imported again"),
)


@command(usage="[html|md|json] [FILE]", complete=lambda runtime: _FORMATS)
async def _export(ctx: CommandContext, args: str) -> None:
    """Write this session to a file: a page (html), Markdown or JSON, secrets redacted"""
    # late: only this command needs templates and Markdown
    from swecli.pages.page import FORMATS, format_session, write_new_file

    form, _, name = (args or "html").partition(" ")
    if form not in FORMATS:
        raise UsageError(
            f"Unknown format {form!r} (choose: {', '.join(FORMATS)}).", "For example: /export html"
        )
    session = ctx.runtime.session
    if not session.interactions:
        raise UsageError("There is nothing to export yet: this session has no turn.")
    file = Path(name.strip()).expanduser() if name else Path(f"swecli-{session.id[:8]}.{form}")
    path = ctx.runtime.cwd / file
    exported = redact_value(ctx.runtime.sessions.archive.export(session.id))
    text = format_session(form, exported)
    write_new_file(path, text, "Name another file: /export html FILE")
    ctx.screen.note(f"exported {pluralize(session.interactions, 'turn')} to {short_path(path)}")
