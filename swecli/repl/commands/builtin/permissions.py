"""`/permissions`: which rules are in force, where each comes from, and why the last call asked or ran."""

from __future__ import annotations

from swecli.models.errors import UsageError
from swecli.repl.commands.base import CommandContext, command


@command(usage="[remove N]", complete=lambda runtime: [("remove", "N: take back what you allowed")])
async def permissions(ctx: CommandContext, args: str) -> None:
    """Show what runs unasked, and why the last call asked"""
    rules = ctx.runtime.agent.permissions
    given = [*rules.project, *(rule for rule in rules.session if rule not in rules.project)]
    if not args:
        _show(ctx)
        return
    word, _, number = args.partition(" ")
    if word.lower() != "remove" or not number.strip().isdecimal():
        raise UsageError(f"/permissions cannot {args!r}.", "Use /permissions, or /permissions remove N")
    index = int(number) if len(number) < 10 else 0
    if not 1 <= index <= len(given):
        raise UsageError(f"There is no rule {number.strip()} to remove.", _limit(len(given)))
    rules.forget(given[index - 1])
    ctx.screen.note(f"{given[index - 1].text} is asked again")


def _show(ctx: CommandContext) -> None:
    """The rules, those that can be removed with their number first."""
    runtime, rules = ctx.runtime, ctx.runtime.agent.permissions
    file = str(rules.saved.file) if rules.saved else ""
    given = [("allow", rule.text, file) for rule in rules.project]
    given += [("allow", rule.text, "this session") for rule in rules.session if rule not in rules.project]
    rows = [(str(number), *row) for number, row in enumerate(given, 1)]
    origins = runtime.settings.origins
    rows += [
        ("", name, rule.text, origins.get(f"{name}: {rule.text}", "settings"))
        for name in ("deny", "ask", "allow")
        for rule in getattr(rules, name)
    ]
    if rows:
        ctx.screen.table(("#", "list", "rule", "from"), rows)
    for name, text in rules.broken:
        ctx.screen.warn(f"{name}: {text!r} is no permission rule and is NOT in force")
    ctx.screen.note(
        f"mode {rules.mode} · what only reads in this folder runs unasked · deny wins, then ask, then allow"
    )
    ctx.screen.note(f"last: {rules.last}" if rules.last else "nothing has asked or run yet")
    if given:
        ctx.screen.note("/permissions remove N takes one back · the others: swecli config edit")


def _limit(count: int) -> str:
    return f"Rules 1 to {count} can be removed here." if count else "Rules of the settings: swecli config edit"
