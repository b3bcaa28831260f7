"""What only `swecli sessions` does: show, delete, import and replay stored sessions."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from difflib import SequenceMatcher, unified_diff
from typing import TYPE_CHECKING, Any

from swecli.actions.builtin.sessions import sessions
from swecli.cli.actions import add_actions, add_session
from swecli.cli.flags import Parser, subcommand
from swecli.cli.subcommands import (
    configuration_of,
    instructions_in,
    named_file,
    open_sessions,
)
from swecli.llm.price_table import row_of, sizes_of
from swecli.models.action import ActionResult
from swecli.models.counts import pluralize
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
from swecli.models.session import Session
from swecli.redact import redact_value
from swecli.text import one_line

if TYPE_CHECKING:
    from swecli.context.replay.history import PastTurn
    from swecli.context.replay.requests import ReplayedTurn
    from swecli.context.tokens import TokenCounter
    from swecli.models.message import ToolSpec

_Change = tuple[tuple[str, ...], tuple[str, ...]]  # neighbouring messages then, and today
_MAX_LISTED = 5  # skipped lines of an import


@subcommand
def _sessions(parser: Parser) -> None:
    """Add the actions on sessions, and those of a shell alone."""
    add_actions(parser, sessions)
    show = parser.action("show", _show, "show the conversation of one session")
    delete = parser.action("delete", _delete, "delete a session permanently, after a question")
    import_parser = parser.action(
        "import", _import, "import a session from a file, also one of another tool"
    )
    import_parser.add_argument(
        "file",
        metavar="FILE",
        help="an export, or a transcript that an installed importer reads",
    )
    replay = parser.action(
        "replay", _replay, "run it again with this version; nothing is sent, no tool runs"
    )
    for action in (show, delete, replay):
        add_session(action)
    delete.add_argument("--yes", action="store_true", help="do not ask")
    replay.add_argument(
        "--diff",
        action="store_true",
        help="print only differences of its requests; exit 1 if there are any",
    )


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
            _format_call(call.name, call.parameters, call.error or call.result or "")
            for call in message.tool_calls
        ]
    return ActionResult(None, tuple(lines))


def _delete(args: argparse.Namespace) -> ActionResult:
    with open_sessions(args) as sessions:
        session = sessions.resume(sessions.find_deletable(args.session), "")
    if not args.yes:
        _ask_to_delete(session)
    with open_sessions(args) as sessions:
        deleted = sessions.delete(session.id)
    return ActionResult({"deleted": deleted}, (f"{deleted} deleted.",))


def _ask_to_delete(session: Session) -> None:
    """Ask at the terminal. Raises SwecliError for any answer but yes, UsageError if there is nobody to ask."""
    turns = pluralize(session.interactions, "turn")
    title = f"{session.title!r}, " if session.title else ""
    name = one_line(f"{session.id} ({title}{turns})")
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise UsageError(f"{name} would be deleted permanently.", "Pass --yes to do it.")
    sys.stderr.write(f"Delete {name} permanently? [y/N] ")
    sys.stderr.flush()
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise SwecliError("Nothing was deleted.")


def _import(args: argparse.Namespace) -> ActionResult:
    # late: the other actions need no importers
    from swecli.store.session_files.importing import import_file

    with open_sessions(args, create=True) as sessions:
        result = import_file(sessions.database, named_file(args, args.file))
    name = result.session_id
    origin = f" from {result.tool}" if result.tool else ""
    turns = pluralize(result.interactions, "turn")
    lines = [f"Imported {turns}{origin} as {name}; continue with: swecli -r {name}."]
    if result.left_out:
        lines.append(f"{result.left_out} strategies of its project were not imported.")
    if result.skipped:
        rest = len(result.skipped) - _MAX_LISTED
        more = f", and {rest} more" if rest > 0 else ""
        lines.append(f"Skipped {'; '.join(result.skipped[:_MAX_LISTED])}{more}.")
    return ActionResult(asdict(result), tuple(lines))


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
    model_window, max_output = sizes_of(row_of(session.model))
    window = model_window or ASSUMED_WINDOW
    history = read_past(session, window, instructions_in(session.working_directory))
    history = history.with_stored_requests(log)
    if args.diff and not any(turn.stored for turn in history.turns):
        raise BadInput(
            "The requests of this session are not stored: it was imported from another tool.",
            "Replay it without --diff.",
        )
    assumptions = Assumptions(session.window, window, max_output, ttl=settings.cache_minutes * 60)
    report = _ReplayReport(history.counter, history.tools)
    for past, (turn, events) in zip(
        history.turns, replay_turns(history, assumptions, settings), strict=True
    ):
        report.add_turn(past, turn)
        if args.diff:
            report.add_differences(past, turn)
        else:
            report.add_events(past, turn, events)
    totals = f"{report.totals()}; nothing was sent, no tool ran."
    if report.different_turns:
        totals = (
            f"{report.different_turns} of {len(report.values)} turns send something else: {totals}"
        )
    elif args.diff:
        totals = f"the requests are the same: {totals}"
    value = redact_value({"session_id": session.id, "turns": report.values})
    code = 1 if report.different_turns else 0
    return ActionResult(value, (*report.lines, totals), code=code)


class _ReplayReport:
    """Collects what is printed of the turns of a replay, as lines and as values."""

    def __init__(self, counter: TokenCounter, tools: Sequence[ToolSpec]) -> None:
        self.lines: list[str] = []
        self.values: list[dict[str, Any]] = []
        self.different_turns = 0
        self._shown_changes: set[_Change] = set()
        self._counter = counter
        self._tool_tokens = counter.count_tools(tools)

    def totals(self) -> str:
        """Return how many turns, requests and tokens there were."""
        sizes = [size for value in self.values for size in value["requests"]]
        return f"{len(self.values)} turns, {len(sizes)} requests, {sum(sizes):,} tokens"

    def add_turn(self, past: PastTurn, turn: ReplayedTurn) -> None:
        """Begin a turn, with the tokens of its requests."""
        sizes = [
            self._tool_tokens + self._counter.count_messages(request.messages)
            for request in turn.requests
        ]
        self.values.append({"turn": past.number, "query": past.query, "requests": sizes})

    def add_differences(self, past: PastTurn, turn: ReplayedTurn) -> None:
        """Add how the first request of the turn differs from the stored one, if it is stored."""
        today = next((request.messages for request in turn.requests if not request.condense), [])
        changes = list(_compare_messages(past.stored, today))
        self.different_turns += bool(changes)
        sizes = [self._counter.count_messages(messages) for messages in (past.stored, today)]
        titles = (
            f"T{past.number} then, {sizes[0]:,} tokens",
            f"T{past.number} today, {sizes[1]:,} tokens",
        )
        diffs = [list(_diff(titles, change)) for change in changes]
        self.values[-1] |= {"tokens": sizes, "diff": [line for diff in diffs for line in diff]}
        for change, diff in zip(changes, diffs, strict=True):
            if change not in self._shown_changes:
                self.lines += diff
        if repeated := sum(change in self._shown_changes for change in changes):
            self.lines.append(
                f"T{past.number}: {repeated} of {len(changes)} differences were already shown"
            )
        self._shown_changes.update(changes)
        if not past.stored:
            self.lines.append(f"T{past.number}: its requests are not stored")

    def add_events(self, past: PastTurn, turn: ReplayedTurn, events: Sequence[Event]) -> None:
        """Add the events of the turn; the answer is unchanged."""
        sizes = [
            size
            for size, request in zip(self.values[-1]["requests"], turn.requests, strict=True)
            if not request.condense
        ]
        self.lines += _format_turn(past, events, sizes)


def _format_turn(past: PastTurn, events: Sequence[Event], sizes: Sequence[int]) -> Iterator[str]:
    """Yield a line for each event of a turn; `sizes` are the tokens of its requests."""
    for event in events:
        match event:
            case TurnStarted():
                yield f"T{past.number} {past.query}"
            case TextDelta():
                yield f"  {event.text}"
            # a request of a larger number was not sent: the turn ended before it
            case StepStarted() if event.n <= len(sizes):
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
    if not stored:
        return
    before = [_message_text(message) for message in stored]
    after = [_message_text(message) for message in today]
    matcher = SequenceMatcher(None, before, after, autojunk=False)
    for kind, start, end, new_start, new_end in matcher.get_opcodes():
        if kind != "equal":
            yield tuple(before[start:end]), tuple(after[new_start:new_end])


def _message_text(message: Mapping[str, Any]) -> str:
    calls = "".join(
        f"\n{json.dumps(call, ensure_ascii=False)}" for call in message.get("tool_calls") or ()
    )
    return f"{message['role']}: {message.get('content') or ''}{calls}"


def _diff(titles: tuple[str, str], change: _Change) -> Iterator[str]:
    before, after = ("\n".join(messages).splitlines() for messages in change)
    return unified_diff(before, after, *titles, lineterm="", n=1)
