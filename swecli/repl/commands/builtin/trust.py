"""`/trust`: use the files of this folder as they are, after a look at them."""

from __future__ import annotations

from pathlib import Path

from swecli.actions.builtin.trust import give
from swecli.actions.builtin.trust import trust as actions
from swecli.config.project_files import MCP_SERVERS, read_project_files
from swecli.config.trust import FolderTrust
from swecli.models.counts import pluralize
from swecli.models.errors import StoreError
from swecli.repl.commands.actions import in_own_form, perform
from swecli.repl.commands.base import CommandContext
from swecli.text import short_path
from swecli.tools.hooks.files import may_have_hooks

# of a changed file's differences, so that the question and the list above it stay in view
_MAX_ROWS = 40


@in_own_form(actions)
async def _trust(ctx: CommandContext, args: str) -> None:
    action, rest, name = actions.read(args)
    if action is give:
        give.read(rest)  # raises: it takes no words
        await _give(ctx)
    else:
        ctx.report(await perform(ctx, action, rest, name))


async def _give(ctx: CommandContext) -> None:
    trust = ctx.runtime.start.read_trust()
    # late: completing the names of commands needs no search
    from swecli.tools.nested_instructions import find_nested_instructions

    start = ctx.runtime.start
    nested = find_nested_instructions(trust.root, start.environ)
    files = read_project_files(start.cwd, nested)
    pending = {path: data for path, data in files.items() if trust.judge(path, data) != "approved"}
    if trust.is_trusted and not pending:
        count = pluralize(len(files), "file")
        ctx.screen.note(f"{short_path(trust.root)} is already trusted, with {count}")
        return
    _show(ctx, trust, pending)
    if not await ctx.confirm(_question(trust, pending)):
        ctx.screen.note("nothing was changed")
        return
    try:
        notices = ctx.runtime.trust_files(files)
    except OSError as error:
        raise StoreError(f"The trust cannot be recorded: {error.strerror}.") from error
    ctx.table.add_project(ctx.runtime.start.read_trust())
    _confirm(ctx, trust, pending)
    for notice in notices:
        ctx.screen.warn(notice)


def _show(ctx: CommandContext, trust: FolderTrust, pending: dict[Path, bytes]) -> None:
    """Print which files would be used, and if the folder was trusted before, what is new in them."""
    rows: list[tuple[str, str, str]] = []
    for path, data in pending.items():
        state = "changed" if trust.judge(path, data) == "changed" else "new"
        rows.append((trust.name_of(path), f"{len(data):,} bytes", state))
    if rows:
        ctx.screen.table(("file", "size", ""), rows)
    if not trust.is_trusted:
        return
    # late: completing the names of commands must not load rich
    from swecli.repl.render.diff import render_diff
    from swecli.tools.diffs import unified_diff

    for path, data in pending.items():
        name = trust.name_of(path)
        approved = trust.approved.get(name)
        before = approved.text if approved else None
        diff = unified_diff(name, before, data.decode("utf-8", "replace"))
        ctx.screen.line(name, "head")
        ctx.screen.print(render_diff(diff.text, max_rows=_MAX_ROWS))


def _question(trust: FolderTrust, pending: dict[Path, bytes]) -> str:
    if not pending:
        return f"Trust {short_path(trust.root)}? It holds no files for swecli yet."
    return f"Use {pluralize(len(pending), 'file')} of {short_path(trust.root)} as shown?"


def _confirm(ctx: CommandContext, trust: FolderTrust, pending: dict[Path, bytes]) -> None:
    ctx.screen.note(
        f"{short_path(trust.root)} is trusted: its instructions, skills and commands apply from now on"
    )
    if any(path.name == "config.toml" for path in pending):
        ctx.screen.note("its settings apply from the next start")
    if may_have_hooks(ctx.runtime.start):
        ctx.screen.note("/hooks lists its hooks, and /hooks approve shows what they run")
    if any(path.name == MCP_SERVERS for path in pending):
        ctx.screen.note("/mcp lists its MCP servers, and /mcp approve NAME shows the tools of one")
