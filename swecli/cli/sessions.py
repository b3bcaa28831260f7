"""List, show, search, rename, fork, delete, export or import stored sessions."""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from swecli.cli.startup import working_directory
from swecli.cli.subcommands import common, positive, say, say_json, stored, table, tell
from swecli.models.errors import BadInput
from swecli.models.ids import turn_number
from swecli.models.message import ToolCall
from swecli.models.session import SessionInfo
from swecli.redact import redact_value

if TYPE_CHECKING:
    from swecli.store.session_manager import SessionManager


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Actions and their arguments."""
    names = "list|show|search|rename|fork|delete|export|import"
    actions = parser.add_subparsers(dest="action", required=True, metavar=names)
    add_list = actions.add_parser("list", help="newest first")
    add_list.add_argument("--here", action="store_true", help="only those of this directory")
    show = actions.add_parser("show", help="the conversation of one session")
    search = actions.add_parser("search", help="where words were said")
    search.add_argument("words", nargs="+")
    rename = actions.add_parser("rename", help="give a session a title")
    fork = actions.add_parser("fork", help="copy a session, to go on from there")
    delete = actions.add_parser("delete", help="remove a session for good")
    export = actions.add_parser("export", help="everything of a session as JSON, with secrets redacted")
    bring = actions.add_parser("import", help="take in an exported session")
    bring.add_argument("file", metavar="FILE", help="an export")
    for action in (show, rename, fork, delete, export):
        action.add_argument("session", help="id, unique prefix of one, or title")
    for action in (add_list, search):
        action.add_argument("--limit", type=positive, default=20, metavar="N")
    export.add_argument("--with-secrets", action="store_true", help="redact nothing: to go on on another machine")
    rename.add_argument("title", nargs="+")
    fork.add_argument("--upto", metavar="TURN", help="leave out what came after this turn, for example T7")
    for action in actions.choices.values():
        common(action)


def run(args: argparse.Namespace) -> int:
    """Do it. Raises BadInput for a session that is not there."""
    # late: --help and a wrong argument need no database
    from swecli.store.session_manager import SessionManager  # noqa: PLC0415

    with stored(args, make=args.action == "import") as database:
        return ACTIONS[args.action](SessionManager(database), args)


def _list(sessions: SessionManager, args: argparse.Namespace) -> int:
    rows = sessions.list_sessions(str(working_directory()) if args.here else None, args.limit)
    if args.json or not rows:
        return tell(args, [row.to_json() for row in rows], "No sessions yet.")
    table([_row(row) for row in rows], ("id", "when", "turns", "directory", "title"))
    return 0


def _row(row: SessionInfo) -> tuple[object, ...]:
    when = row.updated_at.astimezone().strftime("%Y-%m-%d %H:%M")
    return (row.id, when, row.interactions, row.directory, row.title or row.first_query[:60])


def _show(sessions: SessionManager, args: argparse.Namespace) -> int:
    session = sessions.resume(args.session, "")
    if args.json:
        say_json(redact_value(sessions.export(session.id)))
        return 0
    sessions.load_back_to(1)
    for message in session.messages:
        say(f"{message.role.value}: {message.content}".rstrip())
        for call in message.tool_calls:
            say(f"  {call.name} {json.dumps(call.parameters, ensure_ascii=False)} -> {_outcome(call)}")
    return 0


def _outcome(call: ToolCall) -> str:
    """The first line of what became of a call."""
    lines = (call.error or call.result or "").strip().splitlines()
    more = f" (+{len(lines) - 1} lines)" if len(lines) > 1 else ""
    return (lines[0] if lines else "nothing") + more


def _search(sessions: SessionManager, args: argparse.Namespace) -> int:
    hits = sessions.search(" ".join(args.words), args.limit)
    if args.json or not hits:
        rows = [asdict(hit) | {"created_at": hit.created_at.isoformat()} for hit in hits]
        return tell(args, rows, "Nothing found.")
    table([(h.session_id, f"T{h.interaction}", h.role, h.snippet) for h in hits], ("session", "turn", "who", "text"))
    return 0


def _rename(sessions: SessionManager, args: argparse.Namespace) -> int:
    title = " ".join(args.title).strip()
    if not title:
        raise BadInput("A title has at least one word.", "For example: swecli sessions rename ID the parser")
    session = sessions.resume(args.session, "")
    sessions.rename(title)
    return tell(args, {"session_id": session.id, "title": session.title}, f"{session.id} is now {session.title!r}.")


def _fork(sessions: SessionManager, args: argparse.Namespace) -> int:
    upto = None if args.upto is None else turn_number(args.upto)
    copy = sessions.fork(args.session, upto=upto)
    return tell(args, {"session_id": copy.id}, f"Forked as {copy.id}; go on with: swecli -r {copy.id}")


def _delete(sessions: SessionManager, args: argparse.Namespace) -> int:
    gone = sessions.delete(args.session)
    return tell(args, {"deleted": gone}, f"{gone} deleted.")


def _export(sessions: SessionManager, args: argparse.Namespace) -> int:
    whole = sessions.export(args.session)
    say_json(whole if args.with_secrets else redact_value(whole))
    return 0


def _import(sessions: SessionManager, args: argparse.Namespace) -> int:
    # late: the other actions do not need it
    from swecli.store.session_files.importing import import_session  # noqa: PLC0415

    brought = import_session(sessions.database, _exported(Path(args.file)))
    left = f" {brought.left_out} strategies of its project stay behind." if brought.left_out else ""
    text = f"Imported as {brought.session_id}; go on with: swecli -r {brought.session_id}.{left}"
    return tell(args, asdict(brought), text)


def _exported(path: Path) -> Any:
    hint = "Make one with: swecli sessions export ID > FILE"
    try:
        return json.loads(path.read_bytes())
    except OSError as error:
        raise BadInput(f"{path} cannot be read: {error.strerror}.", hint) from error
    except (ValueError, RecursionError) as error:
        raise BadInput(f"{path} is no export: {error}.", hint) from error


ACTIONS = {
    "list": _list,
    "show": _show,
    "search": _search,
    "rename": _rename,
    "fork": _fork,
    "delete": _delete,
    "export": _export,
    "import": _import,
}
