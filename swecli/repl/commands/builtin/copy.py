"""`/copy` and `/export`: an answer into the clipboard, this session as a file to send on."""

from __future__ import annotations

import base64
import os
import shutil
import subprocess
import sys
from pathlib import Path

from swecli.models.errors import UsageError
from swecli.redact import redact_value
from swecli.repl.commands.base import CommandContext, command
from swecli.repl.startup_banner import short_path

_PROGRAMS = (["pbcopy"], ["wl-copy"], ["xclip", "-selection", "clipboard"], ["clip.exe"])
_SECONDS = 5
_MOST = 74_994  # bytes: what terminals take in one OSC 52 sequence (100,000 with base64 and frame)
_FORMATS = (("html", "one page, for a browser"), ("md", "Markdown"), ("json", "everything, can be imported again"))


@command(usage="[N]", beside="*")
async def copy(ctx: CommandContext, args: str) -> None:
    """Copy the last answer (or the Nth last) to the clipboard"""
    session = ctx.runtime.sessions.current_session
    loaded = session.messages if session else []
    answers = [message.content for message in loaded if message.role == "assistant" and message.content.strip()]
    if not (args or "1").isdecimal() or not 1 <= int(args or "1") <= len(answers):
        raise UsageError(f"There is no answer {args or 1} to copy ({len(answers)} are loaded).", "Use /copy or /copy 2")
    text = answers[-int(args or "1")]
    ctx.screen.note(f"copied {len(text):,} characters{_to_clipboard(ctx, text)}")


def _to_clipboard(ctx: CommandContext, text: str) -> str:
    """How it got there, as words behind "copied". Raises UsageError where there is no way."""
    data = text.encode("utf-8", "replace")
    # reads the environment: over SSH the clipboard is that of the user's terminal, not of this machine
    for program in () if "SSH_CONNECTION" in os.environ else _PROGRAMS:
        if shutil.which(program[0]):
            try:
                subprocess.run(program, input=data, check=True, timeout=_SECONDS, capture_output=True)
            except (OSError, subprocess.SubprocessError):
                continue
            return ""
    if not sys.stdout.isatty() or len(data) > _MOST:
        raise UsageError(
            f"No clipboard program was found ({', '.join(p[0] for p in _PROGRAMS)}) and the terminal cannot take it.",
            "Install one, or use swecli sessions show",
        )
    ctx.screen.write(f"\x1b]52;c;{base64.b64encode(data).decode()}\a")
    return " through the terminal (OSC 52), if it allows that"


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
    if path.exists():
        raise UsageError(f"{short_path(path)} exists already.", "Name another file: /export html FILE")
    try:
        path.write_text(text, "utf-8", "replace")
    except OSError as error:
        raise UsageError(f"{short_path(path)} cannot be written: {error.strerror}.") from error
    turns = f"{session.interactions} turn{'' if session.interactions == 1 else 's'}"
    ctx.screen.note(f"exported {turns} to {short_path(path)}")
