"""What a stored session's next request holds and what left it, seen and changed from the shell."""

from __future__ import annotations

import argparse
import asyncio
import os
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from swecli.cli.output import print_line, print_result, report
from swecli.cli.startup import Configuration, make_folders
from swecli.cli.subcommands import Actions, configuration_of, existing_database
from swecli.config.start import Start
from swecli.llm.registry import make_measured
from swecli.models.errors import BadInput
from swecli.models.events import to_json
from swecli.models.message import AskRequest, Choice, Decision
from swecli.repl.actions.context import ACTIONS

if TYPE_CHECKING:
    from swecli.app import Runtime


def add_live_actions(actions: Actions) -> None:
    """The actions that show what is sent now, or change it."""
    shown = {name: about for name, (_, about) in ACTIONS.items()} | {name: about for name, (_, about) in _OWN.items()}
    add = {name: actions.add(name, _run, about) for name, about in shown.items()}
    for name, words, about in _WORDS:
        add[name].add_argument("words", nargs=words, metavar=about[0], help=about[1])
    add["window"].add_argument("--preview", action="store_true", help="only show what would leave, in tokens")
    for action in add.values():
        action.add_argument("--session", metavar="ID", help="another session than this directory's last")
        action.add_argument("--model", metavar="PROVIDER/NAME", help="measure for this model's window")


_TURN = ("TURN", "for example T7 (default: the newest)")
_WORDS = (
    ("why", "+", ("TEXT", "what to look for")),
    ("window", "?", ("N|N+S|full|auto", "the new window (default: show the present one)")),
    ("prompt", "*", ("TEXT", "the query")),
    ("compact", "*", ("TEXT", "what to focus on")),
    ("pin", "?", _TURN),
    ("unpin", "?", _TURN),
)


def _run(args: argparse.Namespace) -> int:
    configured, words = configuration_of(args), getattr(args, "words", None) or ""
    text = words if isinstance(words, str) else " ".join(words)
    with existing_database(configured) as location, closing(_open(args, configured, str(location))) as runtime:
        if args.action in _OWN:
            return _OWN[args.action][0](runtime, text, args)
        if args.action == "show":
            text = "detail"
        elif args.action == "window" and args.preview:
            text = f"preview {text}"
        return print_result(ACTIONS[args.action][0](runtime, text), args.json)


def _open(args: argparse.Namespace, configured: Configuration, location: str) -> Runtime:
    """The program as a run would have it, on that session."""
    # late: --help and a wrong argument need none of it
    from swecli.app import build_runtime  # noqa: PLC0415

    make_folders(configured.paths)
    settings = replace(configured.settings, db=location)
    environ, name = dict(os.environ), args.model or ""
    choice = Choice(name, "named by --model")
    start = Start(settings, configured.paths, configured.cwd, environ, choice, resume=args.session or "")
    runtime = build_runtime(start, _nobody, make_measured(name, settings, environ), to_read=True)
    session = runtime.sessions.current_session
    if session is not None and not name:  # what is measured is measured for the model that the session is with
        runtime.agent.use_model(make_measured(session.model, settings, environ))
    return runtime


async def _nobody(request: AskRequest) -> Decision:
    return Decision(False, reason="this command runs no tools")


def _prompt(runtime: Runtime, query: str, args: argparse.Namespace) -> int:
    prepared = runtime.agent.prepare(query).request
    if args.json:
        return report(args, {"model": runtime.agent.model.name, "messages": prepared.messages}, "")
    for segment in prepared.segments:
        print_line(f"--- {segment.name} · {segment.tokens:,} tokens")
        print_line(segment.text.strip())
    print_line(f"--- {runtime.context_control.meter(query).total:,} tokens with the tools")
    return 0


def _compact(runtime: Runtime, focus: str, args: argparse.Namespace) -> int:
    async def compacted() -> list[Any]:
        return [event async for event in runtime.context_control.compact(focus)]

    for event in asyncio.run(compacted()):
        if event.type == "context_reduced":
            return report(args, to_json(event), f"{event.before:,} → {event.after:,} tokens: {event.detail}")
        raise BadInput(f"{event.text[0].upper()}{event.text[1:]}.")
    return 0


_OWN: dict[str, tuple[Callable[[Any, str, argparse.Namespace], int], str]] = {
    "prompt": (_prompt, "print exactly what the next request would be"),
    "compact": (_compact, "summarise the conversation now"),
}
