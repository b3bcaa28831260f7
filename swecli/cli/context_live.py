"""What a stored session's next request holds and what left it, seen and changed from the shell."""

from __future__ import annotations

import argparse
import asyncio
import os
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from swecli.cli.startup import Ground, make_folders
from swecli.cli.subcommands import common, ground_of, location_to_read, naming, say, table, tell
from swecli.config.start import Start
from swecli.llm.default_model import choose_model
from swecli.models.errors import BadInput
from swecli.models.events import to_json
from swecli.models.ids import turn_number
from swecli.models.message import AskRequest, Choice, Decision
from swecli.models.window import WindowSpec

if TYPE_CHECKING:
    from swecli.app import Runtime


def add_actions(actions: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """The actions that look at what is sent now, or change it."""
    show = actions.add_parser("show", help="the parts of the next request with their tokens")
    plan = actions.add_parser("plan", help="what the next reduction takes out")
    why = actions.add_parser("why", help="why a text is not sent any more")
    log = actions.add_parser("log", help="all reductions, newest first")
    undo = actions.add_parser("undo", help="take the newest reduction back")
    pin, unpin = (actions.add_parser(name, help=told) for name, told in PINS)
    why.add_argument("text", nargs="+")
    window = actions.add_parser("window", help="show or change how many interactions are sent")
    window.add_argument("spec", nargs="?", default="", metavar="N|N+S|full|auto")
    window.add_argument("--preview", action="store_true", help="only say what would leave, in tokens")
    prompt = actions.add_parser("prompt", help="exactly what the next request would be")
    compact = actions.add_parser("compact", help="have the conversation summed up now")
    for action, what in ((prompt, "the query"), (compact, "what to dwell on")):
        action.add_argument("text", nargs="*", metavar="TEXT", help=what)
    for action in (pin, unpin):
        action.add_argument("turn", nargs="?", default="", metavar="TURN", help="for example T7 (default the newest)")
    for action in (show, plan, why, log, undo, pin, unpin, window, prompt, compact):
        common(action)
        action.add_argument("--session", metavar="ID", help="another session than this directory's last")
        action.add_argument("--model", metavar="PROVIDER/NAME", help="measure for this model's window")


PINS = (("pin", "keep a turn in every request"), ("unpin", "let a pinned turn leave like any other"))


def run(args: argparse.Namespace) -> int:
    """Do it. Raises BadInput for a session that is not there or has nothing to show."""
    ground = ground_of(args)
    location, missing = location_to_read(ground)
    with naming(missing), closing(_runtime(args, ground, str(location))) as runtime:
        return ACTIONS[args.action](runtime, args)


def _runtime(args: argparse.Namespace, ground: Ground, location: str) -> Runtime:
    """The program as a face would have it, on that session."""
    # late: --help and a wrong argument need none of it
    from swecli.app import build_runtime  # noqa: PLC0415

    make_folders(ground.paths)
    settings = replace(ground.settings, db=location)
    choice = Choice(args.model, "named here") if args.model else choose_model(settings, os.environ)
    start = Start(
        settings=settings,
        paths=ground.paths,
        cwd=ground.cwd,
        environ=dict(os.environ),
        choice=Choice(choice.name, choice.why),
        resume=args.session or "",
    )
    return build_runtime(start, _nobody, to_read=True)


async def _nobody(request: AskRequest) -> Decision:
    return Decision(False, reason="nothing is run from here")


def _show(runtime: Runtime, args: argparse.Namespace) -> int:
    found = runtime.context_control.meter()
    if args.json:
        return tell(args, found.to_json(), "")
    table([(f"{tokens:,}", name) for name, tokens in found.parts], ("TOKENS", "PART"))
    about = "about " if found.estimated else ""
    limit = f" of {found.limit:,} allowed" if found.limit is not None else ", the model's window is unknown"
    say(f"{about}{found.total:,} tokens{limit}; {found.cached:,} were sent before")
    return 0


def _plan(runtime: Runtime, args: argparse.Namespace) -> int:
    plan = runtime.context_control.plan()
    takes = f"; takes out {', '.join(plan.removes)}" if plan.removes else ""
    return tell(args, plan.to_json(), f"next: {plan.how} {plan.when}{takes}")


def _why(runtime: Runtime, args: argparse.Namespace) -> int:
    found = runtime.context_control.why(" ".join(args.text))
    if args.json:
        return tell(args, [one.to_json() for one in found], "")
    for one in found:
        by = f"left with {one.by.id} ({one.by.how}); {one.back} brings it back" if one.by else "was never sent so"
        say(f"T{one.place.interaction} {one.place.where}: {'is sent' if one.sent else by}: {one.place.excerpt}")
    return 0 if found else tell(args, [], "Nobody said that in this session.")


def _log(runtime: Runtime, args: argparse.Namespace) -> int:
    rows = runtime.sessions.context.log(runtime.context_control.session)
    shown = ("id", "how", "interaction", "step", "before", "after", "detail", "undone")
    if args.json:
        return tell(args, [{name: getattr(row, name) for name in shown} for row in rows], "")
    lines = [
        (
            row.id,
            f"T{row.interaction}.{row.step}",
            f"{row.before} → {row.after}",
            row.how + ("*" * row.undone),
            row.detail,
        )
        for row in rows
    ]
    table(lines, ("ID", "TURN", "TOKENS", "HOW (* undone)", "WHY"))
    return 0


def _undo(runtime: Runtime, args: argparse.Namespace) -> int:
    taken = runtime.context_control.undo()
    return tell(args, {"undone": taken.id, "how": taken.how}, f"{taken.id} ({taken.how}) is taken back.")


def _pin(runtime: Runtime, args: argparse.Namespace) -> int:
    tokens = runtime.context_control.pin(turn_number(args.turn) if args.turn else None)
    pins = list(runtime.context_control.session.context.pins)
    return tell(args, {"pinned": pins, "tokens": tokens}, f"Pinned: {', '.join(f'T{n}' for n in pins)}.")


def _unpin(runtime: Runtime, args: argparse.Namespace) -> int:
    number = runtime.context_control.unpin(turn_number(args.turn) if args.turn else None)
    return tell(args, {"unpinned": number}, f"T{number} leaves with the next reduction that passes it.")


def _window(runtime: Runtime, args: argparse.Namespace) -> int:
    agent, session = runtime.agent, runtime.sessions.current_session
    spec = _spec(args.spec) if args.spec else None
    if spec is not None and not args.preview:
        runtime.set_window(spec)
    if spec is not None and session is not None:
        runtime.sessions.load_back_to(spec.first_kept(session.interactions, session.window_start))
    now, then = agent.prepare("").request, agent.prepare("", window=spec).request
    found = {
        "window": str(spec or (session.window if session else runtime.settings.window)),
        "first": then.window[0],
        "last": then.window[1],
        "tokens": then.tokens,
        "tokens_now": now.tokens,
    }
    held = f"interactions {then.window[0]} to {then.window[1]}" if then.kept else "no earlier interaction"
    before = f" instead of {now.tokens:,}" if args.preview else ""
    would = "would hold" if args.preview else "holds"
    return tell(
        args, found, f"window {found['window']}: the next request {would} {held}, {then.tokens:,} tokens{before}"
    )


def _spec(text: str) -> WindowSpec:
    try:
        return WindowSpec.parse(text)
    except ValueError as error:
        raise BadInput(f"{str(error)[0].upper()}{str(error)[1:]}.") from error


def _prompt(runtime: Runtime, args: argparse.Namespace) -> int:
    prepared = runtime.agent.prepare(" ".join(args.text) or "…").request
    if args.json:
        return tell(args, {"model": runtime.agent.model.name, "messages": prepared.messages}, "")
    for segment in prepared.segments:
        say(f"--- {segment.name} · {segment.tokens:,} tokens")
        say(segment.text.strip())
    return 0


def _compact(runtime: Runtime, args: argparse.Namespace) -> int:
    async def compacted() -> list[Any]:
        return [event async for event in runtime.context_control.compact(" ".join(args.text))]

    for event in asyncio.run(compacted()):
        if event.type == "context_reduced":
            return tell(args, to_json(event), f"{event.before:,} → {event.after:,} tokens: {event.detail}")
        raise BadInput(f"{event.text[0].upper()}{event.text[1:]}.")
    return 0


ACTIONS: dict[str, Callable[[Any, argparse.Namespace], int]] = {
    "show": _show,
    "plan": _plan,
    "why": _why,
    "log": _log,
    "undo": _undo,
    "pin": _pin,
    "unpin": _unpin,
    "window": _window,
    "prompt": _prompt,
    "compact": _compact,
}
