"""`/config`, `/model`, `/effort`, `/theme`, `/doctor`: settings, model, colours and a check of the installation."""

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


@command(usage="[NAME [VALUE]]", complete=lambda runtime: [(s.name, s.doc) for s in SETTINGS.values()], concurrent="*")
async def config(ctx: CommandContext, args: str) -> None:
    """Show the settings and where each comes from, or set one from the next start on"""
    # late: not needed to declare a command
    from swecli.repl.actions.settings import change_setting, show_settings  # noqa: PLC0415

    runtime = ctx.runtime
    try:
        name, *words = shlex.split(args) or [""]
    except ValueError as error:
        raise UsageError(f"The value cannot be read: {error}.", "For example: /config allow 'run(pytest *)'") from error
    if not words:
        ctx.report(show_settings(runtime.settings, name, origin=True))
        ctx.screen.note("/config NAME VALUE sets one in your file · swecli config edit opens it")
        return
    ctx.report(change_setting(runtime.start.config or runtime.start.paths.config_file, name, words))
    layer = runtime.settings.origins.get(name, "")
    stronger = f"; {layer} wins where it is set" if layer in ("environment", "flags") else ""
    ctx.screen.note(f"from the next start on{stronger}")


@command(concurrent="*")
async def doctor(ctx: CommandContext, args: str) -> None:
    """Check this installation: settings, folders, database, model, programs"""
    # late: not needed to declare a command
    from swecli.repl.actions.doctor import diagnose  # noqa: PLC0415

    start = ctx.runtime.start
    found = await asyncio.shield(run_in_thread(lambda: diagnose(start, start.environ), "swecli-doctor"))
    for row in found.value:
        (ctx.screen.line if row["ok"] else ctx.screen.warn)(f"{row['what']}: {row['detail']}")


_THEMES = {
    "auto": "dark or light, as the terminal's background is",
    "dark": "for a dark background",
    "light": "for a light background",
    "none": "no colours, only bold and dim",
}


@command(usage="[auto|dark|light|none]", complete=lambda runtime: list(_THEMES.items()), concurrent="*")
async def theme(ctx: CommandContext, args: str) -> None:
    """Show or change the colours on the screen"""
    present, wanted = ctx.program.theme, args.lower()
    if wanted and wanted not in _THEMES:
        raise UsageError(f"Unknown theme {args!r}.", f"Choose one of: {', '.join(_THEMES)}")
    present.name = wanted or present.name
    found = f" ({present.resolved})" if present.name == "auto" else ""
    ctx.screen.note(f"theme {present.name}{found}: {_THEMES[present.name]}")
    if not ctx.screen.color:
        ctx.screen.note("no colours are shown: NO_COLOR is set, color is off, or the terminal shows none")
    elif wanted:
        ctx.screen.note(f"to keep it: /config theme {wanted}")


def _complete_models(runtime: Runtime) -> Values:
    # late: not needed before the first prompt
    from swecli.llm.endpoints import KEYED  # noqa: PLC0415

    named = {runtime.agent.model.name: "in use", runtime.settings.model: "of the settings", "demo": "an offline tour"}
    named |= {entry.name: "your own" for entry in runtime.settings.models if entry.name not in named}
    keyed = [(one.default_model, f"{one.name}'s default") for one in KEYED if one.default_model]
    named |= {model: what for model, what in keyed if model not in named}
    return [(model, what) for model, what in named.items() if model]


@command(aliases=("models",), usage="[PROVIDER/NAME] · fast PROVIDER/NAME", complete=_complete_models)
async def model(ctx: CommandContext, args: str) -> None:
    """Show or change the model, from the next turn on; fast: the one that reflects, condenses and verifies"""
    runtime, words = ctx.runtime, args.split()
    if words[:1] == ["fast"] and len(words) == 2:
        await asyncio.shield(run_in_thread(lambda: runtime.switch_fast_model(words[1]), "swecli-model"))
    elif args:
        # in a thread: the look-up reads large tables, and must not block the screen
        await asyncio.shield(run_in_thread(lambda: runtime.switch_model(args), "swecli-model"))
    used = runtime.agent.model
    window = f"{format_tokens(used.profile.window)} tokens" if used.profile.window else "of unknown size"
    ctx.screen.line(f"{used.name} ({runtime.choice.why}) · context {window}")
    if line := runtime.agent.window_warning():
        ctx.screen.note(line)
    if fast := runtime.settings.reflect_model:
        ctx.screen.line(f"fast: {fast}")
    if used.profile.offline:
        ctx.screen.note(
            "shows how swecli works, offline; set a key such as OPENAI_API_KEY or use /model ollama/NAME for a real one"
        )
    if not args:
        ctx.screen.note("to change it: /model PROVIDER/NAME")


@command(usage="[off|low|medium|high|max|TOKENS]", complete=lambda runtime: [(word, "") for word in THINKING])
async def effort(ctx: CommandContext, args: str) -> None:
    """Show or change how much the model thinks, from the next turn on"""
    agent = ctx.runtime.agent
    if args:
        try:
            agent.thinking = parse_thinking(args)
        except ValueError as error:
            raise BadInput(f"{error}.") from error
    endpoint = getattr(agent.model, "endpoint", None)
    ctx.screen.line(f"thinking {agent.thinking or getattr(endpoint, 'thinking', '') or 'model default'}")
    if agent.model.profile.thinking == "none":
        ctx.screen.note(
            f"{agent.model.name} is not known to support thinking; the setting is dropped if the service rejects it"
        )
