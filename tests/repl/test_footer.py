"""Test the footer under the prompt at every width, and its figures."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from swecli.actions.builtin.context import show
from swecli.models.events import ContextMeasured, StepStarted
from swecli.models.mode import Mode
from swecli.models.session import Session
from swecli.models.window_spec import WindowSpec
from swecli.repl.chat.async_query_processor import AsyncQueryProcessor
from swecli.repl.footer import Footer, _color_line, _count_sent_turns, _truncate
from tests.support.runtime import make_runtime, run_turn
from tests.support.scripted import Reply, ScriptedCall

FACTS = Footer("openrouter/anthropic/claude-sonnet", "ask", "5+3", 6, 12, 0.0123)


def footer_text(facts: Footer, width: int) -> str:
    return "".join(piece for _, piece in facts.line(width))


def test_the_footer_shows_everything_at_100_columns() -> None:
    expected = "openrouter/anthropic/claude-sonnet · ask · 6 turns sent · context 12% · $0.01"
    assert footer_text(FACTS, 100) == expected


def test_a_narrow_footer_drops_the_provider_first_then_the_window_and_last_the_cost() -> None:
    assert footer_text(FACTS, 70) == "claude-sonnet · ask · 6 turns sent · context 12% · $0.01"
    assert footer_text(FACTS, 50) == "claude-sonnet · ask · context 12% · $0.01"
    assert footer_text(FACTS, 40) == "claude-sonnet · ask · $0.01"
    assert footer_text(FACTS, 20) == "claude-sonnet · ask"
    assert footer_text(FACTS, 10) == "claude-so…"


def test_the_footer_of_the_demo_fits_40_columns() -> None:
    assert (
        footer_text(Footer("demo", "edits", "5", 3, 2, 0.0), 40)
        == "demo · edits · context 2% · $0.00"
    )


def test_the_price_of_the_next_request_stands_behind_the_cost() -> None:
    footer = replace(FACTS, next_price="next at least $0.02")
    assert footer_text(footer, 120).endswith(" · $0.01 · next at least $0.02")
    assert footer_text(footer, 50) == "claude-sonnet · ask · $0.01 · next at least $0.02"
    assert footer_text(footer, 40) == "claude-sonnet · ask · $0.01"


def test_an_unknown_cost_is_shown_as_unknown() -> None:
    assert footer_text(Footer("m", "ask", "5", 0, 1, None), 80).endswith("price not known")


def test_unknown_figures_are_left_out() -> None:
    assert (
        footer_text(Footer("m", "ask", "full", busy="starting"), 80) == "m · ask · $0.00 · starting"
    )


def test_a_hint_replaces_the_footer() -> None:
    assert (
        footer_text(Footer("m", "ask", "5", hint="Press Ctrl+C again to quit"), 80)
        == "Press Ctrl+C again to quit"
    )


@pytest.mark.parametrize("mode", ["plan", "edits", "auto"])
def test_modes_other_than_ask_have_their_own_colour(mode: Mode) -> None:
    assert (f"class:footer.{mode}", mode) in Footer("m", mode, "5").line(80)


def test_the_whole_footer_of_auto_is_in_the_warning_colour() -> None:
    styles = {style for style, _ in Footer("m", "auto", "5", 3, 2, 0.0).line(80)}
    assert styles == {"class:footer.auto"}


def test_the_key_for_modes_never_reaches_auto_and_leaves_it_to_ask() -> None:
    footer = Footer("m", "ask", "5")
    seen = []
    for _ in range(6):
        footer.cycle_mode()
        seen.append(footer.mode)
    assert seen == ["edits", "plan", "ask"] * 2
    footer.mode = "auto"
    footer.cycle_mode()
    seen.append(footer.mode)
    assert seen[-1] == "ask"


@given(
    st.builds(
        Footer,
        st.text("abc/-", min_size=1, max_size=60),
        st.sampled_from(["ask", "edits", "plan", "auto"]),
        st.sampled_from(["5", "5+3", "full", "auto", "1000+1000"]),
        st.none() | st.integers(0, 5000),
        st.none() | st.integers(0, 300),
        st.none() | st.floats(0, 1000),
        st.integers(0, 3),
        st.sampled_from(["", "learning"]),
        st.sampled_from(["", "x" * 70]),
    ),
    st.integers(20, 120),
)
def test_the_footer_never_exceeds_its_width(facts: Footer, width: int) -> None:
    assert len(footer_text(facts, width)) <= width


def test_a_clipped_text_ends_in_an_ellipsis() -> None:
    assert [_truncate("abcdef", width) for width in (6, 4, 1, 0)] == ["abcdef", "abc…", "…", ""]


def test_the_users_template_shows_the_figures_and_leaves_out_parts_without_one() -> None:
    footer = Footer(
        "m/gpt",
        "ask",
        "5+3",
        6,
        None,
        0.0123,
        tokens=8_100,
        branch="main",
        folder=Path.home() / "shop",
        template="{folder} ({branch}) · {model} · ctx {context} · {jobs} · {{x}} · {tokens} {cost}",
    )
    assert footer_text(footer, 100) == "~/shop (main) · m/gpt · {x} · 8.1k $0.01"
    footer.context = 12
    footer.jobs = 2
    assert "ctx 12% · 2 jobs" in footer_text(footer, 100)
    assert footer_text(footer, 20) == "~/shop (main) · m/g…"
    footer.hint = "Press Ctrl+C again to quit"
    assert footer_text(footer, 100) == footer.hint


def test_what_a_command_printed_keeps_its_colours_and_nothing_else_that_controls_the_screen() -> (
    None
):
    line = _color_line(
        "\x1b[31mred\x1b[0m \x1b[2Jplain\x1b]0;title\x07\ttab\x1b[5A", "class:footer"
    )
    assert "".join(text for _, text in line) == "red plain tab"
    assert line[0][0] == "class:footer ansired"


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
    footer.attach(runtime)
    assert runtime.agent.permissions.mode == "edits"
    footer.cycle_mode()
    assert runtime.agent.permissions.mode == "plan"  # type: ignore[comparison-overlap]
    runtime.close()


def test_refresh_reads_a_mode_changed_in_the_runtime(footer: Footer) -> None:
    runtime = make_runtime()
    footer.attach(runtime)
    runtime.set_mode("auto")
    footer.refresh()
    assert footer.mode == "auto"
    runtime.close()


async def test_turns_are_counted_in_the_window_and_the_cost(footer: Footer) -> None:
    runtime = make_runtime(["one", "two"])
    footer.attach(runtime)
    for query in ("a", "b"):
        for event in await run_turn(runtime, query, learn=False):
            footer.observe(event)
    footer.refresh()
    assert (footer.sent_turns, footer.cost, footer.busy) == (2, 0.0, "")
    assert footer.window == "5+3"
    runtime.close()


def test_the_context_share_is_the_newest_measured_one(footer: Footer) -> None:
    runtime = make_runtime()
    footer.attach(runtime)
    footer.observe(ContextMeasured(500, 1000))
    footer.observe(StepStarted(2))
    assert footer.context == 50
    footer.observe(ContextMeasured(500, None))
    assert footer.context is None
    runtime.close()


async def test_after_a_turn_the_footer_shows_the_same_share_as_context(footer: Footer) -> None:
    runtime = make_runtime(["a long answer " * 2_000])
    footer.attach(runtime)
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
    footer.attach(runtime)
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


async def test_a_changed_window_is_counted_for_the_next_request(footer: Footer) -> None:
    runtime = make_runtime(["one", "two", "three"])
    footer.attach(runtime)
    for query in ("a", "b", "c"):
        for event in await run_turn(runtime, query, learn=False):
            footer.observe(event)
    runtime.sessions.set_window(WindowSpec.parse("1"))
    AsyncQueryProcessor(SimpleNamespace(agent=runtime.agent, footer=footer)).measure_next()
    footer.refresh()
    assert "1 turn sent, 2 stored" in footer_text(footer, 100)
    runtime.close()


async def test_the_cost_and_the_context_share_grow_with_each_request_of_a_turn(
    footer: Footer,
) -> None:
    reading = Reply(calls=(ScriptedCall("list_files", {}),), cost=0.25)
    runtime = make_runtime([reading, reading, Reply("Done.", cost=0.25)])
    footer.attach(runtime)
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
    footer.attach(runtime)
    jobs = []
    async for event in runtime.agent.run(runtime.agent.prepare("go")):
        footer.observe(event)
        if event.type == "step_started":
            jobs.append(footer.jobs)
    assert jobs == [0, 1]
    await runtime.agent.ctx.commands.jobs.close()
    runtime.close()
