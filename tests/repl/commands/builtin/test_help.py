"""Test `/help`."""

from __future__ import annotations

from dataclasses import replace

from swecli.repl.commands.registry import CommandTable
from tests.support.command_context import ScriptedContext


async def test_help_all_lists_every_command_and_the_keys(ctx: ScriptedContext) -> None:
    printed = " ".join((await ctx.type("/help all")).split())  # Long lines are wrapped.
    for command in ctx.table.commands:
        assert f"/{command.name}" in printed
        assert command.help.split("`")[0] in printed
    assert "Shift+Tab" in printed


async def test_help_is_one_screen_with_the_names_of_all_commands(runtime) -> None:  # type: ignore[no-untyped-def]
    ctx = ScriptedContext(runtime, width=80)
    printed = await ctx.type("/help")
    assert len(printed.rstrip("\n").splitlines()) <= 24
    assert all(f"/{command.name}" in printed for command in ctx.table.commands)
    assert "Shift+Tab" in printed


async def test_help_groups_the_commands_and_begins_with_start_here(ctx: ScriptedContext) -> None:
    lines = (await ctx.type("/help all")).splitlines()
    titles = [line for line in lines if line and not line.startswith((" ", "/"))]
    assert titles[0].startswith("Start here")
    assert next(line for line in lines if line.startswith("/")).startswith("/help")


async def test_project_commands_are_listed_under_more(ctx: ScriptedContext) -> None:
    first = ctx.table.commands[0]
    deploy = replace(first, name="deploy", help="Send it")
    ctx.table = CommandTable([*ctx.table.commands, deploy])
    printed = await ctx.type("/help all")
    assert printed.index("More") < printed.index("/deploy") < printed.index("Keys")


async def test_help_for_one_command_shows_arguments_and_aliases(ctx: ScriptedContext) -> None:
    printed = await ctx.type("/help /resume")
    assert "/sessions [ID|NAME]" in printed
    assert "/continue" in printed


async def test_help_for_an_unknown_command_names_it(ctx: ScriptedContext) -> None:
    assert "Unknown command /nosuch" in await ctx.type("/help nosuch")


async def test_help_fits_forty_columns(runtime) -> None:  # type: ignore[no-untyped-def]
    for line in ("/help", "/help all"):
        printed = await ScriptedContext(runtime, width=40).type(line)
        assert max(map(len, printed.splitlines())) <= 40
