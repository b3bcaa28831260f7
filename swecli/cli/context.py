"""What a session's next request holds and what left it; a replay of what other ways of keeping it would have cost."""

from __future__ import annotations

import argparse
import re
import shutil
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from swecli.cli import context_live
from swecli.cli.replay import HEAD, TURN_HEAD, conditions, row, savings, turn_rows
from swecli.cli.startup import working_directory
from swecli.cli.subcommands import common, ground_of, positive, say, say_json, stored, table
from swecli.context.budget import MAX_CHARACTERS
from swecli.context.prompts import load_prompt
from swecli.context.replay import TTL, Cache, Replayed, replay
from swecli.context.replay_history import History, read_history
from swecli.context.replay_plot import plot
from swecli.context.replay_policies import POLICIES, Limits
from swecli.context.replay_prices import Prices, prices_of
from swecli.context.replay_svg import svg
from swecli.context.tokens import CHARACTERS_PER_TOKEN, TokenCounter
from swecli.models.errors import BadInput
from swecli.models.session import Session
from swecli.models.window import WindowSpec

if TYPE_CHECKING:
    from swecli.store.session_manager import SessionManager

UNITS = {"": 1, "s": 1, "m": 60, "h": 3600}
ASSUMED_WINDOW = MAX_CHARACTERS // CHARACTERS_PER_TOKEN


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Actions and their arguments."""
    actions = parser.add_subparsers(dest="action", required=True, metavar="|".join([*context_live.ACTIONS, "replay"]))
    context_live.add_actions(actions)
    again = actions.add_parser("replay", help="what each policy would have sent and cost; nothing is sent to anybody")
    add = again.add_argument
    add("session", nargs="?", metavar="SESSION", help="id, prefix of one, or title (default this directory's last)")
    add("--policy", action="append", choices=tuple(POLICIES), help="only this one (again for more; default all)")
    add("--window", type=_window, default=WindowSpec(5, 3), metavar="N+S", help="size and slack (default 5+3)")
    add("--model", metavar="PROVIDER/NAME", help="whose prices and window (default the session's)")
    add("--context-window", type=positive, metavar="TOKENS", help="the model's window, if the table is wrong")
    add("--ttl", type=_seconds, default=TTL, metavar="TIME", help="how long a cache is kept: 90s, 5m, 1h (default 5m)")
    add("--turns", action="store_true", help="each turn, too")
    add("--plot", action="store_true", help="draw tokens by turn")
    add("--svg", type=Path, metavar="FILE", help="write that drawing as SVG")
    common(again)


def _window(text: str) -> WindowSpec:
    try:
        spec = WindowSpec.parse(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error
    if spec.mode != "fixed":
        raise argparse.ArgumentTypeError(f"{text!r} is no size: give N or N+S, for example 5+3")
    return spec


def _seconds(text: str) -> float:
    found = re.fullmatch(r"([0-9]{1,7})([smh]?)", text, re.ASCII)
    if found is None:
        raise argparse.ArgumentTypeError(f"{text!r} is no time: give seconds, or for example 5m or 1h")
    return float(found[1]) * UNITS[found[2]]


def run(args: argparse.Namespace) -> int:
    """Do it. Raises BadInput for a session that is not there or is empty."""
    if args.action in context_live.ACTIONS:
        return context_live.run(args)
    # late: --help and a wrong argument need no database
    from swecli.store.session_manager import SessionManager  # noqa: PLC0415

    most = ground_of(args).settings.max_strategies
    with stored(args) as database:
        session = _session(SessionManager(database), args.session)
    counter = TokenCounter()
    history = _history(session, counter, most)
    prices = prices_of(args.model or session.model)
    window = args.context_window or prices.context_window or ASSUMED_WINDOW
    limits = Limits(window=args.window, context_window=window)
    names = list(dict.fromkeys(args.policy or POLICIES))
    replays = replay(history, names, prices, limits, Cache(ttl=args.ttl))
    if args.svg:
        _write(args.svg, svg(replays, f"Replay of {session.title or session.id}"))
    if args.json:
        say_json(_json(session, replays, prices, limits, args, counter))
    else:
        lines = conditions(session, replays, prices, limits, args.ttl, counter)
        _print(replays, prices, [*lines, _about_window(args, prices)], args)
    return 0


def _session(sessions: SessionManager, ref: str | None) -> Session:
    session = sessions.resume(ref, str(working_directory()), window_hint=1)
    sessions.load_back_to(1)
    return session


def _history(session: Session, counter: TokenCounter, max_strategies: int) -> History:
    # late: the tools are looked for on disk, after all that can be wrong with the arguments
    from swecli.tools.registry import ToolRegistry  # noqa: PLC0415

    return read_history(
        session,
        counter,
        system_prompt=load_prompt("system"),
        condense_prompt=load_prompt("condense"),
        tools=ToolRegistry.discover().specs(),
        max_strategies=max_strategies,
    )


def _about_window(args: argparse.Namespace, prices: Prices) -> str:
    if args.context_window:
        return "The model's window is as given."
    if prices.context_window:
        return "The model's window is the local table's; --context-window sets another."
    return "The model's window is not known and was assumed; --context-window sets it."


def _print(replays: list[Replayed], prices: Prices, notes: list[str], args: argparse.Namespace) -> None:
    table([row(replayed, prices) for replayed in replays], HEAD)
    if args.turns:
        say("")
        table(turn_rows(replays, prices), TURN_HEAD)
    if args.plot:
        say("")
        for line in plot(replays, shutil.get_terminal_size().columns):
            say(line)
    say("")
    for line in [*savings(replays), *notes]:
        say(line)
    if args.svg:
        say(f"Drawn in {args.svg}.")


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else str(error)
        raise BadInput(f"{path} cannot be written: {why}.", "Give --svg another file.") from error


def _json(
    session: Session,
    replays: list[Replayed],
    prices: Prices,
    limits: Limits,
    args: argparse.Namespace,
    counter: TokenCounter,
) -> dict[str, Any]:
    found = []
    for replayed in replays:
        totals = replayed.totals()
        turns = {"by_turn": [asdict(turn) for turn in replayed.turns]} if args.turns else {}
        found.append({"policy": replayed.policy, **asdict(totals), "cached_share": totals.cached_share, **turns})
    return {
        "simulation": True,
        "session_id": session.id,
        "turns": len(replays[0].turns),
        "window": str(limits.window),
        "model": prices.model,
        "cost_unit": prices.unit,
        "prices": prices.per_million() if prices.unit == "USD" else prices.row,
        "context_window": limits.context_window,
        "ttl": args.ttl,
        "tokens_estimated": counter.estimated,
        "policies": found,
    }
