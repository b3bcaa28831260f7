"""`swecli context`: what the next request of a session holds, and what other ways of keeping it would cost."""

from __future__ import annotations

import argparse
import asyncio
import re
import shutil
from collections.abc import Callable
from contextlib import closing
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from swecli.cli.flags import Parser
from swecli.cli.startup import make_folders
from swecli.cli.subcommands import (
    configuration_of,
    existing_database,
    open_sessions,
    positive,
    table_lines,
    write_file,
)
from swecli.context.replay.history import History
from swecli.context.replay.run import (
    MINIMUM_PREFIX,
    OURS,
    POLICIES,
    TTL,
    Assumed,
    Figures,
    Replayed,
    account,
    plot,
    prices_of,
    svg,
)
from swecli.llm.registry import make_measured
from swecli.models.errors import BadInput
from swecli.models.events import to_json
from swecli.models.window import WindowSpec
from swecli.playbook.action import ActionResult
from swecli.repl.actions.context import ACTIONS

if TYPE_CHECKING:
    from swecli.app import Runtime

_TURN = ("?", "TURN", "for example T7 (default: the newest)")
_WORDS = {
    "why": ("+", "TEXT", "what to look for"),
    "window": ("?", "N|N+S|full|auto", "the new window (default: show the present one)"),
    "prompt": ("*", "TEXT", "the query"),
    "compact": ("*", "TEXT", "what to focus on"),
    "pin": _TURN,
    "unpin": _TURN,
}
_HEAD = ("policy", "requests", "input tokens", "cached", "cost", "mean visible", "peak tokens")
_TURN_HEAD = ("turn", "policy", "requests", "input tokens", "cached", "cost", "visible", "peak tokens")
_UNITS = {"": 1, "s": 1, "m": 60, "h": 3600}
_POLICIES = (*POLICIES, OURS)


def context(parser: Parser) -> None:
    """What a session's next request holds and what left it; a replay of what other ways of keeping it would have
    cost."""
    for name, (_, about) in _ALL.items():
        action = parser.action(name, _run, about)
        if name in _WORDS:
            count, metavar, text = _WORDS[name]
            action.add_argument("words", nargs=count, metavar=metavar, help=text)
        if name == "window":
            action.add_argument("--preview", action="store_true", help="only show what would leave, in tokens")
        action.add_argument("--session", metavar="ID", help="another session than this directory's last")
        action.add_argument("--model", metavar="PROVIDER/NAME", help="measure for this model's window")
    _add_replay(parser)


def _run(args: argparse.Namespace) -> ActionResult:
    words = getattr(args, "words", None) or ""
    text = words if isinstance(words, str) else " ".join(words)
    if args.action == "show":
        text = "detail"
    elif args.action == "window" and args.preview:
        text = f"preview {text}"
    with closing(_open(args)) as runtime:
        return _ALL[args.action][0](runtime, text)


def _open(args: argparse.Namespace) -> Runtime:
    """The program as a run would have it, on that session; none of its tools runs."""
    # late: --help and a wrong argument need none of it
    from swecli.app import build_runtime  # noqa: PLC0415
    from swecli.headless.runner import refuse  # noqa: PLC0415

    configured, name = configuration_of(args), args.model or ""
    make_folders(configured.paths)
    with existing_database(configured) as location:
        settings = replace(configured.settings, db=str(location))
        start = replace(configured, settings=settings, resume=args.session or "")
        runtime = build_runtime(start, refuse, make_measured(name, settings, start.environ), to_read=True)
    session = runtime.sessions.current_session
    if session is not None and not name:  # what is measured is measured for the model that the session is with
        runtime.agent.use_model(make_measured(session.model, settings, start.environ))
    return runtime


def _compact(runtime: Runtime, focus: str) -> ActionResult:
    async def compacted() -> list[Any]:
        return [event async for event in runtime.context_control.compact(focus)]

    for event in asyncio.run(compacted()):
        if event.type == "context_reduced":
            line = f"{event.before:,} → {event.after:,} tokens: {event.detail}"
            return ActionResult(to_json(event), (line,))
        raise BadInput(f"{event.text[0].upper()}{event.text[1:]}.")
    return ActionResult(None)


_ALL: dict[str, tuple[Callable[[Runtime, str], ActionResult], str]] = {
    **ACTIONS,
    "compact": (_compact, "summarise the conversation now"),
}


# Replays


def _add_replay(parser: Parser) -> None:
    add = parser.action(
        "replay", _replay, "compare what each policy would have sent and cost; nothing is sent"
    ).add_argument
    add("session", nargs="?", metavar="SESSION", help="id, prefix of one, or title (default: the last one here)")
    add("--policy", action="append", choices=_POLICIES, help="only this one (repeat for more; default: all)")
    add("--window", type=_window, default=WindowSpec(5, 3), metavar="N+S", help="size and slack (default: 5+3)")
    add("--model", metavar="PROVIDER/NAME", help="whose prices and window (default: the session's model)")
    add("--context-window", type=positive, metavar="TOKENS", help="the model's window, if the table is wrong")
    add("--ttl", type=_seconds, default=TTL, metavar="TIME", help="how long a cache is kept: 90s, 5m, 1h (default: 5m)")
    add("--turns", action="store_true", help="print each turn, too")
    add("--plot", action="store_true", help="draw tokens by turn")
    add("--svg", type=Path, metavar="FILE", help="write that drawing as SVG")


def _window(text: str) -> WindowSpec:
    try:
        spec = WindowSpec.parse(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error
    if spec.mode != "fixed":
        raise argparse.ArgumentTypeError(f"{text!r} is not a window size (give N or N+S, for example 5+3)")
    return spec


def _seconds(text: str) -> float:
    found = re.fullmatch(r"([0-9]{1,7})([smh]?)", text, re.ASCII)
    if found is None:
        raise argparse.ArgumentTypeError(f"{text!r} is not a time (give seconds, or for example 5m or 1h)")
    return float(found[1]) * _UNITS[found[2]]


def _replay(args: argparse.Namespace) -> ActionResult:
    # late: the agent and the tools are loaded after all that can be wrong with the arguments
    from swecli.agent.replay import ASSUMED_WINDOW, read_past, replay_turns  # noqa: PLC0415

    with open_sessions(args) as sessions:
        session = sessions.resume(args.session, str(Path.cwd()), window_hint=1)
        sessions.load_back_to(1)
    settings, prices = configuration_of(args).settings, prices_of(args.model or session.model)
    window = args.context_window or prices.context_window or ASSUMED_WINDOW
    assumed, history = Assumed(prices, args.window, window, args.ttl), read_past(session, settings, window)
    replays = []
    for name in dict.fromkeys(args.policy or _POLICIES):
        ours = name == OURS
        turns = [t for t, _ in replay_turns(history, assumed, settings)] if ours else POLICIES[name](history, assumed)
        replays.append(account(name, turns, history, assumed))
    if args.svg:
        write_file(args.svg, svg(replays, f"Replay of {session.title or session.id}"), "Give --svg another file.")
    totals = {replayed.policy: replayed.totals() for replayed in replays}
    rows = tuple((name, *_cells(total, assumed)) for name, total in totals.items())
    lines = _turn_lines(replays, assumed) if args.turns else []
    lines += ["", *plot(replays, shutil.get_terminal_size().columns)] if args.plot else []
    lines += ["", *_notes(history, replays[0], totals, assumed), _whose_window(args, assumed)]
    lines += [f"Wrote {args.svg}."] if args.svg else []
    return ActionResult(_to_json(history, replays, assumed, args.turns), tuple(lines), _HEAD, rows)


def _cells(figures: Figures, assumed: Assumed) -> tuple[str, ...]:
    cost = f"${figures.cost:,.4f}" if assumed.prices.unit == "USD" else f"{figures.cost:,.0f} units"
    visible = f"{figures.visible:{'g' if figures.turn else '.1f'}}"
    return (
        f"{figures.requests:,}",
        f"{figures.input:,}",
        f"{figures.cached_share:.1%}",
        cost,
        visible,
        f"{figures.peak:,}",
    )


def _turn_lines(replays: list[Replayed], assumed: Assumed) -> list[str]:
    rows = [
        (f"T{turn.turn}", replayed.policy, *_cells(turn, assumed))
        for turns in zip(*(replayed.turns for replayed in replays), strict=True)
        for replayed, turn in zip(replays, turns, strict=True)
    ]
    return ["", *table_lines(_TURN_HEAD, rows)]


def _notes(history: History, first: Replayed, totals: dict[str, Figures], assumed: Assumed) -> list[str]:
    """How ours compares with each of the others, and what was assumed, a line each."""
    counter, cold = history.counter, sum(turn.cold for turn in first.turns[1:])
    how = f"counted with {counter.encoding}" if not counter.estimated else "estimated from characters"
    over = ", ".join(f"{name} {total.over:,}" for name, total in totals.items() if total.over)
    return [
        *_savings({name: total.cost for name, total in totals.items()}),
        f"A simulation over the {len(first.turns):,} stored turns of {history.session.id}: nothing was sent to a "
        f"model. Tokens are {how}.",
        _priced(assumed),
        f"Cache: kept {assumed.ttl:g} s after a request, from {MINIMUM_PREFIX:,} tokens on; "
        f"{cold:,} turns began later.",
        f"Model's window {assumed.context_window:,} tokens; reflection window {assumed.window}; "
        f"a summary is assumed to have {assumed.summary_tokens:,} tokens.",
        *([f"Requests larger than the model's window, which it would refuse: {over}."] if over else []),
        "Left out: project instructions, and what learning costs. full and compact90 carry no playbook.",
    ]


def _priced(assumed: Assumed) -> str:
    prices = assumed.prices
    each = ", ".join(f"{name.replace('_', ' ')} {price:g}" for name, price in prices.per_million().items())
    if prices.unit == "USD":
        return f"Prices of {prices.model} in litellm's local table, USD per million tokens: {each}."
    named = f"No price is known for {prices.model!r}" if prices.model else "The session names no model"
    return f"{named}: cost in relative units, for a token of {each}."


def _whose_window(args: argparse.Namespace, assumed: Assumed) -> str:
    if args.context_window:
        return "The model's window is as given."
    if assumed.prices.context_window:
        return "The model's window is from the local table; --context-window sets another."
    return "The model's window is unknown and was assumed; --context-window sets it."


def _savings(costs: dict[str, float]) -> list[str]:
    """How ours compares with the others, and which part of the layout saves what against compacting."""
    own = costs.get("ours")
    others = {name: cost for name, cost in costs.items() if name != "ours" and cost}
    if own is None or not others:
        return []
    less = (f"{abs(1 - own / c):.1%} {'less' if own <= c else 'more'} than {name}" for name, c in others.items())
    lines = [f"ours costs {', '.join(less)}."]
    if {"compact90", "exact", "slack"} <= set(others):
        whole, exact, slack = (others[name] for name in ("compact90", "exact", "slack"))
        shares = {
            "the window": exact - whole,
            "the prefix kept by slack": slack - exact,
            "snapshot and ladder": own - slack,
        }
        parts = ", ".join(f"{name} {share / whole:+.1%}" for name, share in shares.items())
        lines.append(f"Parts of the difference to compact90, in its cost: {parts}.")
    return lines


def _to_json(history: History, replays: list[Replayed], assumed: Assumed, each_turn: bool) -> dict[str, Any]:
    found = []
    for replayed in replays:
        totals = replayed.totals()
        turns = {"by_turn": [asdict(turn) for turn in replayed.turns]} if each_turn else {}
        own = {name: value for name, value in asdict(totals).items() if name not in ("turn", "cold", "visible")}
        own |= {"mean_visible": totals.visible, "cached_share": totals.cached_share}
        found.append({"policy": replayed.policy, **own, **turns})
    prices = assumed.prices
    return {
        "simulation": True,
        "session_id": history.session.id,
        "turns": len(replays[0].turns),
        "window": str(assumed.window),
        "model": prices.model,
        "cost_unit": prices.unit,
        "prices": prices.per_million() if prices.unit == "USD" else prices.row,
        "context_window": assumed.context_window,
        "ttl": assumed.ttl,
        "tokens_estimated": history.counter.estimated,
        "policies": found,
    }
