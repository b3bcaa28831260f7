"""`/prompt`, `/window` and `/compact` in a session: long texts in portions, turns to choose, events as they come."""

from __future__ import annotations

from swecli.actions.builtin.context import compact, prompt, show, window
from swecli.actions.left_turns import left
from swecli.actions.prompt import FULL
from swecli.repl.commands.actions import in_own_form, perform
from swecli.repl.commands.base import CommandContext
from swecli.repl.commands.left_turns import choose_left_turn
from swecli.repl.render.excerpt import lines_of


@in_own_form(compact)
async def _compact(ctx: CommandContext, args: str) -> None:
    await perform(ctx, compact, args)
    ctx.screen.note("/context undo restores it · /pin a turn beforehand to keep it word for word")


@in_own_form(prompt)
async def _prompt(ctx: CommandContext, args: str) -> None:
    # late: not needed to declare a command
    from rich.text import Text

    if not args.strip():
        ctx.screen.note("/prompt is /context now")
        ctx.report(await perform(ctx, show))
        return
    result = await perform(ctx, prompt, args)
    lines = (line for text in result.lines for line in lines_of(text))
    await ctx.screen.print_in_portions(Text(line) for line in lines)
    if args.split()[:1] != [FULL]:
        ctx.screen.note(f"/prompt {' '.join([FULL, args])}".rstrip() + " prints all of it")
    command = f"swecli context prompt {args}".rstrip()
    ctx.screen.note(f"{command} --json prints it for programs")


@in_own_form(window)
async def _window(ctx: CommandContext, args: str) -> None:
    if args.split() == [left.name] and ctx.asker.has_lists:
        await choose_left_turn(ctx)
    else:
        ctx.report(await perform(ctx, window, args))
