"""`swecli context`: show and change the context of a session."""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from swecli.actions.context import ACTIONS
from swecli.cli.flags import Parser, subcommand
from swecli.cli.startup import make_folders
from swecli.cli.subcommands import (
    configuration_of,
    existing_database,
)
from swecli.llm.endpoints import DEMO
from swecli.llm.registry import make_model
from swecli.models.action import ActionResult
from swecli.models.errors import BadInput, SwecliError
from swecli.models.events import to_json

if TYPE_CHECKING:
    from swecli.app import Runtime

_TURN = ("?", "TURN", "for example T7 (default: the newest)")
_WORDS = {
    "why": ("+", "TEXT", "the text to search for"),
    "window": ("?", "N|N+S|full|auto", "the new window (default: show the present one)"),
    "prompt": (
        "*",
        "TEXT",
        "the query, or T7 for the request of that turn; `full` in front prints all",
    ),
    "compact": ("*", "TEXT", "the focus of the summary"),
    "pin": _TURN,
    "unpin": _TURN,
}


@subcommand
def _context(parser: Parser) -> None:
    """Show and change what a session's next request contains."""
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


def _run(args: argparse.Namespace) -> ActionResult:
    words = getattr(args, "words", None) or ""
    text = words if isinstance(words, str) else " ".join(words)
    if args.action == "show":
        text = "detail"
    elif args.action == "window" and args.preview:
        text = f"preview {text}"
    with closing(_open(args)) as runtime:
        if not args.model:
            _use_model_of_session(runtime, only_measures=_only_measures(args))
        return _ALL[args.action][0](runtime, text)


def _only_measures(args: argparse.Namespace) -> bool:
    """Return whether the model is asked nothing, so that it needs no key."""
    return str(args.action) != "compact"


def _open(args: argparse.Namespace) -> Runtime:
    """Build the runtime of a run for that session; no tool is run."""
    # late: --help and usage errors need no runtime
    from swecli.app import build_runtime
    from swecli.headless.runner import refuse

    configured, name = configuration_of(args), args.model or ""
    make_folders(configured.paths)
    settings = replace(configured.settings, db=str(existing_database(configured)))
    start = replace(configured, settings=settings, resume=args.session or "")
    model = make_model(
        name or settings.model or DEMO,
        settings,
        start.environ,
        keyless=_only_measures(args) or not name,
    )
    return build_runtime(start, refuse, model)


def _use_model_of_session(runtime: Runtime, *, only_measures: bool) -> None:
    """Use the model of the session, if there is a session. Raises SwecliError if a model that is to answer is gone; one
    that only measures is replaced by that of the runtime."""
    session = runtime.sessions.current_session
    if session is None:
        return
    environ = runtime.start.environ
    try:
        model = make_model(session.model, runtime.settings, environ, keyless=only_measures)
    except SwecliError:
        if not only_measures:
            raise
        return
    runtime.agent.use_model(model)
    runtime.agent.begin_epoch("")  # not a model change


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
