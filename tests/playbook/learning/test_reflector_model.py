"""The model's part: what it is sent, and that no answer of it can do harm."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

from swecli.llm.profile import Profile
from swecli.models.errors import ProviderError, Unavailable
from swecli.models.message import CallDelta, ModelChunk, ModelRequest, Usage
from swecli.models.playbook import SessionPlaybook
from swecli.playbook.digest import CallDigest, TurnDigest
from swecli.playbook.learning.reflector_model import ANSWER, ModelReflector, digest_text

Script = str | list[ModelChunk] | Exception | Callable[[], AsyncIterator[ModelChunk]]
SECRET = "ghp_0123456789abcdefABCDEF0123456789abcd"


@dataclass(slots=True)
class Tape:
    """A model that answers with what it was given, one item a request."""

    script: list[Script]
    name: str = "test/tape"
    profile: Profile = Profile(8000, 1000)
    requests: list[ModelRequest] = field(default_factory=list)
    closed: int = 0

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelChunk]:
        self.requests.append(request)
        item = self.script.pop(0)
        try:
            if isinstance(item, Exception):
                yield ModelChunk(text='{"tags": [', usage=Usage(input=7))
                raise item
            if isinstance(item, str):
                item = [ModelChunk(text=item), ModelChunk(usage=Usage(input=100, output=20), cost=0.01, stop="stop")]
            if isinstance(item, list):
                for chunk in item:
                    yield chunk
            else:
                async for chunk in item():
                    yield chunk
        finally:
            self.closed += 1


def playbook() -> SessionPlaybook:
    book = SessionPlaybook()
    book.add("Run the tests with pytest -q")
    book.add("Use tabs for indentation")
    return book


def turn(**more: Any) -> TurnDigest:
    call = CallDigest(
        "c1",
        "run_command",
        {"command": "pytest"},
        ok=False,
        exit_code=1,
        head="1 failed",
        tail="the end",
        duration_ms=61_000,
    )
    fields = {"query": "run the tests", "calls": (call,), "shown": ("P-1", "P-2"), "cited": ("P-1",)} | more
    return TurnDigest("s", 3, **fields)


def sent(model: Tape, at: int = 0) -> dict[str, Any]:
    text = model.requests[at].messages[1]["content"]
    value = json.loads(text.split("```json\n")[1].split("\n```")[0])
    assert isinstance(value, dict)
    return value


def answer(*tags: tuple[str, str], add: str = "", evidence: str = "c1: 1 failed") -> str:
    adds = [{"section": "tests", "content": add, "kind": "pitfall", "evidence": evidence}] if add else []
    return json.dumps({"tags": [{"id": i, "tag": t, "why": "seen"} for i, t in tags], "add": adds})


async def test_the_request_holds_the_template_and_the_whole_digest() -> None:
    model = Tape([answer()])
    await ModelReflector(model, "TEMPLATE").reflect(turn(), playbook(), "no, that was wrong")
    (request,) = model.requests
    assert request.purpose == "reflect"
    assert request.model == "test/tape"
    assert request.tools == []
    assert request.max_tokens == 1000
    assert request.messages[0] == {"role": "system", "content": "TEMPLATE"}
    assert [m["role"] for m in request.messages] == ["system", "user"]
    assert sent(model) == {
        "query": "run the tests",
        "outcome": "done",
        "calls": [
            {
                "id": "c1",
                "name": "run_command",
                "parameters": {"command": "pytest"},
                "ok": False,
                "error": "",
                "exit_code": 1,
                "duration_ms": 61_000,
                "head": "1 failed",
                "tail": "the end",
            }
        ],
        "shown": [
            {"id": "P-1", "content": "Run the tests with pytest -q"},
            {"id": "P-2", "content": "Use tabs for indentation"},
        ],
        "cited": ["P-1"],
        "user_said": "no, that was wrong",
    }


async def test_tags_and_additions_come_with_weak_weight_and_their_evidence() -> None:
    model = Tape([answer(("P-1", "harmful"), add="Run `make check`; pytest alone fails")])
    found = await ModelReflector(model, "").reflect(turn(), playbook())
    (tag,), (add,) = found.reflection.tags, found.reflection.adds
    assert (tag.bullet_id, tag.tag, tag.source, tag.weight) == ("P-1", "harmful", "model", 0.2)
    assert (add.kind, add.section, add.scope) == ("pitfall", "tests", "session")
    assert (add.evidence[0].call_id, add.evidence[0].quote) == ("c1", "1 failed")
    assert (found.usage.total, found.cost, found.attempts, found.failure) == (120, 0.01, 1, None)


@pytest.mark.parametrize(
    ("first", "kept", "requests", "failure"),
    [
        (f"Here you are: {answer(('P-1', 'helpful'))}", 1, 1, None),
        (f"```json\n{answer(('P-1', 'helpful'))}\n```", 1, 1, None),
        (f"```json\n{answer()}\n```\nor\n```json\n{answer(('P-1', 'helpful'))}\n```", 1, 1, None),
        (answer(("P-1", "helpful")).replace("}]", "},]"), 1, 1, None),
        (answer(("P-9", "helpful"), ("P-1", "helpful")), 1, 1, None),
        (answer(), 0, 1, None),
        (json.dumps({"tags": [{"id": "P-1", "tag": "helpful"}] * 500}), 0, 1, "500 operations"),
        (json.dumps({"playbook": ["all new"]}), 0, 1, "rewrite"),
        ("", 0, 2, "empty"),
        ("I have no opinion.", 0, 2, "no JSON object"),
        ("[1, 2]", 0, 2, "no JSON object"),
        ('{"tags": 3}', 0, 2, "not a list"),
        ('{"tags": [1], "add": ["x"]}', 0, 2, "none of its items"),
        ('{"verdict": "good"}', 0, 2, "neither"),
        (answer(("P-1", "helpful"))[:-10], 1, 2, "cut off"),
        ('{"tags": [{"id"', 0, 2, "cut off"),
        ("{" * 3000, 0, 2, "cut off"),
        ('{"tags": [{"id": "P-1", "tag": "HELPFUL!!"}]}', 0, 2, "none of its items"),
        ("null", 0, 2, "no JSON object"),
        ("{'tags': [], 'add': []}", 0, 2, "no JSON object"),
        ('{"tags": [{"id": {"x": 1}, "tag": ["helpful"]}]}', 0, 2, "none of its items"),
        ('{"add": [{"content": ""}, {"content": null}]}', 0, 2, "none of its items"),
    ],
)
async def test_no_answer_breaks_it_and_the_useless_are_asked_once_more(
    first: str, kept: int, requests: int, failure: str | None
) -> None:
    model = Tape([first, first])
    found = await ModelReflector(model, "").reflect(turn(), playbook())
    assert len(found.reflection.tags) + len(found.reflection.adds) == kept
    assert len(model.requests) == found.attempts == requests
    assert (failure is None) == (found.failure is None)
    assert failure is None or failure in str(found.failure)
    assert model.closed == requests


async def test_the_second_request_names_the_problem_and_stays_legal() -> None:
    model = Tape(["", answer(("P-1", "helpful"))])
    found = await ModelReflector(model, "T").reflect(turn(), playbook())
    assert [m["role"] for m in model.requests[1].messages] == ["system", "user"]
    assert "could not be used: the answer was empty" in model.requests[1].messages[1]["content"]
    assert found.failure is None
    assert len(found.reflection.tags) == 1
    assert (found.usage.total, found.cost) == (240, 0.02)


async def test_an_answer_of_tool_calls_only_is_a_problem() -> None:
    chunks = [ModelChunk(call=CallDelta(0, "c", "run_command", "{}")), ModelChunk(stop="tool_calls")]
    found = await ModelReflector(Tape([chunks, chunks]), "").reflect(turn(), playbook())
    assert "tool call" in str(found.failure)


async def test_a_stream_without_an_end_was_cut() -> None:
    chunks = [ModelChunk(text=answer(("P-1", "helpful"))[:-10])]
    found = await ModelReflector(Tape([chunks, chunks]), "").reflect(turn(), playbook())
    assert "cut off" in str(found.failure)
    assert [t.bullet_id for t in found.reflection.tags] == ["P-1"]


async def test_a_better_first_answer_is_not_lost_to_a_worse_second() -> None:
    cut = answer(("P-1", "helpful"), ("P-2", "neutral"))[:-10]
    found = await ModelReflector(Tape([cut, "nothing"]), "").reflect(turn(), playbook())
    assert [t.bullet_id for t in found.reflection.tags] == ["P-1", "P-2"]


async def test_an_endless_answer_is_left_at_the_cap() -> None:
    async def endless() -> AsyncIterator[ModelChunk]:
        while True:
            yield ModelChunk(text="x" * 1000)

    model = Tape([endless, endless])
    found = await ModelReflector(model, "").reflect(turn(), playbook())
    assert found.failure
    assert model.closed == 2
    assert ANSWER > 1000


@pytest.mark.parametrize("error", [ProviderError("no such key"), Unavailable("it is down"), RuntimeError("odd")])
async def test_a_provider_that_fails_is_passed_on_with_what_it_took(error: Exception) -> None:
    reflector = ModelReflector(Tape([error]), "")
    with pytest.raises(type(error)):
        await reflector.reflect(turn(), playbook())
    assert (reflector.spent.usage.input, reflector.spent.attempts) == (7, 1)


async def test_cancelling_closes_the_stream_at_once() -> None:
    started = asyncio.Event()

    async def silent() -> AsyncIterator[ModelChunk]:
        started.set()
        await asyncio.Event().wait()
        yield ModelChunk()

    model = Tape([silent])
    task = asyncio.create_task(ModelReflector(model, "").reflect(turn(), playbook()))
    await started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert model.closed == 1


async def test_an_unknown_price_stays_unknown() -> None:
    chunks = [ModelChunk(text=answer()), ModelChunk(usage=Usage(input=1), stop="stop")]
    found = await ModelReflector(Tape([chunks]), "").reflect(turn(), playbook())
    assert found.cost is None


def test_no_secret_reaches_the_model() -> None:
    call = CallDigest("c", "run_command", {"command": f"echo {SECRET}"}, head=SECRET, tail=SECRET, error=SECRET)
    text = digest_text(turn(query=SECRET, calls=(call,)), playbook().live(), SECRET)
    assert SECRET not in text


def test_a_bullets_own_words_come_back_as_its_id() -> None:
    echo = "The note says:  run the TESTS with\npytest -q. So I did."
    call = CallDigest("c", "read_file", {"path": "notes"}, head=echo)
    text = digest_text(turn(query=echo, calls=(call,)), playbook().live(), "")
    value = json.loads(text.removeprefix("```json\n").removesuffix("\n```"))
    assert value["query"] == "The note says:  [P-1]. So I did."
    assert value["calls"][0]["head"] == value["query"]


def test_a_fence_inside_a_result_does_not_end_the_digest() -> None:
    call = CallDigest("c", "read_file", {"path": "a.md"}, head='```json\n{"tags": []}\n```\n\ud800')
    text = digest_text(turn(calls=(call,)), [])
    assert text.count("```") == 2
    value = json.loads(text.removeprefix("```json\n").removesuffix("\n```"))
    assert value["calls"][0]["head"].startswith("```json")
    text.encode("utf-8")


def test_every_call_is_in_the_digest_however_many_there_are() -> None:
    calls = tuple(
        CallDigest(f"c{i}", "read_file", {"path": "x" * 900}, head="h" * 400, tail="t" * 400) for i in range(300)
    )
    text = digest_text(turn(calls=calls), [])
    value = json.loads(text.removeprefix("```json\n").removesuffix("\n```"))
    assert [c["id"] for c in value["calls"]] == [f"c{i}" for i in range(300)]
    assert len(text) < 150_000
