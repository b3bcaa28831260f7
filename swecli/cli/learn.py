"""Learn from stored sessions: what reflecting after each turn would have learned, within the same limits."""

from __future__ import annotations

import argparse
import asyncio
import os
from typing import TYPE_CHECKING, Any

from swecli.cli.admin import common, ground_of, positive, say, say_json, stored
from swecli.cli.begin import working_directory
from swecli.config.paths import find_paths
from swecli.config.settings import Settings
from swecli.config.trust import is_trusted, project_root
from swecli.context.instructions import load_instructions
from swecli.context.prompts import load_prompt
from swecli.llm.base import ChatModel
from swecli.llm.choose import choose_model
from swecli.llm.registry import make_model
from swecli.models.errors import BadInput
from swecli.models.events import PlaybookUpdated
from swecli.playbook.budget import Limits

if TYPE_CHECKING:
    from swecli.agent.studying import Studied
    from swecli.agent.surroundings import Surroundings
    from swecli.store.session_manager import SessionManager

MANY = 100_000  # sessions


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Its own arguments."""
    parser.add_argument(
        "--from", nargs="+", required=True, dest="sessions", metavar="SESSION", help="ids, titles, `here` or `all`"
    )
    parser.add_argument("--epochs", type=positive, default=1, metavar="K", help="so many times (default once)")
    parser.add_argument("--rules-only", action="store_true", help="ask no model")
    parser.add_argument("-m", "--model", metavar="PROVIDER/NAME", help="who reflects (default as in the settings)")
    common(parser)


def run(args: argparse.Namespace) -> int:
    """Do it. Raises BadInput for a session that is not there, SwecliError for a model that cannot be used."""
    # late: --help and a wrong argument need neither database nor model
    from swecli.agent.learning import Learner  # noqa: PLC0415
    from swecli.store.session_manager import SessionManager  # noqa: PLC0415

    settings = ground_of(args).settings
    model = None if args.rules_only else _model(settings, args.model)
    limits = Limits(settings.reflect_percent, settings.reflect_usd_per_day)
    with stored(args) as database:
        sessions = SessionManager(database)
        learner = Learner(sessions, load_prompt("reflect"), model, limits=limits, around=_around())
        wanted, before = _wanted(sessions, args.sessions), sessions.playbook.spent()
        done = asyncio.run(_study(learner, wanted, args.epochs, quiet=args.json))
        after = sessions.playbook.spent()
    cost = None if before.cost is None or after.cost is None else after.cost - before.cost
    return _sum_up(done, after.usage.total - before.usage.total, cost, args.json)


def _around() -> Surroundings:
    # late: see above
    from swecli.agent.surroundings import Surroundings  # noqa: PLC0415
    from swecli.tools.registry import ToolRegistry  # noqa: PLC0415

    own, folder = load_prompt("system"), working_directory()
    trusted = is_trusted(find_paths(os.environ), project_root(folder))
    instructions = f"{own}\n{load_instructions(folder, trusted=trusted).text}"
    return Surroundings(os.environ.get("PATH", ""), frozenset(ToolRegistry.discover().names()), lambda: instructions)


def _model(settings: Settings, named: str | None) -> ChatModel | None:
    if not (named or settings.reflect_with_model):
        return None
    name = named or settings.reflect_model or choose_model(settings, os.environ).name
    return make_model(name, settings, os.environ)


def _wanted(sessions: SessionManager, refs: list[str]) -> list[str]:
    """The sessions that are meant, the oldest first where all of a place are."""
    if refs in (["all"], ["here"]):
        place = str(working_directory()) if refs == ["here"] else None
        found = [info.id for info in sessions.list_sessions(place, MANY)]
        if not found:
            raise BadInput("There is no session to learn from yet.", "See `swecli sessions list`.")
        return sorted(found)
    return refs


async def _study(learner: Any, wanted: list[str], epochs: int, *, quiet: bool) -> list[Studied]:
    # late: see above
    from swecli.agent.studying import study  # noqa: PLC0415

    done = []
    async for studied in study(learner, wanted, epochs):
        done.append(studied)
        if not quiet:
            for line in _lines(studied):
                say(f"{studied.session_id[:13]} T{studied.interaction}: {line}")
    return done


def _lines(studied: Studied) -> list[str]:
    lines: list[str] = []
    for event in studied.events:
        if isinstance(event, PlaybookUpdated):
            lines += [*event.lines, *(f"not taken: {line}" for line in event.refused)]
        else:
            lines.append(f"reflecting failed: {event.reason}")
    return lines


def _sum_up(done: list[Studied], tokens: int, cost: float | None, json: bool) -> int:
    """What it came to, also in money. Returns 0."""
    changed = [event for one in done for event in one.events if isinstance(event, PlaybookUpdated)]
    failed = sum(not isinstance(event, PlaybookUpdated) for one in done for event in one.events)
    added, tagged = sum(len(e.added) for e in changed), sum(len(e.tagged) for e in changed)
    value = {"turns": len(done), "added": added, "tagged": tagged, "failed": failed, "cost": cost}
    if json:
        say_json(value | {"tokens": tokens})
        return 0
    price = "unknown" if cost is None else f"${cost:.4f}"
    say(f"{len(done)} turns looked at: {added} strategies added, {tagged} tags, {failed} failures, price {price}.")
    return 0
