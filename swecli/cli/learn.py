"""Learn from stored sessions: what reflecting after each turn would have learned, within the same limits."""

from __future__ import annotations

import argparse
import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Any

from swecli.cli.learning import add_reflecting, lines_of, open_learning, reflecting_model
from swecli.cli.output import print_line
from swecli.cli.subcommands import add_common_flags, configuration_of, open_sessions, positive
from swecli.models.errors import BadInput
from swecli.models.learning_events import PlaybookUpdated, ReflectionFailed
from swecli.playbook.action import ActionResult

if TYPE_CHECKING:
    from swecli.store.session_manager import SessionManager

_MANY = 100_000  # sessions


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Its own arguments."""
    parser.add_argument(
        "--from", nargs="+", required=True, dest="sessions", metavar="SESSION", help="ids, titles, `here` or `all`"
    )
    parser.add_argument("--epochs", type=positive, default=1, metavar="K", help="how many passes (default 1)")
    add_reflecting(parser)
    add_common_flags(parser)


def run(args: argparse.Namespace) -> ActionResult:
    """Do it; the code is 1 when every reflection failed.

    Raises BadInput for a session that is not there, SwecliError for a model that cannot be used.
    """
    settings = configuration_of(args).settings
    model = None if args.rules_only else reflecting_model(settings, args.model)
    with open_sessions(args) as sessions:
        learning = open_learning(sessions, settings, model)
        wanted, gone = _wanted(sessions, args.sessions)
        before = sessions.playbook.spent()
        for line in [] if args.json else gone:
            print_line(f"left out: {line}")
        done: list[Any] = []

        async def backfill() -> None:
            async for one in learning.backfill(wanted, args.epochs):
                done.append(one)
                for line in () if args.json else (line for event in one.events for line in lines_of(event)):
                    print_line(f"{one.session_id[:13]} T{one.interaction}: {line}")

        asyncio.run(backfill())
        after = sessions.playbook.spent()
    events = [(one, event) for one in done for event in one.events]
    changed = [event for _, event in events if isinstance(event, PlaybookUpdated)]
    failures = [
        {"session": one.session_id, "turn": one.interaction, "reason": event.reason}
        for one, event in events
        if isinstance(event, ReflectionFailed)
    ]
    added, tagged = sum(len(event.added) for event in changed), sum(len(event.tagged) for event in changed)
    cost = None if before.cost is None or after.cost is None else after.cost - before.cost
    value = {"turns": len(done), "added": added, "tagged": tagged, "failed": len(failures), "failures": failures}
    value |= {"cost": cost, "tokens": after.usage.total - before.usage.total, "left_out": gone}
    price = "unknown" if cost is None else f"${cost:.4f}"
    came = f"{added} strategies added, {tagged} tags, {len(failures)} failures, price {price}"
    failing = [any(isinstance(event, ReflectionFailed) for event in one.events) for one in done]
    return ActionResult(value, (f"{len(done)} turns looked at: {came}.",), code=1 if done and all(failing) else 0)


def _wanted(sessions: SessionManager, refs: list[str]) -> tuple[list[str], list[str]]:
    """The sessions that are meant, the oldest first where all of a place are; and lines on those that are left out.

    Where all are meant, those whose directory is gone are left out: what would be true there cannot be checked.
    """
    if refs not in (["all"], ["here"]):
        return refs, []
    place = str(Path.cwd()) if refs == ["here"] else None
    found = sorted(sessions.list_sessions(place, _MANY), key=lambda info: info.id)
    if not found:
        raise BadInput("There is no session to learn from yet.", "See `swecli sessions list`.")
    there = [info for info in found if Path(info.directory).is_dir()]
    gone = [f"{i.id[:13]}: {i.directory} is not there any more" for i in found if i not in there]
    return [info.id for info in there], gone
