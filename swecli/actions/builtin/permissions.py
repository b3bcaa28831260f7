"""`/permissions` and `swecli permissions`: the permission rules, and why the last call was asked or allowed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from swecli.models.action import Action, ActionResult, Family, Invocation, Need, Words
from swecli.models.errors import BadInput, UsageError

if TYPE_CHECKING:  # the prompt completes the names of commands before these are loaded
    from swecli.app import Runtime
    from swecli.tools.permission_rules import PermissionRule
    from swecli.tools.permissions import Permissions

_MAX_DIGITS = 10  # Python refuses to convert thousands; no list has that many rules


@Action(Need.CONTEXT)
def show(runtime: Runtime, invocation: Invocation) -> ActionResult:
    """The rules, and why the last call was asked or allowed"""
    rules = runtime.agent.permissions
    for name, text, hint in rules.invalid:
        invocation.face.warn(
            f"{name}: {text!r} is not a valid permission rule and is NOT enforced. {hint}"
        )
    removable = _allowed_rows(rules)
    rows = (*removable, *_settings_rows(runtime))
    notes = [
        f"mode {rules.mode} · calls that only read in this folder run without asking · "
        "deny beats ask, ask beats allow",
    ]
    for folder in rules.folders.read():
        notes.append(f"added folder {folder}{'' if folder.is_there else ', which is gone'}")
    if invocation.face.can_ask:  # a command line made no calls
        notes.append(f"last decision: {rules.last}" if rules.last else "no calls yet")
    if removable:
        notes.append(
            f"{invocation.prefix}permissions remove N removes one · the others: swecli config edit"
        )
    head = ("#", "list", "rule", "from")
    value = [dict(zip(head, row, strict=True)) for row in rows]
    return ActionResult(value, head=head, rows=rows, note="\n".join(notes))


@Action(Need.CONTEXT, Words("RULE", count="+", is_text=True))
def allow(runtime: Runtime, invocation: Invocation) -> ActionResult:
    """Run what it covers without asking in this session, e.g. run(git commit *)"""
    rules = runtime.agent.permissions
    rule = rules.allow_for_session(invocation.text)
    if rule.text in rules.unusable_rules(runtime.agent.tools):
        rules.remove(rule)
        raise BadInput(
            f"{rule.kind!r} is neither a tool nor a kind of permission.",
            "Kinds: run, edit, read, fetch, mcp",
        )
    meaning = rule.kind if rule.pattern is None else f"{rule.kind}({rule.pattern})"
    line = f"allowed in this session: {meaning} · always: swecli config set allow RULE ..."
    return ActionResult({"allowed": rule.text}, (line,))


@Action(Need.CONTEXT, Words("N", "its number in the list", "?"))
def remove(runtime: Runtime, invocation: Invocation) -> ActionResult:
    """Remove a rule that you allowed"""
    rules = runtime.agent.permissions
    removable = [*rules.project, *_session_rules(rules)]
    number = invocation.text
    index = int(number) if number.isdecimal() and len(number) < _MAX_DIGITS else 0
    if not 1 <= index <= len(removable):
        hint = "Rules in the settings: swecli config edit"
        if removable:
            hint = f"Removable: 1 to {len(removable)}."
        raise UsageError(f"Rule {number!r:.40} cannot be removed here.", hint)
    rule = removable[index - 1]
    rules.remove(rule)
    line = f"removed: you will be asked again for {rule.text}"
    return ActionResult({"removed": rule.text}, (line,))


permissions = Family(
    "permissions",
    "Show the permission rules, and why the last call was asked or allowed",
    (show, allow, remove),
    default="show",
    default_in_shell="show",
)


def _session_rules(rules: Permissions) -> list[PermissionRule]:
    return [rule for rule in rules.session if rule not in rules.project]


_Row = tuple[str, str, str, str]  # number, list, rule, where it is from


def _allowed_rows(rules: Permissions) -> list[_Row]:
    """Return the rows of the rules that the user allowed, which have numbers."""
    file = str(rules.saved.file) if rules.saved else ""
    sources = [(rule.text, file) for rule in rules.project]
    sources += [(rule.text, "this session") for rule in _session_rules(rules)]
    return [
        (str(number), "allow", text, source) for number, (text, source) in enumerate(sources, 1)
    ]


def _settings_rows(runtime: Runtime) -> list[_Row]:
    """Return the rows of the rules in the settings."""
    origins = runtime.settings.origins
    rows: list[_Row] = []
    for name in ("deny", "ask", "allow"):
        for rule in getattr(runtime.agent.permissions, name):
            source = origins.get(f"{name}: {rule.text}", "settings")
            rows.append(("", name, rule.text, source))
    return rows
