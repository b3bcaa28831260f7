"""Test the footer under the prompt at every width."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from swecli.models.message import Mode
from swecli.repl.footer import Footer, _color_line, _truncate

FACTS = Footer("openrouter/anthropic/claude-sonnet", "ask", "5+3", 6, 12, 0.0123)


def footer_text(facts: Footer, width: int) -> str:
    return "".join(piece for _, piece in facts.line(width))


def test_the_footer_shows_everything_at_100_columns() -> None:
    expected = (
        "openrouter/anthropic/claude-sonnet · ask · window 5+3 (6 turns) · context 12% · $0.01"
    )
    assert footer_text(FACTS, 100) == expected


def test_a_narrow_footer_drops_the_provider_first_then_the_window_and_last_the_cost() -> None:
    assert (
        footer_text(FACTS, 70) == "claude-sonnet · ask · window 5+3 (6 turns) · context 12% · $0.01"
    )
    assert footer_text(FACTS, 50) == "claude-sonnet · ask · context 12% · $0.01"
    assert footer_text(FACTS, 40) == "claude-sonnet · ask · $0.01"
    assert footer_text(FACTS, 20) == "claude-sonnet · ask"
    assert footer_text(FACTS, 10) == "claude-so…"


def test_the_footer_of_the_demo_fits_40_columns() -> None:
    assert (
        footer_text(Footer("demo", "edits", "5", 3, 2, 0.0), 40)
        == "demo · edits · context 2% · $0.00"
    )


def test_an_unknown_cost_is_shown_as_unknown() -> None:
    assert footer_text(Footer("m", "ask", "5", 0, 1, None), 80).endswith("cost unknown")


def test_unknown_figures_are_left_out() -> None:
    assert (
        footer_text(Footer("m", "ask", "full", busy="starting"), 80)
        == "m · ask · window full · $0.00 · starting"
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
