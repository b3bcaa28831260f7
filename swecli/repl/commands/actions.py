"""The slash commands that are derived from declared actions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from swecli.actions import builtin
from swecli.discovery import find_declared
from swecli.models.action import Action, ActionResult, Family, Need
from swecli.repl.commands.base import Command, CommandContext, Run


async def perform(
    ctx: CommandContext, action: Action, line: str = "", name: str = ""
) -> ActionResult:
    """Perform an action with the rest of a line; `name` is the action as it was typed. Raises SwecliError."""
    runtime = ctx.runtime
    subject = runtime if action.needs in (Need.CONTEXT, Need.ANSWER) else runtime.sessions
    return await action.perform(subject, action.read(line, name, runtime.cwd))


def command_of(declared: Action | Family) -> Command:
    """Return the slash command of an action, or of a family."""
    if isinstance(declared, Family):
        return _family_command(declared)

    async def run(ctx: CommandContext, args: str) -> None:
        ctx.report(await perform(ctx, declared, args))

    concurrent = "*" if declared.during_turn else ""
    usage = declared.words.usage
    return Command(
        declared.name, declared.aliases, usage, declared.help, run, declared.complete, concurrent
    )


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
        run,
        lambda runtime: choices,
        "*" if len(concurrent) == len(offered) else " ".join(concurrent),
    )


def in_own_form(declared: Action | Family) -> Callable[[Run], Command]:
    """Return a decorator that makes an `async def (ctx, args)` the slash command of an action or a family that asks or
    draws more than a result."""
    return lambda run: replace(command_of(declared), run=run)


def derived_commands(there: Sequence[Command]) -> list[Command]:
    """Return the commands of all declared actions, but for those that are there already, in a form of their own."""
    families = find_declared(builtin, Family)
    members = [action for family in families for action in family.actions]
    alone = [one for one in find_declared(builtin, Action) if one not in members]
    named: list[Action | Family] = [*families, *alone, *(one for one in members if one.is_command)]
    taken = {command.name for command in there}
    return [command_of(one) for one in named if one.name not in taken]
