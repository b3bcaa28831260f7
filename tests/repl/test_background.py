"""Test background work of the REPL: tasks, learning as one of them, and daemon threads."""

from __future__ import annotations

import asyncio
import threading
from dataclasses import dataclass, field
from typing import Any, cast

import pytest

from swecli.models.events import Event, Notice
from swecli.models.learning_events import ReflectionFailed
from swecli.playbook.learning.service import RulesResult
from swecli.repl.background import Background, run_in_thread
from swecli.repl.program import Program


@dataclass
class RecordingListener:
    """Records the calls of a background's listener."""

    working: bool = False
    changes: int = 0
    failed: list[str] = field(default_factory=list)
    shown: list[Any] = field(default_factory=list)

    def background_changed(self) -> None:
        self.changes += 1

    def report(self, error: Exception) -> None:
        self.failed.append(str(error))

    def show(self, event: Event) -> None:
        self.shown.append(event)


def make_background(listener: RecordingListener) -> Background:
    return Background(cast(Program, listener))


@dataclass
class SlowLearning:
    """Learning that reports a rule at once and then reflects on one turn at a time; `log` shows which reflections
    overlap."""

    log: list[str] = field(default_factory=list)
    queue: list[int] = field(default_factory=list)
    unasked: list[int] = field(default_factory=list)

    def after_turn(self, interaction: int) -> RulesResult:
        self.log.append(f"rules {interaction}")
        self.unasked.append(interaction)
        return RulesResult(interaction, (Notice(f"saw {interaction}"),), needs_model=True)  # type: ignore[arg-type]

    async def reflect(self, *interactions: int, is_requested: bool = False) -> list[Event]:
        names = ", ".join(map(str, interactions))
        self.log.append(f"begin {names}")
        await asyncio.sleep(0.01)
        self.log.append(f"end {names}")
        return [Notice(f"learned {names}")]

    def due_turns(self) -> list[int]:
        *due, newest = self.unasked
        self.unasked = [newest]
        return due

    def pending_by_session(self) -> list[tuple[str, list[int]]]:
        return [(str(number), [number]) for number in self.queue]

    async def resume(self, session_id: str, interactions: list[int]) -> list[Event]:
        return await self.reflect(*interactions)

    async def check_anchors(self) -> list[Event]:
        return [Notice("stale")]


async def test_drain_waits_for_every_background_task() -> None:
    listener = RecordingListener()
    done: list[str] = []

    async def work(name: str) -> None:
        await asyncio.sleep(0)
        done.append(name)

    background = make_background(listener)
    background.start(work("a"))
    background.start(work("b"))
    assert background.busy
    await background.drain()
    assert done == ["a", "b"]
    assert not background.busy
    assert listener.changes == 4


async def test_the_failure_of_a_background_task_is_reported() -> None:
    listener = RecordingListener()

    async def fail() -> None:
        raise ValueError("no")

    background = make_background(listener)
    background.start(fail())
    await background.drain()
    assert listener.failed == ["no"]


async def test_cancel_cancels_the_running_tasks() -> None:
    cancelled: list[bool] = []

    async def forever() -> None:
        try:
            await asyncio.sleep(1000)
        except asyncio.CancelledError:
            cancelled.append(True)
            raise

    background = make_background(RecordingListener())
    background.start(forever())
    await asyncio.sleep(0)
    await background.cancel(timeout=0.1)
    assert cancelled == [True]


async def test_cancel_does_not_wait_for_a_task_that_ignores_cancellation() -> None:
    let_go = asyncio.Event()

    async def stubborn() -> None:
        while not let_go.is_set():
            try:
                await asyncio.wait_for(let_go.wait(), 5)
            except (asyncio.CancelledError, TimeoutError):
                continue

    background = make_background(RecordingListener())
    background.start(stubborn())
    await asyncio.sleep(0)
    await background.cancel(timeout=0.1)
    assert background.busy
    let_go.set()
    await background.drain()


async def test_cancel_returns_the_number_of_cancelled_tasks_and_reports_no_failure() -> None:
    listener = RecordingListener()
    background = make_background(listener)
    background.start(asyncio.sleep(3600))
    assert await background.cancel() == 1
    assert not background.busy
    assert await background.cancel() == 0
    assert listener.failed == []


def texts(events: list[Any]) -> list[str]:
    return [event.text for event in events]


async def test_rules_learn_at_once_and_reflections_run_one_after_the_other() -> None:
    listener = RecordingListener()
    background = make_background(listener)
    learner = SlowLearning()
    background.learn(learner, 1)  # type: ignore[arg-type]
    assert not background.busy, "the model is asked when the next turn has ended"
    background.learn(learner, 2)  # type: ignore[arg-type]
    background.learn(learner, 3)  # type: ignore[arg-type]
    assert learner.log == ["rules 1", "rules 2", "rules 3"], "rules do not wait for the model"
    await background.drain()
    assert learner.log[3:] == ["begin 1", "end 1", "begin 2", "end 2"]
    assert texts(listener.shown) == ["saw 1", "saw 2", "saw 3", "learned 1", "learned 2"]


async def test_several_waiting_turns_are_reflected_on_together() -> None:
    listener = RecordingListener()
    background = make_background(listener)
    learner = SlowLearning(unasked=[3, 4])
    background.learn(learner, 5)  # type: ignore[arg-type]
    background.learn(learner, 5)  # type: ignore[arg-type]
    await background.drain()
    assert learner.log[2:4] == ["begin 3, 4", "end 3, 4"]


async def test_events_of_learning_during_a_turn_are_deferred() -> None:
    listener = RecordingListener()
    listener.working = True
    background = make_background(listener)
    learner = SlowLearning(unasked=[1])
    background.learn(learner, 2)  # type: ignore[arg-type]
    await background.drain()
    assert listener.shown == []
    assert texts(background.pop_deferred()) == ["saw 2", "learned 1"]
    assert background.pop_deferred() == []


@dataclass
class FailingLearning(SlowLearning):
    """Learning whose model answers nothing usable."""

    async def reflect(self, *interactions: int, is_requested: bool = False) -> list[Event]:
        return [
            ReflectionFailed(interactions[0], "no usable answer", kept=False),
            ReflectionFailed(interactions[0], "no model is set", kept=True, paused=True),
        ]


@pytest.mark.parametrize("is_asked", [False, True])
async def test_a_failed_reflection_is_told_only_to_who_asked_for_it(is_asked: bool) -> None:
    listener = RecordingListener()
    background = make_background(listener)
    learning = cast(Any, FailingLearning(queue=[1]))
    if is_asked:
        background.react(learning, [1])
    else:
        background.learn(learning, 1)
        background.learn(learning, 2)
    await background.drain()
    told = [event.reason for event in listener.shown if isinstance(event, ReflectionFailed)]
    assert told == (["no usable answer"] if is_asked else []) + ["no model is set"]


async def test_a_new_turn_is_reflected_on_before_the_rest_of_the_queue() -> None:
    listener = RecordingListener()
    background = make_background(listener)
    learner = SlowLearning(queue=[9, 8, 7, 6], unasked=[10])
    background.start(background.reflect_pending(learner))  # type: ignore[arg-type]
    while not learner.log:
        await asyncio.sleep(0)
    background.learn(learner, 11)  # type: ignore[arg-type]
    await background.drain()
    assert texts(listener.shown)[:4] == ["stale", "saw 11", "learned 9", "learned 10"]
    assert texts(listener.shown)[4:] == ["learned 8", "learned 7", "learned 6"]


async def test_a_slow_reflector_does_not_block_the_prompt() -> None:
    listener = RecordingListener()
    background = make_background(listener)
    answered = asyncio.Event()

    class Slow(SlowLearning):
        async def reflect(self, *interactions: int, is_requested: bool = False) -> list[Event]:
            await answered.wait()
            return [Notice(f"learned {interactions}")]

    for number in (1, 2):
        learner = Slow(unasked=[0])
        background.learn(learner, number)  # type: ignore[arg-type]
        assert background.busy, "the reflection began, and the prompt did not wait"
    assert texts(listener.shown) == ["saw 1", "saw 2"], "rules need no model"
    answered.set()
    await background.drain()
    assert len(listener.shown) == 4


async def test_the_function_runs_in_a_named_daemon_thread_and_its_result_is_returned() -> None:
    thread = await run_in_thread(threading.current_thread, "worker")
    assert (thread.name, thread.daemon) == ("worker", True)
    assert thread is not threading.current_thread()


async def test_an_exception_of_the_thread_is_raised_in_the_loop() -> None:
    def fail() -> None:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        await run_in_thread(fail, "worker")


async def test_the_result_for_a_cancelled_future_is_discarded() -> None:
    go = threading.Event()
    future = run_in_thread(go.wait, "worker")
    future.cancel()
    go.set()
    await asyncio.sleep(0.05)
    assert future.cancelled()


def test_a_thread_ends_without_error_after_its_loop_is_closed() -> None:
    go, done = threading.Event(), threading.Event()

    def work() -> None:
        go.wait()
        done.set()

    async def begin() -> None:
        run_in_thread(work, "worker")

    asyncio.run(begin())
    go.set()
    assert done.wait(5)


async def test_a_command_is_not_shown_as_learning_and_the_newest_is_cancelled_first() -> None:
    listener = RecordingListener()
    background = make_background(listener)
    ended: list[str] = []

    async def wait(name: str) -> None:
        try:
            await asyncio.sleep(60)
        finally:
            ended.append(name)

    background.start_command(wait("first"))
    background.start_command(wait("second"))
    await asyncio.sleep(0)
    assert background.runs_commands
    assert not background.busy
    assert background.cancel_command()
    await asyncio.sleep(0.01)
    assert ended == ["second"]
    assert background.cancel_command()
    await asyncio.sleep(0.01)
    assert ended == ["second", "first"]
    assert not background.cancel_command()


async def test_what_waited_for_a_command_that_outlasts_the_line_is_shown_at_its_end() -> None:
    listener = RecordingListener(working=True)
    background = make_background(listener)
    go_on = asyncio.Event()

    async def wait() -> None:
        await go_on.wait()

    background.start_command(wait())
    background.show([Notice("learned")])
    assert listener.shown == []
    listener.working = False
    go_on.set()
    await background.drain()
    await asyncio.sleep(0)
    assert listener.shown == [Notice("learned")]
