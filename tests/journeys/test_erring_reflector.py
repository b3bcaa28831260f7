"""Test forty turns with a reflector that errs: every count, state and text after each turn is what it should be."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Iterator
from dataclasses import dataclass, field
from random import Random
from typing import Any

import pytest

from swecli.app import Runtime
from swecli.models.message import ModelChunk, ModelRequest
from swecli.models.playbook import Delta, Op
from tests.support.runtime import calls, make_runtime, run_turn
from tests.support.scripted import ScriptedModel

pytestmark = pytest.mark.slow

TURNS = 40
TAUGHT = ("Answer in one line", "Name the file", "Keep the alias", "Ask before a rename", "Use tox")
NAMES = tuple(f"P-{number}" for number in range(1, len(TAUGHT) + 1))
EFFECTS = ("helped", "hurt", "refuted", "ignored", "irrelevant")
COUNTED = {"helped": 0, "hurt": 1, "refuted": 1, "ignored": 2, "irrelevant": 2}
SIGN = "sign every release tag"
LOCK = "index.lock exists, another git runs"
LOCKED = calls(("run_command", {"command": f"echo '{LOCK}'; false"}))
UNREADABLE = [{"id": "P-1", "effect": "superb"}, None, "P-2"]

Answer = dict[str, Any] | str


def effect(name: str, what: str) -> dict[str, str]:
    return {"id": name, "effect": what, "why": f"{what} here"}


def lesson(text: str, quote: str, source: str = "user", **links: str) -> dict[str, Any]:
    return {"lessons": [{"text": text, "quote": quote, "from": source, "kind": "fact", **links}]}


@dataclass
class Turn:
    """A turn: its query, what the model and the reflector say, what counts of that, and what the playbook holds after
    the reflection."""

    query: str = "go on"
    replies: list[Any] = field(default_factory=lambda: ["Done."])
    answer: Answer = field(default_factory=dict)
    counts: dict[str, str] = field(default_factory=dict)
    becomes: dict[str, tuple[str, str]] = field(default_factory=dict)
    late: bool = False


def tag_some(luck: Random) -> Turn:
    """Return a turn in which up to three strategies get an effect each, between items that mean nothing and, until
    the model is asked once more, items that follow no schema."""
    chosen = {name: luck.choice(EFFECTS) for name in luck.sample(NAMES, luck.randrange(1, 4))}
    items: list[Any] = [effect(name, what) for name, what in chosen.items()]
    items += luck.sample([effect("P-99", "helped"), *UNREADABLE], 2)
    luck.shuffle(items)
    return Turn(answer={"turn": "mixed", "why": "so", "strategies": items}, counts=chosen)


def special_turns() -> dict[int, Turn]:
    signed, again = "Please sign every release tag", "Every release tag gets a signature"
    locked, other = "Another git holds index.lock", "Two git processes at once fail"
    return {
        3: Turn(answer={"strategies": [effect(name, "helped") for name in NAMES]}),
        5: Turn(answer=lesson(signed, SIGN), becomes={"P-6": ("active", signed)}),
        # the same words are the query of the next turn
        6: Turn(f"please {SIGN}", answer=lesson(again, SIGN, same_as="P-6")),
        8: Turn(answer=lesson("Push on fridays", "sign no release tag on a friday")),
        10: Turn(replies=[LOCKED, "Locked."], answer=lesson(locked, LOCK, "result"),
                 becomes={"P-7": ("quarantined", locked)}),
        12: Turn(answer={"strategies": [effect("P-1", "helped"), effect("P-1", "hurt"),
                                        effect("P-2", "helped")]}, counts={"P-2": "helped"}),
        14: Turn(replies=[LOCKED, "Locked."], answer=lesson(other, LOCK, "result", same_as="P-7"),
                 becomes={"P-7": ("unconfirmed", locked)}),
        16: Turn(answer={"strategies": [effect("P-3", "hurt")]}, counts={"P-3": "hurt"}, late=True),
        20: Turn(answer="I think that all of this went rather well."),
        22: Turn(replies=[LOCKED, "Locked."], answer=lesson(locked, LOCK, "result")),
        24: Turn(answer={"strategies": [effect("P-7", "helped")]}, counts={"P-7": "helped"},
                 becomes={"P-7": ("active", locked)}),
        26: Turn(answer=lesson("", SIGN, same_as="P-6") | {"strategies": [effect("P-6", "refuted")]},
                 counts={"P-6": "refuted"}),
        27: Turn(f"as I said: {SIGN}"),
        29: Turn(answer=lesson("", SIGN, same_as="P-6")),
        30: Turn(f"once more, {SIGN}"),
        32: Turn(replies=[LOCKED, "Locked."], answer=lesson(other, LOCK, "result"),
                 becomes={"P-8": ("quarantined", other)}),
        34: Turn(answer={"lessons": [
            *lesson("One", SIGN, same_as="P-6", replaces="P-7")["lessons"],
            *lesson("Two", SIGN, same_as="P-7", replaces="P-6")["lessons"]]}),
        36: Turn(answer={"strategies": [effect("P-4", "hurt")]}, counts={"P-4": "hurt"}, late=True),
    }  # fmt: skip


class ErringModel(ScriptedModel):
    """Answers the turns of a script, and questions about them; while `gate` is closed, no question is answered."""

    def __init__(self, script: dict[int, Turn]) -> None:
        super().__init__(self.reply)
        self.script = script
        self.pending: list[Any] = []
        self.asked: list[int] = []
        self.findings: list[dict[str, Any]] = []
        self.gate = asyncio.Event()
        self.gate.set()

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelChunk]:
        if request.purpose == "reflect":
            await self.gate.wait()
        async for chunk in super().stream(request):
            yield chunk

    def reply(self, request: ModelRequest) -> Any:
        if request.purpose != "reflect":
            return self.pending.pop(0)
        asked = str(request.messages[-1]["content"])
        question = json.loads(asked.removeprefix("```json").partition("\n```")[0])
        again = "does not follow the schema" in asked
        if "exchanges" not in question:
            return json.dumps({"findings": self.findings})
        numbers = [int(one["id"][1:]) for one in question["exchanges"]]
        self.asked += [] if again else numbers
        answers = [self.script[number].answer for number in numbers]
        if prose := [one for one in answers if isinstance(one, str)]:
            return prose[0]
        said = {number: {"why": "seen", **self._fields(number, again)} for number in numbers}
        if len(said) == 1:
            return json.dumps(said[numbers[0]])
        named = [{"id": f"T{number}", **answer} for number, answer in said.items()]
        return json.dumps({"exchanges": named})

    def _fields(self, number: int, again: bool) -> dict[str, Any]:
        answer = self.script[number].answer
        if not isinstance(answer, dict):
            return {}
        if not again or "strategies" not in answer:
            return answer
        return answer | {
            "strategies": [one for one in answer["strategies"] if one not in UNREADABLE]
        }


@dataclass
class Expected:
    """What the playbook should hold: [helpful, harmful, neutral], and (state, text), of each strategy."""

    counts: dict[str, list[int]] = field(default_factory=dict)
    entries: dict[str, tuple[str, str]] = field(default_factory=dict)

    def take(self, turn: Turn) -> None:
        for name, entry in turn.becomes.items():
            self.entries[name] = entry
            self.counts.setdefault(name, [0, 0, 0])
        for name, what in turn.counts.items():
            self.counts[name][COUNTED[what]] += 1


def differences(runtime: Runtime, expected: Expected, number: int) -> Iterator[str]:
    bullets = runtime.sessions.session.playbook.bullets
    counts = {one.id: [one.helpful, one.harmful, one.neutral] for one in bullets.values()}
    entries = {one.id: (one.state, one.content) for one in bullets.values()}
    if counts != expected.counts:
        yield f"T{number}: counts {counts}, not {expected.counts}"
    if entries != expected.entries:
        yield f"T{number}: {entries}, not {expected.entries}"


async def play(runtime: Runtime, model: ErringModel, expected: Expected) -> list[str]:
    """Run the script as the prompt does: beside each turn, what is due of those before. A late answer about one comes
    after two turns more. Returns what differs after any turn."""
    wrong = list[str]()
    late = list[asyncio.Task[Any]]()
    held = set[int]()
    known = set[int]()
    for number, turn in model.script.items():
        model.pending = [*turn.replies]
        await run_turn(runtime, turn.query, learn=False)
        if late:
            # the turn before is answered about once the late answer is there
            model.gate.set()
            for task in late:
                await task
            known |= held
            for one in held:
                expected.take(model.script[one])
            late.clear()
            held.clear()
        runtime.learning.after_turn()
        due = [one for one in runtime.learning.due_turns() if one not in known]
        if any(model.script[one].late for one in due):
            held = set(due)
            model.gate.clear()
            late.append(asyncio.create_task(runtime.learning.reflect(*due, is_requested=True)))
            await asyncio.sleep(0)
            continue
        await runtime.learning.reflect(*due, is_requested=True)
        for one in due:
            expected.take(model.script[one])
        known |= set(due)
        wrong += differences(runtime, expected, number)
    return wrong


def begin() -> tuple[Runtime, ErringModel, Expected]:
    luck = Random(31)
    special = special_turns()
    script = {number: special.get(number) or tag_some(luck) for number in range(1, TURNS + 1)}
    model = ErringModel(script)
    runtime = make_runtime(model, mode="auto", reflect="always", reflect_percent=100_000)
    ops = tuple(
        Op("ADD", fields={"content": text, "scope": "project", "trust": "user"}) for text in TAUGHT
    )
    runtime.sessions.playbook.apply(Delta("taught", ops, "user"), runtime.sessions.session)
    entries = {name: ("active", text) for name, text in zip(NAMES, TAUGHT, strict=True)}
    return runtime, model, Expected({name: [0, 0, 0] for name in NAMES}, entries)


async def test_every_count_state_and_entry_is_right_after_each_of_forty_turns() -> None:
    runtime, model, expected = begin()
    assert await play(runtime, model, expected) == []
    once = [number for number in model.asked if not isinstance(model.script[number].answer, str)]
    assert once == [*range(1, 20), *range(21, TURNS)], "each turn is asked about once"
    await tidy_into_one(runtime, model, expected)


async def tidy_into_one(runtime: Runtime, model: ErringModel, expected: Expected) -> None:
    """See that the lesson which the reflector gave two entries has one after tidying."""
    model.findings = [{"what": "same", "ids": ["P-8"], "keep": "P-7", "text": "", "why": "one"}]
    runtime.new_session()
    await runtime.learning.tidy()
    del expected.counts["P-8"], expected.entries["P-8"]
    assert [*differences(runtime, expected, TURNS)] == []
