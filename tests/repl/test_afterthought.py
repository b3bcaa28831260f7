"""Learning behind the prompt."""

from __future__ import annotations

import asyncio
from typing import Any

from swecli.models.events import Event, Notice
from swecli.repl.afterthought import Afterthought
from swecli.repl.background import Background


class SlowLearner:
    """Learns one turn at a time, if it is asked to; `log` says what overlapped."""

    def __init__(self) -> None:
        self.log: list[str] = []

    async def learn(self, interaction: int) -> list[Event]:
        self.log.append(f"begin {interaction}")
        await asyncio.sleep(0.01)
        self.log.append(f"end {interaction}")
        return [Notice(f"learned {interaction}")] if interaction else []

    async def catch_up(self) -> list[Event]:
        return [Notice("caught up"), Notice("twice")]


def make(told: list[Any], busy: list[bool]) -> tuple[Afterthought, Background]:
    async def tell(event: Event) -> None:
        told.append(event)

    behind = Background(told.append, lambda: None)
    return Afterthought(behind.start, tell, lambda: busy[0]), behind


async def test_turns_are_learned_from_one_after_the_other() -> None:
    told: list[Any] = []
    after, behind = make(told, [False])
    learner = SlowLearner()
    after.learn(learner, 1)  # type: ignore[arg-type]
    after.learn(learner, 2)  # type: ignore[arg-type]
    await behind.settle()
    assert learner.log == ["begin 1", "end 1", "begin 2", "end 2"]
    assert [event.text for event in told] == ["learned 1", "learned 2"]


async def test_what_comes_up_during_a_turn_waits_for_its_end() -> None:
    told: list[Any] = []
    busy = [True]
    after, behind = make(told, busy)
    after.learn(SlowLearner(), 1)  # type: ignore[arg-type]
    await behind.settle()
    assert told == []
    assert [event.text for event in after.untold()] == ["learned 1"]  # type: ignore[union-attr]
    assert after.untold() == []


async def test_what_earlier_runs_left_is_told_one_by_one() -> None:
    told: list[Any] = []
    after, behind = make(told, [False])
    after.catch_up(SlowLearner())  # type: ignore[arg-type]
    after.learn(SlowLearner(), 0)  # type: ignore[arg-type]
    await behind.settle()
    assert [event.text for event in told] == ["caught up", "twice"]


async def test_a_slow_reflector_keeps_nobody_waiting() -> None:
    told: list[Any] = []
    after, behind = make(told, [False])
    answered = asyncio.Event()

    class Slow(SlowLearner):
        async def learn(self, interaction: int) -> list[Event]:
            await answered.wait()
            return [Notice(f"learned {interaction}")]

    after.learn(Slow(), 1)  # type: ignore[arg-type]
    after.learn(Slow(), 2)  # type: ignore[arg-type]
    assert behind.busy, "it was begun, and the prompt has gone on"
    assert told == []
    answered.set()
    await behind.settle()
    assert len(told) == 2
