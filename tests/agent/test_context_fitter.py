"""The ladder on any history and any limits: it ends, shrinks, splits nothing, and can be built again from its rows."""

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
from swecli.agent.turn import StepPlace, TurnRecord
from swecli.config.settings import Settings
from swecli.context.system_message import HeadParts
from swecli.context.tokens import TokenCounter
from swecli.context.validate import SYSTEM_KEY, normalize_keyed, strip_keys
from swecli.llm.price_table import tokenizer_folder
from swecli.models.context import KEY, Epoch, Reduction, interaction_of, key_of
from swecli.models.errors import ContextFull, ContextOverflow
from swecli.models.events import Event, Notice
from swecli.models.message import ApiMessage, Usage
from swecli.store.session_manager import SessionManager
from swecli.store.sqlite.database import open_database, reader
from tests.support.histories import Message, call, complaint, legal_histories, result
from tests.support.scripted import ScriptedModel

COUNTER = TokenCounter("no table")
SYSTEM = "You help."


def online(replies: Any, **more: Any) -> ScriptedModel:
    """A scripted model whose counts are to be believed."""
    return ScriptedModel(replies, offline=False, **more)


def keyed(history: list[Message]) -> list[ApiMessage]:
    """A history with keys, as interactions from 1 on."""
    out: list[ApiMessage] = [{"role": "system", "content": SYSTEM, KEY: SYSTEM_KEY}]
    number, place = 0, 0
    for message in history:
        if message["role"] == "system":
            continue
        number, place = (number + 1, 0) if message["role"] == "user" else (number, place + 1)
        out.append(message | {KEY: f"{number}.{place}"})
    return normalize_keyed(out)


class Climb:
    """One turn on a given history: the last interaction is the running one."""

    manager: SessionManager | None = None

    def __init__(self, history: list[Message], model: ScriptedModel, pins: tuple[int, ...] = (), **rules: Any) -> None:
        Climb.manager = Climb.manager or SessionManager(open_database(":memory:"))
        self.sessions, self.raw = Climb.manager, keyed(history)
        self.session = self.sessions.start("/p", "m")
        self.sessions.begin_interaction("x")
        running = interaction_of(self.raw[-1])
        self.session.context.pins = tuple(pin for pin in pins if pin < running)
        self.sessions.context.add(self.session, Reduction("begin", 1, epoch=Epoch(1, SYSTEM)))
        self.settings = self.by_rules(**rules)
        self.fitter = ContextFitter(model, [], COUNTER, self.session, self, model)  # type: ignore[arg-type]
        self.record = TurnRecord(self.sessions, COUNTER)
        self.messages, self.at = list(self.raw), StepPlace(running, 1, "x")

    def by_rules(self, threshold: int = 100, condense: bool = True, max_tokens: int | None = None) -> Settings:
        return Settings(auto_condense_context_percent=threshold, auto_condense_context=condense, max_tokens=max_tokens)

    def head(self, query: str, counter: TokenCounter) -> HeadParts:
        return HeadParts(SYSTEM)

    def fit(self) -> list[Event]:
        fitted = asyncio.run(self.fitter.fit(self.messages, self.at))
        events = [event for effect in fitted.effects if (event := self.record.store(effect)) is not None]
        self.messages, self.last = fitted.keyed, fitted
        if fitted.failure is not None:
            raise fitted.failure
        return events

    def rebuilt(self) -> list[ApiMessage]:
        """What a restart would send: from the messages and the rows alone."""
        with self.sessions.database.reading() as db:
            context = reader(db).session(self.session.id, 1).context
        epoch = context.epoch
        assert epoch is not None
        shown = [m for m in self.raw[1:] if interaction_of(m) >= epoch.first or interaction_of(m) in epoch.pins]
        messages = normalize_keyed([self.raw[0] | {"content": epoch.system}, *shown])
        for one in context.edits:
            messages = one.apply(messages)
        return normalize_keyed(messages)


def summaries() -> Any:
    return st.sampled_from(["", "short", "x" * 4_000, ContextOverflow("too long")])


@st.composite
def climbs(draw: st.DrawFn) -> Climb:
    history = draw(legal_histories(longest=6_000, turns=6))
    window, summary = draw(st.integers(40, 6_000)), draw(summaries())
    model = ScriptedModel(lambda request: summary, context_window=window, max_output=20)
    pins = tuple(draw(st.sets(st.integers(1, 6), max_size=2)))
    return Climb(history, model, pins, threshold=draw(st.integers(50, 100)), condense=draw(st.booleans()))


def check(climb: Climb) -> None:
    before = {key_of(message): message for message in climb.raw}
    pins = climb.session.context.pins
    try:
        events = climb.fit()
    except ContextFull:
        return
    after = climb.messages
    reductions = [event for event in events if event.type == "context_reduced"]
    assert all(event.after < event.before for event in reductions)  # type: ignore[union-attr]
    assert complaint(strip_keys(after)) == ""
    stayed = [m for m in after if interaction_of(m) in pins and not key_of(m).endswith("+")]
    assert stayed == [m for m in climb.raw if interaction_of(m) in pins]
    asked = next(m for m in reversed(climb.raw) if m["role"] == "user")
    assert before[key_of(asked)] in after, "the running turn's question stays"
    if not any(event.how == "condense" for event in reductions):  # type: ignore[union-attr]
        cut = any(event.how == "shrink" for event in reductions)  # type: ignore[union-attr]
        stays = [key_of(message) for message in after] if cut else after
        assert (key_of(climb.raw[1]) if cut else climb.raw[1]) in stays, "the first user message stays, cut at most"
    assert climb.rebuilt() == after
    rows = len(climb.sessions.context.log(climb.session))
    climb.settings = replace(climb.settings, auto_condense_context=False)
    assert climb.fit() == [], "twice changes nothing"
    assert climb.messages == after
    assert len(climb.sessions.context.log(climb.session)) == rows


@pytest.mark.slow
@given(climbs())
@settings(max_examples=int(os.environ.get("SWECLI_TEST_EXAMPLES", "500")))
def test_any_history_under_any_limits_becomes_a_request_or_a_named_stop(climb: Climb) -> None:
    check(climb)


def long_turn(steps: int, size: int = 800) -> list[Message]:
    out: list[Message] = [{"role": "user", "content": "go"}]
    for n in range(steps):
        out += [{"role": "assistant", "content": "y" * size, "tool_calls": [call(f"c{n}")]}, result(f"c{n}", "short")]
    return out


def notices(events: list[Event]) -> Iterator[str]:
    return (event.text for event in events if isinstance(event, Notice))


def grow(climb: Climb, steps: int) -> None:
    climb.messages += keyed(long_turn(steps))[2:]
    climb.messages = normalize_keyed([m | {KEY: f"1.{n}"} for n, m in enumerate(climb.messages)])


def test_a_failed_summary_is_tried_again_as_the_conversation_grows_and_a_success_ends_it() -> None:
    asked: list[int] = []
    answers = iter(["", "", "", "", "All is well.", ""])

    def answer(request: Any) -> str:
        asked.append(len(request.messages))
        return next(answers)

    climb = Climb(long_turn(20), ScriptedModel(answer, context_window=6_200, max_output=100), threshold=50)
    said = []
    for tries in range(6):
        said += [line for line in notices(climb.fit()) if "condens" in line]
        assert len(asked) == tries + 1
        assert not [line for line in notices(climb.fit()) if "condens" in line], "nothing has grown"
        assert len(asked) == tries + 1
        climb.at = replace(climb.at, step=climb.at.step + 10)
        grow(climb, 16 if tries >= 4 else 6)
    assert said == [
        "the conversation was not condensed: the model returned an empty summary",
        "condensing failed 3 times in a row, and is tried again as the conversation grows: "
        "the model returned an empty summary",
        "the conversation was not condensed: the model returned an empty summary",
    ]


def test_more_than_two_reductions_in_four_steps_are_reported_and_then_it_is_cut_to_half() -> None:
    model = ScriptedModel(lambda request: "x", context_window=6_200, max_output=100)
    climb = Climb(long_turn(25), model, threshold=100, condense=False)
    said, sizes = [], []
    for step in range(1, 4):
        climb.at = replace(climb.at, step=step)
        said += [line for line in notices(climb.fit()) if "steps" in line]
        sizes.append(climb.last.size.tokens)
        grow(climb, 20)
    assert [line.split(":")[0] for line in said] == ["the conversation was reduced 3 times in 4 steps"]
    assert "tools and system prompt take 9 of" in said[0]
    assert sizes[2] <= 5_480 / 2 + 10 < sizes[1]


def test_a_named_limit_holds_for_the_shape_it_was_named_for() -> None:
    climb = Climb(long_turn(20), ScriptedModel(["x"], context_window=100_000), condense=False)
    climb.fit()
    error = ContextOverflow("too long")
    error.limit = 4_000
    climb.fitter.record_refusal(error, climb.last)
    assert climb.fitter.limits.allowed == 2_600
    climb.settings = climb.by_rules(max_tokens=500)
    assert climb.fitter.limits.allowed is None, "a shorter answer is another request"


def test_a_provider_that_cuts_silently_is_found_out_and_one_that_cannot_count_is_not_believed() -> None:
    climb = Climb(long_turn(40), online(["x"], context_window=100_000))
    climb.fit()
    sent = climb.last
    climb.fitter.check_usage(Usage(input=sent.counted * 2), sent)
    assert climb.fitter.observed.scales == {"scripted/test": 2.0}
    climb.fitter.check_usage(Usage(input=11), sent)  # no window is that small: this is not a count
    assert climb.fitter.observed.scales == {"scripted/test": 2.0}
    notice = climb.fitter.check_usage(Usage(input=2_048), sent)
    assert "may have been truncated" in notice, "one witness is not a proof"
    larger = replace(sent, counted=sent.counted + 500)
    with pytest.raises(ContextOverflow) as raised:
        climb.fitter.check_usage(Usage(input=2_050), larger)
    assert raised.value.limit == sent.counted * 2, "as much as was read in full"


def test_tokens_are_counted_only_near_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tokenizer_folder()))
    for window, estimated in ((100_000, True), (8_000, False)):
        climb = Climb(long_turn(10), online(["x"], context_window=window))
        climb.fitter.counter = TokenCounter(exact=False)
        climb.fit()
        assert climb.last.size.estimated is estimated


def test_an_estimate_does_not_prove_that_a_provider_cuts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tokenizer_folder()))
    climb = Climb([{"role": "user", "content": "x = 1;" + " " * 60_000}], online(["x"], context_window=1_000_000))
    climb.fitter.counter = TokenCounter(exact=False)
    climb.fit()
    exact = TokenCounter().count_messages(climb.last.request.messages)
    assert climb.last.counted > 8 * exact
    assert climb.fitter.check_usage(Usage(input=1_100), climb.last) == ""
    assert climb.fitter.observed.scales == {"scripted/test": 1_100 / exact}


def test_a_summary_that_was_refused_leaves_no_row_when_truncation_follows() -> None:
    history: list[Message] = [{"role": "user", "content": "a"}]
    history += [{"role": "assistant", "content": None, "tool_calls": [call("c0")]}, result("c0", "x")]
    history += [{"role": "assistant", "content": None, "tool_calls": [call("c1")]}, result("c1", "y" * 750)]
    model = ScriptedModel(lambda request: "x" * 4_000, context_window=210, max_output=20)
    climb = Climb(history, model, (), threshold=50, condense=True)
    hows = [event.how for event in climb.fit() if event.type == "context_reduced"]
    assert "condense" not in hows
    assert climb.rebuilt() == climb.messages
