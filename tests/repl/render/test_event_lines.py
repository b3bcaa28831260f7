"""Test the status lines between answers."""

from __future__ import annotations

import io
from dataclasses import replace

import pytest
from rich.console import RenderableType

from swecli.models.events import ContextReduced, StepRetried, TurnFinished
from swecli.models.learning_events import PlaybookUpdated, ReflectionFailed
from swecli.models.message import Usage
from swecli.repl.render.event_lines import render_remark, render_turn_end
from swecli.repl.render.formatting import format_duration
from swecli.repl.render.screen import Screen
from tests.screen.emulated import TextSurface


def render(drawing: RenderableType | None) -> str:
    assert drawing is not None
    out = io.StringIO()
    Screen(TextSurface(out, 100), False).print(drawing)
    return out.getvalue().rstrip("\n")


def render_end(
    reason: str = "done", cost: float | None = 0.0021, usage: Usage | None = None
) -> str:
    used = Usage(1_000, 204, 0, 70, 10) if usage is None else usage
    return render(render_turn_end(TurnFinished(reason, "", used, cost, 1, 2_340)))  # type: ignore[arg-type]


def test_the_last_line_of_a_turn_has_time_tokens_and_cost() -> None:
    assert render_end() == "2.3 s · 1,204 in / 80 out · $0.0021"
    assert render_end(cost=None) == "2.3 s · 1,204 in / 80 out · price not known"
    assert render_end(cost=0.0, usage=Usage()) == "2.3 s · no cost"
    assert render_end("max_turns").startswith("stopped: ")
    assert render_end("cancelled").startswith("interrupted · ")


@pytest.mark.parametrize(
    ("milliseconds", "shown"),
    [
        (0, "0.0 s"),
        (9_940, "9.9 s"),
        (12_400, "12 s"),
        (59_700, "1 min 00 s"),
        (185_000, "3 min 05 s"),
    ],
)
def test_durations_are_given_in_seconds_or_minutes(milliseconds: int, shown: str) -> None:
    assert format_duration(milliseconds) == shown


def test_the_line_about_learning_names_the_change_and_its_cost() -> None:
    one = PlaybookUpdated(7, "d", ("+ run tests with pytest -q (P-3)",), added=("P-3",))
    assert render(render_remark(one)) == "✎ T7: + run tests with pytest -q (P-3)"
    paid = PlaybookUpdated(7, "d", ("P-3 helped",), waiting=("P-9",), cost=0.002, tokens=90)
    assert (
        render(render_remark(paid)) == "✎ T7: P-3 helped · P-9 waits (/playbook review) · $0.0020"
    )
    assert paid.describe() == "T7: P-3 helped · P-9 waits (swecli playbook review) · $0.0020"
    many = PlaybookUpdated(7, "d", tuple(f"+ rule (P-{n})" for n in range(9)), cost=0.02)
    assert many.describe().endswith("(P-3) · 5 more (swecli playbook list --log) · $0.02")
    waiting = PlaybookUpdated(0, "", (), waiting=tuple(f"P-{n}" for n in range(9)))
    assert waiting.describe() == "9 strategies wait (swecli playbook review)"


def test_a_reflection_that_changed_nothing_has_no_line_whatever_it_cost() -> None:
    nothing = PlaybookUpdated(7, "", (), cost=0.002, tokens=90)
    assert render_remark(nothing) is None
    assert replace(nothing, cost=None, elsewhere='"fix the parser"').describe() == ""
    assert replace(nothing, refused=("not learned: it is empty",)).describe() == ""
    helped = replace(nothing, lines=("P-1 helped",))
    assert render(render_remark(helped)) == "✎ T7: P-1 helped · $0.0020"
    refused = PlaybookUpdated(7, "d", (), refused=("not learned: it contains a secret",))
    assert "it contains a secret" in render(render_remark(refused)), "what the user taught"
    assert render_remark(PlaybookUpdated(7, "d", ())) is None


def test_lines_about_failures_and_retries_name_the_next_step() -> None:
    assert ReflectionFailed(8, "no answer", True).describe() == (
        "could not learn from T8: no answer · will retry later"
    )
    assert ReflectionFailed(8, "the budget is used up", True, paused=True).describe() == (
        "learning paused: the budget is used up"
    )
    paid = ReflectionFailed(8, "no answer", False, cost=0.02)
    assert paid.describe() == "could not learn from T8: no answer · will not be retried · $0.02"
    assert StepRetried(2, 1.6, "429").describe() == "429 · retrying in 2 s (attempt 2)"
    assert ContextReduced("cut", 1_200, 900, "by hand").describe() == (
        "the request is smaller now: 1,200 → 900 tokens (by hand)"
    )
    grown = ContextReduced("window", 900, 1_200).describe()
    assert grown == "the request is larger now: 900 → 1,200 tokens (window)"
    assert ContextReduced("window", 900, 900, "the window is 2 now").describe() == ""
