"""Subcommands that are derived from declared actions: their flags, what they work on, and running one."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Coroutine, Iterator, Mapping
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext
from dataclasses import replace
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from swecli.actions import builtin
from swecli.cli.flags import ACTIONS, Parser, register
from swecli.cli.startup import make_folders
from swecli.cli.subcommands import (
    configuration_of,
    existing_database,
    instructions_in,
    open_runtime,
    open_sessions,
)
from swecli.cli.workspace import process_folder, working_folder
from swecli.config.paths import Paths
from swecli.config.settings import Settings, Start
from swecli.config.trust import TrustLedger
from swecli.llm import default_models
from swecli.models.action import (
    SESSION,
    SESSION_HELP,
    SESSION_NAME,
    Action,
    ActionResult,
    Face,
    Family,
    Flag,
    Invocation,
    Need,
)
from swecli.models.errors import SwecliError, UsageError
from swecli.text import LONGEST_ERROR, complaint, one_line

if TYPE_CHECKING:
    from swecli.actions.replaying import Recording
    from swecli.app import Runtime
    from swecli.llm.base import ChatModel
    from swecli.playbook.learning.service import LearningService
    from swecli.store.session_manager import SessionManager

_Value = TypeVar("_Value")

FORMAT = "--format"
_TEXT_FORMATS = (
    "",
    "text",
    "markdown",
    "html",
    "md",
)  # printed as lines; all other formats as JSON
YES = "--yes"
_MODEL = Flag("--model", "measure for this model's window", "PROVIDER/NAME")
# flags of a command line that name what an action works on; the action itself does not declare them
_SUBJECT_FLAGS: Mapping[Need, tuple[Flag, ...]] = {
    Need.SESSION: (SESSION,),
    Need.NEW_SESSION: (SESSION,),
    Need.LEARNING: (SESSION,),
    Need.CONTEXT: (SESSION, _MODEL),
    Need.ANSWER: (SESSION, _MODEL),
}


class ShellFace(Face):
    """A command line, where nobody is asked: it writes to stderr, and agrees if it has --yes."""

    how_to_agree = f": add {YES}"
    agrees = False

    def note(self, text: str) -> None:
        sys.stderr.write(one_line(text, LONGEST_ERROR) + "\n")
        sys.stderr.flush()

    def warn(self, text: str) -> None:
        self.note(f"swecli: {text}")

    def complain(self, error: SwecliError) -> None:
        self.note(complaint(error.message, error.hint))

    async def confirm(self, question: str, yes: str = "yes", no: str = "no") -> bool:
        return self.agrees

    def confirm_deletion(self, name: str) -> bool:
        if self.agrees:
            return True
        if not (sys.stdin.isatty() and sys.stderr.isatty()):
            raise UsageError(f"{name} would be deleted permanently.", f"Pass {YES} to do it.")
        sys.stderr.write(f"Delete {name} permanently? [y/N] ")
        sys.stderr.flush()
        return sys.stdin.readline().strip().lower() in ("y", "yes")

    async def wait(self, work: Coroutine[object, object, _Value]) -> _Value | None:
        # late: only work that takes time is waited for
        from swecli.headless.signals import until_signal

        result, self.signal_code = await until_signal(work)
        return result


def offer(declaration: Family | Action) -> None:
    """Let an action or a family that only a shell has be `swecli NAME`."""
    register(declaration.name, partial(_declare, declaration))


def _declare_builtin(name: str, parser: Parser) -> None:
    """Add what the actions in the module of this name declare."""
    _declare(_find_declaration(name), parser)


def _declare(declaration: Family | Action, parser: Parser) -> None:
    parser.description = f"{declaration.help}."
    if isinstance(declaration, Action):
        parser.set_defaults(run=partial(run_action, declaration))
        add_arguments(parser, declaration)
        return
    for action in declaration.actions:
        if action.in_shell:
            subparser = parser.action(action.name, partial(run_action, action), action.about)
            add_arguments(subparser, action)
    if declaration.default_in_shell:
        parser.set_defaults(
            default_action=declaration.default_in_shell,
            default_takes_words=declaration.default_takes_words,
        )


def _find_declaration(name: str) -> Family | Action:
    module = import_module(f"{builtin.__name__}.{name}")
    return next(
        value
        for value in vars(module).values()
        if isinstance(value, (Family, Action)) and value.name == name and value.in_shell
    )


def add_arguments(parser: Parser, action: Action) -> None:
    """Add the words and the flags that an action declares, and those of what it works on."""
    words = action.words
    if action.needs in (Need.NAMED_SESSION, Need.RECORDING):
        parser.add_argument("session", metavar=SESSION_NAME, help=SESSION_HELP)
    if words.are_taken:
        parser.add_argument(
            "words",
            nargs=None if words.count == "1" else words.count,
            metavar=words.metavar,
            help=words.help or None,
        )
    for flag in (*action.flags, *_SUBJECT_FLAGS.get(action.needs, ())):
        if flag.in_shell:
            add_flag(parser, flag)
    if action.needs is Need.AGENT:
        parser.add_argument("-m", "--model", metavar="PROVIDER/NAME", help=default_models.EXAMPLES)
    if action.needs is Need.REFLECTING:
        parser.add_argument("--rules-only", action="store_true", help="ask no model")
        reflector = "model for reflection (default: from the settings)"
        parser.add_argument("-m", "--model", metavar="PROVIDER/NAME", help=reflector)


def add_flag(parser: argparse.ArgumentParser, flag: Flag) -> None:
    """Add a declared flag."""
    if not flag.takes_value:
        parser.add_argument(flag.name, help=flag.help, action="store_true")
        return
    parser.add_argument(
        flag.name,
        help=flag.help,
        nargs="+" if flag.takes_words else None,
        required=flag.is_required,
        metavar=flag.value or None,
        choices=flag.choices or None,
        action="append" if flag.is_repeated else "store",
    )


def run_action(
    action: Action, args: argparse.Namespace, face: ShellFace | None = None
) -> ActionResult:
    """Run an action on what the arguments name. Raises SwecliError."""
    invocation = read_invocation(action, args)
    face = face or ShellFace()
    face.agrees = YES in invocation.flags
    args.json = args.json or invocation.value(FORMAT) not in _TEXT_FORMATS
    with _OPENERS[action.needs](args) as subject:
        result = action.run(subject, replace(invocation, face=face))
        if isinstance(result, ActionResult):
            return result
        # late: most actions need no event loop, whose modules take a sixth of their time
        import asyncio

        return asyncio.run(result)


def read_invocation(action: Action, args: argparse.Namespace) -> Invocation:
    """Return what the parsed arguments ask of an action."""
    flags = dict[str, tuple[str, ...]]()
    for flag in action.flags:
        value = vars(args).get(flag.name.strip("-").replace("-", "_"))
        if value is True:
            flags[flag.name] = ()
        elif isinstance(value, str):
            flags[flag.name] = (value,)
        elif value:  # of a flag that is repeated or takes words
            flags[flag.name] = tuple(value)
    words = vars(args).get("words") or ()
    if isinstance(words, str):
        words = (words,)
    return Invocation(
        words=tuple(words),
        flags=flags,
        name=action.name,
        prefix="swecli ",
        folder=working_folder(args.cwd),
        wants_value=args.json,
    )


def _read_any_configuration(args: argparse.Namespace) -> Start | SwecliError:
    try:
        return configuration_of(args)
    except SwecliError as error:
        return error


@contextmanager
def _open_named(args: argparse.Namespace) -> Iterator[SessionManager]:
    with open_sessions(args) as sessions:
        sessions.resume(args.session, "")
        yield sessions


@contextmanager
def _open_recording(args: argparse.Namespace) -> Iterator[Recording]:
    # late: --help and usage errors need no database
    from swecli.actions.replaying import Recording

    settings = configuration_of(args).settings
    with _open_named(args) as sessions:
        folder = sessions.session.working_directory
        yield Recording(sessions, settings, instructions_in(folder))


@contextmanager
def _open_context(args: argparse.Namespace, *, asks_model: bool = False) -> Iterator[Runtime]:
    """Build the runtime of the session that `args` name; no tool is run. A model that is asked nothing needs no key."""
    # late: --help and usage errors need no runtime
    from swecli.app import build_runtime
    from swecli.headless.runner import refuse
    from swecli.llm.registry import make_model
    from swecli.llm.services import DEMO

    configured = configuration_of(args)
    make_folders(configured.paths)
    settings = replace(configured.settings, db=str(existing_database(configured)))
    start = replace(configured, settings=settings, resume=args.session or "")
    name = args.model or settings.model or DEMO
    needs_key = asks_model and bool(args.model)
    model = make_model(name, settings, start.environ, keyless=not needs_key)
    with closing(build_runtime(start, refuse, model)) as runtime:
        session = runtime.sessions.current_session
        if not args.model and session is not None:
            _use_model(runtime, session.model, asks_model=asks_model)
        yield runtime


def _use_model(runtime: Runtime, name: str, *, asks_model: bool) -> None:
    """Use the session's model; if it is gone, that of the runtime stays. Raises SwecliError if it has to answer."""
    # late: as above
    from swecli.llm.registry import make_model

    try:
        model: ChatModel = make_model(
            name, runtime.settings, runtime.start.environ, keyless=not asks_model
        )
    except SwecliError:
        if asks_model:
            raise
        return
    runtime.agent.use_model(model)
    runtime.agent.begin_epoch("")  # not a model change


@contextmanager
def _open_agent(args: argparse.Namespace) -> Iterator[Runtime]:
    """Build the runtime of a run without a session of its own, and say what its start has to say."""
    # late: as above
    from swecli.headless.runner import refuse_unpriced

    with open_runtime(args) as runtime:
        refuse_unpriced(runtime.agent.model, runtime.settings)
        for line in runtime.opening_lines():
            ShellFace().warn(line)
        yield runtime


@contextmanager
def _open_learning(
    args: argparse.Namespace, *, asks_model: bool = False
) -> Iterator[LearningService]:
    """Open learning, with the instructions of each session's own directory."""
    # late: --help and usage errors need no database
    from swecli.actions.moving_in import find_others, needs_model
    from swecli.agent.sender import send
    from swecli.context.system_message import load_prompt
    from swecli.playbook.learning.service import LearningService

    settings = configuration_of(args).settings
    sources = vars(args).get("from") or ()
    folder = working_folder(args.cwd)
    model = None
    if asks_model and needs_model(sources, folder):
        model = _choose_reflector(settings, args)
    system = load_prompt("system")
    # whoever comes from another program has no database yet
    is_new = bool(find_others(sources, folder))
    with open_sessions(args, resume=True, create=is_new) as sessions:

        def instructions() -> str:
            session = sessions.current_session
            return f"{system}\n{instructions_in(session.working_directory if session else '')}"

        learning = LearningService.open(
            sessions, settings, load_prompt("reflect"), instructions, send
        )
        waits = settings.reflect_with_model and not asks_model
        missing_reason = "it is asked in the next session" if waits else ""
        learning.reflector = replace(learning.reflector, model=model, missing_reason=missing_reason)
        yield learning


def _choose_reflector(settings: Settings, args: argparse.Namespace) -> ChatModel | None:
    """Make the model that `args` name, or the one of the settings; None if only rules reflect. Raises SwecliError."""
    # late: as above
    from swecli.llm.choosing import choose_model
    from swecli.llm.registry import make_model

    if args.rules_only or not (args.model or settings.reflect_with_model):
        return None
    name = args.model or settings.reflect_model or choose_model(settings, os.environ).name
    return make_model(name, settings, os.environ)


def _find_settings_file(args: argparse.Namespace) -> Path:
    """Return the path of the user's settings file, without reading it, so that an invalid one can be repaired."""
    return process_folder() / args.config if args.config else Paths.find(os.environ).config_file


_Open = Callable[[argparse.Namespace], AbstractContextManager[Any]]
_OPENERS: Mapping[Need, _Open] = {
    Need.NOTHING: lambda args: nullcontext(),
    Need.ANY_CONFIGURATION: lambda args: nullcontext(_read_any_configuration(args)),
    Need.ALL_SESSIONS: open_sessions,
    Need.DATABASE: partial(open_sessions, resume=True),
    Need.SESSION: partial(open_sessions, resume=True),
    Need.NAMED_SESSION: _open_named,
    Need.NEW_SESSION: partial(open_sessions, resume=True, create=True),
    Need.NEW_DATABASE: partial(open_sessions, create=True),
    Need.RECORDING: _open_recording,
    Need.CONTEXT: _open_context,
    Need.ANSWER: partial(_open_context, asks_model=True),
    Need.AGENT: _open_agent,
    Need.SETTINGS: lambda args: nullcontext(configuration_of(args)),
    Need.SETTINGS_FILE: lambda args: nullcontext(_find_settings_file(args)),
    Need.LEARNING: _open_learning,
    Need.REFLECTING: partial(_open_learning, asks_model=True),
    Need.TRUST: lambda args: nullcontext(TrustLedger.find(Paths.find(os.environ))),
}

for _name in ACTIONS:
    register(_name, partial(_declare_builtin, _name))
