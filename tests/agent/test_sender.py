"""Test the one sender: each request that is paid for is recorded once, under its purpose."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from swecli.agent.sender import send
from swecli.models.errors import ProviderError, SwecliError
from swecli.models.message import ModelRequest, RequestRecord, Usage
from swecli.store.session_manager import SessionManager
from tests.support.reviews import begin_review, collect, report_call, verdict_call
from tests.support.runtime import calls, make_runtime, run_turn
from tests.support.scripted import Reply, ScriptedModel


def answer(request: ModelRequest) -> Any:
    """Answer each purpose as its sender expects."""
    if request.purpose == "review":
        return calls(report_call(("shop.py", 1, "LEAK")))
    if request.purpose == "verify":
        return calls(verdict_call(("F-1", "confirmed", "open"), path="shop.py"))
    return {"title": "A short title", "condense": "What was said.", "reflect": "{}"}.get(
        request.purpose, "Yes."
    )


def recorded(sessions: SessionManager) -> dict[str, int]:
    return {name: one.requests for name, one in sessions.totals().by_purpose.items()}


async def test_each_request_of_a_session_is_recorded_once_under_its_purpose() -> None:
    model = ScriptedModel(answer)
    runtime = make_runtime(model, reflect="always", reflect_percent=1_000)
    runtime.agent.condense_model = model
    await run_turn(runtime, "remember that answers are short", learn=False)
    await runtime.learning.learn(is_requested=True)
    await runtime.agent.generate_title()
    events = [event async for event in runtime.context_control.compact()]
    assert events
    await run_turn(runtime, "and now?", learn=False)
    paid = Counter(request.purpose for request in model.requests)
    # a reflection asks once more after an answer that cannot be used, and is one record
    assert paid == {"turn": 2, "title": 1, "condense": 1, "reflect": paid["reflect"]}
    assert recorded(runtime.sessions) == {**paid, "reflect": 1}
    runtime.close()


async def test_each_request_of_a_review_is_recorded_under_its_purpose() -> None:
    Path("shop.py").write_text("f = open('x')\n")
    model = ScriptedModel(answer)
    runtime = make_runtime(model)
    review = await begin_review(runtime, "shop.py", verify=True)
    await collect(review)
    assert Counter(request.purpose for request in model.requests) == {"review": 1, "verify": 1}
    assert recorded(review.job.sessions) == {"review": 1, "verify": 1}
    runtime.close()


def request_of(model: ScriptedModel, **given: Any) -> ModelRequest:
    return ModelRequest(model.name, [{"role": "user", "content": "x" * 400}], **given)


async def test_usage_that_a_service_does_not_report_is_estimated() -> None:
    model, spent = ScriptedModel([Reply("y" * 40, usage=None, cost=None)]), list[RequestRecord]()
    await send(model, request_of(model, purpose="title"), spent.append)
    [record] = spent
    assert record.purpose == "title"
    assert record.usage.output == 10
    assert record.usage.input >= 100


async def test_a_refused_request_is_not_recorded() -> None:
    model, spent = ScriptedModel([ProviderError("No.")]), list[RequestRecord]()
    with pytest.raises(SwecliError):
        await send(model, request_of(model), spent.append)
    assert spent == []


@pytest.mark.parametrize("keeps_broken", [True, False])
async def test_an_answer_that_breaks_off_is_recorded_if_its_sender_wants_it(
    keeps_broken: bool,
) -> None:
    broken = Reply("one two three", piece=4, cut_after=2, failure=ProviderError("Gone."))
    model, spent = ScriptedModel([broken]), list[RequestRecord]()
    with pytest.raises(SwecliError):
        await send(model, request_of(model), spent.append, keeps_broken=keeps_broken)
    assert [record.usage.output for record in spent] == ([2] if keeps_broken else [])


async def test_an_answer_is_read_up_to_its_cap() -> None:
    model, spent = ScriptedModel([Reply("x" * 1_000, usage=Usage(1, 1))]), list[RequestRecord]()
    reply = await send(model, request_of(model), spent.append, max_characters=100)
    assert 100 < len(reply.text) < 200
    assert len(spent) == 1
