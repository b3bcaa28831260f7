"""`/btw`: ask something beside the conversation."""

from __future__ import annotations

import asyncio
from contextlib import aclosing

from swecli.models.errors import UsageError
from swecli.models.events import Notice
from swecli.repl.commands.base import CommandContext, command


@command(usage="QUESTION", concurrent="*")
async def _btw(ctx: CommandContext, args: str) -> None:
    """Ask something beside the conversation, also while a turn runs: no tool runs, and it is not remembered"""
    question = args.strip()
    if not question:
        raise UsageError("There is no question.", "For example: /btw what does this flag do?")
    agent = ctx.runtime.agent
    view = ctx.renderer.begin_aside(question)
    if view is None:
        stop = ctx.screen.keys.hint("interrupt", "stops it")
        raise UsageError("Another /btw is being answered.", stop or "Ask again when it is done.")

    try:
        aside = await agent.prepare_aside(question)
        for notice in aside.notices:
            ctx.renderer.show(Notice(notice, "warning"))
        async with aclosing(aside.answer(agent.counter, agent.sessions.record_request)) as events:
            async for event in events:
                if isinstance(event, Notice):
                    ctx.renderer.show(event)
                view.take(event)
    except asyncio.CancelledError:
        view.was_stopped = True
        raise
    except Exception:
        view.has_failed = True
        raise
    finally:
        ctx.renderer.end_aside()
