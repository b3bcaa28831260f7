"""`swecli playbook`: what was learned, shown and corrected."""

from __future__ import annotations

import argparse
import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

from swecli.cli.flags import Parser
from swecli.cli.learn import add_reflecting, lines_of, open_learning, reflecting_model
from swecli.cli.subcommands import configuration_of, open_sessions
from swecli.config.paths import project_root
from swecli.models.errors import BadInput
from swecli.models.ids import turn_within
from swecli.models.learning_events import ReflectionFailed
from swecli.models.session import Session
from swecli.playbook.action import ACTIONS, Action, ActionResult

if TYPE_CHECKING:
    from swecli.store.session_manager import SessionManager

_TURNS = (
    Action("good", "[WHY]", "the last turn went well: its strategies count as helpful", 0),
    Action("bad", "[WHY]", "the last turn went wrong: its strategies count as harmful", 0),
    Action("reflect", "[T7]", "learn from the last turn, or from turn T7, now"),
)


def playbook(parser: Parser) -> None:
    """Show, teach, correct and review the strategies that apply in this directory, and take them elsewhere."""
    for action in (*ACTIONS.values(), *_TURNS):
        added = parser.action(action.name, _run if action.name in ACTIONS else _on_turn, action.help)
        added.leading = action.leading
        added.add_argument("words", nargs="*", metavar=action.usage or "NOTHING")
        for flag in action.flags:
            if flag.endswith("="):
                added.add_argument(flag[:-1], dest=flag, metavar="VALUE")
            else:
                added.add_argument(flag, dest=flag, action="store_true")
        added.add_argument("--session", metavar="ID", help="another session than this directory's last")
        if action.name == "reflect":
            add_reflecting(added)
    parser.set_defaults(default_action="list")


def _run(args: argparse.Namespace) -> ActionResult:
    with open_sessions(args, make=args.action == "add") as sessions:  # it may be the first thing that is ever stored
        sessions.current_session = session_of(sessions, args.session)
        learning = open_learning(sessions, configuration_of(args).settings, None)
        return learning.perform(args.action, _words(args), "swecli playbook")


def _on_turn(args: argparse.Namespace) -> ActionResult:
    """Mark the last turn, or reflect on one; the code is 1 when reflecting failed. Raises BadInput: no such turn."""
    settings, reflecting = configuration_of(args).settings, args.action == "reflect"
    if reflecting and not settings.learn:
        raise BadInput("Learning is off.", "Set learn = true in the configuration.")
    model = reflecting_model(settings, args.model) if reflecting and not args.rules_only else None
    with open_sessions(args) as sessions:
        session = session_of(sessions, args.session)
        number = turn_within(" ".join(args.words) if reflecting else "", session.interactions)
        learning = open_learning(sessions, settings, model)
        if reflecting:
            events = asyncio.run(learning.learn(number, asked=True))
            nothing = f"nothing to learn{'' if model else '; the rules looked, no model was asked'}"
            lines = [] if events else [nothing]
        else:
            events = asyncio.run(learning.mark(args.action == "good", " ".join(args.words)))
            lines = [f"marked {args.action}"]
    failed = [event.reason for event in events if isinstance(event, ReflectionFailed)]
    learned = [line for event in events for line in lines_of(event)]
    value = {"session": session.id, "turn": number, "what": args.action, "lines": learned, "failed": failed}
    shown = tuple(f"{session.id[:13]} T{number}: {line}" for line in lines + learned)
    return ActionResult(value, shown, code=1 if failed else 0)


def _words(args: argparse.Namespace) -> list[str]:
    words = list(args.words)
    for flag in ACTIONS[args.action].flags:
        value = getattr(args, flag)
        if flag.endswith("=") and value is not None:
            words += [flag[:-1], value]
        elif value is True:
            words.append(flag)
    return words


def session_of(sessions: SessionManager, ref: str | None) -> Session:
    """The session that is meant: the named one, this directory's last, or a blank one of this project."""
    directory = str(Path.cwd())
    try:
        return sessions.resume(ref, directory)
    except BadInput:
        if ref:
            raise
    blank = Session(id="", working_directory=directory, project=str(project_root(Path.cwd())))
    blank.update_playbook(sessions.playbook.load(blank))
    return blank
