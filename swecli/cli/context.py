"""What a session's next request holds and what left it; a replay of what other ways of keeping it would have cost."""

from __future__ import annotations

import argparse
import asyncio
import re
import shutil
from contextlib import closing
from pathlib import Path

from swecli.cli.context_live import add_live_actions
from swecli.cli.output import print_json, print_line, print_table
from swecli.cli.replay import HEAD, TURN_HEAD, ReplayReport
from swecli.cli.startup import working_directory
from swecli.cli.subcommands import Actions, configuration_of, open_sessions, positive
from swecli.config.settings import Settings
from swecli.context.budget import MAX_CHARACTERS, is_lean
from swecli.context.instructions import load_prompt, system_prompt
from swecli.context.replay.history import History, Texts, read_history
from swecli.context.replay.plot import plot, svg
from swecli.context.replay.policies import OURS, POLICIES, TTL, Assumed, SentTurn
from swecli.context.replay.prices import prices_of
from swecli.context.replay.run import account
from swecli.context.tokens import CHARACTERS_PER_TOKEN, TokenCounter
from swecli.models.errors import BadInput
from swecli.models.session import Session
from swecli.models.window import WindowSpec
from swecli.store.session_manager import SessionManager
from swecli.store.sqlite.database import open_database

_UNITS = {"": 1, "s": 1, "m": 60, "h": 3600}
_POLICIES = (*POLICIES, OURS)
_ASSUMED_WINDOW = MAX_CHARACTERS // CHARACTERS_PER_TOKEN


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Actions and their arguments."""
    actions = Actions(parser)
    add_live_actions(actions)
    again = actions.add("replay", _replay, "compare what each policy would have sent and cost; nothing is sent")
    add = again.add_argument
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


def _replay(args: argparse.Namespace) -> int:
    with open_sessions(args) as sessions:
        session = sessions.resume(args.session, str(working_directory()), window_hint=1)
        sessions.load_back_to(1)
    settings, prices = configuration_of(args).settings, prices_of(args.model or session.model)
    assumed = Assumed(prices, args.window, args.context_window or prices.context_window or _ASSUMED_WINDOW, args.ttl)
    history = _history(session, settings, assumed.context_window)
    replays = []
    for name in dict.fromkeys(args.policy or _POLICIES):
        turns = _ours(history, assumed, settings) if name == OURS else POLICIES[name](history, assumed)
        replays.append(account(name, turns, history, assumed))
    report = ReplayReport(history, replays, assumed)
    if args.svg:
        _write(args.svg, svg(replays, f"Replay of {session.title or session.id}"))
    if args.json:
        print_json(report.to_json(each_turn=args.turns))
    else:
        _print(report, args)
    return 0


def _history(session: Session, settings: Settings, window: int) -> History:
    # late: the tools are looked for on disk, after all that can be wrong with the arguments
    from swecli.tools.registry import ToolRegistry  # noqa: PLC0415
    from swecli.tools.schemas import lean_specs  # noqa: PLC0415

    specs = ToolRegistry.discover().specs()
    condense = settings.custom_condensing_prompt or load_prompt("condense")
    texts = Texts(system_prompt(window), condense, lean_specs(specs) if is_lean(window) else specs)
    return read_history(session, TokenCounter(), texts)


def _ours(history: History, assumed: Assumed, settings: Settings) -> list[SentTurn]:
    """The turns as the product itself takes them, in a store of their own."""
    # late: the other policies need no agent
    from swecli.agent.replay import ReplayAgent  # noqa: PLC0415

    with closing(open_database(":memory:")) as database:
        agent = ReplayAgent(history, assumed, settings, SessionManager(database))
        return asyncio.run(agent.replay())


def _print(report: ReplayReport, args: argparse.Namespace) -> None:
    print_table(report.rows(), HEAD)
    if args.turns:
        print_line("")
        print_table(report.turn_rows(), TURN_HEAD)
    if args.plot:
        print_line("")
        for line in plot(report.replays, shutil.get_terminal_size().columns):
            print_line(line)
    print_line("")
    for line in report.notes():
        print_line(line)
    if args.context_window:
        print_line("The model's window is as given.")
    elif report.assumed.prices.context_window:
        print_line("The model's window is from the local table; --context-window sets another.")
    else:
        print_line("The model's window is unknown and was assumed; --context-window sets it.")
    if args.svg:
        print_line(f"Wrote {args.svg}.")


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else str(error)
        raise BadInput(f"{path} cannot be written: {why}.", "Give --svg another file.") from error
