"""`swecli sessions`, of which `/search`, `/rename`, `/fork` and `/export` are in a session too."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from swecli.models.action import (
    SESSION_HELP,
    SESSION_NAME,
    Action,
    ActionResult,
    Family,
    Flag,
    Invocation,
    Need,
    Words,
)
from swecli.models.ages import format_age
from swecli.models.counts import parse_count, pluralize
from swecli.models.errors import SwecliError, UsageError
from swecli.text import one_line

if TYPE_CHECKING:  # the prompt completes the names of the actions before these are loaded
    from swecli.actions.replaying import Recording
    from swecli.store.session_manager import SessionManager

_MAX_LISTED = 20
_FORMATS = {
    "html": "one page, for a browser",
    "md": "Markdown",
    "json": "everything, can be imported again",
}
_LIMIT = Flag("--limit", f"at most so many (default {_MAX_LISTED})", "N")


@Action(
    Need.ALL_SESSIONS,
    flags=(Flag("--here", "only sessions of this directory"), _LIMIT),
    in_session=False,
)
def list_(sessions: SessionManager, invocation: Invocation) -> ActionResult:
    """Newest first"""
    folder = None
    place = None
    if "--here" in invocation.flags:
        # late: the prompt completes the names of the actions before git's module is loaded
        from swecli.tools.projects import open_project

        folder = str(invocation.folder)
        place = open_project(sessions.database, invocation.folder)
    limit = parse_count(invocation.value("--limit"), _MAX_LISTED)
    listed = sessions.catalog.list_sessions(folder, limit, place=place)
    rows = tuple(
        (
            session.id,
            f"{session.updated_at.astimezone():%Y-%m-%d %H:%M}",
            str(session.interactions),
            session.directory,
            session.shown_title,
        )
        for session in listed
    )
    lines = () if rows else ("No sessions yet.",)
    head = ("id", "when", "turns", "directory", "title")
    return ActionResult([session.to_json() for session in listed], lines, head=head, rows=rows)


@Action(Need.NAMED_SESSION, in_session=False)
def show(sessions: SessionManager, invocation: Invocation) -> ActionResult:
    """Show the conversation of one session"""
    # late: as above
    from swecli.actions.conversation import show_conversation

    return show_conversation(sessions, as_value=invocation.wants_value)


@Action(
    Need.ALL_SESSIONS,
    Words("WORDS", count="+", shell_name="WORD", is_text=True),
    (_LIMIT,),
    is_command=True,
    during_turn=True,
)
def search(sessions: SessionManager, invocation: Invocation) -> ActionResult:
    """Search all sessions, newest first"""
    if not invocation.text.strip():
        raise UsageError("Nothing to search for.", "For example: search retry limit")
    hits = sessions.catalog.search(
        invocation.text, parse_count(invocation.value("--limit"), _MAX_LISTED)
    )
    value = [asdict(hit) | {"created_at": hit.created_at.isoformat()} for hit in hits]
    if not hits:
        return ActionResult(value, (f"no matches for {invocation.text!r}",))
    rows = tuple(
        (
            f"{hit.title or hit.session_id[:13]} T{hit.interaction}",
            format_age(hit.created_at),
            hit.role,
            hit.snippet,
        )
        for hit in hits
    )
    note = "/resume NAME or ID continues one" if invocation.prefix == "/" else ""
    return ActionResult(value, head=("session", "when", "role", "text"), rows=rows, note=note)


@Action(Need.NAMED_SESSION, Words("NAME", count="+"), aliases=("title", "name"), is_command=True)
def rename(sessions: SessionManager, invocation: Invocation) -> ActionResult:
    """Rename a session"""
    session = sessions.session
    title = " ".join(invocation.text.split())
    if not title:
        raise UsageError(f"This session is {session.name}.", "To name it: rename NAME")
    sessions.rename(title)
    value = {"session_id": session.id, "title": session.title}
    return ActionResult(value, (f"this session is now {session.title}",))


@Action(
    Need.NAMED_SESSION,
    Words("[T7]", "leave out the turns after this one", "?"),
    aliases=("branch",),
    is_command=True,
)
def fork(sessions: SessionManager, invocation: Invocation) -> ActionResult:
    """Copy a session, to continue the copy (optional: up to turn T7)"""
    last_turn = sessions.session.resolve_turn(invocation.text) if invocation.text else None
    copy = sessions.fork(upto=last_turn)
    line = f"Forked as {copy.id}; continue with: swecli -r {copy.id}"
    return ActionResult({"session_id": copy.id}, (line,))


@Action(
    Need.ALL_SESSIONS,
    Words(SESSION_NAME, SESSION_HELP, "1"),
    (Flag("--yes", "do not ask"),),
    in_session=False,
)
def delete(sessions: SessionManager, invocation: Invocation) -> ActionResult:
    """Delete a session permanently, after a question"""
    session = sessions.resume(sessions.find_deletable(invocation.text), "")
    title = f"{session.title!r}, " if session.title else ""
    turns = pluralize(session.interactions, "turn")
    if not invocation.face.confirm_deletion(one_line(f"{session.id} ({title}{turns})")):
        raise SwecliError("Nothing was deleted.")
    deleted = sessions.delete(session.id)
    return ActionResult({"deleted": deleted}, (f"{deleted} deleted.",))


@Action(
    Need.NAMED_SESSION,
    Words("[html|md|json] [FILE]", "write it to this file in place of printing JSON"),
    (
        Flag(
            "--format", "the format of what is printed", choices=tuple(_FORMATS), in_session=False
        ),
        Flag("--with-secrets", "do not redact, to move it to another machine", in_session=False),
    ),
    complete=lambda runtime: list(_FORMATS.items()),
    is_command=True,
)
def export(sessions: SessionManager, invocation: Invocation) -> ActionResult:
    """Write a session as a page (html), Markdown or JSON, secrets redacted"""
    # late: most sessions are never exported
    from swecli.actions.exporting import export_session

    return export_session(sessions, invocation)


@Action(
    Need.NEW_DATABASE,
    Words("FILE", "an export, or a transcript that an installed importer reads", "1"),
    in_session=False,
)
def import_(sessions: SessionManager, invocation: Invocation) -> ActionResult:
    """Import a session from a file, also one of another tool"""
    # late: as above
    from swecli.actions.importing import import_session

    return import_session(sessions, invocation.file(invocation.text))


@Action(
    Need.RECORDING,
    flags=(Flag("--diff", "print only differences of its requests; exit 1 if there are any"),),
    in_session=False,
)
def replay(recording: Recording, invocation: Invocation) -> ActionResult:
    """Run it again with this version; nothing is sent, no tool runs"""
    # late: as above
    from swecli.actions.replaying import replay_recording

    return replay_recording(recording, differences_only="--diff" in invocation.flags)


sessions = Family(
    "sessions",
    "List, show, search, rename, fork, delete, export, import or replay sessions",
    (list_, show, search, rename, fork, delete, export, import_, replay),
    default="list",
)
