"""The subcommands `swecli playbook` and `swecli learn`."""

from __future__ import annotations

import argparse
import asyncio
import os
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from swecli.actions.builtin.playbook import playbook
from swecli.cli.actions import SESSION, add_actions, add_flag
from swecli.cli.flags import Parser, subcommand
from swecli.cli.subcommands import (
    configuration_of,
    instructions_in,
    open_sessions,
    positive_int,
    print_line,
)
from swecli.cli.workspace import working_folder
from swecli.config.settings import Settings
from swecli.context.system_message import load_prompt
from swecli.llm.base import ChatModel
from swecli.llm.registry import choose_model, make_model
from swecli.models.action import ActionResult
from swecli.models.errors import BadInput
from swecli.models.learning_events import PlaybookUpdated, ReflectionFailed

if TYPE_CHECKING:
    from swecli.playbook.learning.service import LearningEvent, LearningService
    from swecli.store.session_manager import SessionManager


_MAX_SESSIONS = 100_000


@subcommand
def _playbook(parser: Parser) -> None:
    """Add the actions on the playbook, and in a shell those on its last turn."""
    add_actions(parser, playbook)
    for name, metavar, about in (
        ("good", "WHY", "mark the last turn good; a model says which strategies helped"),
        ("bad", "WHY", "mark the last turn bad; a model says which strategies hurt"),
        ("reflect", "T7", "learn from the last turn, or from turn T7, now"),
    ):
        subparser = parser.action(name, _on_turn, about)
        subparser.add_argument("words", nargs="*", metavar=metavar)
        add_flag(subparser, SESSION)
        if name == "reflect":
            _add_reflection_flags(subparser)


def _on_turn(args: argparse.Namespace) -> ActionResult:
    """Mark the last turn, or reflect on one; exits with 1 if reflecting failed. Raises BadInput for an unknown turn."""
    settings = configuration_of(args).settings
    reflects = args.action == "reflect"
    if reflects and not settings.learn:
        raise BadInput("Learning is off.", "Set learn = true in the configuration.")
    words = " ".join(args.words)
    model = _choose_reflector(settings, args) if reflects else None
    with open_sessions(args, resume=True) as sessions:
        session = sessions.session
        number = session.resolve_turn(words if reflects else "")
        learning = _open_learning(sessions, settings, model)
        lines = []
        if reflects:
            events = asyncio.run(learning.learn(number, asked=True))
            if not any(event.describe() for event in events):
                by_rules = "" if model else " (by rules only; no model was asked)"
                lines = [f"nothing to learn{by_rules}"]
        else:
            events = asyncio.run(learning.mark(args.action == "good", words))
            if settings.reflect_with_model and (words or args.action == "bad"):
                sessions.turns.requeue(session.id, number)
            lines = [f"marked {args.action}"]
    failures = [event.reason for event in events if isinstance(event, ReflectionFailed)]
    event_lines = [line for event in events for line in _format_lines(event)]
    value = {
        "session": session.id,
        "turn": number,
        "what": args.action,
        "lines": event_lines,
        "failed": failures,
    }
    lines = [f"{_name_turn(session.id, number)}: {line}" for line in (*lines, *event_lines)]
    return ActionResult(value, tuple(lines), code=1 if failures else 0)


def _name_turn(session: str, number: int) -> str:
    return f"{session[:13]} T{number}"


def _add_reflection_flags(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--rules-only", action="store_true", help="ask no model")
    add(
        "-m",
        "--model",
        metavar="PROVIDER/NAME",
        help="model for reflection (default: from the settings)",
    )


def _open_learning(
    sessions: SessionManager, settings: Settings, model: ChatModel | None
) -> LearningService:
    """Open learning, even if the settings disable it, with the instructions of each session's own directory."""
    # late: --help and usage errors need no database
    from swecli.agent.sender import send
    from swecli.playbook.learning.service import LearningService

    system = load_prompt("system")

    def instructions() -> str:
        session = sessions.current_session
        return f"{system}\n{instructions_in(session.working_directory if session else '')}"

    learning = LearningService.open(
        sessions, replace(settings, learn=True), load_prompt("reflect"), instructions, send
    )
    learning.reflector = replace(learning.reflector, model=model)
    return learning


def _choose_reflector(settings: Settings, args: argparse.Namespace) -> ChatModel | None:
    """Make the model that `args` name, or the one of the settings; None if only rules reflect. Raises SwecliError."""
    if args.rules_only or not (args.model or settings.reflect_with_model):
        return None
    name = args.model or settings.reflect_model or choose_model(settings, os.environ).name
    return make_model(name, settings, os.environ)


def _format_lines(event: LearningEvent) -> list[str]:
    if isinstance(event, PlaybookUpdated):
        applied = replace(event, interaction=0, refused=()).describe()
        return [*filter(None, [applied]), *(f"not applied: {line}" for line in event.refused)]
    return [f"reflecting failed: {event.reason}"]


@subcommand
def _learn(parser: Parser) -> None:
    """Learn from stored sessions what reflecting after each turn would have learned, within the same limits."""
    parser.add_argument(
        "--from",
        nargs="+",
        required=True,
        dest="sessions",
        metavar="SESSION",
        help="ids, titles, `here` or `all`",
    )
    parser.add_argument(
        "--epochs", type=positive_int, default=1, metavar="K", help="how many passes (default 1)"
    )
    _add_reflection_flags(parser)
    parser.set_defaults(run=_backfill)


def _backfill(args: argparse.Namespace) -> ActionResult:
    """Reflect on stored sessions; exits with 1 if every reflection failed. Raises BadInput for an unknown session,
    SwecliError for a model that cannot be used."""
    settings = configuration_of(args).settings
    model = _choose_reflector(settings, args)
    totals = _Totals()
    with open_sessions(args) as sessions:
        learning = _open_learning(sessions, settings, model)
        ids, skipped = _resolve_sessions(sessions, args.sessions, working_folder(args.cwd))
        before = sessions.turns.reflection_cost()

        def show(line: str) -> None:
            if not args.json:  # then stdout is the result's alone
                print_line(line)

        async def backfill() -> None:
            async for session, number, events in learning.backfill(ids, args.epochs):
                totals.add(session, number, events)
                for event in events:
                    for line in _format_lines(event):
                        show(f"{_name_turn(session, number)}: {line}")

        for line in skipped:
            show(f"skipped: {line}")
        asyncio.run(backfill())
        after = sessions.turns.reflection_cost()
    cost = None if before.cost is None or after.cost is None else after.cost - before.cost
    value = {
        "turns": totals.turns,
        "added": totals.added,
        "tagged": totals.tagged,
        "failed": len(totals.failures),
        "failures": totals.failures,
        "cost": cost,
        "tokens": after.usage.total - before.usage.total,
        "left_out": skipped,
    }
    price = "unknown" if cost is None else f"${cost:.4f}"
    line = (
        f"{totals.turns} turns reflected on: {totals.added} strategies added, {totals.tagged} tags, "
        f"{len(totals.failures)} failures, price {price}."
    )
    return ActionResult(value, (line,), code=1 if 0 < totals.turns == totals.failed_turns else 0)


@dataclass(slots=True)
class _Totals:
    """What the reflections on stored turns came to."""

    turns: int = 0
    failed_turns: int = 0
    added: int = 0
    tagged: int = 0
    failures: list[dict[str, str | int]] = field(default_factory=list)

    def add(self, session: str, number: int, events: list[LearningEvent]) -> None:
        """Add what a reflection on this turn made."""
        self.turns += 1
        self.failed_turns += any(isinstance(event, ReflectionFailed) for event in events)
        for event in events:
            if isinstance(event, PlaybookUpdated):
                self.added += len(event.added)
                self.tagged += len(event.tagged)
            else:
                self.failures.append({"session": session, "turn": number, "reason": event.reason})


def _resolve_sessions(
    sessions: SessionManager, refs: list[str], folder: Path
) -> tuple[list[str], list[str]]:
    """Resolve `all` and `here` to session ids, oldest first, with a line per skipped session: anchors cannot be checked
    in a directory that no longer exists. Other refs are returned unchanged. Raises BadInput."""
    if refs not in (["all"], ["here"]):
        return refs, []
    directory = str(folder) if refs == ["here"] else None
    stored = sorted(
        sessions.catalog.list_sessions(directory, _MAX_SESSIONS), key=lambda info: info.id
    )
    if not stored:
        raise BadInput("There is no session to learn from yet.", "See `swecli sessions list`.")
    missing = [info for info in stored if not Path(info.directory).is_dir()]
    skipped = [f"{info.id[:13]}: {info.directory} does not exist" for info in missing]
    return [info.id for info in stored if info not in missing], skipped
