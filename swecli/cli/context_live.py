"""What a stored session's next request holds and what left it, seen and changed from the shell."""

from __future__ import annotations

import argparse
import asyncio
import os
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from swecli.cli.output import print_line, print_table, report
from swecli.cli.startup import Configuration, make_folders
from swecli.cli.subcommands import Actions, configuration_of, existing_database
from swecli.config.start import Start
from swecli.llm.registry import make_measured
from swecli.models.errors import BadInput
from swecli.models.events import to_json
from swecli.models.ids import turn_number
from swecli.models.message import AskRequest, Choice, Decision
from swecli.models.window import WindowSpec

if TYPE_CHECKING:
    from swecli.app import Runtime


def add_live_actions(actions: Actions) -> None:
    """The actions that show what is sent now, or change it."""
    add = {name: actions.add(name, _run, about) for name, (_, about) in _ACTIONS.items()}
    add["why"].add_argument("text", nargs="+")
    add["window"].add_argument("spec", nargs="?", default="", metavar="N|N+S|full|auto")
    add["window"].add_argument("--preview", action="store_true", help="only show what would leave, in tokens")
    add["prompt"].add_argument("text", nargs="*", metavar="TEXT", help="the query")
    add["compact"].add_argument("text", nargs="*", metavar="TEXT", help="what to focus on")
    for name in ("pin", "unpin"):
        add[name].add_argument(
            "turn", nargs="?", default="", metavar="TURN", help="for example T7 (default: the newest)"
        )
    for action in add.values():
        action.add_argument("--session", metavar="ID", help="another session than this directory's last")
        action.add_argument("--model", metavar="PROVIDER/NAME", help="measure for this model's window")


def _run(args: argparse.Namespace) -> int:
    configured = configuration_of(args)
    perform, _ = _ACTIONS[args.action]
    with existing_database(configured) as location, closing(_open(args, configured, str(location))) as runtime:
        return perform(runtime, args)


def _open(args: argparse.Namespace, configured: Configuration, location: str) -> Runtime:
    """The program as a run would have it, on that session."""
    # late: --help and a wrong argument need none of it
    from swecli.app import build_runtime  # noqa: PLC0415

    make_folders(configured.paths)
    settings = replace(configured.settings, db=location)
    environ, name = dict(os.environ), args.model or ""
    choice = Choice(name, "named here")
    start = Start(settings, configured.paths, configured.cwd, environ, choice, resume=args.session or "")
    runtime = build_runtime(start, _nobody, make_measured(name, settings, environ), to_read=True)
    session = runtime.sessions.current_session
    if session is not None and not name:  # what is measured is measured for the model that the session is with
        runtime.agent.use_model(make_measured(session.model, settings, environ))
    return runtime


async def _nobody(request: AskRequest) -> Decision:
    return Decision(False, reason="nothing is run from here")


def _show(runtime: Runtime, args: argparse.Namespace) -> int:
    found = runtime.context_control.meter()
    if args.json:
        return report(args, found.to_json(), "")
    print_table([(f"{tokens:,}", name) for name, tokens in found.parts], ("TOKENS", "PART"))
    about = "about " if found.estimated else ""
    limit = f" of {found.limit:,} allowed" if found.limit is not None else ", the model's window is unknown"
    print_line(f"{about}{found.total:,} tokens{limit}; {found.cached:,} were sent before")
    return 0


def _plan(runtime: Runtime, args: argparse.Namespace) -> int:
    plan = runtime.context_control.plan()
    takes = f"; removes {', '.join(plan.removes)}" if plan.removes else ""
    return report(args, plan.to_json(), f"next: {plan.how} {plan.when}{takes}")


def _why(runtime: Runtime, args: argparse.Namespace) -> int:
    found = runtime.context_control.why(" ".join(args.text))
    if args.json:
        return report(args, [one.to_json() for one in found], "")
    for one in found:
        by = f"removed by {one.by.id} ({one.by.how}); {one.back} brings it back" if one.by else "never sent"
        print_line(f"T{one.place.interaction} {one.place.where}: {'is sent' if one.sent else by}: {one.place.excerpt}")
    return 0 if found else report(args, [], "Not found in this session.")


def _log(runtime: Runtime, args: argparse.Namespace) -> int:
    rows = runtime.sessions.context.log(runtime.context_control.session)
    shown = ("id", "how", "interaction", "step", "before", "after", "detail", "undone")
    if args.json:
        return report(args, [{name: getattr(row, name) for name in shown} for row in rows], "")
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
    print_table(lines, ("ID", "TURN", "TOKENS", "HOW (* undone)", "WHY"))
    return 0


def _undo(runtime: Runtime, args: argparse.Namespace) -> int:
    taken = runtime.context_control.undo()
    return report(args, {"undone": taken.id, "how": taken.how}, f"Undone: {taken.id} ({taken.how}).")


def _pin(runtime: Runtime, args: argparse.Namespace) -> int:
    tokens = runtime.context_control.pin(turn_number(args.turn) if args.turn else None)
    pins = list(runtime.context_control.session.context.pins)
    return report(args, {"pinned": pins, "tokens": tokens}, f"Pinned: {', '.join(f'T{n}' for n in pins)}.")


def _unpin(runtime: Runtime, args: argparse.Namespace) -> int:
    number = runtime.context_control.unpin(turn_number(args.turn) if args.turn else None)
    return report(args, {"unpinned": number}, f"Unpinned T{number}: the next reduction may remove it.")


def _window(runtime: Runtime, args: argparse.Namespace) -> int:
    session, spec = runtime.sessions.current_session, None
    if args.spec:
        try:
            spec = WindowSpec.parse(args.spec)
        except ValueError as error:
            raise BadInput(f"{str(error)[0].upper()}{str(error)[1:]}.") from error
        if not args.preview:
            runtime.set_window(spec)
    then = runtime.context_control.preview(spec)
    name = str(spec or (session.window if session else runtime.settings.window))
    first, last = then.first, then.last
    found = {"window": name, "first": first, "last": last, "tokens": then.after, "tokens_now": then.before}
    found |= {"leaves": list(then.leaves), "returns": list(then.returns)}
    holds = "would hold" if args.preview else "holds"
    held = f"interactions {first} to {last}" if last >= first else "no earlier interaction"
    before = f" instead of {then.before:,}" if args.preview else ""
    leaves = f"; leaves: {', '.join(then.leaves)}" if then.leaves else ""
    return report(args, found, f"window {name}: the next request {holds} {held}, {then.after:,} tokens{before}{leaves}")


def _prompt(runtime: Runtime, args: argparse.Namespace) -> int:
    query = " ".join(args.text)
    prepared = runtime.agent.prepare(query).request
    if args.json:
        return report(args, {"model": runtime.agent.model.name, "messages": prepared.messages}, "")
    for segment in prepared.segments:
        print_line(f"--- {segment.name} · {segment.tokens:,} tokens")
        print_line(segment.text.strip())
    print_line(f"--- {runtime.context_control.meter(query).total:,} tokens with the tools")
    return 0


def _compact(runtime: Runtime, args: argparse.Namespace) -> int:
    async def compacted() -> list[Any]:
        return [event async for event in runtime.context_control.compact(" ".join(args.text))]

    for event in asyncio.run(compacted()):
        if event.type == "context_reduced":
            return report(args, to_json(event), f"{event.before:,} → {event.after:,} tokens: {event.detail}")
        raise BadInput(f"{event.text[0].upper()}{event.text[1:]}.")
    return 0


_ACTIONS: dict[str, tuple[Callable[[Any, argparse.Namespace], int], str]] = {
    "show": (_show, "the parts of the next request with their tokens"),
    "plan": (_plan, "what the next reduction removes"),
    "why": (_why, "why a text is no longer sent"),
    "log": (_log, "all reductions, newest first"),
    "undo": (_undo, "undo the newest reduction"),
    "pin": (_pin, "keep a turn in every request"),
    "unpin": (_unpin, "let a pinned turn leave like any other"),
    "window": (_window, "show or change how many interactions are sent"),
    "prompt": (_prompt, "print exactly what the next request would be"),
    "compact": (_compact, "summarise the conversation now"),
}
