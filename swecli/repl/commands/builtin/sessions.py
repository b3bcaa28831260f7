"""`/sessions`, `/new`, `/fork`, `/rename`, `/search`, `/copy`, `/export`: commands on sessions."""

from __future__ import annotations

import base64
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from swecli.models.errors import UsageError
from swecli.models.finding import pluralize
from swecli.redact import redact_value
from swecli.repl.commands.base import CommandContext, Values, command
from swecli.repl.render.formatting import format_dollars, short_path

if TYPE_CHECKING:
    from swecli.app import Runtime
    from swecli.models.session import Session, SessionInfo
    from swecli.repl.render.screen import Screen


_MAX_SHOWN, _MAX_LISTED = 20, 200


def _complete_sessions(runtime: Runtime) -> Values:
    return [
        (info.id, _format_session(info))
        for info in runtime.sessions.catalog.list_sessions(str(runtime.cwd), _MAX_SHOWN)
    ]


@command(aliases=("resume", "continue"), usage="[ID|NAME]", complete=_complete_sessions)
async def _sessions(ctx: CommandContext, args: str) -> None:
    """Resume another session of this folder"""
    runtime, ref = ctx.runtime, args
    if not ref:
        found = runtime.sessions.catalog.list_sessions(str(runtime.cwd), _MAX_LISTED)
        others = [info for info in found if info.interactions and info.id != runtime.session.id]
        endings = runtime.sessions.catalog.endings([info.id for info in others])
        options = [(info.id, _format_session(info)) for info in others]
        if not options:
            ctx.screen.note("there are no other sessions in this folder")
            return
        details = [_describe_session(info, endings.get(info.id, {})) for info in others]
        ref = await ctx.pick("Resume which session?", options, details) or ""
        if not ref:
            return
    await ctx.wait_for_background()
    runtime.resume(ref)
    show_session(ctx.screen, runtime.session)
    for line in runtime.losses():
        ctx.screen.warn(line)


@command(aliases=("branch",), usage="[T7]")
async def _fork(ctx: CommandContext, args: str) -> None:
    """Continue in a copy of this session (optional: up to turn T7)"""
    before = ctx.runtime.session
    upto = before.resolve_turn(args) if args else None
    await ctx.wait_for_background()
    copy = ctx.runtime.sessions.fork(upto=upto)
    ctx.runtime.resume(copy.id)
    ctx.screen.note(f"continuing in a copy{f' that ends with T{upto}' if upto else ''}: {copy.id}")
    ctx.screen.note(f"the original is kept: {_session_name(before)} · /resume {before.id}")


_AGE_UNITS = (
    (60, 1, "s"),
    (3600, 60, "min"),
    (86_400, 3600, "h"),
)  # below these seconds, seconds a unit, unit


def _format_age(then: datetime, now: datetime | None = None) -> str:
    """Format the time since `then`: `5 min ago`, `3 h ago`, the date after two days. A naive time is UTC."""
    when = then if then.tzinfo else then.replace(tzinfo=UTC)
    seconds = max(0.0, ((now or datetime.now(UTC)) - when).total_seconds())
    for limit, unit, name in _AGE_UNITS:
        if seconds < limit:
            return f"{int(seconds // unit)} {name} ago"
    return "1 day ago" if seconds < 2 * 86_400 else when.date().isoformat()


def show_session(screen: Screen, session: Session) -> None:
    """Print the session's name, its last query and its last answer."""
    turns, last = pluralize(session.interactions, "turn"), _format_age(session.updated_at)
    screen.note(f"session {_session_name(session)} · {turns} · last used {last}")
    groups = session.group_by_interaction()
    if not groups:
        return
    question, *replies = groups[-1]
    labels = "".join(f" {image['label']}" for image in question.images or ())
    screen.line(f"> {question.content}{labels}", "head")
    answers = [message for message in replies if message.role == "assistant" and message.content]
    if answers:
        screen.markdown(answers[-1].content)
    if not answers or answers[-1].status == "partial":
        screen.note("this turn was not finished")


def _session_name(session: Session) -> str:
    """Return the session's title, or the beginning of its id."""
    return session.title or session.id[:13]


def _format_session(info: SessionInfo) -> str:
    words = info.shown_title or info.id
    return f"{words[:60]} · {pluralize(info.interactions, 'turn')} · {_format_age(info.updated_at)}"


def _describe_session(info: SessionInfo, ending: Mapping[str, str]) -> list[str]:
    """Return the first and last query, the last answer, and model, cost and id of a session."""
    first, last = info.first_query, ending.get("user", "")
    asked = [f"> {first}", *([f"> {last}"] if last and not last.startswith(first[:40]) else [])]
    return [
        *asked,
        ending.get("assistant", ""),
        f"{info.model} · {format_dollars(info.cost)} · {info.id}",
    ]


@command(aliases=("clear", "reset"), usage="[NAME]")
async def _new(ctx: CommandContext, args: str) -> None:
    """Start a new session (this one is kept)"""
    await ctx.wait_for_background()
    before = ctx.runtime.session
    ctx.runtime.new_session(args)
    ctx.screen.note(f"new session{f' {args}' if args else ''}: nothing of the previous one is sent")
    if before.interactions:
        ctx.screen.note(f"the previous one is kept: {_session_name(before)} · /resume {before.id}")
        ctx.background.start(ctx.background.reflect_ended(ctx.runtime.learning))


@command(aliases=("title", "name"), usage="NAME")
async def _rename(ctx: CommandContext, args: str) -> None:
    """Rename this session"""
    name = " ".join(args.split())
    if not name:
        raise UsageError(
            f"This session is {_session_name(ctx.runtime.session)}.", "To name it: /rename NAME"
        )
    ctx.runtime.sessions.rename(name)
    ctx.screen.note(f"this session is now {name}")


@command(usage="WORDS", concurrent="*")
async def _search(ctx: CommandContext, args: str) -> None:
    """Search all sessions, newest first"""
    if not args:
        raise UsageError("Nothing to search for.", "For example: /search retry limit")
    hits = ctx.runtime.sessions.catalog.search(args, _MAX_SHOWN)
    if not hits:
        ctx.screen.note(f"no matches for {args!r}")
        return
    rows = [
        (
            f"{hit.title or hit.session_id[:13]} T{hit.interaction}",
            _format_age(hit.created_at),
            hit.role,
            hit.snippet,
        )
        for hit in hits
    ]
    ctx.screen.table(("session", "when", "role", "text"), rows)
    ctx.screen.note("/resume NAME or ID continues one")


_COPIERS = (["pbcopy"], ["wl-copy"], ["xclip", "-selection", "clipboard"], ["clip.exe"])
_COPY_TIMEOUT = 5
_MAX_OSC52 = 74_994  # bytes that terminals accept in one OSC 52 sequence (100,000 in base64)
_FORMATS = (
    ("html", "one page, for a browser"),
    ("md", "Markdown"),
    ("json", "everything, can be imported again"),
)


@command(usage="[N]", concurrent="*")
async def _copy(ctx: CommandContext, args: str) -> None:
    """Copy the last answer (or the Nth last) to the clipboard"""
    loaded = ctx.runtime.session.messages
    answers = [
        message.content
        for message in loaded
        if message.role == "assistant" and message.content.strip()
    ]
    if not (args or "1").isdecimal() or not 1 <= int(args or "1") <= len(answers):
        raise UsageError(
            f"There is no answer {args or 1} to copy ({len(answers)} are loaded).",
            "Use /copy or /copy 2",
        )
    text = answers[-int(args or "1")]
    ctx.screen.note(f"copied {len(text):,} characters{_to_clipboard(ctx, text)}")


def _to_clipboard(ctx: CommandContext, text: str) -> str:
    """Copy the text, and return how, to append to "copied N characters". Raises UsageError if it cannot be copied."""
    data = text.encode("utf-8", "replace")
    # reads the environment: over SSH the user's clipboard is that of the terminal, not of this machine
    for program in () if "SSH_CONNECTION" in os.environ else _COPIERS:
        if shutil.which(program[0]):
            try:
                subprocess.run(
                    program, input=data, check=True, timeout=_COPY_TIMEOUT, capture_output=True
                )
            except (OSError, subprocess.SubprocessError):
                continue
            return ""
    if not sys.stdout.isatty() or len(data) > _MAX_OSC52:
        raise UsageError(
            f"No clipboard program was found ({', '.join(p[0] for p in _COPIERS)}) and the terminal cannot take it.",
            "Install one, or use swecli sessions show",
        )
    ctx.screen.write(f"\x1b]52;c;{base64.b64encode(data).decode()}\a")
    return " through the terminal (OSC 52), if it allows that"


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
    path = ctx.runtime.cwd / (
        Path(name.strip()).expanduser() if name else f"swecli-{session.id[:8]}.{form}"
    )
    text = format_session(form, redact_value(ctx.runtime.sessions.archive.export(session.id)))
    write_new_file(path, text, "Name another file: /export html FILE")
    ctx.screen.note(f"exported {pluralize(session.interactions, 'turn')} to {short_path(path)}")
