"""`swecli context`: show and change the context of a session, and compare policies by replaying it."""

from __future__ import annotations

import argparse
import asyncio
import shutil
from collections.abc import Callable
from contextlib import closing
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from swecli.cli.flags import Parser, subcommand
from swecli.cli.startup import make_folders
from swecli.cli.subcommands import (
    configuration_of,
    existing_database,
    open_sessions,
    positive_int,
    write_file,
)
from swecli.context.replay.history import ASSUMED_WINDOW, History
from swecli.context.replay.run import (
    MINIMUM_PREFIX,
    OURS,
    POLICIES,
    TTL,
    Assumptions,
    PolicyUsage,
    Prices,
    TurnUsage,
    plot,
    svg,
)
from swecli.llm.endpoints import DEMO
from swecli.llm.registry import make_model
from swecli.models.context import WindowSpec
from swecli.models.errors import BadInput, SwecliError
from swecli.models.events import to_json
from swecli.playbook.action import ActionResult
from swecli.repl.actions.context import ACTIONS

if TYPE_CHECKING:
    from swecli.app import Runtime

_HEAD = ("policy", "requests", "input tokens", "cached", "cost", "mean visible", "peak tokens")
_POLICIES = (*POLICIES, OURS)
_TURN = ("?", "TURN", "for example T7 (default: the newest)")
_WORDS = {
    "why": ("+", "TEXT", "the text to search for"),
    "window": ("?", "N|N+S|full|auto", "the new window (default: show the present one)"),
    "prompt": ("*", "TEXT", "the query"),
    "compact": ("*", "TEXT", "the focus of the summary"),
    "pin": _TURN,
    "unpin": _TURN,
}


@subcommand
def _context(parser: Parser) -> None:
    """Show and change what a session's next request contains; replay the session with other context policies."""
    for name, (_, about) in _ALL.items():
        action = parser.action(name, _run, about)
        if name in _WORDS:
            count, metavar, text = _WORDS[name]
            action.add_argument("words", nargs=count, metavar=metavar, help=text)
        if name == "window":
            action.add_argument(
                "--preview", action="store_true", help="only show what would be removed, in tokens"
            )
        action.add_argument(
            "--session", metavar="ID", help="another session than this directory's last"
        )
        action.add_argument(
            "--model", metavar="PROVIDER/NAME", help="measure for this model's window"
        )
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
    """Build the runtime of a run for that session; no tool is run."""
    # late: --help and usage errors need no runtime
    from swecli.app import build_runtime
    from swecli.headless.runner import refuse

    configured, name = configuration_of(args), args.model or ""
    make_folders(configured.paths)
    settings = replace(configured.settings, db=str(existing_database(configured)))
    start = replace(configured, settings=settings, resume=args.session or "")
    only_measures = args.action != "compact"
    model = make_model(
        name or settings.model or DEMO, settings, start.environ, keyless=only_measures or not name
    )
    runtime = build_runtime(start, refuse, model)
    session = runtime.sessions.current_session
    if session is not None and not name:
        try:
            runtime.agent.use_model(
                make_model(session.model, settings, start.environ, keyless=only_measures)
            )
            runtime.agent.begin_epoch("")  # not a model change
        except SwecliError:  # a model that is gone cannot measure its session, but another one can
            if not only_measures:
                raise
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


def _add_replay(parser: Parser) -> None:
    about = "compare what each policy would have sent and cost; nothing is sent"
    add = parser.action("replay", _replay_policies, about).add_argument
    add(
        "session",
        nargs="?",
        metavar="SESSION",
        help="id, prefix of one, or title (default: the last one here)",
    )
    add(
        "--policy",
        action="append",
        choices=_POLICIES,
        help="only this one (repeat for more; default: all)",
    )
    add(
        "--window",
        type=_window,
        default=WindowSpec(5, 3),
        metavar="N+S",
        help="size and slack (default: 5+3)",
    )
    add(
        "--model",
        metavar="PROVIDER/NAME",
        help="model for prices and window (default: the session's)",
    )
    add(
        "--context-window",
        type=positive_int,
        metavar="TOKENS",
        help="the model's window, if the table is wrong",
    )
    add(
        "--ttl",
        type=positive_int,
        default=TTL,
        metavar="SECONDS",
        help="how long a cache is kept (default: 300)",
    )
    add("--plot", action="store_true", help="plot tokens by turn")
    add("--svg", type=Path, metavar="FILE", help="write the plot as SVG")


def _window(text: str) -> WindowSpec:
    try:
        spec = WindowSpec.parse(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error
    if spec.mode != "fixed":
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a window size (give N or N+S, for example 5+3)"
        )
    return spec


def _replay_policies(args: argparse.Namespace) -> ActionResult:
    # late: usage errors need neither agent nor tools
    from swecli.agent.replay import read_past, replay_turns

    with open_sessions(args) as sessions:
        session = sessions.resume(args.session, str(Path.cwd()), window_hint=1)
        sessions.load_back_to(1)
    settings, prices = configuration_of(args).settings, Prices.of(args.model or session.model)
    window = args.context_window or prices.context_window or ASSUMED_WINDOW
    assumed, history = (
        Assumptions(prices, args.window, window, args.ttl),
        read_past(session, settings, window),
    )
    replays = []
    for name in dict.fromkeys(args.policy or _POLICIES):
        ours = name == OURS
        turns = (
            [t for t, _ in replay_turns(history, assumed, settings)]
            if ours
            else POLICIES[name](history, assumed)
        )
        replays.append(PolicyUsage.compute(name, turns, history, assumed))
    if args.svg:
        write_file(
            args.svg,
            svg(replays, f"Replay of {session.title or session.id}"),
            "Give --svg another file.",
        )
    totals = {replayed.policy: replayed.totals() for replayed in replays}
    rows = tuple((name, *_format_cells(total, assumed)) for name, total in totals.items())
    lines = ["", *plot(replays, shutil.get_terminal_size().columns)] if args.plot else []
    lines += ["", *_list_notes(history, replays[0], totals, assumed)]
    whose = (
        "as given"
        if args.context_window
        else "from the local table"
        if prices.context_window
        else ""
    )
    lines.append(
        f"The model's window is {whose or 'unknown and was assumed'}; --context-window sets it."
    )
    lines += [f"Wrote {args.svg}."] if args.svg else []
    return ActionResult(_figures_json(history, replays, assumed), tuple(lines), _HEAD, rows)


def _format_cells(figures: TurnUsage, assumed: Assumptions) -> tuple[str, ...]:
    cost = f"${figures.cost:,.4f}" if assumed.prices.unit == "USD" else f"{figures.cost:,.0f} units"
    visible, share, peak = (
        f"{figures.visible:.1f}",
        f"{figures.cached_share:.1%}",
        f"{figures.peak:,}",
    )
    return f"{figures.requests:,}", f"{figures.input:,}", share, cost, visible, peak


def _list_notes(
    history: History, first: PolicyUsage, totals: dict[str, TurnUsage], assumed: Assumptions
) -> list[str]:
    """Compare our policy with the others and list the assumptions, one line each."""
    counter, cold = history.counter, sum(turn.cold for turn in first.turns[1:])
    how = (
        f"counted with {counter.encoding}" if not counter.estimated else "estimated from characters"
    )
    over = ", ".join(f"{name} {total.over:,}" for name, total in totals.items() if total.over)
    return [
        *_compare_costs({name: total.cost for name, total in totals.items()}),
        f"A simulation over the {len(first.turns):,} stored turns of {history.session.id}: nothing was sent to a "
        f"model. Tokens are {how}.",
        _describe_prices(assumed),
        f"Cache: kept {assumed.ttl:g} s after a request, from {MINIMUM_PREFIX:,} tokens on; "
        f"{cold:,} turns began later.",
        f"Model's window {assumed.context_window:,} tokens; reflection window {assumed.window}; "
        f"a summary is assumed to have {assumed.summary_tokens:,} tokens.",
        *(
            [f"Requests larger than the model's window, which it would refuse: {over}."]
            if over
            else []
        ),
        "Left out: project instructions and the cost of learning. full and compact90 have no playbook.",
    ]


def _describe_prices(assumed: Assumptions) -> str:
    prices = assumed.prices
    each = ", ".join(
        f"{name.replace('_', ' ')} {price:g}" for name, price in prices.per_million().items()
    )
    if prices.unit == "USD":
        return f"Prices of {prices.model} in litellm's local table, USD per million tokens: {each}."
    named = (
        f"No price is known for {prices.model!r}" if prices.model else "The session names no model"
    )
    return f"{named}: cost in relative units, for a token of {each}."


def _compare_costs(costs: dict[str, float]) -> list[str]:
    own, others = (
        costs.get(OURS),
        [(name, cost) for name, cost in costs.items() if name != OURS and cost],
    )
    if own is None or not others:
        return []
    less = (
        f"{abs(1 - own / c):.1%} {'less' if own <= c else 'more'} than {name}" for name, c in others
    )
    return [f"ours costs {', '.join(less)}."]


def _figures_json(
    history: History, replays: list[PolicyUsage], assumed: Assumptions
) -> dict[str, Any]:
    found = []
    for replayed in replays:
        totals, turns = replayed.totals(), [asdict(turn) for turn in replayed.turns]
        own = {
            name: value
            for name, value in asdict(totals).items()
            if name not in ("turn", "cold", "visible")
        }
        own |= {
            "mean_visible": totals.visible,
            "cached_share": totals.cached_share,
            "by_turn": turns,
        }
        found.append({"policy": replayed.policy, **own})
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
