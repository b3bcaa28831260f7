"""Learning behind the prompt."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Any

from swecli.models.events import Event, Notice
from swecli.playbook.learning.service import RulesPart
from swecli.repl.background import Afterthought, Background


@dataclass
class SlowLearning:
    """Sees something at once and asks a model about one turn at a time; `log` says what overlapped."""

    log: list[str] = field(default_factory=list)
    queue: list[int] = field(default_factory=list)

    def after_turn(self, interaction: int) -> RulesPart:
        self.log.append(f"rules {interaction}")
        return RulesPart(interaction, (Notice(f"saw {interaction}"),), needs_model=True)  # type: ignore[arg-type]

    async def reflect(self, interaction: int) -> list[Event]:
        self.log.append(f"begin {interaction}")
        await asyncio.sleep(0.01)
        self.log.append(f"end {interaction}")
        return [Notice(f"learned {interaction}")]

    def pending(self) -> list[int]:
        return self.queue

    async def resume(self, item: int) -> list[Event]:
        return await self.reflect(item)

    async def check_anchors(self) -> list[Event]:
        return [Notice("stale")]


def make(told: list[Any], busy: list[bool]) -> tuple[Afterthought, Background]:
    async def tell(event: Event) -> None:
        told.append(event)

    behind = Background(told.append, lambda: None)
    return Afterthought(behind.start, tell, lambda: busy[0]), behind


def texts(events: list[Any]) -> list[str]:
    return [event.text for event in events]


async def test_the_rules_see_a_turn_at_once_and_the_model_one_after_the_other() -> None:
    told: list[Any] = []
    after, behind = make(told, [False])
    learner = SlowLearning()
    after.learn(learner, 1)  # type: ignore[arg-type]
    after.learn(learner, 2)  # type: ignore[arg-type]
    assert learner.log == ["rules 1", "rules 2"], "nothing was waited for"
    await behind.settle()
    assert learner.log[2:] == ["begin 1", "end 1", "begin 2", "end 2"]
    assert texts(told) == ["saw 1", "saw 2", "learned 1", "learned 2"]


async def test_what_comes_up_during_a_turn_waits_for_its_end() -> None:
    told: list[Any] = []
    busy = [True]
    after, behind = make(told, busy)
    after.learn(SlowLearning(), 1)  # type: ignore[arg-type]
    await behind.settle()
    assert told == []
    assert texts(after.untold()) == ["saw 1", "learned 1"]
    assert after.untold() == []


async def test_a_turn_of_now_waits_for_one_of_the_queue_at_most() -> None:
    told: list[Any] = []
    after, behind = make(told, [False])
    learner = SlowLearning(queue=[9, 8, 7, 6])
    after.catch_up(learner)  # type: ignore[arg-type]
    while not learner.log:
        await asyncio.sleep(0)
    after.learn(learner, 10)  # type: ignore[arg-type]
    await behind.settle()
    assert texts(told)[:4] == ["stale", "saw 10", "learned 9", "learned 10"]
    assert texts(told)[4:] == ["learned 8", "learned 7", "learned 6"]


async def test_a_slow_reflector_keeps_nobody_waiting() -> None:
    told: list[Any] = []
    after, behind = make(told, [False])
    answered = asyncio.Event()

    class Slow(SlowLearning):
        async def reflect(self, interaction: int) -> list[Event]:
            await answered.wait()
            return [Notice(f"learned {interaction}")]

    after.learn(Slow(), 1)  # type: ignore[arg-type]
    after.learn(Slow(), 2)  # type: ignore[arg-type]
    assert behind.busy, "it was begun, and the prompt has gone on"
    assert told == []
    answered.set()
    await behind.settle()
    assert len(told) == 4
