"""`/permissions`: the permission rules, and why the last call was asked or allowed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from swecli.models.errors import BadInput, UsageError
from swecli.repl.commands.base import CommandContext, command

if TYPE_CHECKING:
    from swecli.app import Runtime
    from swecli.tools.permission_rules import PermissionRule
    from swecli.tools.permissions import Permissions

_RULE_ACTIONS = (
    ("allow", "RULE: run it without asking in this session, e.g. allow run(git commit *)"),
    ("remove", "N: remove a rule that you allowed"),
)


_MAX_DIGITS = 10  # Python refuses to convert thousands; no list has that many rules


@command(usage="[allow RULE | remove N]", complete=lambda runtime: _RULE_ACTIONS)
async def _permissions(ctx: CommandContext, args: str) -> None:
    """Show the permission rules, and why the last call was asked or allowed"""
    word, _, rest = args.partition(" ")
    if not args:
        _show_rules(ctx)
    elif word.lower() == "allow":
        _allow(ctx, rest)
    elif word.lower() == "remove" and rest.strip().isdecimal():
        _remove(ctx, rest.strip())
    else:
        raise UsageError(f"Unknown option {args!r}.", "Use /permissions [allow RULE | remove N]")


def _allow(ctx: CommandContext, text: str) -> None:
    """Allow a rule in this session. Raises BadInput if it concerns no tool and no kind of permission."""
    rules = ctx.runtime.agent.permissions
    rule = rules.allow_for_session(text)
    if rule.text in rules.unusable_rules(ctx.runtime.agent.tools):
        rules.remove(rule)
        raise BadInput(
            f"{rule.kind!r} is neither a tool nor a kind of permission.",
            "Kinds: run, edit, read, fetch",
        )
    meaning = rule.kind if rule.pattern is None else f"{rule.kind}({rule.pattern})"
    ctx.screen.note(
        f"allowed in this session: {meaning} · always: swecli config set allow RULE ..."
    )


def _remove(ctx: CommandContext, number: str) -> None:
    """Remove the rule that `_show_rules` shows with this number. Raises UsageError if there is none."""
    rules = ctx.runtime.agent.permissions
    removable = _removable_rules(rules)
    index = int(number) if len(number) < _MAX_DIGITS else 0
    if not 1 <= index <= len(removable):
        limit = (
            f"Removable: 1 to {len(removable)}."
            if removable
            else "Rules in the settings: swecli config edit"
        )
        raise UsageError(f"Rule {number} cannot be removed with /permissions.", limit)
    rule = removable[index - 1]
    rules.remove(rule)
    ctx.screen.note(f"removed: you will be asked again for {rule.text}")


def _removable_rules(rules: Permissions) -> list[PermissionRule]:
    """Return the rules that the user allowed: those of the project, then those of the session alone."""
    return [*rules.project, *_session_rules(rules)]


def _session_rules(rules: Permissions) -> list[PermissionRule]:
    return [rule for rule in rules.session if rule not in rules.project]


def _show_rules(ctx: CommandContext) -> None:
    rules = ctx.runtime.agent.permissions
    allowed = _allowed_rows(rules)
    rows = [*allowed, *_settings_rows(ctx.runtime)]
    if rows:
        ctx.screen.table(("#", "list", "rule", "from"), rows)
    for name, text, hint in rules.invalid:
        ctx.screen.warn(
            f"{name}: {text!r} is not a valid permission rule and is NOT enforced. {hint}"
        )
    ctx.screen.note(
        f"mode {rules.mode} · calls that only read in this folder run without asking · deny beats ask, ask beats allow"
    )
    ctx.screen.note(f"last decision: {rules.last}" if rules.last else "no calls yet")
    if allowed:
        ctx.screen.note("/permissions remove N removes one · the others: swecli config edit")


_Row = tuple[str, str, str, str]  # number, list, rule, where it is from


def _allowed_rows(rules: Permissions) -> list[_Row]:
    """Return the rows of the rules that the user allowed, which have numbers."""
    file = str(rules.saved.file) if rules.saved else ""
    listed = [(rule.text, file) for rule in rules.project]
    listed += [(rule.text, "this session") for rule in _session_rules(rules)]
    return [(str(number), "allow", text, source) for number, (text, source) in enumerate(listed, 1)]


def _settings_rows(runtime: Runtime) -> list[_Row]:
    """Return the rows of the rules in the settings."""
    origins = runtime.settings.origins
    rows: list[_Row] = []
    for name in ("deny", "ask", "allow"):
        for rule in getattr(runtime.agent.permissions, name):
            source = origins.get(f"{name}: {rule.text}", "settings")
            rows.append(("", name, rule.text, source))
    return rows
