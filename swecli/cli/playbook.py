"""Show, teach, correct, review, carry and measure the strategies that apply in this directory."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from swecli.cli import playbook_turns
from swecli.cli.flags import FreeText
from swecli.cli.output import print_exactly, print_json, print_line, print_table
from swecli.cli.subcommands import add_common_flags, configuration_of, open_sessions, positive
from swecli.config.trust import project_root
from swecli.models.errors import BadInput
from swecli.models.session import Session
from swecli.playbook.actions import ACTIONS
from swecli.playbook.desk import Action, PlaybookDesk, Said

if TYPE_CHECKING:
    from swecli.store.session_manager import SessionManager

MAKING = ("add", "import")  # these may be the first thing that is ever stored
DEFAULT_ACTION = "list"  # what `swecli playbook` alone does


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Actions and their arguments."""
    names = "|".join((*ACTIONS, *playbook_turns.TURNS))
    actions = parser.add_subparsers(dest="action", required=True, metavar=names, parser_class=FreeText)
    for action in ACTIONS.values():
        _add(actions.add_parser(action.name, help=action.help), action)
    for turn in playbook_turns.TURNS.values():
        playbook_turns.add_arguments(actions.add_parser(turn.name, help=turn.help), turn)


def _add(added: FreeText, action: Action) -> None:
    added.leading = action.leading
    kind = positive if action.usage == "[N]" else str
    added.add_argument("words", nargs="*", type=kind, metavar=action.usage or "NOTHING")
    for flag, meaning in action.flags:
        added.add_argument(flag, action="append_const", const=flag, dest="flags", help=meaning)
    if action.name == "log":
        added.add_argument("--limit", type=positive, metavar="N", help="this many changes")
    add_common_flags(added)
    added.add_argument("--session", metavar="ID", help="another session than this directory's last")


def run(args: argparse.Namespace) -> int:
    """Do it. Raises BadInput for an unknown id or with nothing to undo."""
    if args.action in playbook_turns.TURNS:
        return playbook_turns.run(args)
    with open_sessions(args, make=args.action in MAKING) as sessions:
        desk = PlaybookDesk(sessions, session_here(sessions, args.session), "swecli playbook")
        if args.action == "why":
            # late: no other action counts tokens
            from swecli.context.tokens import TokenCounter  # noqa: PLC0415

            settings = configuration_of(args).settings
            desk.count, desk.tokens = TokenCounter("o200k_base").count, settings.playbook_tokens
            desk.most = settings.max_strategies
        words = [str(word) for word in ([args.limit] if getattr(args, "limit", None) else args.words)]
        words += getattr(args, "flags", None) or []
        return tell(ACTIONS[args.action].perform(desk, words), args.json)


def session_here(sessions: SessionManager, ref: str | None) -> Session:
    """The session whose strategies are meant: the named one, this directory's last, or a blank one of this project."""
    here = str(Path.cwd())
    try:
        return sessions.resume(ref, here)
    except BadInput:
        if ref:
            raise
    blank = Session(id="", working_directory=here, project=str(project_root(Path.cwd())))
    blank.update_playbook(sessions.playbook.load(blank))
    return blank


def tell(said: Said, json: bool) -> int:
    """An answer of the playbook, for programs or for people. Returns its exit code."""
    if json:
        print_json(said.value)
        return said.code
    if said.exact is not None and not sys.stdout.isatty():
        print_exactly(said.exact)
        return said.code
    if said.rows:
        print_table(said.rows, said.head)
    for line in said.lines:
        print_line(line)
    if said.note:
        print_line(said.note)
    return said.code
