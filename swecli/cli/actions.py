"""Subcommands that are derived from declared actions: their flags, what they work on, and running one."""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import replace
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any

from swecli.actions import builtin
from swecli.cli.flags import ACTIONS, Parser, register
from swecli.cli.startup import make_folders
from swecli.cli.subcommands import configuration_of, existing_database, open_sessions
from swecli.cli.workspace import working_folder
from swecli.models.action import Action, ActionResult, Family, Flag, Invocation, Need
from swecli.models.errors import SwecliError

if TYPE_CHECKING:
    from swecli.app import Runtime
    from swecli.llm.base import ChatModel

SESSION = Flag("--session", "another session than this directory's last", "ID")
_MEASURED = Flag("--model", "measure for this model's window", "PROVIDER/NAME")
# which session or model an action works on; these are no flags of the action itself
_CHOOSING: Mapping[Need, tuple[Flag, ...]] = {
    Need.SESSION: (SESSION,),
    Need.NEW_SESSION: (SESSION,),
    Need.CONTEXT: (SESSION, _MEASURED),
    Need.ANSWER: (SESSION, _MEASURED),
}


def _declare(name: str, parser: Parser) -> None:
    """Add what the actions in the module of this name declare."""
    declared = _find_declared(name)
    if isinstance(declared, Family):
        add_actions(parser, declared)
        return
    parser.description = f"{declared.help}."
    parser.set_defaults(run=partial(_run, declared))
    _add_arguments(parser, declared)


def add_actions(parser: Parser, family: Family) -> None:
    """Add the actions of a family that a shell has as they are."""
    parser.description = f"{family.help}."
    for action in family.actions:
        if action.in_shell:
            added = parser.action(action.name, partial(_run, action), action.about)
            _add_arguments(added, action)
    if family.default_in_shell:
        parser.set_defaults(default_action=family.default)


def _find_declared(name: str) -> Family | Action:
    module = import_module(f"{builtin.__name__}.{name}")
    return next(
        value
        for value in vars(module).values()
        if isinstance(value, (Family, Action)) and value.name == name
    )


def _add_arguments(parser: Parser, action: Action) -> None:
    words = action.words
    if words.are_taken:
        about = words.help or None
        parser.add_argument("words", nargs=words.count, metavar=words.metavar, help=about)
    for flag in (*action.flags, *_CHOOSING.get(action.needs, ())):
        add_flag(parser, flag)


def add_flag(parser: argparse.ArgumentParser, flag: Flag) -> None:
    """Add a declared flag."""
    if flag.value:
        parser.add_argument(flag.name, help=flag.help, metavar=flag.value)
    else:
        parser.add_argument(flag.name, help=flag.help, action="store_true")


def _run(action: Action, args: argparse.Namespace) -> ActionResult:
    asked = _read_invocation(action, args)
    with _OPENERS[action.needs](args) as subject:
        result = action.run(subject, asked)
        return result if isinstance(result, ActionResult) else asyncio.run(result)


def _read_invocation(action: Action, args: argparse.Namespace) -> Invocation:
    """Return what the parsed arguments ask of an action."""
    flags = dict[str, str]()
    for flag in action.flags:
        value = vars(args)[flag.name.strip("-").replace("-", "_")]
        if value is True:
            flags[flag.name] = ""
        elif isinstance(value, str):
            flags[flag.name] = value
    given = vars(args).get("words") or ()
    words = (given,) if isinstance(given, str) else given
    return Invocation(tuple(words), flags, action.name, "swecli ", working_folder(args.cwd))


@contextmanager
def _open_context(args: argparse.Namespace, *, is_asked: bool = False) -> Iterator[Runtime]:
    """Build the runtime of a run in that session; no tool is run. A model that is asked nothing needs no key."""
    # late: --help and usage errors need no runtime
    from swecli.app import build_runtime
    from swecli.headless.runner import refuse
    from swecli.llm.endpoints import DEMO
    from swecli.llm.registry import make_model

    configured = configuration_of(args)
    make_folders(configured.paths)
    settings = replace(configured.settings, db=str(existing_database(configured)))
    start = replace(configured, settings=settings, resume=args.session or "")
    name = args.model or settings.model or DEMO
    is_keyless = not (is_asked and args.model)
    model = make_model(name, settings, start.environ, keyless=is_keyless)
    with closing(build_runtime(start, refuse, model)) as runtime:
        session = runtime.sessions.current_session
        if not args.model and session is not None:
            _use_model(runtime, session.model, is_asked=is_asked)
        yield runtime


def _use_model(runtime: Runtime, name: str, *, is_asked: bool) -> None:
    """Use the model of the session. Raises SwecliError if a model that is to answer is gone; one that is asked nothing
    is replaced by that of the runtime."""
    # late: as above
    from swecli.llm.registry import make_model

    try:
        model: ChatModel = make_model(
            name, runtime.settings, runtime.start.environ, keyless=not is_asked
        )
    except SwecliError:
        if is_asked:
            raise
        return
    runtime.agent.use_model(model)
    runtime.agent.begin_epoch("")  # not a model change


_Open = Callable[[argparse.Namespace], AbstractContextManager[Any]]
_OPENERS: Mapping[Need, _Open] = {
    Need.DATABASE: partial(open_sessions, resume=True),
    Need.SESSION: partial(open_sessions, resume=True),
    Need.NEW_SESSION: partial(open_sessions, resume=True, create=True),
    Need.CONTEXT: _open_context,
    Need.ANSWER: partial(_open_context, is_asked=True),
}

for _name in ACTIONS:
    register(_name, partial(_declare, _name))
