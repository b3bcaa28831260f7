"""The slash commands that are derived from declared actions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from swecli.actions import in_session
from swecli.actions.in_session import find_session_actions, works_on_session
from swecli.models.action import Action, ActionResult, Face, Family
from swecli.models.errors import BusyElsewhere, SwecliError
from swecli.repl.commands.base import Command, CommandContext, Run
from swecli.repl.commands.open_elsewhere import has_changed_elsewhere

if TYPE_CHECKING:  # names complete before these are loaded
    from swecli.models.events import Event


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
        self._ctx.screen.indented(text)

    def warn(self, text: str) -> None:
        self._ctx.screen.warn(text)

    def complain(self, error: SwecliError) -> None:
        self._ctx.screen.error(error.message, error.hint)

    async def confirm(self, question: str, yes: str = "yes", no: str = "no") -> bool:
        return await self._ctx.confirm(question, yes, no)


async def perform(
    ctx: CommandContext,
    action: Action,
    line: str = "",
    name: str = "",
    face: Face | None = None,
) -> ActionResult:
    """Perform an action with the rest of a line; `name` is the action as it was typed. Raises SwecliError."""
    return await in_session.perform(ctx.runtime, action, line, name, face or SessionFace(ctx))


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
        complete_further=declared.complete_further,
    )


def _on_stored_session(declared: Action | Family, run: Run) -> Run:
    """Return a function that first loads what another process did in the session, if the action works on one."""
    if not works_on_session(declared):
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
    taken_names = {command.name for command in own_forms}
    return [
        command_of(action) for action in find_session_actions() if action.name not in taken_names
    ]
