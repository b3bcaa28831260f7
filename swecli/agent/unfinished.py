"""While a turn runs, what it has so far is stored once a second: whoever kills the process loses no more than that."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

from swecli.agent.calls import CallRunner, Printed
from swecli.agent.turn import TurnState
from swecli.models.errors import StoreError
from swecli.store.records import Unfinished
from swecli.store.session_manager import SessionManager
from swecli.tools.execute import cut_off
from swecli.tools.limits import cap

EVERY = 1.0  # seconds
_log = logging.getLogger(__name__)


@asynccontextmanager
async def stored_as_it_comes(sessions: SessionManager, calls: CallRunner, state: TurnState) -> AsyncIterator[None]:
    """Inside the block, store the answer that streams and the output of commands that run, once a second."""
    saving = asyncio.create_task(_save(sessions, calls, state))
    try:
        yield
    finally:
        saving.cancel()  # a write that has begun goes on: it touches nothing that is finished


async def _save(sessions: SessionManager, calls: CallRunner, state: TurnState) -> None:
    stored = ""
    while (session := sessions.current_session) is not None:
        await asyncio.sleep(EVERY)
        printed, partial = calls.printed(), state.partial
        if partial == stored and not printed:
            continue
        after = session.messages[-1].id if session.messages else None
        now = Unfinished(session.id, session.interactions, None if partial == stored else partial, after or 0)
        try:
            # in a thread: the disk may take its time, and the stream must not wait for it
            await asyncio.to_thread(_write, sessions, now, printed, calls.limit)
        except StoreError as error:  # what is finished later is stored or fails by itself
            _log.warning("what is not finished could not be stored: %s", error)
        stored = partial


def _write(sessions: SessionManager, now: Unfinished, printed: list[Printed], limit: int) -> None:
    outputs: dict[int, tuple[str, str | None]] = {}
    for one in printed:
        whole = cut_off("swecli ended while this ran", one.text)
        text, was_cut = cap(whole, limit, one.call_id)
        outputs[one.key] = (text, whole if was_cut else None)
    sessions.note_unfinished(replace(now, outputs=outputs))
