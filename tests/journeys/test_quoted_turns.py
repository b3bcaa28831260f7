"""Test that a query which refers to a turn outside the window gets that turn quoted, and that no other query
changes."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

import pytest

from swecli.app import Runtime
from swecli.llm.registry import make_model
from swecli.models.events import Event, Notice
from swecli.models.message import ChatMessage, ModelRequest, Role
from swecli.models.window_spec import WindowSpec
from tests.support.runtime import calls, make_runtime, make_start, run_turn
from tests.support.scripted import ScriptedModel
from tests.support.strict_provider import Reply as HttpReply
from tests.support.strict_provider import StrictProvider
from tests.support.strict_provider.server import OPENAI_MODEL

pytestmark = pytest.mark.slow

PORT = "what did I say about the zebra port?"
FACTS = {
    20: ("remember for later: the zebra port is 7411", "The zebra port is 7411."),
    31: ("which parser?", "LL(1)."),
}
WORK = (
    "run the tests again",
    "fix the failing test",
    "show me the diff",
    "add a docstring",
    "update the readme",
)
OTHER = (
    *WORK, "thanks", "yes, go on", "write a function that sorts users", "use tabs instead of spaces", "why?",
    "delete the old migration", "what is left to do?", "open a pull request", "is it faster now?", "zebra", "the port",
    "format the code", "explain the module", "commit this", "check the types as well",
)  # fmt: skip


class RecordingModel:
    """A model that records its requests and answers from `replies`."""

    def __init__(self, replies: Iterable[Any]) -> None:
        self.replies, self.requests = iter(replies), list[ModelRequest]()

    def __call__(self, request: ModelRequest) -> Any:
        self.requests.append(request)
        return next(self.replies)

    @property
    def sent_query(self) -> str:
        """Return the newest query as it was sent."""
        return str([m["content"] for m in self.requests[-1].messages if m["role"] == "user"][-1])


def runtime_after(
    turns: int, facts: dict[int, tuple[str, str]] | None = None, **given: Any
) -> tuple[Runtime, RecordingModel]:
    """Return the runtime of a session of that many finished turns, and the model of the turns that follow."""
    sent = RecordingModel(given.pop("replies", ["So it is."] * 30))
    model = given.pop("model", None) or ScriptedModel(
        sent, context_window=given.pop("context_window", 128_000)
    )
    settings: dict[str, Any] = {"learn": False, "window": WindowSpec(5, 3)}
    runtime = make_runtime(model, **(settings | given))
    for number in range(1, turns + 1):
        query, answer = (FACTS if facts is None else facts).get(
            number, (WORK[number % 5], "Done: they pass.")
        )
        runtime.sessions.begin_interaction(query)
        runtime.sessions.append(ChatMessage(Role.ASSISTANT, answer))
        runtime.sessions.finish_interaction("complete")
    return runtime, sent


def notice_texts(events: Iterable[Event]) -> list[str]:
    return [event.text for event in events if isinstance(event, Notice)]


async def test_a_query_in_turn_60_is_sent_with_quotes_of_turn_20() -> None:
    runtime, sent = runtime_after(59)
    runtime.sessions.store_query(PORT)  # The REPL and headless runs do this first.
    events = await run_turn(runtime, PORT, learn=False)
    assert notice_texts(events) == ["found in T20"]
    assert sent.sent_query.startswith(PORT)
    assert 'T20, query: "remember for later: the zebra port is 7411"' in sent.sent_query
    assert 'T20, answer: "The zebra port is 7411."' in sent.sent_query
    stored = runtime.sessions.current_session
    assert stored is not None
    assert [message.content for message in stored.messages if message.role is Role.USER][-1] == PORT
    await run_turn(runtime, "thanks", learn=False)
    assert [m for m in sent.requests[-1].messages if m["role"] == "user"][-2]["content"].count(
        "7411"
    ) == 2
    runtime.close()


async def test_queries_that_refer_to_no_earlier_turn_find_nothing() -> None:
    runtime, sent = runtime_after(59)
    for query in OTHER:
        assert notice_texts(await run_turn(runtime, query, learn=False)) == []
        assert "Found in earlier turns" not in sent.sent_query
    runtime.close()


async def test_over_http_inflected_words_find_turn_20_and_unrelated_queries_find_nothing() -> None:
    with StrictProvider(lambda request: HttpReply("So it is.")) as server:
        model = make_model(
            f"openai/{OPENAI_MODEL}", make_start().settings, {**os.environ, **server.environ()}
        )
        for queries, found in ((OTHER, []), (["which port did the zebras get?"], ["found in T20"])):
            runtime, _ = runtime_after(59, model=model)
            for query in queries:
                assert notice_texts(await run_turn(runtime, query, learn=False)) == found
                sent_query = str(server.bodies[-1]["messages"][-1]["content"])
                assert sent_query.startswith(query)
                assert ("Found in earlier turns" in sent_query) == bool(found)
            runtime.close()
        assert 'T20, answer: "The zebra port is 7411."' in sent_query
        assert server.refusals == []


async def test_two_common_words_find_no_turn_in_a_short_session() -> None:
    facts = {
        3: ("read all of the parts", "Read."),
        4: ("write a test for the empty list", "Written."),
    }
    runtime, _ = runtime_after(13, facts)
    assert runtime.agent.prepare("read the other parts").quoted == ()
    assert runtime.agent.prepare("now print the list").quoted == ()
    assert runtime.agent.prepare("write the test for the empty list once more").quoted == (4,)
    runtime.close()


@pytest.mark.parametrize(
    ("context_window", "all_of_it"), [(3_000, False), (128_000, True), (None, True)]
)
async def test_excerpts_take_at_most_a_tenth_of_the_context_window(
    context_window: int | None, all_of_it: bool
) -> None:
    dense = " ".join(f"{n * 7919:x}§{n}" for n in range(400))
    facts = {
        n: (f"the zebra {n} port quagga {dense}", f"zebra port quagga: {dense}")
        for n in (20, 21, 22)
    }
    runtime, _ = runtime_after(59, facts, context_window=context_window)
    count, query = runtime.agent.counter.count, "the quagga of the zebra port?"
    with_them = runtime.agent.prepare(query)
    runtime.close()
    runtime, _ = runtime_after(59, facts, context_window=context_window, search_earlier=False)
    added = count(with_them.request.enhanced) - count(runtime.agent.prepare(query).request.enhanced)
    runtime.close()
    assert with_them.quoted
    assert 0 < added <= (context_window or 128_000) / 10
    quotations = with_them.request.enhanced.count("\n- T2")
    assert quotations == 6 if all_of_it else 0 < quotations < 6


@pytest.mark.parametrize(
    ("turns", "given"),
    [(59, {"search_earlier": False}), (59, {"window": WindowSpec(mode="full")}), (5, {})],
)
async def test_earlier_turns_are_not_searched_when_disabled_or_when_all_are_sent(
    turns: int, given: dict[str, Any]
) -> None:
    runtime, sent = runtime_after(turns, **given)
    assert notice_texts(await run_turn(runtime, PORT, learn=False)) == []
    assert "Found in earlier turns" not in sent.sent_query
    runtime.close()


async def test_a_pinned_turn_is_sent_and_not_quoted() -> None:
    runtime, sent = runtime_after(59)
    runtime.context_control.pin(20)
    assert notice_texts(await run_turn(runtime, PORT, learn=False)) == []
    assert "Found in earlier turns" not in sent.sent_query
    assert "the zebra port is 7411" in str(sent.requests[-1].messages)
    runtime.close()


async def test_search_session_matches_any_word_and_excludes_the_current_turn() -> None:
    sent_query = [calls(("search_session", {"query": query})) for query in ("zebra", "okapi")]
    runtime, sent = runtime_after(59, replies=[*sent_query, "7411."])
    await run_turn(runtime, "look for the zebra and the okapi", learn=False)
    first, second = (str(m["content"]) for m in sent.requests[-1].messages if m["role"] == "tool")
    assert (
        first
        == 'T20, query: "remember for later: the zebra port is 7411"\nT20, answer: "The zebra port is 7411."'
    )
    assert second == "No earlier turn has any of these words."
    runtime.close()


async def test_search_session_finds_a_turn_of_a_short_session() -> None:
    runtime, sent = runtime_after(2, {1: ("the zebra port is 7411", "Noted.")}, replies=[
        calls(("search_session", {"query": "zebra"})), "7411."
    ], window=WindowSpec(1))  # fmt: skip
    await run_turn(runtime, "which port?", learn=False)
    assert 'T1, query: "the zebra port is 7411"' in str(sent.requests[-1].messages[-1]["content"])
    runtime.close()
