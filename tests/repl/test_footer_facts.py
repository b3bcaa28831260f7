"""The figures of the footer."""

from __future__ import annotations

from dataclasses import replace

import pytest

from swecli.models.events import ContextMeasured, StepStarted
from swecli.models.session import Session
from swecli.models.window import WindowSpec
from swecli.repl.footer import Gauge, held
from tests.support.runtime import make_runtime, make_start, run_turn


@pytest.fixture
def gauge() -> Gauge:
    return Gauge(make_start(), lambda: None)


def test_before_anything_is_loaded_the_settings_speak(gauge: Gauge) -> None:
    facts = gauge.facts()
    assert (facts.model, facts.mode, facts.window, facts.held) == ("scripted/test", "ask", "5+3", None)
    assert facts.busy == "starting"


def test_a_mode_chosen_before_reaches_the_runtime(gauge: Gauge) -> None:
    gauge.cycle_mode()
    runtime = make_runtime()
    gauge.arrived(runtime)
    assert runtime.agent.permissions.mode == "edits"
    gauge.cycle_mode()
    assert runtime.agent.permissions.mode == "plan"
    runtime.close()


def test_a_mode_changed_elsewhere_is_noticed(gauge: Gauge) -> None:
    runtime = make_runtime()
    gauge.arrived(runtime)
    runtime.set_mode("auto")
    gauge.refresh()
    assert gauge.facts().mode == "auto"
    runtime.close()


async def test_turns_fill_the_window_and_the_bill(gauge: Gauge) -> None:
    runtime = make_runtime(["one", "two"])
    gauge.arrived(runtime)
    for query in ("a", "b"):
        for event in await run_turn(runtime, query, learn=False):
            gauge.observe(event)
    gauge.refresh()
    facts = gauge.facts()
    assert (facts.held, facts.cost, facts.busy) == (2, 0.0, "")
    assert facts.window == "5+3"
    runtime.close()


def test_the_newest_measure_is_the_context(gauge: Gauge) -> None:
    runtime = make_runtime()
    gauge.arrived(runtime)
    gauge.observe(ContextMeasured(500, 1000))
    gauge.observe(StepStarted(2))
    assert gauge.facts().context == 50
    gauge.observe(ContextMeasured(500, None))
    assert gauge.facts().context is None
    runtime.close()


def test_another_session_begins_without_a_measure(gauge: Gauge) -> None:
    runtime = make_runtime()
    gauge.arrived(runtime)
    gauge.observe(ContextMeasured(500, 1000))
    runtime.new_session()
    gauge.refresh()
    assert gauge.facts().context is None
    runtime.close()


def test_a_hint_is_drawn_at_once() -> None:
    drawn: list[str] = []
    gauge = Gauge(make_start(), lambda: drawn.append(gauge.facts().hint))
    gauge.hint("careful")
    gauge.hint("careful")
    gauge.hint("")
    assert drawn == ["careful", ""]


@pytest.mark.parametrize(
    ("spec", "start", "done", "kept"),
    [("5", 1, 0, 0), ("5", 1, 3, 3), ("5", 4, 8, 5), ("5+3", 1, 8, 8), ("full", 1, 40, 40)],
)
def test_what_is_held_is_what_the_next_request_will_send(spec: str, start: int, done: int, kept: int) -> None:
    session = replace(Session("s"), window=WindowSpec.parse(spec), window_start=start, interactions=done)
    assert held(session) == kept
    assert held(None) == 0
