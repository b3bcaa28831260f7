"""Test parsing the window setting."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from swecli.models.window_spec import MAX_SIZE, WindowSpec

sizes = st.integers(1, 30)
specs = st.builds(WindowSpec, size=sizes, slack=st.integers(0, 10))


@pytest.mark.parametrize(
    ("text", "spec"),
    [
        ("5", WindowSpec(5)),
        (" 5+3 ", WindowSpec(5, 3)),
        ("5 + 3", WindowSpec(5, 3)),
        ("1000", WindowSpec(1000)),
        ("FULL", WindowSpec(mode="full")),
        ("auto", WindowSpec(mode="auto")),
    ],
)
def test_a_valid_window_setting_is_parsed(text: str, spec: WindowSpec) -> None:
    assert WindowSpec.parse(text) == spec


@pytest.mark.parametrize(
    "text",
    [
        "0",
        "-3",
        "abc",
        "99999",
        "",
        "+3",
        "5+",
        "5+x",
        "5-3",
        "1.5",
        "5+99999",
        "٥",
        "²",
        "9" * 5000,
        "5+3+1",
    ],
)
def test_an_invalid_window_setting_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not a window|out of range: the window"):
        WindowSpec.parse(text)


@given(st.one_of(specs, st.sampled_from([WindowSpec(mode="full"), WindowSpec(mode="auto")])))
@settings(deadline=None)
def test_a_window_setting_is_parsed_back_from_its_text(spec: WindowSpec) -> None:
    assert WindowSpec.parse(str(spec)) == spec


@given(st.text(max_size=10))
@settings(deadline=None)
def test_parsing_gives_a_usable_window_or_a_value_error(text: str) -> None:
    try:
        spec = WindowSpec.parse(text)
    except ValueError:
        return
    assert 1 <= spec.size <= MAX_SIZE


@given(sizes, st.integers(0, 100), st.integers(-5, 120))
@settings(deadline=None)
def test_without_slack_exactly_the_newest_interactions_are_kept(
    size: int, completed: int, start: int
) -> None:
    assert WindowSpec(size).first_kept(completed, start) == max(1, completed - size + 1)


@given(specs, st.integers(0, 100), st.integers(-5, 120))
@settings(deadline=None)
def test_a_window_holds_between_size_and_size_plus_slack_interactions(
    spec: WindowSpec, completed: int, start: int
) -> None:
    first = spec.first_kept(completed, start)
    held = completed - first + 1
    assert first >= 1
    assert min(spec.size, completed) <= held <= spec.size + spec.slack
    assert spec.first_kept(completed, first) == first


@given(specs, st.integers(1, 80))
@settings(deadline=None)
def test_the_start_of_a_window_only_moves_forward_and_cuts_back_to_size(
    spec: WindowSpec, turns: int
) -> None:
    start = 1
    for completed in range(turns):
        first = spec.first_kept(completed, start)
        assert first >= start
        assert first == start or completed - first + 1 == spec.size
        start = first


def test_a_window_of_5_with_slack_3_grows_to_8_and_is_cut_back_to_5() -> None:
    spec, start, held = WindowSpec(5, 3), 1, []
    for completed in range(1, 14):
        start = spec.first_kept(completed, start)
        held.append(completed - start + 1)
    assert held == [1, 2, 3, 4, 5, 6, 7, 8, 5, 6, 7, 8, 5]


def test_a_larger_size_includes_earlier_interactions_again() -> None:
    assert WindowSpec(10, 3).first_kept(20, start=16) == 11


def test_a_start_after_the_last_interaction_is_ignored() -> None:
    assert WindowSpec(5, 3).first_kept(10, start=50) == 6


def test_a_full_window_keeps_all_interactions() -> None:
    assert WindowSpec(mode="full").first_kept(500, 400) == 1
