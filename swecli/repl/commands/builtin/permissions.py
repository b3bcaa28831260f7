"""`/permissions`: which rules are in force, where each comes from, and why the last call asked or ran."""

from __future__ import annotations

from swecli.models.errors import UsageError
from swecli.repl.commands.base import CommandContext, command


@command(usage="[remove N]", complete=lambda runtime: [("remove", "N: remove a rule that you allowed")])
async def permissions(ctx: CommandContext, args: str) -> None:
    """Show the permission rules, and why the last call was asked or allowed"""
    rules = ctx.runtime.agent.permissions
    given = [*rules.project, *(rule for rule in rules.session if rule not in rules.project)]
    if not args:
        _show(ctx)
        return
    word, _, number = args.partition(" ")
    if word.lower() != "remove" or not number.strip().isdecimal():
        raise UsageError(f"Unknown option {args!r}.", "Use /permissions or /permissions remove N")
    index = int(number) if len(number) < 10 else 0
    if not 1 <= index <= len(given):
        raise UsageError(f"Rule {number.strip()} cannot be removed here.", _limit(len(given)))
    rules.forget(given[index - 1])
    ctx.screen.note(f"removed: you will be asked again for {given[index - 1].text}")


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
        ctx.screen.warn(f"{name}: {text!r} is not a valid permission rule and is NOT enforced")
    ctx.screen.note(
        f"mode {rules.mode} · calls that only read in this folder run without asking · deny beats ask, ask beats allow"
    )
    ctx.screen.note(f"last decision: {rules.last}" if rules.last else "no calls yet")
    if given:
        ctx.screen.note("/permissions remove N removes one · the others: swecli config edit")


def _limit(count: int) -> str:
    return f"Removable: 1 to {count}." if count else "Rules in the settings: swecli config edit"
