"""One prompt without a screen: it never approves anything by itself, and its exit code says how it went."""

from __future__ import annotations

import asyncio
import signal
from contextlib import aclosing

from swecli.app import Runtime
from swecli.headless.formats import Writer
from swecli.models.errors import LimitReached
from swecli.models.tool import AskRequest, Decision

HEADLESS_REASON = (
    "nobody can be asked in this run; allow it beforehand with a rule (for example "
    'allow = ["run(pytest*)"] in the configuration) or --mode edits|auto'
)


async def refuse(request: AskRequest) -> Decision:
    """The answer to every question: no, and why."""
    return Decision(False, reason=HEADLESS_REASON, by="headless")


async def run_prompt(runtime: Runtime, prompt: str, writer: Writer, piped: str = "") -> int:
    """Run one turn and write it; `piped` goes with the prompt, as data. Returns the exit code: 0, 1, 42, 53, 75, 130 or 143."""
    session = runtime.sessions.current_session
    writer.session_id = session.id if session else ""
    task = asyncio.ensure_future(_turn(runtime, prompt, writer, piped))
    caught: list[int] = []

    def stop(number: int) -> None:
        caught.append(number)
        task.cancel()

    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop, number)
    try:
        code = await task
    except asyncio.CancelledError:
        code = 128 + caught[0] if caught else 130
    writer.close(code)
    return code


async def _turn(runtime: Runtime, prompt: str, writer: Writer, piped: str) -> int:
    turn = runtime.agent.prepare(prompt, f"<piped>\n{piped}\n</piped>" if piped else "")
    async with aclosing(runtime.agent.run(turn)) as events:
        async for event in events:
            writer.write(event)
    # the model's part of the reflection waits for the next start on a screen: here it would delay the exit
    learned = await runtime.learner.learn(rules_only=True)
    if learned is not None:
        writer.write(learned)
    if writer.failed:
        return writer.failed.exit_code
    if writer.finished and writer.finished.reason in {"max_turns", "max_budget", "loop", "length"}:
        return LimitReached.exit_code
    return 0
