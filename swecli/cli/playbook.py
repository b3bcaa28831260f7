"""Show, teach, correct and review the strategies that apply in this directory, and take them elsewhere."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from swecli.cli.flags import FreeText
from swecli.cli.learning import TURNS, add_turn_arguments, open_learning, run_on_turn
from swecli.cli.output import print_result
from swecli.cli.subcommands import add_common_flags, configuration_of, open_sessions
from swecli.config.trust import project_root
from swecli.models.errors import BadInput, UsageError
from swecli.models.session import Session
from swecli.playbook.action import Action
from swecli.playbook.actions.names import ACTIONS, FORMER

if TYPE_CHECKING:
    from swecli.store.session_manager import SessionManager

DEFAULT_ACTION = "list"  # what `swecli playbook` alone does


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Actions and their arguments."""
    names = "|".join((*ACTIONS, *TURNS))
    actions = parser.add_subparsers(dest="action", required=True, metavar=names, parser_class=FreeText)
    for action in ACTIONS.values():
        _add(actions.add_parser(action.name, help=action.help), action)
    for turn in TURNS.values():
        add_turn_arguments(actions.add_parser(turn.name, help=turn.help), turn)
    for name in FORMER.keys() - ACTIONS.keys():  # of an older version: they answer with the new form
        former = actions.add_parser(name)
        former.leading = 0
        former.add_argument("words", nargs="*")
        add_common_flags(former)


def _add(added: FreeText, action: Action) -> None:
    added.leading = action.leading
    added.add_argument("words", nargs="*", metavar=action.usage or "NOTHING")
    for flag in action.flags:
        if flag.endswith("="):
            added.add_argument(flag[:-1], dest=flag, metavar="VALUE")
        else:
            added.add_argument(flag, dest=flag, action="store_true")
    add_common_flags(added)
    added.add_argument("--session", metavar="ID", help="another session than this directory's last")


def run(args: argparse.Namespace) -> int:
    """Do it. Raises BadInput for an unknown id or with nothing to undo."""
    if args.action in TURNS:
        return run_on_turn(args)
    if args.action not in ACTIONS:
        new = f"swecli playbook {FORMER[args.action]}"
        raise UsageError(f"{args.action} is now `{new}`.", f"Use {new}")
    with open_sessions(args, make=args.action == "add") as sessions:  # it may be the first thing that is ever stored
        sessions.current_session = session_of(sessions, args.session)
        learning = open_learning(sessions, configuration_of(args).settings, None)
        result = learning.perform(args.action, _words(args), "swecli playbook")
        return print_result(result, args.json)


def _words(args: argparse.Namespace) -> list[str]:
    """The arguments of an action, its flags behind them."""
    words = list(args.words)
    for flag in ACTIONS[args.action].flags:
        value = getattr(args, flag)
        if flag.endswith("=") and value is not None:
            words += [flag[:-1], value]
        elif value is True:
            words.append(flag)
    return words


def session_of(sessions: SessionManager, ref: str | None) -> Session:
    """The session whose strategies are meant: the named one, this directory's last, or a blank one of this project."""
    directory = str(Path.cwd())
    try:
        return sessions.resume(ref, directory)
    except BadInput:
        if ref:
            raise
    blank = Session(id="", working_directory=directory, project=str(project_root(Path.cwd())))
    blank.update_playbook(sessions.playbook.load(blank))
    return blank
