"""A turn of the chat, from the user's message to its outcome."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque
from collections.abc import AsyncGenerator
from contextlib import AbstractContextManager, aclosing
from functools import partial

from swecli.agent.calls import CallRunner
from swecli.agent.chat_dialogue import ChatDialogue
from swecli.agent.context_fitter import ContextFitter
from swecli.agent.fallback import Fallback
from swecli.agent.loop import Loop
from swecli.agent.request_builder import Turn
from swecli.agent.turn import TurnRecord
from swecli.agent.turn_state import TurnState
from swecli.config.settings import Settings
from swecli.llm.base import ChatModel
from swecli.models.errors import SwecliError, describe_unexpected
from swecli.models.events import Event, Notice, TurnFailed, TurnFinished, TurnStarted
from swecli.values import dataclass

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Chat:
    """Runs turns of the chat."""

    model: ChatModel
    calls: CallRunner
    fitter: ContextFitter
    record: TurnRecord
    settings: Settings
    steering: deque[str]  # lines that the user sends to the running turn
    running: AbstractContextManager[None]  # is entered while a turn runs
    fallback: Fallback | None = None  # None: no other model is asked

    async def run(self, turn: Turn) -> AsyncGenerator[Event, None]:
        """Run one turn. The last event is `TurnFinished` or `TurnFailed`; a cancelled turn stores its partial answer
        and a result for every open call, so that the history stays valid."""
        with self.running:
            record = self.record
            opened = record.begin(turn)
            state = TurnState(turn.query, opened.interaction)
            list_changes = partial(
                self.calls.list_changes, record.sessions.session.id, state.interaction
            )
            yield TurnStarted(
                record.sessions.session.id, state.interaction, turn.query, self.model.name
            )
            for event in _describe(turn):
                yield event
            hooks = self.calls.hooks
            for line in hooks.take_notices() if hooks else ():
                yield Notice(line, "warning")
            outcome = "cancelled"
            try:
                for event in opened.events:
                    yield event
                dialogue = ChatDialogue(
                    query=turn.query,
                    interaction=opened.interaction,
                    messages=opened.messages,
                    calls=self.calls,
                    fitter=self.fitter,
                    record=record,
                    settings=self.settings,
                    steering=self.steering,
                )
                started = time.monotonic()
                waited_before = self.calls.user_seconds
                loop = Loop(self.model, self.calls, record, self.fallback)
                async with (
                    record.autosave(self.calls, state),
                    aclosing(loop.run(dialogue, state)) as events,
                ):
                    async for event in events:
                        yield event
                    waited = self.calls.user_seconds - waited_before
                    finished = _finish(dialogue, state, time.monotonic() - started - waited)
                    for event in await list_changes():
                        yield event
                    if finished.reason == "done":
                        self.calls.todos.clear()  # the list ends with the turn's answer
                    yield finished
                outcome = "done"
            except asyncio.CancelledError:
                for event in await list_changes(is_cancelled=True):
                    yield event
                raise
            except SwecliError as error:
                outcome = "failed"
                for event in await list_changes():
                    yield event
                retryable: bool = getattr(error, "retryable", False)
                yield TurnFailed(error.message, error.hint, error.exit_code, retryable)
            except Exception as error:  # noqa: BLE001 - a boundary: the turn must not end in silence
                outcome = "failed"
                _log.error("a turn failed", exc_info=error)
                for event in await list_changes():
                    yield event
                problem = describe_unexpected(error)
                yield TurnFailed(problem, "The details are in swecli.log.", SwecliError.exit_code)
            finally:  # also when cancelled, or when the consumer stops iterating
                record.settle(state)
                record.finish(outcome, turn, state.text)


def _finish(dialogue: ChatDialogue, state: TurnState, seconds: float) -> TurnFinished:
    """Return the report on a turn that has ended, on which `seconds` of work were spent."""
    assert dialogue.end is not None, "the loop runs until the dialogue is over"
    return TurnFinished(
        reason=dialogue.end,
        text=state.text,
        usage=state.usage,
        cost=state.cost,
        steps=state.steps,
        duration_ms=round(seconds * 1000),
        denied=tuple(dialogue.denied),
    )


def _describe(turn: Turn) -> list[Event]:
    """Return what the user is told of the turn's message."""
    events: list[Event] = [Notice(f"{image['label']} {image['name']}") for image in turn.images]
    events += [Notice(line, "warning") for line in turn.notices]
    if turn.quoted:
        events.append(Notice(f"found in {', '.join(f'T{number}' for number in turn.quoted)}"))
    return events
