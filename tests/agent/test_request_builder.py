"""Test that preparing a request collects its context anew each time and changes no state."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from swecli.agent.request_builder import Query
from swecli.context.tokens import TokenCounter
from swecli.llm.price_table import tokenizer_folder
from swecli.models.message import ApiMessage
from swecli.models.playbook import Delta, Op
from swecli.models.window_spec import WindowSpec
from tests.support.runtime import calls, make_runtime, run_turn
from tests.support.scripted import ScriptedModel

QUERIES = (
    "implement the parser",
    "and the tests?",
    "Remember: use tabs.",
    "read it",
    "no, that is wrong",
)
ACTS = st.one_of(
    st.sampled_from(QUERIES),
    st.sampled_from(["teach", "pin", "undo", "window", "reopen", "look"]),
)


@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(ACTS, min_size=1, max_size=12), st.sampled_from(["2+2", "3", "auto", "full"]))
@pytest.mark.slow
async def test_preparing_a_request_twice_gives_equal_requests_and_changes_no_state(
    acts: list[str], window: str
) -> None:
    replies = (
        calls(("list_files", {})) if number % 3 == 1 else "It is so. " * 30 for number in range(99)
    )
    runtime = make_runtime(
        lambda request: next(replies), window=WindowSpec.parse(window), playbook_tokens=120
    )
    for number, act in enumerate(acts):
        session = runtime.sessions.current_session
        assert session is not None
        if act in QUERIES:
            await run_turn(runtime, act)
        elif act == "teach":
            ops = (
                Op(
                    "ADD",
                    fields={"content": f"The parser number {number} lives in parse{number}.py."},
                ),
            )
            runtime.sessions.playbook.apply(
                Delta(f"taught {session.id} {number}", ops, "user"), session
            )
        elif act == "pin" and session.interactions:
            runtime.context_control.pin(1)
        elif act == "undo" and any(
            row.how not in ("begin", "undo") and not row.undone
            for row in runtime.sessions.context.log(session)
        ):
            runtime.context_control.undo()
        elif act == "window":
            runtime.sessions.set_window(WindowSpec(1 + number % 4, 1))
        elif act == "reopen":
            runtime.agent.begin_epoch("a test")
        before = (
            [message.to_api() for message in session.messages],
            len(runtime.sessions.context.log(session)),
        )
        first = runtime.agent.prepare("now the parser")
        assert runtime.agent.prepare("now the parser") == first
        after = (
            [message.to_api() for message in session.messages],
            len(runtime.sessions.context.log(session)),
        )
        assert after == before
    runtime.close()


class WatchedCounter(TokenCounter):
    """Records of each measured list of messages whether its tokens were estimated."""

    def __init__(self) -> None:
        super().__init__(exact=False)
        self.estimates: list[bool] = []

    def count_messages(self, messages: Iterable[ApiMessage]) -> int:
        self.estimates.append(self.estimated)
        return super().count_messages(messages)


@pytest.mark.parametrize(("window", "is_exact"), [(1_000_000, False), (12_000, True)])
def test_a_request_is_measured_once_after_what_it_holds_is_chosen(
    window: int, is_exact: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tokenizer_folder()))
    runtime = make_runtime(ScriptedModel(context_window=window))
    counter = WatchedCounter()
    builder = runtime.agent.builder
    prepared = builder.prepare(Query("and now? " * 3_000), runtime.agent.model, counter)
    assert counter.estimated is not is_exact
    # the past of the epoch that begins, and the whole
    assert counter.estimates == [not is_exact] * 2
    assert prepared.request.tokens == counter.count_messages(prepared.request.keyed_messages)
