"""Learning from a shell: who reflects, what a place knows, and `swecli playbook good|bad|reflect` on one turn."""

from __future__ import annotations

import argparse
import asyncio
import os
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from swecli.cli.flags import FreeText
from swecli.cli.output import print_json, print_line
from swecli.cli.subcommands import add_common_flags, configuration_of, open_sessions
from swecli.config.paths import find_paths
from swecli.config.settings import Settings
from swecli.config.trust import is_trusted, project_root
from swecli.context.instructions import load_instructions
from swecli.context.prompts import load_prompt
from swecli.llm.base import ChatModel
from swecli.llm.default_model import choose_model
from swecli.llm.registry import make_model
from swecli.models.errors import BadInput, UsageError
from swecli.models.ids import turn_number
from swecli.models.learning_events import PlaybookUpdated

if TYPE_CHECKING:
    from swecli.models.session import Session
    from swecli.playbook.learning.parts import LearningEvent
    from swecli.playbook.learning.service import LearningService
    from swecli.store.session_manager import SessionManager


def open_learning(sessions: SessionManager, settings: Settings, model: ChatModel | None) -> LearningService:
    """Learning that judges each turn by the place of its session, also where the settings have it off."""
    # late: --help and a wrong argument need neither database nor tools
    from swecli.playbook.learning.parts import ReflectorModel  # noqa: PLC0415
    from swecli.playbook.learning.service import LearningService  # noqa: PLC0415
    from swecli.playbook.workspace import Workspaces  # noqa: PLC0415
    from swecli.tools.registry import ToolRegistry  # noqa: PLC0415

    def instructions() -> str:
        session = sessions.current_session
        return _instructions(session.working_directory if session else "")

    tools = frozenset(ToolRegistry.discover().names())
    workspaces = Workspaces(os.environ.get("PATH", ""), tools, instructions)
    every_turn = settings.reflect == "always" or (settings.reflect == "auto" and bool(settings.reflect_model))
    reflector = ReflectorModel(load_prompt("reflect"), model, every_turn=every_turn)
    return LearningService.open(sessions, replace(settings, learn=True), reflector, workspaces)


@cache
def _instructions(directory: str) -> str:
    """What a prompt says in that directory; where it is gone, only what it says everywhere."""
    own, folder = load_prompt("system"), Path(directory)
    if not directory or not folder.is_dir():
        return own
    trusted = is_trusted(find_paths(os.environ), project_root(folder))
    return f"{own}\n{load_instructions(folder, trusted=trusted).text}"


def reflecting_model(settings: Settings, named: str | None) -> ChatModel | None:
    """Who is asked besides the rules: the one that is named, or as the settings have it. Raises SwecliError."""
    if not (named or settings.reflect_with_model):
        return None
    name = named or settings.reflect_model or choose_model(settings, os.environ).name
    return make_model(name, settings, os.environ)


def lines_of(event: LearningEvent) -> list[str]:
    """What came of a reflection, for people."""
    if isinstance(event, PlaybookUpdated):
        return [*event.lines, *(f"not taken: {line}" for line in event.refused)]
    return [f"reflecting failed: {event.reason}"]


class TurnAction(NamedTuple):
    """Something that is said of one turn. `leading` is set where its words are free text."""

    name: str
    usage: str
    help: str
    leading: int | None = None


TURNS = {
    turn.name: turn
    for turn in (
        TurnAction("good", "[WHY]", "the last turn went well: its strategies count as helpful", 0),
        TurnAction("bad", "[WHY]", "the last turn went wrong: its strategies count as harmful", 0),
        TurnAction("reflect", "[T7]", "learn from the last turn, or from turn T7, now"),
    )
}


def add_turn_arguments(parser: FreeText, turn: TurnAction) -> None:
    """Its own arguments."""
    parser.leading = turn.leading
    parser.add_argument("words", nargs="*", metavar=turn.usage)
    if turn.name == "reflect":
        parser.add_argument("--rules-only", action="store_true", help="ask no model")
        parser.add_argument(
            "-m", "--model", metavar="PROVIDER/NAME", help="the reflecting model (default: from the settings)"
        )
    add_common_flags(parser)
    parser.add_argument("--session", metavar="ID", help="another session than this directory's last")


def run_on_turn(args: argparse.Namespace) -> int:
    """Do it. Returns 1 when reflecting failed. Raises BadInput where there is no such turn."""
    settings = configuration_of(args).settings
    if args.action == "reflect" and not settings.learn:
        raise BadInput("Learning is off.", "Set learn = true in the configuration.")
    asks = args.action == "reflect" and not args.rules_only
    model = reflecting_model(settings, args.model) if asks else None
    with open_sessions(args) as sessions:
        session = _session(sessions, args)
        learning = open_learning(sessions, settings, model)
        if args.action == "reflect":
            number = _turn(args.words, session)
            events = asyncio.run(learning.learn(number, asked=True))
            done = "" if events else f"nothing to learn{'' if model else '; the rules looked, no model was asked'}"
        else:
            number = session.interactions
            events = asyncio.run(learning.mark(args.action == "good", " ".join(args.words)))
            done = f"marked {args.action}"
    return _report(args, session, number, done, events)


def _session(sessions: SessionManager, args: argparse.Namespace) -> Session:
    try:
        session = sessions.resume(args.session, str(Path.cwd()))
    except BadInput:
        if args.session:
            raise
        raise BadInput("There is no session in this directory.", "Name one with --session.") from None
    if not session.interactions:
        raise BadInput("There is no turn in this session yet.", "Name another one with --session.")
    return session


def _turn(words: Sequence[str], session: Session) -> int:
    if len(words) > 1:
        raise UsageError(f"reflect takes one turn: {' '.join(words)!r:.60}", "Use swecli playbook reflect [T7]")
    number = turn_number(words[0]) if words else session.interactions
    if not 1 <= number <= session.interactions:
        raise BadInput(f"There is no turn T{number} in this session.", f"Its newest is T{session.interactions}.")
    return number


def _report(args: argparse.Namespace, session: Session, number: int, done: str, events: Sequence[LearningEvent]) -> int:
    failed = [event.reason for event in events if not isinstance(event, PlaybookUpdated)]
    lines = [line for event in events for line in lines_of(event)]
    if args.json:
        value: dict[str, Any] = {"session": session.id, "turn": number, "what": args.action, "lines": lines}
        print_json(value | {"failed": failed})
    else:
        place = f"{session.id[:13]} T{number}"
        for line in ([done] if done else []) + lines:
            print_line(f"{place}: {line}")
    return 1 if failed else 0
