"""`swecli sessions`: list, show, search, change, export, import and replay stored sessions."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from difflib import SequenceMatcher, unified_diff
from typing import TYPE_CHECKING, Any

from swecli.cli.flags import Parser, subcommand
from swecli.cli.subcommands import (
    configuration_of,
    instructions_in,
    named_file,
    open_sessions,
    positive_int,
)
from swecli.cli.workspace import working_folder
from swecli.headless.plain import dumps
from swecli.llm.price_table import row_of, sizes_of
from swecli.models.action import ActionResult
from swecli.models.errors import BadInput, SwecliError, UsageError
from swecli.models.events import (
    Event,
    StepStarted,
    TextDelta,
    ToolFinished,
    TurnFailed,
    TurnStarted,
    WindowApplied,
)
from swecli.models.ids import parse_turn
from swecli.models.session import Session
from swecli.redact import redact_value
from swecli.text import one_line

if TYPE_CHECKING:
    from swecli.context.replay.history import PastTurn

_Change = tuple[tuple[str, ...], tuple[str, ...]]
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
    delete = parser.action("delete", _delete, "delete a session permanently, after a question")
    delete.add_argument("--yes", action="store_true", help="do not ask")
    export = parser.action("export", _export, "print a complete session, with secrets redacted")
    bring = parser.action(
        "import", _import, "import a session from a file, also one of another tool"
    )
    bring.add_argument(
        "file",
        metavar="FILE",
        help="an export, or a transcript that an installed importer reads",
    )
    replay = parser.action(
        "replay", _replay, "run it again with this version; nothing is sent, no tool runs"
    )
    for action in (show, rename, fork, delete, export, replay):
        action.add_argument("session", help="id, unique prefix of one, or title")
    for action in (listing, search):
        action.add_argument("--limit", type=positive_int, default=20, metavar="N")
    export.add_argument(
        "--format", choices=("html", "md", "json"), default="json", help="(default json)"
    )
    export.add_argument(
        "--with-secrets", action="store_true", help="do not redact, to move it to another machine"
    )
    replay.add_argument(
        "--diff",
        action="store_true",
        help="print only differences of its requests; exit 1 if there are any",
    )
    rename.add_argument("title", nargs="+")
    fork.add_argument(
        "--upto", metavar="TURN", help="leave out the turns after this one, for example T7"
    )


def _list(args: argparse.Namespace) -> ActionResult:
    with open_sessions(args) as sessions:
        found = sessions.catalog.list_sessions(
            str(working_folder(args.cwd)) if args.here else None, args.limit
        )
    rows = []
    for one in found:
        when, title = f"{one.updated_at.astimezone():%Y-%m-%d %H:%M}", one.shown_title
        rows.append((one.id, when, str(one.interactions), one.directory, title))
    lines, head = (
        () if rows else ("No sessions yet.",),
        ("id", "when", "turns", "directory", "title"),
    )
    return ActionResult([one.to_json() for one in found], lines, head, tuple(rows))


def _show(args: argparse.Namespace) -> ActionResult:
    with open_sessions(args) as sessions:
        session = sessions.resume(args.session, "")
        if args.json:
            return ActionResult(redact_value(sessions.archive.export(session.id)))
        sessions.load_back_to(1)
    lines = []
    for message in session.messages:
        labels = "".join(f" {image['label']}" for image in message.images or ())
        lines.append(f"{message.role.value}: {message.content}{labels}".rstrip())
        lines += [
            _format_call(c.name, c.parameters, c.error or c.result or "")
            for c in message.tool_calls
        ]
    return ActionResult(None, tuple(lines))


def _search(args: argparse.Namespace) -> ActionResult:
    with open_sessions(args) as sessions:
        hits = sessions.catalog.search(" ".join(args.words), args.limit)
    value = [asdict(hit) | {"created_at": hit.created_at.isoformat()} for hit in hits]
    rows = tuple((hit.session_id, f"T{hit.interaction}", hit.role, hit.snippet) for hit in hits)
    return ActionResult(
        value, () if hits else ("Nothing found.",), ("session", "turn", "who", "text"), rows
    )


def _rename(args: argparse.Namespace) -> ActionResult:
    title = " ".join(args.title).strip()
    if not title:
        raise BadInput("The title is empty.", "For example: swecli sessions rename ID the parser")
    with open_sessions(args) as sessions:
        session = sessions.resume(args.session, "")
        sessions.rename(title)
    value, line = (
        {"session_id": session.id, "title": session.title},
        f"{session.id} is now {session.title!r}.",
    )
    return ActionResult(value, (line,))


def _fork(args: argparse.Namespace) -> ActionResult:
    upto = None if args.upto is None else parse_turn(args.upto)
    with open_sessions(args) as sessions:
        copy = sessions.fork(args.session, upto=upto)
    return ActionResult(
        {"session_id": copy.id}, (f"Forked as {copy.id}; continue with: swecli -r {copy.id}",)
    )


def _delete(args: argparse.Namespace) -> ActionResult:
    with open_sessions(args) as sessions:
        session = sessions.resume(args.session, "")
    if not args.yes:
        _ask_to_delete(session)
    with open_sessions(args) as sessions:
        deleted = sessions.delete(session.id)
    return ActionResult({"deleted": deleted}, (f"{deleted} deleted.",))


def _ask_to_delete(session: Session) -> None:
    """Ask at the terminal. Raises SwecliError for any answer but yes, UsageError if there is nobody to ask."""
    turns = f"{session.interactions} turn{'s' if session.interactions != 1 else ''}"
    title = f"{session.title!r}, " if session.title else ""
    name = one_line(f"{session.id} ({title}{turns})")
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise UsageError(f"{name} would be deleted permanently.", "Pass --yes to do it.")
    sys.stderr.write(f"Delete {name} permanently? [y/N] ")
    sys.stderr.flush()
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise SwecliError("Nothing was deleted.")


def _export(args: argparse.Namespace) -> ActionResult:
    with open_sessions(args) as sessions:
        whole = sessions.archive.export(args.session)
    whole = whole if args.with_secrets else redact_value(whole)
    if args.format == "json":
        return ActionResult(whole, (dumps(whole, indent=2),))
    # late: only these formats need templates and Markdown
    from swecli.pages.page import format_session

    text = format_session(args.format, whole)
    return ActionResult(whole, (text,), exact=text)


def _import(args: argparse.Namespace) -> ActionResult:
    # late: the other actions need no importers
    from swecli.store.session_files.importing import import_file

    with open_sessions(args, create=True) as sessions:
        brought = import_file(sessions.database, named_file(args, args.file))
    of, name = f" from {brought.tool}" if brought.tool else "", brought.session_id
    turns = f"{brought.interactions} turn{'s' if brought.interactions != 1 else ''}"
    lines = [f"Imported {turns}{of} as {name}; continue with: swecli -r {name}."]
    if brought.left_out:
        lines.append(f"{brought.left_out} strategies of its project were not imported.")
    if brought.skipped:
        more = (
            f", and {len(brought.skipped) - _MAX_NAMED} more"
            if len(brought.skipped) > _MAX_NAMED
            else ""
        )
        lines.append(f"Skipped {'; '.join(brought.skipped[:_MAX_NAMED])}{more}.")
    return ActionResult(asdict(brought), tuple(lines))


def _replay(args: argparse.Namespace) -> ActionResult:
    """Replay the session with today's code; with `args.diff`, print the differences between the requests and return
    exit code 1 if there are any. Raises BadInput."""
    # late: the other actions need no agent
    from swecli.agent.replay import read_past, replay_turns
    from swecli.context.replay.history import ASSUMED_WINDOW
    from swecli.context.replay.requests import Assumptions

    with open_sessions(args) as sessions:
        session = sessions.resume(args.session, "", window_hint=1)
        sessions.load_back_to(1)
        log = sessions.context.log(session, 1_000_000)
    settings = configuration_of(args).settings
    known_window, max_output = sizes_of(row_of(session.model))
    window = known_window or ASSUMED_WINDOW
    history = read_past(session, window, instructions_in(session.working_directory))
    history = history.with_stored_requests(log)
    if args.diff and not any(turn.stored for turn in history.turns):
        raise BadInput(
            "The requests of this session are not stored: it was imported from another tool.",
            "Replay it without --diff.",
        )
    assumed = Assumptions(session.window, window, max_output, settings.cache_minutes * 60)
    turns, sizes = replay_turns(history, assumed, settings), list[int]()
    tools, seen, different = history.counter.count_tools(history.tools), set[_Change](), 0
    lines, values = list[str](), list[dict[str, Any]]()
    for past, (sent, events) in zip(history.turns, turns, strict=True):
        sizes += (
            each := [
                tools + history.counter.count_messages(request.messages)
                for request in sent.requests
            ]
        )
        value: dict[str, Any] = {"turn": past.number, "query": past.query, "requests": each}
        if args.diff:
            today = next(
                (request.messages for request in sent.requests if not request.condense), []
            )
            changes = list(_compare_messages(past.stored, today))
            different += bool(changes)
            before, after = map(history.counter.count_messages, (past.stored, today))
            names = (
                f"T{past.number} then, {before:,} tokens",
                f"T{past.number} today, {after:,} tokens",
            )
            value |= {
                "tokens": [before, after],
                "diff": [line for change in changes for line in _diff(names, change)],
            }
            lines += _new_changes(past, names, changes, seen)
        else:
            steps = [
                size
                for size, request in zip(each, sent.requests, strict=True)
                if not request.condense
            ]
            lines += _format_turn(past, events, steps)
        values.append(value)
    outcome = (
        f"{different} of {len(turns)} turns send something else"
        if different
        else "the requests are the same"
    )
    sums = f"{len(turns)} turns, {len(sizes)} requests, {sum(sizes):,} tokens"
    ends = [*([outcome] if args.diff else []), f"{sums}; nothing was sent, no tool ran."]
    whole = redact_value({"session_id": session.id, "turns": values})
    return ActionResult(whole, (*lines, ": ".join(ends)), code=int(different > 0))


def _format_turn(past: PastTurn, events: Sequence[Event], sizes: Sequence[int]) -> Iterator[str]:
    """Describe the events of a turn, one line each; the answer is unchanged."""
    for event in events:
        match event:
            case TurnStarted():
                yield f"T{past.number} {past.query}"
            case TextDelta():
                yield f"  {event.text}"
            case StepStarted() if event.n <= len(
                sizes
            ):  # otherwise the turn ended before it was sent
                yield f"  request {event.n}: {sizes[event.n - 1]:,} tokens"
            case WindowApplied():
                yield f"  window: {event.removed} turns removed, {event.kept} kept"
            case ToolFinished():
                yield _format_call(event.call.name, event.call.parameters, event.result.for_model)
            case TurnFailed():
                yield f"  {event.error}"
            case _:
                if line := event.describe():
                    yield f"  {line}"


def _format_call(name: str, parameters: dict[str, Any], result: str) -> str:
    """Format a tool call with the first line of its result."""
    first, *rest = result.strip().splitlines() or ["nothing"]
    more = f" (+{len(rest)} lines)" if rest else ""
    return f"  {name} {json.dumps(parameters, ensure_ascii=False)} -> {first}{more}"


def _compare_messages(
    stored: Sequence[Mapping[str, Any]], today: Sequence[Mapping[str, Any]]
) -> Iterator[_Change]:
    """Yield the differences between the stored and today's first request; none if it is not stored."""
    then, now = (
        [_message_text(message) for message in stored],
        [_message_text(message) for message in today],
    )
    for kind, a, b, c, d in (
        SequenceMatcher(None, then, now, autojunk=False).get_opcodes() if stored else ()
    ):
        if kind != "equal":
            yield tuple(then[a:b]), tuple(now[c:d])


def _message_text(message: Mapping[str, Any]) -> str:
    calls = "".join(
        f"\n{json.dumps(call, ensure_ascii=False)}" for call in message.get("tool_calls") or ()
    )
    return f"{message['role']}: {message.get('content') or ''}{calls}"


def _new_changes(
    past: PastTurn, names: tuple[str, str], changes: list[_Change], seen: set[_Change]
) -> Iterator[str]:
    """Yield diffs of the changes not seen in earlier turns, and a line that counts the others."""
    for change in changes:
        if change not in seen:
            yield from _diff(names, change)
    if before := sum(change in seen for change in changes):
        yield f"T{past.number}: {before} of {len(changes)} differences were already shown"
    seen.update(changes)
    if not past.stored:
        yield f"T{past.number}: its requests are not stored"


def _diff(names: tuple[str, str], change: _Change) -> Iterator[str]:
    then, now = ("\n".join(side).splitlines() for side in change)
    return unified_diff(then, now, *names, lineterm="", n=1)
