"""List, show, search, rename, fork, delete, export or import sessions."""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict
from pathlib import Path

from swecli.cli.output import print_json, print_line, print_table, report
from swecli.cli.startup import working_directory
from swecli.cli.subcommands import Actions, open_sessions, positive
from swecli.models.errors import BadInput
from swecli.models.ids import turn_number
from swecli.models.message import ToolCall
from swecli.models.session import SessionInfo
from swecli.redact import redact_value


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Actions and their arguments."""
    actions = Actions(parser)
    listing = actions.add("list", _list, "newest first")
    listing.add_argument("--here", action="store_true", help="only those of this directory")
    show = actions.add("show", _show, "the conversation of one session")
    search = actions.add("search", _search, "find words in all conversations")
    search.add_argument("words", nargs="+")
    rename = actions.add("rename", _rename, "give a session a title")
    fork = actions.add("fork", _fork, "copy a session, to go on from there")
    delete = actions.add("delete", _delete, "remove a session for good")
    export = actions.add("export", _export, "print everything of a session as JSON, secrets redacted")
    bring = actions.add("import", _import, "import a session from a file, also one of another tool")
    bring.add_argument("file", metavar="FILE", help="an export, or a transcript of Claude Code, codex, pi or aider")
    for action in (show, rename, fork, delete, export):
        action.add_argument("session", help="id, unique prefix of one, or title")
    for action in (listing, search):
        action.add_argument("--limit", type=positive, default=20, metavar="N")
    export.add_argument("--with-secrets", action="store_true", help="do not redact, to move it to another machine")
    rename.add_argument("title", nargs="+")
    fork.add_argument("--upto", metavar="TURN", help="leave out what came after this turn, for example T7")


def _list(args: argparse.Namespace) -> int:
    with open_sessions(args) as sessions:
        rows = sessions.list_sessions(str(working_directory()) if args.here else None, args.limit)
    if args.json or not rows:
        return report(args, [row.to_json() for row in rows], "No sessions yet.")
    print_table([_row(row) for row in rows], ("id", "when", "turns", "directory", "title"))
    return 0


def _row(row: SessionInfo) -> tuple[object, ...]:
    when = row.updated_at.astimezone().strftime("%Y-%m-%d %H:%M")
    return (row.id, when, row.interactions, row.directory, row.title or row.first_query[:60])


def _show(args: argparse.Namespace) -> int:
    with open_sessions(args) as sessions:
        session = sessions.resume(args.session, "")
        if args.json:
            print_json(redact_value(sessions.export(session.id)))
            return 0
        sessions.load_back_to(1)
    for message in session.messages:
        print_line(f"{message.role.value}: {message.content}".rstrip())
        for call in message.tool_calls:
            print_line(f"  {call.name} {json.dumps(call.parameters, ensure_ascii=False)} -> {_outcome(call)}")
    return 0


def _outcome(call: ToolCall) -> str:
    """The first line of what became of a call."""
    lines = (call.error or call.result or "").strip().splitlines()
    more = f" (+{len(lines) - 1} lines)" if len(lines) > 1 else ""
    return (lines[0] if lines else "nothing") + more


def _search(args: argparse.Namespace) -> int:
    with open_sessions(args) as sessions:
        hits = sessions.search(" ".join(args.words), args.limit)
    if args.json or not hits:
        rows = [asdict(hit) | {"created_at": hit.created_at.isoformat()} for hit in hits]
        return report(args, rows, "Nothing found.")
    print_table(
        [(h.session_id, f"T{h.interaction}", h.role, h.snippet) for h in hits], ("session", "turn", "who", "text")
    )
    return 0


def _rename(args: argparse.Namespace) -> int:
    title = " ".join(args.title).strip()
    if not title:
        raise BadInput("The title is empty.", "For example: swecli sessions rename ID the parser")
    with open_sessions(args) as sessions:
        session = sessions.resume(args.session, "")
        sessions.rename(title)
    return report(args, {"session_id": session.id, "title": session.title}, f"{session.id} is now {session.title!r}.")


def _fork(args: argparse.Namespace) -> int:
    upto = None if args.upto is None else turn_number(args.upto)
    with open_sessions(args) as sessions:
        copy = sessions.fork(args.session, upto=upto)
    return report(args, {"session_id": copy.id}, f"Forked as {copy.id}; continue with: swecli -r {copy.id}")


def _delete(args: argparse.Namespace) -> int:
    with open_sessions(args) as sessions:
        gone = sessions.delete(args.session)
    return report(args, {"deleted": gone}, f"{gone} deleted.")


def _export(args: argparse.Namespace) -> int:
    with open_sessions(args) as sessions:
        whole = sessions.export(args.session)
    print_json(whole if args.with_secrets else redact_value(whole))
    return 0


def _import(args: argparse.Namespace) -> int:
    # late: the other actions do not need it
    from swecli.store.session_files.importing import import_file  # noqa: PLC0415

    with open_sessions(args, make=True) as sessions:
        brought = import_file(sessions.database, Path(args.file))
    of, name = f" from {brought.tool}" if brought.tool else "", brought.session_id
    turns = f"{brought.interactions} turn{'s' if brought.interactions != 1 else ''}"
    lines = [f"Imported {turns}{of} as {name}; continue with: swecli -r {name}."]
    if brought.left_out:
        lines.append(f"{brought.left_out} strategies of its project were not imported.")
    if brought.skipped:
        more = f", and {len(brought.skipped) - _NAMED} more" if len(brought.skipped) > _NAMED else ""
        lines.append(f"Skipped {'; '.join(brought.skipped[:_NAMED])}{more}.")
    return report(args, asdict(brought), "\n".join(lines))


_NAMED = 5  # skipped lines that are named
