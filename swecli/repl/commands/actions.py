"""The slash commands that are derived from declared actions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from swecli.actions import builtin
from swecli.config.trust import TrustLedger
from swecli.discovery import find_declared
from swecli.models.action import Action, ActionResult, Face, Family, Need
from swecli.models.errors import BusyElsewhere, SwecliError
from swecli.repl.commands.base import Command, CommandContext, Run
from swecli.repl.commands.open_elsewhere import has_changed_elsewhere

_ON_SESSION = (Need.SESSION, Need.NAMED_SESSION, Need.NEW_SESSION, Need.CONTEXT, Need.ANSWER)

if TYPE_CHECKING:  # names complete before these are loaded
    from swecli.app import Runtime
    from swecli.models.events import Event

_SUBJECTS: Mapping[Need, Callable[[Runtime], object]] = {
    Need.CONTEXT: lambda runtime: runtime,
    Need.ANSWER: lambda runtime: runtime,
    Need.AGENT: lambda runtime: runtime,
    Need.ANY_CONFIGURATION: lambda runtime: runtime.start,
    Need.SETTINGS: lambda runtime: replace(runtime.start, settings=runtime.settings),
    Need.LEARNING: lambda runtime: runtime.learning,
    Need.REFLECTING: lambda runtime: runtime.learning,
    Need.TRUST: lambda runtime: TrustLedger.find(runtime.start.paths),
}


class SessionFace(Face):
    """A session: draws on its screen and asks its user."""

    can_ask = True

    def __init__(self, ctx: CommandContext) -> None:
        self._ctx = ctx

    def show(self, event: Event) -> None:
        self._ctx.renderer.show(event)

    def working(self, label: str) -> AbstractContextManager[object]:
        return self._ctx.renderer.working(label)

    def note(self, text: str) -> None:
        self._ctx.screen.line(text)

    def warn(self, text: str) -> None:
        self._ctx.screen.warn(text)

    def complain(self, error: SwecliError) -> None:
        self._ctx.screen.error(error.message, error.hint)

    async def confirm(self, question: str, yes: str = "yes", no: str = "no") -> bool:
        return await self._ctx.pick(question, [("no", no), ("yes", yes)]) == "yes"


async def perform(
    ctx: CommandContext,
    action: Action,
    line: str = "",
    name: str = "",
    face: Face | None = None,
) -> ActionResult:
    """Perform an action with the rest of a line; `name` is the action as it was typed. Raises SwecliError."""
    runtime = ctx.runtime
    find_subject = _SUBJECTS.get(action.needs)
    subject = find_subject(runtime) if find_subject else runtime.sessions
    request = action.read(line, name, runtime.cwd)
    return await action.perform(subject, replace(request, face=face or SessionFace(ctx)))


def command_of(declared: Action | Family) -> Command:
    """Return the slash command of an action, or of a family."""
    if isinstance(declared, Family):
        return _family_command(declared)

    async def run(ctx: CommandContext, args: str) -> None:
        ctx.report(await perform(ctx, declared, args))

    return Command(
        declared.name,
        declared.aliases,
        declared.words.usage,
        declared.help,
        run=_on_stored_session(declared, run),
        complete=declared.complete,
        concurrent="*" if declared.during_turn else "",
    )


def _on_stored_session(declared: Action | Family, run: Run) -> Run:
    """Return a function that first loads what another process did in the session, if the action works on one."""
    actions = declared.actions if isinstance(declared, Family) else (declared,)
    if not any(action.needs in _ON_SESSION for action in actions):
        return run

    async def load_and_run(ctx: CommandContext, args: str) -> None:
        # while a turn runs there, the session is shown as it is here, and changes are refused
        with suppress(BusyElsewhere):
            await has_changed_elsewhere(ctx)
        await run(ctx, args)

    return load_and_run


def _family_command(family: Family) -> Command:
    async def run(ctx: CommandContext, args: str) -> None:
        action, rest, name = family.read(args)
        ctx.report(await perform(ctx, action, rest, name))

    offered = family.in_session
    choices = [(action.name, f"{action.usage}: {action.about}".lstrip(": ")) for action in offered]
    names = [action.name for action in offered if action.name != family.default]
    concurrent = [action.name for action in offered if action.during_turn]
    return Command(
        family.name,
        family.aliases,
        f"[{'|'.join(names)}]",
        family.help,
        run=_on_stored_session(family, run),
        complete=lambda runtime: choices,
        concurrent="*" if len(concurrent) == len(offered) else " ".join(concurrent),
    )


def in_own_form(declared: Action | Family) -> Callable[[Run], Command]:
    """Return a decorator that makes an `async def (ctx, args)` the slash command of an action or a family that asks or
    draws more than a result."""
    return lambda run: replace(command_of(declared), run=_on_stored_session(declared, run))


def derived_commands(own_forms: Sequence[Command]) -> list[Command]:
    """Return the commands of all declared actions, but for those that have a form of their own."""
    families = find_declared(builtin, Family)
    members = [action for family in families for action in family.actions]
    declared: list[Action | Family] = [
        *(family for family in families if family.in_session),
        *(
            action
            for action in find_declared(builtin, Action)
            if action.in_session and action not in members
        ),
        *(action for action in members if action.is_command),
    ]
    taken = {command.name for command in own_forms}
    return [command_of(action) for action in declared if action.name not in taken]
