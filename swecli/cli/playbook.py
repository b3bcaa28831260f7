"""The subcommands `swecli playbook` and `swecli learn`."""

from __future__ import annotations

import argparse
import asyncio
import os
from dataclasses import replace
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


@subcommand
def _playbook(parser: Parser) -> None:
    """Add the actions on the playbook, and in a shell those on its last turn."""
    add_actions(parser, playbook)
    for name, metavar, about in (
        ("good", "WHY", "mark the last turn good; a model says which strategies helped"),
        ("bad", "WHY", "mark the last turn bad; a model says which strategies hurt"),
        ("reflect", "T7", "learn from the last turn, or from turn T7, now"),
    ):
        added = parser.action(name, _on_turn, about)
        added.add_argument("words", nargs="*", metavar=metavar)
        add_flag(added, SESSION)
        if name == "reflect":
            _add_reflection_flags(added)


def _on_turn(args: argparse.Namespace) -> ActionResult:
    """Mark the last turn, or reflect on one; exits with 1 if reflecting failed. Raises BadInput for an unknown turn."""
    settings = configuration_of(args).settings
    reflecting = args.action == "reflect"
    if reflecting and not settings.learn:
        raise BadInput("Learning is off.", "Set learn = true in the configuration.")
    model = _choose_reflector(settings, args.model) if reflecting and not args.rules_only else None
    with open_sessions(args, resume=True) as sessions:
        session = sessions.session
        number = session.resolve_turn(" ".join(args.words) if reflecting else "")
        learning = _open_learning(sessions, settings, model)
        if reflecting:
            events = asyncio.run(learning.learn(number, asked=True))
            lines = []
            if not any(event.describe() for event in events):
                by_rules = "" if model else " (by rules only; no model was asked)"
                lines = [f"nothing to learn{by_rules}"]
        else:
            events = asyncio.run(learning.mark(args.action == "good", " ".join(args.words)))
            lines = [f"marked {args.action}"]
    failed = [event.reason for event in events if isinstance(event, ReflectionFailed)]
    learned = [line for event in events for line in _format_lines(event)]
    value = {
        "session": session.id,
        "turn": number,
        "what": args.action,
        "lines": learned,
        "failed": failed,
    }
    shown = tuple(f"{session.id[:13]} T{number}: {line}" for line in lines + learned)
    return ActionResult(value, shown, code=1 if failed else 0)


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

    own = load_prompt("system")

    def instructions() -> str:
        session = sessions.current_session
        return f"{own}\n{instructions_in(session.working_directory if session else '')}"

    learning = LearningService.open(
        sessions, replace(settings, learn=True), load_prompt("reflect"), instructions, send
    )
    learning.reflector = replace(learning.reflector, model=model)
    return learning


def _choose_reflector(settings: Settings, named: str | None) -> ChatModel | None:
    """Make the named model, or the settings' reflecting model if they enable one. Raises SwecliError."""
    if not (named or settings.reflect_with_model):
        return None
    name = named or settings.reflect_model or choose_model(settings, os.environ).name
    return make_model(name, settings, os.environ)


def _format_lines(event: LearningEvent) -> list[str]:
    if isinstance(event, PlaybookUpdated):
        refused = [f"not applied: {line}" for line in event.refused]
        told = replace(event, interaction=0, refused=()).describe()
        return [*filter(None, [told]), *refused]
    return [f"reflecting failed: {event.reason}"]


_MANY = 100_000  # sessions


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
    model = None if args.rules_only else _choose_reflector(settings, args.model)
    with open_sessions(args) as sessions:
        learning = _open_learning(sessions, settings, model)
        ids, skipped = _resolve_sessions(sessions, args.sessions, working_folder(args.cwd))
        before = sessions.turns.reflection_cost()

        def show(line: str) -> None:
            if not args.json:  # then stdout is the result's alone
                print_line(line)

        for line in skipped:
            show(f"skipped: {line}")
        turns: list[tuple[str, int]] = []
        events: list[tuple[str, int, LearningEvent]] = []

        async def backfill() -> None:
            async for name, number, found in learning.backfill(ids, args.epochs):
                turns.append((name, number))
                for event in found:
                    events.append((name, number, event))
                    for line in _format_lines(event):
                        show(f"{name[:13]} T{number}: {line}")

        asyncio.run(backfill())
        after = sessions.turns.reflection_cost()
    changed = [event for *_, event in events if isinstance(event, PlaybookUpdated)]
    failures = [
        {"session": name, "turn": number, "reason": event.reason}
        for name, number, event in events
        if isinstance(event, ReflectionFailed)
    ]
    added = sum(len(event.added) for event in changed)
    tagged = sum(len(event.tagged) for event in changed)
    cost = None if before.cost is None or after.cost is None else after.cost - before.cost
    value = {
        "turns": len(turns),
        "added": added,
        "tagged": tagged,
        "failed": len(failures),
        "failures": failures,
        "cost": cost,
        "tokens": after.usage.total - before.usage.total,
        "left_out": skipped,
    }
    price = "unknown" if cost is None else f"${cost:.4f}"
    totals = f"{added} strategies added, {tagged} tags, {len(failures)} failures, price {price}"
    failed_turns = {(failure["session"], failure["turn"]) for failure in failures}
    all_failed = bool(turns) and len(failed_turns) == len(turns)
    line = f"{len(turns)} turns reflected on: {totals}."
    return ActionResult(value, (line,), code=int(all_failed))


def _resolve_sessions(
    sessions: SessionManager, refs: list[str], folder: Path
) -> tuple[list[str], list[str]]:
    """Resolve `all` and `here` to session ids, oldest first, with a line per skipped session: anchors cannot be checked
    in a directory that no longer exists. Other refs are returned unchanged. Raises BadInput."""
    if refs not in (["all"], ["here"]):
        return refs, []
    place = str(folder) if refs == ["here"] else None
    found = sorted(sessions.catalog.list_sessions(place, _MANY), key=lambda info: info.id)
    if not found:
        raise BadInput("There is no session to learn from yet.", "See `swecli sessions list`.")
    missing = [info for info in found if not Path(info.directory).is_dir()]
    skipped = [f"{info.id[:13]}: {info.directory} does not exist" for info in missing]
    return [info.id for info in found if info not in missing], skipped
