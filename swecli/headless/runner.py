"""Turns without a screen: they never approve anything by themselves, and the exit code says how they went."""

from __future__ import annotations

import asyncio
import logging
import signal
from collections.abc import AsyncIterator, Coroutine
from contextlib import aclosing
from typing import Any, TypeVar

from swecli.agent.request_builder import Turn
from swecli.app import Runtime
from swecli.headless.prompts import Prompt
from swecli.headless.writers.base import Writer
from swecli.models.errors import BadInput, LimitReached, SwecliError
from swecli.models.learning_events import ReflectionFailed
from swecli.models.message import AskRequest, Decision

HEADLESS_REASON = (
    "nobody can be asked in this run; allow it beforehand with a rule (for example "
    'allow = ["run(pytest*)"] in the configuration) or --mode edits|auto'
)
CAPS = ("max_turns", "max_budget", "loop", "length")
_WITHHELD = ("refusal", "content_filter")
_Result = TypeVar("_Result")
_log = logging.getLogger(__name__)


async def refuse(request: AskRequest) -> Decision:
    """The answer to every question: no, and why."""
    return Decision(False, reason=HEADLESS_REASON, by="headless")


async def run_prompts(runtime: Runtime, prompts: AsyncIterator[Prompt], writer: Writer) -> int:
    """Run a turn for each prompt and write it. A turn that fails does not keep the next from being tried. Returns
    the exit code of the last turn that did not end well, else 0. A signal ends the run with 128 and its number; what
    the running turn had is stored."""
    code, stopped = await until_signal(_turns(runtime, prompts, writer))
    if code is None:
        writer.close(stopped)
    return stopped or code or 0


async def until_signal(work: Coroutine[Any, Any, _Result]) -> tuple[_Result | None, int]:
    """Do the work: its result and 0; None and 128 and its number where SIGINT, SIGTERM or SIGHUP ended it."""
    task = asyncio.ensure_future(work)
    caught: list[int] = []

    def stop(number: int) -> None:
        caught.append(number)
        task.cancel()

    loop = asyncio.get_running_loop()
    hung_up = {signal.SIGHUP} if signal.getsignal(signal.SIGHUP) != signal.SIG_IGN else set()  # nohup ignores it
    for number in {signal.SIGINT, signal.SIGTERM} | hung_up:
        loop.add_signal_handler(number, stop, number)
    try:
        return await task, 0
    except asyncio.CancelledError:
        return None, 128 + (caught[0] if caught else signal.SIGINT)


async def _turns(runtime: Runtime, prompts: AsyncIterator[Prompt], writer: Writer) -> int:
    code = 0
    writer.begin()
    looked = False
    try:
        async for prompt in prompts:
            writer.begin()
            runtime.sessions.store_query(prompt.text)  # before anything is waited for: it was sent
            if not looked:
                await _learn(runtime, writer, before=True)
                looked = True
            ended = await _turn(runtime, runtime.agent.prepare(prompt.text, prompt.enclosed), writer)
            writer.close(ended)
            writer.begin()  # what may go wrong while the next is awaited is not this turn's
            code = ended or code
    except SwecliError as error:
        if isinstance(error, BadInput):  # nothing was sent of the prompt that waits
            runtime.sessions.drop_query()
        writer.refuse(error)
        code = error.exit_code
    await _reflect(runtime, writer, ask=code == 0)  # not after an interrupt, nor of a service that has just failed
    return code


async def _reflect(runtime: Runtime, writer: Writer, *, ask: bool) -> None:
    """At the end of the process: let the model reflect on this run's turns, within its budget; what waits then is
    noted, and left to the next start."""
    session, learning = runtime.sessions.current_session, runtime.learning
    if session is None or not runtime.settings.learn:
        return
    try:
        for pending in reversed(learning.pending() if ask and runtime.settings.reflect_at_end else ()):
            if pending.session_id == session.id:
                for event in await learning.reflect(pending.interaction):
                    writer.write(event)
        waiting = runtime.sessions.playbook.pending(session.id)
    except Exception:  # noqa: BLE001 - a boundary
        _log.exception("reflecting failed")  # the answer is written: this must not cost the exit code
        return
    if waiting:
        turns = "1 turn waits" if len(waiting) == 1 else f"{len(waiting)} turns wait"
        writer.note(f"{turns} to be reflected on: start swecli in a terminal, or run swecli learn --from here")


async def _turn(runtime: Runtime, prepared: Turn, writer: Writer) -> int:
    try:
        async with aclosing(runtime.agent.run(prepared)) as events:
            async for event in events:
                writer.write(event)
    finally:  # nobody would be there to see or end what it started
        if ended := await runtime.agent.ctx.jobs.close():
            writer.note(ended)
    await _learn(runtime, writer)
    turn = writer.turn
    if turn.failed:
        return turn.failed.exit_code
    reason = turn.finished.reason if turn.finished else "done"
    return LimitReached.exit_code if reason in CAPS else 1 if reason in _WITHHELD else 0


async def _learn(runtime: Runtime, writer: Writer, *, before: bool = False) -> None:
    """Before the first turn: strategies that name what is gone stay out of the prompts. After each: the rules' part of
    the reflection; the model's part waits for the end of the run: it would delay the next turn."""
    learning = runtime.learning
    try:
        learned = await learning.check_anchors() if before else learning.after_turn().events
    except Exception as error:  # noqa: BLE001 - a boundary: a fault in learning must not cost the answer
        _log.exception("learning failed")
        session = runtime.sessions.current_session
        number = session.interactions if session else 0
        learned = [ReflectionFailed(number, f"{type(error).__name__}: {error}", kept=True)]
    for event in learned:
        writer.write(event)
