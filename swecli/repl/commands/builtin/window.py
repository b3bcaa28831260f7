"""`/window`: how much of the conversation the next request holds verbatim."""

from __future__ import annotations

from swecli.config.edit import set_in, write_settings
from swecli.models.errors import BadInput
from swecli.models.finding import counted
from swecli.models.message import Usage
from swecli.models.window import WindowSpec
from swecli.repl.commands.base import CommandContext, command
from swecli.repl.render.formatting import money, tokens

_SIZES = (
    ("5", "the last 5 turns"),
    ("5+3", "5 turns, growing to 8 before it is cut back"),
    ("full", "everything"),
    ("auto", "as many as fit the query"),
)


@command(usage="[N|N+S|full|auto] [--save] · preview N", complete=lambda runtime: _SIZES, beside="*")
async def window(ctx: CommandContext, args: str) -> None:
    """Show or change how many past turns are sent"""
    words = args.split()
    if words[:1] == ["preview"]:
        _show_preview(ctx, _read_spec(" ".join(words[1:])))
        return
    save = "--save" in words
    if written := " ".join(word for word in words if word != "--save"):
        ctx.runtime.set_window(_read_spec(written))
    if save:
        _save_window(ctx, ctx.runtime.settings.window)
    _show_window(ctx)


def _read_spec(text: str) -> WindowSpec:
    """What the user wrote. Raises BadInput."""
    try:
        return WindowSpec.parse(text)
    except ValueError as error:
        what = str(error)
        raise BadInput(f"{what[0].upper()}{what[1:]}.") from error


def _save_window(ctx: CommandContext, spec: WindowSpec) -> None:
    """Keep it as the default for new sessions. Raises BadInput."""
    path = ctx.runtime.start.paths.config_file
    try:
        text = path.read_text(encoding="utf-8") if path.exists() else ""
        write_settings(path, set_in(text, "window", spec))
    except OSError as error:
        raise BadInput(f"Cannot write {path}: {error.strerror}.") from error
    ctx.screen.note(f"saved {spec} as the default for new sessions in {path}")


def _show_preview(ctx: CommandContext, spec: WindowSpec) -> None:
    """What would leave or come back, in tokens and money. Nothing changes."""
    sessions, agent = ctx.runtime.sessions, ctx.runtime.agent
    session = sessions.current_session
    if session is None or not session.interactions:
        ctx.screen.note("there are no earlier turns yet")
        return
    sessions.load_back_to(spec.first_kept(session.interactions, session.window_start))
    now, then = agent.prepare("").request, agent.prepare("", window=spec).request
    (first, _), (other, _) = now.window, then.window
    change = (
        f"{counted(abs(other - first), 'turn')} would {'be left out' if other > first else 'come back'}"
        if other != first
        else "no change"
    )
    ctx.screen.line(f"window {session.window} → {spec}: {change}")
    # late: reads the price table, which only this asks for
    from swecli.llm.price_table import cost_of_model  # noqa: PLC0415

    was, will = (cost_of_model(Usage(input=request.tokens), agent.model.name) for request in (now, then))
    price = "price unknown" if was is None or will is None else f"{money(was)} → {money(will)} uncached"
    ctx.screen.note(f"the next request: {tokens(now.tokens)} → {tokens(then.tokens)} tokens, {price}")


def _show_next(ctx: CommandContext) -> None:
    """What leaves the window next."""
    session = ctx.runtime.sessions.current_session
    if session is None or session.context.epoch is None:
        return
    plan = ctx.runtime.context_control.plan()
    takes = f", removes {', '.join(plan.removes)}" if plan.removes else ""
    ctx.screen.note(f"next {plan.how} {plan.when}{takes}")


def _show_window(ctx: CommandContext) -> None:
    """One line on the setting, one on what the next request will hold."""
    session = ctx.runtime.sessions.current_session
    spec = session.window if session else ctx.runtime.settings.window
    prepared = ctx.runtime.agent.prepare("").request
    first, last = prepared.window
    held = sum(s.tokens for s in prepared.segments if s.name.startswith("interaction "))
    ctx.screen.line(f"window {spec}")
    if last < first:
        ctx.screen.note("the next request contains no earlier turns")
        return
    _show_next(ctx)
    which = f"turn {last}" if first == last else f"turns {first} to {last}"
    left = f"; {first - 1} older ones are stored but not sent" if first > 1 else ""
    ctx.screen.note(f"the next request contains {which} ({tokens(held)} tokens){left}")
