"""The drawings of a replay: they keep to their width, and show each policy."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from swecli.context.replay.plot import LOOKS, Scale, curve, plot, short, svg
from swecli.context.replay.run import OURS, POLICIES, Figures, Replayed

SVG = "{http://www.w3.org/2000/svg}"
values = st.lists(st.integers(0, 10**12), min_size=1, max_size=300)


def made(policy: str, inputs: list[int]) -> Replayed:
    return Replayed(policy, [Figures(n, cold=False, input=tokens) for n, tokens in enumerate(inputs, 1)])


def test_every_policy_has_a_mark_and_a_look() -> None:
    assert set(LOOKS) == {*POLICIES, OURS}
    assert len({mark for mark, _, _ in LOOKS.values()}) == len(LOOKS)


def test_a_value_is_drawn_in_its_row() -> None:
    lines = plot([made("full", [1_000, 1_000_000]), made("ours", [1_000, 1_000])], 80)
    rows = [line for line in lines if "|" in line]
    assert [row.partition("|")[2] for row in rows if row.partition("|")[2].strip()] == [" f", "*o"]
    assert lines[-1] == "f full, o ours, * several of them"
    assert lines[-2].split() == ["1", "2"]


@given(values, st.integers(1, 200))
def test_a_plot_is_no_wider_than_it_may_be(inputs: list[int], width: int) -> None:
    lines = plot([made("full", inputs), made("exact", inputs[::-1])], width)
    assert all(len(line) <= max(width, 29) for line in lines)
    assert all(line.isascii() and line.isprintable() for line in lines)


def test_more_turns_than_columns_share_one() -> None:
    assert curve(made("full", [1, 3, 5, 7]), 2) == [2, 6]
    assert curve(made("full", [1, 3]), 9) == [1, 3]


@pytest.mark.parametrize(("tokens", "text"), [(0, "0"), (950, "950"), (4_200, "4.2k"), (5_000, "5k"), (1.3e6, "1.3M")])
def test_tokens_are_short(tokens: float, text: str) -> None:
    assert short(tokens) == text


@given(values)
def test_a_scale_holds_all_its_values(inputs: list[int]) -> None:
    scale = Scale.over([inputs])
    assert all(0 <= scale.place(value) <= 1 for value in [*inputs, *scale.ticks()])


@given(values)
def test_a_chart_is_sound_and_within_its_frame(inputs: list[int]) -> None:
    root = ET.fromstring(svg([made("full", inputs), made("ours", inputs)], "a <b> & c"))
    assert root.findtext(f"{SVG}title") == "a <b> & c"
    lines = root.findall(f".//{SVG}polyline")
    assert len(lines) == 2
    for point in (place.split(",") for line in lines for place in line.attrib["points"].split()):
        assert 0 <= float(point[0]) <= 960
        assert 0 <= float(point[1]) <= 540
    assert {"full", "ours", "turn"} <= {text.text for text in root.iter(f"{SVG}text")}
