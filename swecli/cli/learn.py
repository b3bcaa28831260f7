"""Learn from stored sessions: what reflecting after each turn would have learned, within the same limits."""

from __future__ import annotations

import argparse
import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Any

from swecli.cli.learning import add_reflecting, lines_of, open_learning, reflecting_model
from swecli.cli.output import print_json, print_line
from swecli.cli.startup import working_directory
from swecli.cli.subcommands import add_common_flags, configuration_of, open_sessions, positive
from swecli.models.errors import BadInput
from swecli.models.learning_events import PlaybookUpdated, ReflectionFailed

if TYPE_CHECKING:
    from swecli.playbook.learning.parts import Backfilled
    from swecli.playbook.learning.service import LearningService
    from swecli.store.session_manager import SessionManager

MANY = 100_000  # sessions


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Its own arguments."""
    parser.add_argument(
        "--from", nargs="+", required=True, dest="sessions", metavar="SESSION", help="ids, titles, `here` or `all`"
    )
    parser.add_argument("--epochs", type=positive, default=1, metavar="K", help="how many passes (default 1)")
    add_reflecting(parser)
    add_common_flags(parser)


def run(args: argparse.Namespace) -> int:
    """Do it. Returns 1 when every reflection failed.

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
        done = asyncio.run(_backfill(learning, wanted, args.epochs, quiet=args.json))
        after = sessions.playbook.spent()
    cost = None if before.cost is None or after.cost is None else after.cost - before.cost
    value = _counted(done) | {"cost": cost, "tokens": after.usage.total - before.usage.total, "left_out": gone}
    return _sum_up(done, value, args.json)


def _wanted(sessions: SessionManager, refs: list[str]) -> tuple[list[str], list[str]]:
    """The sessions that are meant, the oldest first where all of a place are; and lines on those that are left out.

    Where all are meant, those whose directory is gone are left out: what would be true there cannot be checked.
    """
    if refs not in (["all"], ["here"]):
        return refs, []
    place = str(working_directory()) if refs == ["here"] else None
    found = sorted(sessions.list_sessions(place, MANY), key=lambda info: info.id)
    if not found:
        raise BadInput("There is no session to learn from yet.", "See `swecli sessions list`.")
    there = [info for info in found if Path(info.directory).is_dir()]
    gone = [f"{i.id[:13]}: {i.directory} is not there any more" for i in found if i not in there]
    return [info.id for info in there], gone


async def _backfill(learning: LearningService, wanted: list[str], epochs: int, *, quiet: bool) -> list[Backfilled]:
    done = []
    async for one_turn in learning.backfill(wanted, epochs):
        done.append(one_turn)
        if not quiet:
            for line in (line for event in one_turn.events for line in lines_of(event)):
                print_line(f"{one_turn.session_id[:13]} T{one_turn.interaction}: {line}")
    return done


def _counted(done: list[Backfilled]) -> dict[str, Any]:
    """What it came to, for programs."""
    changed = [event for one in done for event in one.events if isinstance(event, PlaybookUpdated)]
    failures = [
        {"session": one.session_id, "turn": one.interaction, "reason": event.reason}
        for one in done
        for event in one.events
        if isinstance(event, ReflectionFailed)
    ]
    added, tagged = sum(len(e.added) for e in changed), sum(len(e.tagged) for e in changed)
    return {"turns": len(done), "added": added, "tagged": tagged, "failed": len(failures), "failures": failures}


def _sum_up(done: list[Backfilled], value: dict[str, Any], json: bool) -> int:
    """Report what it came to, also in money. Returns the exit code."""
    failing = [any(isinstance(event, ReflectionFailed) for event in one.events) for one in done]
    code = 1 if failing and all(failing) else 0
    if json:
        print_json(value)
        return code
    price = "unknown" if value["cost"] is None else f"${value['cost']:.4f}"
    print_line(
        f"{value['turns']} turns looked at: {value['added']} strategies added, {value['tagged']} tags, "
        f"{value['failed']} failures, price {price}."
    )
    return code
