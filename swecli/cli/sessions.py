"""`swecli sessions`: list, show, search, change, export, import and replay stored sessions."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from pathlib import Path

from swecli.cli.flags import Parser, subcommand
from swecli.cli.subcommands import format_call, open_sessions, positive_int
from swecli.headless.plain import dumps
from swecli.models.errors import BadInput
from swecli.models.ids import parse_turn
from swecli.models.session import title_by_rule
from swecli.playbook.action import ActionResult
from swecli.redact import redact_value

_MAX_NAMED = 5  # skipped lines of an import that are listed


@subcommand
def _sessions(parser: Parser) -> None:
    """List, show, search, rename, fork, delete, export, import or replay sessions."""
    listing = parser.action("list", _list, "newest first")
    listing.add_argument("--here", action="store_true", help="only sessions of this directory")
    show = parser.action("show", _show, "show the conversation of one session")
    search = parser.action("search", _search, "find words in all conversations")
    search.add_argument("words", nargs="+")
    rename = parser.action("rename", _rename, "give a session a title")
    fork = parser.action("fork", _fork, "copy a session, to continue the copy")
    delete = parser.action("delete", _delete, "delete a session permanently")
    export = parser.action("export", _export, "print a complete session, with secrets redacted")
    bring = parser.action("import", _import, "import a session from a file, also one of another tool")
    bring.add_argument("file", metavar="FILE", help="an export, or a transcript of Claude Code, codex, pi or aider")
    replay = parser.action("replay", _replay, "run it again with this version; nothing is sent, no tool runs")
    for action in (show, rename, fork, delete, export, replay):
        action.add_argument("session", help="id, unique prefix of one, or title")
    for action in (listing, search):
        action.add_argument("--limit", type=positive_int, default=20, metavar="N")
    export.add_argument("--format", choices=("html", "md", "json"), default="json", help="(default json)")
    export.add_argument("--with-secrets", action="store_true", help="do not redact, to move it to another machine")
    replay.add_argument(
        "--diff", action="store_true", help="print only differences of its requests; exit 1 if there are any"
    )
    rename.add_argument("title", nargs="+")
    fork.add_argument("--upto", metavar="TURN", help="leave out the turns after this one, for example T7")


def _list(args: argparse.Namespace) -> ActionResult:
    with open_sessions(args) as sessions:
        found = sessions.list_sessions(str(Path.cwd()) if args.here else None, args.limit)
    rows = []
    for one in found:
        when, title = f"{one.updated_at.astimezone():%Y-%m-%d %H:%M}", one.title or title_by_rule(one.first_query)
        rows.append((one.id, when, str(one.interactions), one.directory, title))
    lines, head = () if rows else ("No sessions yet.",), ("id", "when", "turns", "directory", "title")
    return ActionResult([one.to_json() for one in found], lines, head, tuple(rows))


def _show(args: argparse.Namespace) -> ActionResult:
    with open_sessions(args) as sessions:
        session = sessions.resume(args.session, "")
        if args.json:
            return ActionResult(redact_value(sessions.export(session.id)))
        sessions.load_back_to(1)
    lines = []
    for message in session.messages:
        labels = "".join(f" {image['label']}" for image in message.images or ())
        lines.append(f"{message.role.value}: {message.content}{labels}".rstrip())
        lines += [format_call(c.name, c.parameters, c.error or c.result or "") for c in message.tool_calls]
    return ActionResult(None, tuple(lines))


def _search(args: argparse.Namespace) -> ActionResult:
    with open_sessions(args) as sessions:
        hits = sessions.search(" ".join(args.words), args.limit)
    value = [asdict(hit) | {"created_at": hit.created_at.isoformat()} for hit in hits]
    rows = tuple((hit.session_id, f"T{hit.interaction}", hit.role, hit.snippet) for hit in hits)
    return ActionResult(value, () if hits else ("Nothing found.",), ("session", "turn", "who", "text"), rows)


def _rename(args: argparse.Namespace) -> ActionResult:
    title = " ".join(args.title).strip()
    if not title:
        raise BadInput("The title is empty.", "For example: swecli sessions rename ID the parser")
    with open_sessions(args) as sessions:
        session = sessions.resume(args.session, "")
        sessions.rename(title)
    value, line = {"session_id": session.id, "title": session.title}, f"{session.id} is now {session.title!r}."
    return ActionResult(value, (line,))


def _fork(args: argparse.Namespace) -> ActionResult:
    upto = None if args.upto is None else parse_turn(args.upto)
    with open_sessions(args) as sessions:
        copy = sessions.fork(args.session, upto=upto)
    return ActionResult({"session_id": copy.id}, (f"Forked as {copy.id}; continue with: swecli -r {copy.id}",))


def _delete(args: argparse.Namespace) -> ActionResult:
    with open_sessions(args) as sessions:
        deleted = sessions.delete(args.session)
    return ActionResult({"deleted": deleted}, (f"{deleted} deleted.",))


def _export(args: argparse.Namespace) -> ActionResult:
    with open_sessions(args) as sessions:
        whole = sessions.export(args.session)
    whole = whole if args.with_secrets else redact_value(whole)
    if args.format == "json":
        return ActionResult(whole, (dumps(whole, indent=2),))
    # late: only these formats need templates and Markdown
    from swecli.pages.page import format_session  # noqa: PLC0415

    text = format_session(args.format, whole)
    return ActionResult(whole, (text,), exact=text)


def _replay(args: argparse.Namespace) -> ActionResult:
    # late: the other actions need no agent
    from swecli.cli.replay import replay_session  # noqa: PLC0415

    return replay_session(args)


def _import(args: argparse.Namespace) -> ActionResult:
    # late: the other actions need no importers
    from swecli.store.session_files.importing import import_file  # noqa: PLC0415

    with open_sessions(args, create=True) as sessions:
        brought = import_file(sessions.database, Path(args.file))
    of, name = f" from {brought.tool}" if brought.tool else "", brought.session_id
    turns = f"{brought.interactions} turn{'s' if brought.interactions != 1 else ''}"
    lines = [f"Imported {turns}{of} as {name}; continue with: swecli -r {name}."]
    if brought.left_out:
        lines.append(f"{brought.left_out} strategies of its project were not imported.")
    if brought.skipped:
        more = f", and {len(brought.skipped) - _MAX_NAMED} more" if len(brought.skipped) > _MAX_NAMED else ""
        lines.append(f"Skipped {'; '.join(brought.skipped[:_MAX_NAMED])}{more}.")
    return ActionResult(asdict(brought), tuple(lines))
