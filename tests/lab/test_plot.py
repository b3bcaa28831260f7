"""Test the plots of a replay: their width, and that each policy appears."""

from __future__ import annotations

import xml.etree.ElementTree as ET

from hypothesis import given
from hypothesis import strategies as st

from lab.windows.plot import plot, svg
from lab.windows.policies import ALL, PolicyUsage, TurnUsage

SVG = "{http://www.w3.org/2000/svg}"
values = st.lists(st.integers(0, 10**12), min_size=1, max_size=300)


def make_usage(policy: str, inputs: list[int]) -> PolicyUsage:
    return PolicyUsage(
        policy, [TurnUsage(n, cold=False, input=tokens) for n, tokens in enumerate(inputs, 1)]
    )


def test_every_policy_has_a_unique_first_letter() -> None:
    assert len({name[0] for name in ALL}) == len(ALL)


def test_input_tokens_are_plotted_on_a_logarithmic_scale() -> None:
    lines = plot([make_usage("full", [1_000, 1_000_000]), make_usage("ours", [1_000, 1_000])], 80)
    assert lines[0] == "input tokens a turn, by turn:"
    [top] = [n for n, line in enumerate(lines) if line.startswith("1,000,000┤")]
    [middle] = [n for n, line in enumerate(lines) if line.startswith("   20,000┤")]
    [base] = [n for n, line in enumerate(lines) if line.startswith("    1,000┤")]
    assert "f" in lines[top]
    assert "o" in lines[base]
    assert top < middle < base


def test_turns_that_share_a_column_are_averaged() -> None:
    lines = plot([make_usage("full", [1_000, 100_000] * 150)], 80)
    assert not any(line.startswith("100,000┤") for line in lines), (
        "two turns share one column, which shows their mean"
    )


@given(values)
def test_a_plot_fits_the_width_and_contains_no_escape_sequences(inputs: list[int]) -> None:
    for width in (1, 40, 80, 200):
        lines = plot([make_usage("full", inputs), make_usage("exact", inputs[::-1])], width)
        assert all(len(line) <= max(width, 30) for line in lines)
        assert "\x1b" not in "".join(lines)


@given(values)
def test_an_svg_chart_is_valid_xml_with_its_title_and_each_policy(inputs: list[int]) -> None:
    root = ET.fromstring(svg([make_usage("full", inputs), make_usage("ours", inputs)], "a <b> & c"))
    assert root.findtext(f"{SVG}title") == "a <b> & c"
    text = "".join(root.itertext())
    assert "full" in text
    assert "ours" in text
