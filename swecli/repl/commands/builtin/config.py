"""Commands on settings, model, colours and the installation, and on permission rules."""

from __future__ import annotations

import asyncio
import shlex
from typing import TYPE_CHECKING

from swecli.config.model_entry import THINKING, parse_thinking
from swecli.config.settings import SETTINGS
from swecli.models.errors import BadInput, UsageError
from swecli.repl.background import run_in_thread
from swecli.repl.commands.base import CommandContext, Values, command
from swecli.repl.render.formatting import format_tokens

if TYPE_CHECKING:
    from swecli.app import Runtime


@command(
    usage="[NAME [VALUE]]",
    complete=lambda runtime: [(s.name, s.doc) for s in SETTINGS.values()],
    concurrent="*",
)
async def _config(ctx: CommandContext, args: str) -> None:
    """Show the settings and where each comes from, or set one from the next start on"""
    # late: not needed to declare a command
    from swecli.actions.settings import change_setting, show_settings

    runtime = ctx.runtime
    try:
        name, *words = shlex.split(args) or [""]
    except ValueError as error:
        raise UsageError(
            f"The value cannot be read: {error}.", "For example: /config allow 'run(pytest *)'"
        ) from error
    if not words:
        ctx.report(show_settings(runtime.settings, name, origin=True))
        ctx.screen.note("/config NAME VALUE sets one in your file · swecli config edit opens it")
        return
    ctx.report(change_setting(runtime.start.config or runtime.start.paths.config_file, name, words))
    layer = runtime.settings.origins.get(name, "")
    stronger = f"; {layer} wins where it is set" if layer in ("environment", "flags") else ""
    ctx.screen.note(f"from the next start on{stronger}")


@command(concurrent="*")
async def _doctor(ctx: CommandContext, args: str) -> None:
    """Check this installation: settings, folders, database, model, programs"""
    # late: not needed to declare a command
    from swecli.actions.doctor import diagnose

    start = ctx.runtime.start
    found = await asyncio.shield(run_in_thread(lambda: diagnose(start), "swecli-doctor"))
    for row in found.value:
        (ctx.screen.line if row["ok"] else ctx.screen.warn)(f"{row['what']}: {row['detail']}")


_THEMES = {
    "auto": "dark or light, like the terminal's background",
    "dark": "for a dark background",
    "light": "for a light background",
    "none": "no colours, only bold and dim",
}


@command(
    usage="[auto|dark|light|none]", complete=lambda runtime: list(_THEMES.items()), concurrent="*"
)
async def _theme(ctx: CommandContext, args: str) -> None:
    """Show or change the colours on the screen"""
    present, wanted = ctx.asker.theme, args.lower()
    if wanted and wanted not in _THEMES:
        raise UsageError(f"Unknown theme {args!r}.", f"Choose one of: {', '.join(_THEMES)}")
    present.name = wanted or present.name
    found = f" ({present.resolved})" if present.name == "auto" else ""
    ctx.screen.note(f"theme {present.name}{found}: {_THEMES[present.name]}")
    if not ctx.screen.color:
        ctx.screen.note(
            "no colours are shown: NO_COLOR is set, color is off, or the terminal shows none"
        )
    elif wanted:
        ctx.screen.note(f"to save it: /config theme {wanted}")


def _complete_models(runtime: Runtime) -> Values:
    # late: not needed before the first prompt
    from swecli.llm.endpoints import KEYED

    named = {
        runtime.agent.model.name: "in use",
        runtime.settings.model: "of the settings",
        "demo": "an offline tour",
    }
    named |= {
        entry.name: "your own" for entry in runtime.settings.models if entry.name not in named
    }
    keyed = [(one.default_model, f"{one.name}'s default") for one in KEYED if one.default_model]
    named |= {model: what for model, what in keyed if model not in named}
    return [(model, what) for model, what in named.items() if model]


@command(
    aliases=("models",), usage="[PROVIDER/NAME] · fast PROVIDER/NAME", complete=_complete_models
)
async def _model(ctx: CommandContext, args: str) -> None:
    """Show or change the model, from the next turn on; fast: the one that reflects, condenses and verifies"""
    runtime, words = ctx.runtime, args.split()
    if args:
        is_fast = words[0] == "fast" and len(words) == 2
        switch, name = (
            (runtime.switch_fast_model, words[1]) if is_fast else (runtime.switch_model, args)
        )
        # in a thread: the look-up reads large tables, and must not block the screen
        await asyncio.shield(run_in_thread(lambda: switch(name), "swecli-model"))
    used = runtime.agent.model
    window = (
        f"{format_tokens(used.profile.window)} tokens" if used.profile.window else "of unknown size"
    )
    ctx.screen.line(f"{used.name} ({runtime.choice.why}) · context {window}")
    for line in runtime.agent.model_warnings():
        ctx.screen.note(line)
    if fast := runtime.settings.reflect_model:
        ctx.screen.line(f"fast: {fast}")
    if not args:
        ctx.screen.note("to change it: /model PROVIDER/NAME")


@command(
    usage="[off|low|medium|high|max|TOKENS]",
    complete=lambda runtime: [(word, "") for word in THINKING],
)
async def _effort(ctx: CommandContext, args: str) -> None:
    """Show or change how much the model thinks, from the next turn on"""
    agent = ctx.runtime.agent
    if args:
        try:
            agent.thinking = parse_thinking(args)
        except ValueError as error:
            raise BadInput(f"{error}.") from error
    endpoint = getattr(agent.model, "endpoint", None)
    ctx.screen.line(
        f"thinking {agent.thinking or getattr(endpoint, 'thinking', '') or 'model default'}"
    )
    if agent.model.profile.thinking == "none":
        ctx.screen.note(
            f"{agent.model.name} is not known to support thinking; the setting is dropped if the service rejects it"
        )


_RULE_ACTIONS = (
    ("allow", "RULE: run it without asking in this session, e.g. allow run(git commit *)"),
    ("remove", "N: remove a rule that you allowed"),
)


@command(usage="[allow RULE | remove N]", complete=lambda runtime: _RULE_ACTIONS)
async def _permissions(ctx: CommandContext, args: str) -> None:
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
                f"{rule.kind!r} is neither a tool nor a kind of permission.",
                "Kinds: run, edit, read, fetch",
            )
        meaning = rule.kind if rule.pattern is None else f"{rule.kind}({rule.pattern})"
        ctx.screen.note(
            f"allowed in this session: {meaning} · always: swecli config set allow RULE ..."
        )
        return
    if word.lower() != "remove" or not number.strip().isdecimal():
        raise UsageError(f"Unknown option {args!r}.", "Use /permissions [allow RULE | remove N]")
    index = int(number) if len(number) < 10 else 0
    if not 1 <= index <= len(listed):
        limit = (
            f"Removable: 1 to {len(listed)}."
            if listed
            else "Rules in the settings: swecli config edit"
        )
        raise UsageError(f"Rule {number.strip()} cannot be removed with /permissions.", limit)
    rules.remove(listed[index - 1])
    ctx.screen.note(f"removed: you will be asked again for {listed[index - 1].text}")


def _show_rules(ctx: CommandContext) -> None:
    runtime, rules = ctx.runtime, ctx.runtime.agent.permissions
    file = str(rules.saved.file) if rules.saved else ""
    listed = [("allow", rule.text, file) for rule in rules.project]
    listed += [
        ("allow", rule.text, "this session") for rule in rules.session if rule not in rules.project
    ]
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
        ctx.screen.warn(
            f"{name}: {text!r} is not a valid permission rule and is NOT enforced. {hint}"
        )
    ctx.screen.note(
        f"mode {rules.mode} · calls that only read in this folder run without asking · deny beats ask, ask beats allow"
    )
    ctx.screen.note(f"last decision: {rules.last}" if rules.last else "no calls yet")
    if listed:
        ctx.screen.note("/permissions remove N removes one · the others: swecli config edit")
