"""`/permissions`, `/mode`, `/plan`, `/yolo`, `/trust`: what runs without approval, and trust in the project."""

from __future__ import annotations

from swecli.config.paths import project_root
from swecli.models.errors import BadInput, StoreError, UsageError
from swecli.models.message import MODES, Mode
from swecli.repl.commands.base import CommandContext, command
from swecli.repl.startup_banner import short_path

_ARGUMENTS = (
    ("allow", "RULE: run it without asking in this session, e.g. allow run(git commit *)"),
    ("remove", "N: remove a rule that you allowed"),
)


@command(usage="[allow RULE | remove N]", complete=lambda runtime: _ARGUMENTS)
async def permissions(ctx: CommandContext, args: str) -> None:
    """Show the permission rules, and why the last call was asked or allowed"""
    rules = ctx.runtime.agent.permissions
    listed = [*rules.project, *(rule for rule in rules.session if rule not in rules.project)]
    if not args:
        _show_rules(ctx)
        return
    word, _, number = args.partition(" ")
    if word.lower() == "allow":
        rule = rules.allow_for_session(number)
        if rule.text in rules.unusable_rules(ctx.runtime.agent.tools):
            rules.remove(rule)
            raise BadInput(
                f"{rule.kind!r} is neither a tool nor a kind of permission.", "Kinds: run, edit, read, fetch"
            )
        meaning = rule.kind if rule.pattern is None else f"{rule.kind}({rule.pattern})"
        ctx.screen.note(f"allowed in this session: {meaning} · always: swecli config set allow RULE ...")
        return
    if word.lower() != "remove" or not number.strip().isdecimal():
        raise UsageError(f"Unknown option {args!r}.", "Use /permissions [allow RULE | remove N]")
    index = int(number) if len(number) < 10 else 0
    if not 1 <= index <= len(listed):
        limit = f"Removable: 1 to {len(listed)}." if listed else "Rules in the settings: swecli config edit"
        raise UsageError(f"Rule {number.strip()} cannot be removed with /permissions.", limit)
    rules.remove(listed[index - 1])
    ctx.screen.note(f"removed: you will be asked again for {listed[index - 1].text}")


def _show_rules(ctx: CommandContext) -> None:
    runtime, rules = ctx.runtime, ctx.runtime.agent.permissions
    file = str(rules.saved.file) if rules.saved else ""
    listed = [("allow", rule.text, file) for rule in rules.project]
    listed += [("allow", rule.text, "this session") for rule in rules.session if rule not in rules.project]
    rows = [(str(number), *row) for number, row in enumerate(listed, 1)]
    origins = runtime.settings.origins
    rows += [
        ("", name, rule.text, origins.get(f"{name}: {rule.text}", "settings"))
        for name in ("deny", "ask", "allow")
        for rule in getattr(rules, name)
    ]
    if rows:
        ctx.screen.table(("#", "list", "rule", "from"), rows)
    for name, text, hint in rules.invalid:
        ctx.screen.warn(f"{name}: {text!r} is not a valid permission rule and is NOT enforced. {hint}")
    ctx.screen.note(
        f"mode {rules.mode} · calls that only read in this folder run without asking · deny beats ask, ask beats allow"
    )
    ctx.screen.note(f"last decision: {rules.last}" if rules.last else "no calls yet")
    if listed:
        ctx.screen.note("/permissions remove N removes one · the others: swecli config edit")


_MODE_HELP: dict[Mode, str] = {
    "ask": "ask before edits and before commands that do more than read",
    "edits": "edit files in this folder without asking; ask before commands that do more than read",
    "plan": "read only: edits and commands that do more than read are refused",
    "auto": "never ask; only deny rules are enforced",
}


@command(usage="[ask|edits|plan|auto]", complete=lambda runtime: list(_MODE_HELP.items()), concurrent="*")
async def mode(ctx: CommandContext, args: str) -> None:
    """Show or change what runs without asking"""
    if args:
        _set_mode(ctx, args.lower())
        return
    present = ctx.runtime.agent.permissions.mode
    ctx.screen.table(("", "mode", "what it does"), [("●" if m == present else "", m, _MODE_HELP[m]) for m in MODES])


@command(concurrent="*")
async def plan(ctx: CommandContext, args: str) -> None:
    """Switch to plan mode (read only)"""
    _set_mode(ctx, "plan")


@command(concurrent="*")
async def yolo(ctx: CommandContext, args: str) -> None:
    """Switch to auto mode (never asks)"""
    _set_mode(ctx, "auto")


def _set_mode(ctx: CommandContext, wanted: str) -> None:
    found = next((m for m in MODES if m == wanted), None)
    if found is None:
        raise BadInput(f"Unknown mode {wanted!r}.", f"Choose one of: {', '.join(MODES)}")
    ctx.runtime.set_mode(found)
    ctx.screen.note(f"mode {found} · {_MODE_HELP[found]}")


@command()
async def trust(ctx: CommandContext, args: str) -> None:
    """Trust this folder: use its AGENTS.md and settings"""
    runtime = ctx.runtime
    root = project_root(runtime.cwd)
    if runtime.trusted:
        ctx.screen.note(f"{short_path(root)} is already trusted")
        return
    known = len(runtime.notices)
    try:
        runtime.trust_folder()
    except OSError as error:
        raise StoreError(f"Cannot write the list of trusted folders: {error.strerror}.") from error
    ctx.screen.note(f"{short_path(root)} is now trusted: its instructions apply from the next request")
    for notice in runtime.notices[known:]:
        ctx.screen.warn(notice)
