"""List, show, search, rename, fork, delete or export stored sessions."""

from __future__ import annotations

import argparse
from pathlib import Path

from swecli.cli.admin import common, database_of, say, say_json, table
from swecli.models.session import SessionInfo
from swecli.store.database import open_database
from swecli.store.session_manager import SessionManager


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Actions and their arguments."""
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    add_list = actions.add_parser("list", help="newest first")
    add_list.add_argument("--here", action="store_true", help="only those of this directory")
    add_list.add_argument("--limit", type=int, default=20)
    show = actions.add_parser("show", help="the conversation of one session")
    search = actions.add_parser("search", help="where words were said")
    search.add_argument("words", nargs="+")
    rename = actions.add_parser("rename", help="give a session a title")
    fork = actions.add_parser("fork", help="copy a session, to go on from there")
    delete = actions.add_parser("delete", help="remove a session for good")
    export = actions.add_parser("export", help="everything of a session as JSON")
    for action in (show, rename, fork, delete, export):
        action.add_argument("session", help="id, unique prefix of one, or title")
    rename.add_argument("title", nargs="+")
    for action in actions.choices.values():
        common(action)


def run(args: argparse.Namespace) -> int:
    """Do it. Raises BadInput for a session that is not there."""
    database = open_database(database_of(args))
    try:
        return ACTIONS[args.action](SessionManager(database), args)
    finally:
        database.close()


def _list(sessions: SessionManager, args: argparse.Namespace) -> int:
    rows = sessions.list_sessions(str(Path.cwd()) if args.here else None, args.limit)
    if args.json:
        say_json([row.to_json() for row in rows])
    elif not rows:
        say("No sessions yet.")
    else:
        table([_row(row) for row in rows], ("id", "when", "turns", "directory", "title"))
    return 0


def _row(row: SessionInfo) -> tuple[object, ...]:
    when = row.updated_at.astimezone().strftime("%Y-%m-%d %H:%M")
    return (row.id, when, row.interactions, row.directory, row.title or row.first_query[:60])


def _show(sessions: SessionManager, args: argparse.Namespace) -> int:
    session = sessions.resume(args.session, str(Path.cwd()))
    sessions.load_back_to(1)
    if args.json:
        say_json(sessions.export(session.id))
        return 0
    for message in session.messages:
        say(f"{message.role.value}: {message.content}".rstrip())
        for call in message.tool_calls:
            say(f"  {call.name} {call.parameters} -> {call.error or (call.result or '').splitlines()[:1]}")
    return 0


def _search(sessions: SessionManager, args: argparse.Namespace) -> int:
    hits = sessions.search(" ".join(args.words))
    if args.json:
        say_json([{name: getattr(hit, name) for name in hit.__slots__} for hit in hits])
    elif not hits:
        say("Nothing found.")
    else:
        table(
            [(h.session_id, f"T{h.interaction}", h.role, h.snippet) for h in hits], ("session", "turn", "who", "text")
        )
    return 0


def _rename(sessions: SessionManager, args: argparse.Namespace) -> int:
    sessions.resume(args.session, str(Path.cwd()))
    sessions.rename(" ".join(args.title))
    say("Renamed.")
    return 0


def _fork(sessions: SessionManager, args: argparse.Namespace) -> int:
    copy = sessions.fork(args.session)
    say_json({"session_id": copy.id}) if args.json else say(f"Forked as {copy.id}; go on with: swecli -r {copy.id}")
    return 0


def _delete(sessions: SessionManager, args: argparse.Namespace) -> int:
    sessions.delete(args.session)
    say("Deleted.")
    return 0


def _export(sessions: SessionManager, args: argparse.Namespace) -> int:
    say_json(sessions.export(args.session))
    return 0


ACTIONS = {
    "list": _list,
    "show": _show,
    "search": _search,
    "rename": _rename,
    "fork": _fork,
    "delete": _delete,
    "export": _export,
}
