"""`/window`: how much of the conversation the next request holds verbatim."""

from __future__ import annotations

from typing import TYPE_CHECKING

from swecli.config.edit import set_in, write_settings
from swecli.models.errors import BadInput
from swecli.models.message import Usage
from swecli.models.window import WindowSpec
from swecli.repl.commands.base import CommandContext, command
from swecli.repl.render.formatting import money, tokens

if TYPE_CHECKING:
    from swecli.llm.price_table import Row

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
    agent, session = ctx.runtime.agent, ctx.runtime.sessions.current_session
    if session is None or not session.interactions:
        ctx.screen.note("there are no earlier turns yet")
        return
    found = ctx.runtime.context_control.preview(spec)
    changes = [f"{', '.join(found.leaves)} would be left out"] if found.leaves else []
    changes += [f"{', '.join(found.returns)} would come back"] if found.returns else []
    ctx.screen.line(f"window {session.window} → {spec}: {'; '.join(changes) or 'no change'}")
    price = _priced(agent.model.profile.price, found.before, found.after)
    ctx.screen.note(f"the next request: {tokens(found.before)} → {tokens(found.after)} tokens{price}")


def _priced(price: Row, before: int, after: int) -> str:
    """Both in money, where the price is known."""
    # late: reads the price table, which only this asks for
    from swecli.llm.price_table import cost_of  # noqa: PLC0415

    costs = [cost_of(Usage(input=count), price) for count in (before, after)]
    return f", {money(costs[0])} → {money(costs[1])} uncached" if None not in costs else ""


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
