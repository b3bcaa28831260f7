"""Test the figures of the footer."""

from __future__ import annotations

from dataclasses import replace

import pytest

from swecli.models.context import WindowSpec
from swecli.models.events import ContextMeasured, StepStarted
from swecli.models.session import Session
from swecli.repl.actions.context import _show
from swecli.repl.footer import Footer, _count_sent_turns
from tests.support.runtime import make_runtime, run_turn


@pytest.fixture
def footer() -> Footer:
    return Footer("scripted/test", "ask", "5+3", busy="starting")


def test_before_anything_is_loaded_the_settings_speak(footer: Footer) -> None:
    assert (footer.model, footer.mode, footer.window, footer.sent_turns) == ("scripted/test", "ask", "5+3", None)
    assert footer.busy == "starting"


def test_a_mode_chosen_before_reaches_the_runtime(footer: Footer) -> None:
    footer.cycle_mode()
    runtime = make_runtime()
    footer.loaded(runtime)
    assert runtime.agent.permissions.mode == "edits"
    footer.cycle_mode()
    assert runtime.agent.permissions.mode == "plan"
    runtime.close()


def test_a_mode_changed_elsewhere_is_noticed(footer: Footer) -> None:
    runtime = make_runtime()
    footer.loaded(runtime)
    runtime.set_mode("auto")
    footer.refresh()
    assert footer.mode == "auto"
    runtime.close()


async def test_turns_fill_the_window_and_the_bill(footer: Footer) -> None:
    runtime = make_runtime(["one", "two"])
    footer.loaded(runtime)
    for query in ("a", "b"):
        for event in await run_turn(runtime, query, learn=False):
            footer.observe(event)
    footer.refresh()
    assert (footer.sent_turns, footer.cost, footer.busy) == (2, 0.0, "")
    assert footer.window == "5+3"
    runtime.close()


def test_the_newest_measure_is_the_context(footer: Footer) -> None:
    runtime = make_runtime()
    footer.loaded(runtime)
    footer.observe(ContextMeasured(500, 1000))
    footer.observe(StepStarted(2))
    assert footer.context == 50
    footer.observe(ContextMeasured(500, None))
    assert footer.context is None
    runtime.close()


async def test_after_a_turn_the_footer_has_the_share_of_the_next_request_as_context_shows_it(footer: Footer) -> None:
    runtime = make_runtime(["a long answer " * 2_000])
    footer.loaded(runtime)
    for event in await run_turn(runtime, "a", learn=False):
        footer.observe(event)
    while_it_ran = footer.context
    footer.measure()
    assert footer.context != while_it_ran
    assert f"({footer.context}%)" in _show(runtime, "").lines[0]
    runtime.close()


def test_another_session_begins_without_a_measure(footer: Footer) -> None:
    runtime = make_runtime()
    footer.loaded(runtime)
    footer.observe(ContextMeasured(500, 1000))
    runtime.new_session()
    footer.refresh()
    assert footer.context is None
    runtime.close()


@pytest.mark.parametrize(
    ("spec", "start", "done", "kept"),
    [("5", 1, 0, 0), ("5", 1, 3, 3), ("5", 4, 8, 5), ("5+3", 1, 8, 8), ("full", 1, 40, 40)],
)
def test_what_is_held_is_what_the_next_request_will_send(spec: str, start: int, done: int, kept: int) -> None:
    session = replace(Session("s"), window=WindowSpec.parse(spec), window_start=start, interactions=done)
    assert _count_sent_turns(session) == kept
    assert _count_sent_turns(None) == 0
