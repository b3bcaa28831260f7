"""Test the figures of the footer."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import pytest

from swecli.actions.builtin.context import show
from swecli.models.context import WindowSpec
from swecli.models.events import ContextMeasured, StepStarted
from swecli.models.session import Session
from swecli.repl.chat.async_query_processor import AsyncQueryProcessor
from swecli.repl.footer import Footer, _count_sent_turns
from tests.support.runtime import make_runtime, run_turn
from tests.support.scripted import Reply, ScriptedCall


@pytest.fixture
def footer() -> Footer:
    return Footer("scripted/test", "ask", "5+3", busy="starting")


def test_before_loading_the_footer_shows_the_settings(footer: Footer) -> None:
    assert (footer.model, footer.mode, footer.window, footer.sent_turns) == (
        "scripted/test",
        "ask",
        "5+3",
        None,
    )
    assert footer.busy == "starting"


def test_a_mode_chosen_before_loading_is_set_in_the_runtime(footer: Footer) -> None:
    footer.cycle_mode()
    runtime = make_runtime()
    footer.loaded(runtime)
    assert runtime.agent.permissions.mode == "edits"
    footer.cycle_mode()
    assert runtime.agent.permissions.mode == "plan"  # type: ignore[comparison-overlap]
    runtime.close()


def test_refresh_reads_a_mode_changed_in_the_runtime(footer: Footer) -> None:
    runtime = make_runtime()
    footer.loaded(runtime)
    runtime.set_mode("auto")
    footer.refresh()
    assert footer.mode == "auto"
    runtime.close()


async def test_turns_are_counted_in_the_window_and_the_cost(footer: Footer) -> None:
    runtime = make_runtime(["one", "two"])
    footer.loaded(runtime)
    for query in ("a", "b"):
        for event in await run_turn(runtime, query, learn=False):
            footer.observe(event)
    footer.refresh()
    assert (footer.sent_turns, footer.cost, footer.busy) == (2, 0.0, "")
    assert footer.window == "5+3"
    runtime.close()


def test_the_context_share_is_the_newest_measured_one(footer: Footer) -> None:
    runtime = make_runtime()
    footer.loaded(runtime)
    footer.observe(ContextMeasured(500, 1000))
    footer.observe(StepStarted(2))
    assert footer.context == 50
    footer.observe(ContextMeasured(500, None))
    assert footer.context is None
    runtime.close()


async def test_after_a_turn_the_footer_shows_the_same_share_as_context(footer: Footer) -> None:
    runtime = make_runtime(["a long answer " * 2_000])
    footer.loaded(runtime)
    for event in await run_turn(runtime, "a", learn=False):
        footer.observe(event)
    while_it_ran = footer.context
    program = SimpleNamespace(agent=runtime.agent, footer=footer)
    AsyncQueryProcessor(program).measure_next()
    assert footer.context != while_it_ran
    assert f"({footer.context}%)" in (await show.perform(runtime, show.read(""))).lines[0]
    runtime.close()


def test_a_new_session_has_no_context_share(footer: Footer) -> None:
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
def test_the_sent_turns_are_those_of_the_next_request(
    spec: str, start: int, done: int, kept: int
) -> None:
    session = replace(
        Session("s"), window=WindowSpec.parse(spec), window_start=start, interactions=done
    )
    assert _count_sent_turns(session) == kept
    assert _count_sent_turns(None) == 0


async def test_the_cost_and_the_context_share_grow_with_each_request_of_a_turn(
    footer: Footer,
) -> None:
    reading = Reply(calls=(ScriptedCall("list_files", {}),), cost=0.25)
    runtime = make_runtime([reading, reading, Reply("Done.", cost=0.25)])
    footer.loaded(runtime)
    seen = []
    for_turn = runtime.agent.prepare("go")
    async for event in runtime.agent.run(for_turn):
        footer.observe(event)
        if event.type == "usage_reported":
            seen.append((footer.cost, footer.context is not None))
    assert seen == [(0.25, True), (0.5, True), (0.75, True)]
    runtime.close()


async def test_a_background_job_is_counted_while_the_turn_still_runs(footer: Footer) -> None:
    command = {"command": "sleep 20", "background": True}
    runtime = make_runtime([Reply(calls=(ScriptedCall("run_command", command),)), "Started."])
    runtime.set_mode("auto")
    footer.loaded(runtime)
    jobs = []
    async for event in runtime.agent.run(runtime.agent.prepare("go")):
        footer.observe(event)
        if event.type == "step_started":
            jobs.append(footer.jobs)
    assert jobs == [0, 1]
    await runtime.agent.ctx.commands.jobs.close()
    runtime.close()
