"""Test that ContextFitter fits any history into any limits: it terminates, shrinks, keeps calls with their results, and
its rows rebuild the request."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from swecli.agent.context_fitter import ContextFitter
from swecli.agent.fitted_request import StepPosition
from swecli.agent.turn import TurnRecord
from swecli.config.settings import Settings
from swecli.context.keyed_messages import SYSTEM_KEY, normalize_keyed, strip_keys
from swecli.context.system_message import HeadParts
from swecli.context.tokens import TokenCounter
from swecli.llm.price_table import tokenizer_folder
from swecli.models.context import KEY, Epoch, Reduction, interaction_of, key_of
from swecli.models.errors import BadInput, ContextFull, ContextOverflow
from swecli.models.events import ContextReduced, Event, Notice
from swecli.models.message import ApiMessage, Usage
from swecli.models.playbook import WithdrawnStrategy
from swecli.models.session import Session
from swecli.store.session_manager import SessionManager
from swecli.store.sqlite.orm import reader
from tests.support.databases import open_database
from tests.support.histories import Message, call, complaint, legal_histories, result
from tests.support.scripted import ScriptedModel

COUNTER = TokenCounter("no table")
SYSTEM = "You help."


def reporting_model(replies: Any, **more: Any) -> ScriptedModel:
    """Return a scripted model that is not offline, so that its reported usage is compared with the estimate."""
    return ScriptedModel(replies, offline=False, **more)


def key_messages(history: list[Message]) -> list[ApiMessage]:
    """Return the history with message keys, numbering interactions from 1."""
    out: list[ApiMessage] = [{"role": "system", "content": SYSTEM, KEY: SYSTEM_KEY}]
    number, place = 0, 0
    for message in history:
        if message["role"] == "system":
            continue
        number, place = (number + 1, 0) if message["role"] == "user" else (number, place + 1)
        out.append(message | {KEY: f"{number}.{place}"})
    return normalize_keyed(out)


@pytest.fixture(autouse=True)
def manager() -> None:
    FittedTurn.manager = SessionManager(open_database(":memory:"))


class FittedTurn:
    """A fitter with its session and record, applied to a given history whose last interaction is the running one."""

    manager: SessionManager  # one for each test

    def __init__(
        self, history: list[Message], model: ScriptedModel, pins: tuple[int, ...] = (), **rules: Any
    ) -> None:
        self.sessions, self.raw = FittedTurn.manager, key_messages(history)
        self.session = self.sessions.start("/p", "m")
        self.sessions.begin_interaction("x")
        running = interaction_of(self.raw[-1])
        self.session.context.pins = tuple(pin for pin in pins if pin < running)
        self.sessions.context.add(self.session, Reduction("begin", 1, epoch=Epoch(1, SYSTEM)))
        self.settings = self.make_settings(**rules)
        self.fitter = ContextFitter(model, [], COUNTER, self.session, self, model)  # type: ignore[arg-type]
        self.record = TurnRecord(self.sessions, COUNTER)
        self.messages, self.at = list(self.raw), StepPosition(running, 1, "x")

    def make_settings(
        self, threshold: int = 100, condense: bool = True, max_tokens: int | None = None
    ) -> Settings:
        return Settings(
            auto_condense_context_percent=threshold,
            auto_condense_context=condense,
            max_tokens=max_tokens,
        )

    def head(self, query: str, counter: TokenCounter, **place: int | None) -> HeadParts:
        return HeadParts(SYSTEM)

    def withdrawn(self, session: Session) -> list[WithdrawnStrategy]:
        return []

    def fit(self) -> list[Event]:
        fitted = asyncio.run(self.fitter.fit(self.messages, self.at))
        events = [
            event for effect in fitted.effects if (event := self.record.store(effect)) is not None
        ]
        self.messages, self.last = fitted.keyed_messages, fitted
        if fitted.failure is not None:
            raise fitted.failure
        return events

    def rebuild_from_rows(self) -> list[ApiMessage]:
        """Return the request that a restart would send, built from the messages and the stored rows alone."""
        with self.sessions.database.reading() as db:
            context = reader(db).session(self.session.id, 1).context
        epoch = context.epoch
        assert epoch is not None
        shown = [
            m
            for m in self.raw[1:]
            if interaction_of(m) >= epoch.first or interaction_of(m) in epoch.pins
        ]
        messages = normalize_keyed([self.raw[0] | {"content": epoch.system}, *shown])
        for one in context.edits:
            messages = one.apply(messages)
        return normalize_keyed(messages)


def summaries() -> Any:
    return st.sampled_from(["", "short", "x" * 4_000, ContextOverflow("too long")])


@st.composite
def fitted_turns(draw: st.DrawFn) -> FittedTurn:
    history = draw(legal_histories(longest=6_000, turns=6))
    window, summary = draw(st.integers(40, 6_000)), draw(summaries())
    model = ScriptedModel(lambda request: summary, context_window=window, max_output=20)
    pins = tuple(draw(st.sets(st.integers(1, 6), max_size=2)))
    return FittedTurn(
        history, model, pins, threshold=draw(st.integers(50, 100)), condense=draw(st.booleans())
    )


def check_fit(turn: FittedTurn) -> None:
    before = {key_of(message): message for message in turn.raw}
    pins = turn.session.context.pins
    try:
        events = turn.fit()
    except ContextFull:
        assert not turn.fitter.measure(turn.messages).fits, "it gives up only on what is too long"
        return
    after = turn.messages
    reductions = [event for event in events if isinstance(event, ContextReduced)]
    assert all(event.after < event.before for event in reductions)
    assert complaint(strip_keys(after)) == ""
    stayed = [m for m in after if interaction_of(m) in pins and not key_of(m).endswith("+")]
    assert stayed == [m for m in turn.raw if interaction_of(m) in pins]
    asked = next(m for m in reversed(turn.raw) if m["role"] == "user")
    assert before[key_of(asked)] in after, "the running turn's question stays"
    if not any(event.how == "condense" for event in reductions):
        cut = any(event.how == "shrink" for event in reductions)
        stays = [key_of(message) for message in after] if cut else after
        assert (key_of(turn.raw[1]) if cut else turn.raw[1]) in stays, (
            "the first user message stays, cut at most"
        )
    assert turn.rebuild_from_rows() == after
    rows = len(turn.sessions.context.log(turn.session))
    turn.settings = replace(turn.settings, auto_condense_context=False)
    assert turn.fit() == [], "fitting again changes nothing"
    assert turn.messages == after
    assert len(turn.sessions.context.log(turn.session)) == rows


@pytest.mark.slow
@given(fitted_turns())
@settings(max_examples=int(os.environ.get("SWECLI_TEST_EXAMPLES", "150")))
def test_any_history_under_any_limits_becomes_a_valid_request_or_is_context_full(
    turn: FittedTurn,
) -> None:
    check_fit(turn)


def long_turn(steps: int, size: int = 800) -> list[Message]:
    out: list[Message] = [{"role": "user", "content": "go"}]
    for n in range(steps):
        out += [
            {"role": "assistant", "content": "y" * size, "tool_calls": [call(f"c{n}")]},
            result(f"c{n}", "short"),
        ]
    return out


def notice_texts(events: list[Event]) -> Iterator[str]:
    return (event.text for event in events if isinstance(event, Notice))


def grow(turn: FittedTurn, steps: int) -> None:
    turn.messages += key_messages(long_turn(steps))[2:]
    turn.messages = normalize_keyed([m | {KEY: f"1.{n}"} for n, m in enumerate(turn.messages)])


def test_a_failed_summary_is_retried_as_the_conversation_grows_and_a_success_resets_the_count() -> (
    None
):
    asked: list[int] = []
    answers = iter(["", "", "", "", "All is well.", ""])

    def answer(request: Any) -> str:
        asked.append(len(request.messages))
        return next(answers)

    turn = FittedTurn(
        long_turn(20), ScriptedModel(answer, context_window=6_200, max_output=100), threshold=50
    )
    notes = []
    for tries in range(6):
        notes += [line for line in notice_texts(turn.fit()) if "condens" in line]
        assert len(asked) == tries + 1
        assert not [line for line in notice_texts(turn.fit()) if "condens" in line], (
            "nothing has grown"
        )
        assert len(asked) == tries + 1
        turn.at = replace(turn.at, step=turn.at.step + 10)
        grow(turn, 16 if tries >= 4 else 6)
    assert notes == [
        "the conversation was not condensed: the model returned an empty summary",
        "condensing failed 3 times in a row, and is tried again as the conversation grows: "
        "the model returned an empty summary",
        "the conversation was not condensed: the model returned an empty summary",
    ]


def test_a_conversation_whose_summary_a_hook_refuses_is_cut() -> None:
    class Refusing:
        async def before_summary(self, trigger: str, wish: str) -> str:
            raise BadInput(f"A hook refuses the summary: {trigger}")

    model = ScriptedModel(["All is well."], context_window=6_200, max_output=100)
    turn = FittedTurn(long_turn(30), model, threshold=50)
    turn.fitter.hooks = Refusing()  # type: ignore[assignment]
    events = turn.fit()
    assert "A hook refuses the summary: auto" in notice_texts(events)
    assert not model.requests
    hows = [event.how for event in events if isinstance(event, ContextReduced)]
    assert "condense" not in hows


def test_a_third_reduction_in_four_steps_is_reported_and_halves_the_request() -> None:
    model = ScriptedModel(lambda request: "x", context_window=6_200, max_output=100)
    turn = FittedTurn(long_turn(25), model, threshold=100, condense=False)
    notes, sizes = [], []
    for step in range(1, 4):
        turn.at = replace(turn.at, step=step)
        notes += [line for line in notice_texts(turn.fit()) if "steps" in line]
        sizes.append(turn.last.size.tokens)
        grow(turn, 20)
    assert [line.split(":")[0] for line in notes] == [
        "the conversation was reduced 3 times in 4 steps"
    ]
    assert "tools and system prompt take 9 of" in notes[0]
    assert sizes[2] <= 5_480 / 2 + 10 < sizes[1]


def test_a_limit_named_by_the_provider_applies_only_to_the_same_max_tokens() -> None:
    turn = FittedTurn(long_turn(20), ScriptedModel(["x"], context_window=100_000), condense=False)
    turn.fit()
    error = ContextOverflow("too long")
    error.limit = 4_000
    turn.fitter.record_refusal(error, turn.last)
    assert turn.fitter.limits.allowed == 2_600
    turn.settings = turn.make_settings(max_tokens=500)
    assert turn.fitter.limits.allowed is None, "a shorter answer is another request"


def test_silent_truncation_by_a_provider_is_detected_and_implausible_usage_is_ignored() -> None:
    turn = FittedTurn(long_turn(40), reporting_model(["x"], context_window=100_000))
    turn.fit()
    sent = turn.last
    turn.fitter.check_usage(Usage(input=sent.counted_tokens * 2), sent)
    assert turn.fitter.observed.scales == {"scripted/test": 2.0}
    turn.fitter.check_usage(
        Usage(input=11), sent
    )  # Too small for any context window, so not a real count.
    assert turn.fitter.observed.scales == {"scripted/test": 2.0}
    notice = turn.fitter.check_usage(Usage(input=2_048), sent)
    assert "may have been truncated" in notice, "one equal count does not prove truncation"
    larger = replace(sent, counted_tokens=sent.counted_tokens + 500)
    with pytest.raises(ContextOverflow) as raised:
        turn.fitter.check_usage(Usage(input=2_050), larger)
    assert raised.value.limit == sent.counted_tokens * 2, "the largest request read completely"


def test_tokens_are_counted_only_near_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tokenizer_folder()))
    for window, estimated in ((100_000, True), (8_000, False)):
        turn = FittedTurn(long_turn(10), reporting_model(["x"], context_window=window))
        turn.fitter.counter = TokenCounter(exact=False)
        turn.fit()
        assert turn.last.size.estimated is estimated


def test_an_estimate_above_the_reported_usage_is_not_reported_as_truncation(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tokenizer_folder()))
    turn = FittedTurn(
        [{"role": "user", "content": "x = 1;" + " " * 60_000}],
        reporting_model(["x"], context_window=1_000_000),
    )
    turn.fitter.counter = TokenCounter(exact=False)
    turn.fit()
    exact = TokenCounter().count_messages(turn.last.request.messages)
    assert turn.last.counted_tokens > 8 * exact
    assert turn.fitter.check_usage(Usage(input=1_100), turn.last) == ""
    assert turn.fitter.observed.scales == {"scripted/test": 1_100 / exact}


def test_a_discarded_summary_leaves_no_row_when_truncation_follows() -> None:
    history: list[Message] = [{"role": "user", "content": "a"}]
    history += [
        {"role": "assistant", "content": None, "tool_calls": [call("c0")]},
        result("c0", "x"),
    ]
    history += [
        {"role": "assistant", "content": None, "tool_calls": [call("c1")]},
        result("c1", "y" * 750),
    ]
    model = ScriptedModel(lambda request: "x" * 4_000, context_window=210, max_output=20)
    turn = FittedTurn(history, model, (), threshold=50, condense=True)
    hows = [event.how for event in turn.fit() if isinstance(event, ContextReduced)]
    assert "condense" not in hows
    assert turn.rebuild_from_rows() == turn.messages
