"""`/prompt`: exactly what the next request would be."""

from __future__ import annotations

import json
from typing import Any, TextIO

from swecli.models.errors import UsageError
from swecli.repl.commands.base import CommandContext, command
from swecli.repl.render.formatting import tokens

_CACHED = "everything above was sent before and may be billed as cached"
_FRESH = "a new epoch begins with this request: only the tools and the system text were sent before"


def _print_unwrapped(file: TextIO, value: Any) -> None:
    """JSON as it is: folding long lines would break it. What would not be seen, or would steer, is escaped."""
    unicode = (getattr(file, "encoding", None) or "utf-8").lower().replace("-", "") == "utf8"
    text = json.dumps(value, ensure_ascii=not unicode, indent=2)
    shown = "".join(c if c.isprintable() or c == "\n" else json.dumps(c)[1:-1] for c in text)
    file.write(f"{shown}\n")
    file.flush()


@command(usage="[--raw] [TEXT]", complete=lambda runtime: [("--raw", "the messages as JSON")], beside="*")
async def prompt(ctx: CommandContext, args: str) -> None:
    """Show exactly what the next request would contain (optional: for TEXT)"""
    first, _, rest = args.partition(" ")
    raw = first == "--raw"
    if first.startswith("--") and not raw:
        raise UsageError(f"Unknown option {first}.", "Use /prompt [--raw] [TEXT]")
    agent = ctx.runtime.agent
    query = (rest if raw else args).strip()
    turn = agent.prepare(query)
    specs = agent.specs()
    if raw:
        whole = {"model": agent.model.name, "messages": turn.messages, "tools": [spec.to_api() for spec in specs]}
        _print_unwrapped(ctx.screen.file, whole)
        return
    ctx.screen.line(f"tools · {tokens(agent.counter.count_tools(specs))} tokens", "head")
    ctx.screen.line(", ".join(spec.name for spec in specs))
    for segment in turn.request.segments:
        ctx.screen.line()
        if segment.name == "query":
            ctx.screen.note(_CACHED if turn.request.opened is None else _FRESH)
        ctx.screen.line(f"{segment.name} · {tokens(segment.tokens)} tokens", "head")
        ctx.screen.line(segment.text.strip())
    ctx.screen.line()
    count = ctx.runtime.context_control.meter(query).total
    about = "about " if agent.counter.estimated else ""
    ctx.screen.note(
        f"{len(turn.messages)} messages, {about}{tokens(count)} tokens with the tools · /prompt --raw for the JSON"
    )
