"""Test that any text and any number can be stored."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from swecli.store.journal.values import LARGEST, clamp, clean_json, clean_text, read_arguments

ANY_TEXT = st.text(st.characters(codec=None))
ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | ANY_TEXT,
    lambda inner: st.lists(inner) | st.dictionaries(ANY_TEXT, inner),
)


@given(ANY_TEXT)
def test_clean_text_can_be_stored_and_is_not_cleaned_again(text: str) -> None:
    cleaned = clean_text(text)
    assert "\0" not in cleaned
    cleaned.encode("utf-8")
    assert clean_text(cleaned) == cleaned


@given(st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"])))
def test_ordinary_text_is_not_changed(text: str) -> None:
    assert clean_text(text) == text


def test_nul_and_lone_surrogates_are_replaced() -> None:
    assert clean_text("a\0b") == "a\ufffdb"
    assert clean_text("a\ud800b") == "a\ufffdb"
    assert clean_text("end\udfff") == "end\ufffd"


def test_a_surrogate_pair_becomes_its_character() -> None:
    assert clean_text("\ud83d\ude00") == "😀"


@given(ANY_JSON)
@pytest.mark.slow
def test_clean_json_is_strict_json_and_is_not_cleaned_again(value: object) -> None:
    cleaned = clean_json(value)
    text = json.dumps(cleaned, allow_nan=False, ensure_ascii=False)
    text.encode("utf-8")
    assert json.loads(text) == cleaned
    assert clean_json(cleaned) == cleaned


def test_integers_too_long_for_json_are_clamped() -> None:
    huge = clean_json({"n": 10**6000, "m": -(10**6000)})
    assert json.loads(json.dumps(huge)) == huge
    assert clean_json(2**200) == 2**200


def test_json_nested_too_deep_is_cut_with_a_note() -> None:
    value: object = "bottom"
    for _ in range(5000):
        value = [value]
    assert "nested deeper" in json.dumps(clean_json(value))


def test_values_that_json_lacks_become_text() -> None:
    assert clean_json({1: {2}, "p": (1, 2)}) == {"1": "{2}", "p": [1, 2]}


@pytest.mark.parametrize(("number", "kept"), [(5, 5), (10**30, LARGEST), (-(10**30), -LARGEST - 1)])
def test_numbers_are_clamped_to_64_bits(number: int, kept: int) -> None:
    assert clamp(number) == kept


def test_stored_arguments_can_be_written_again_however_deep_they_are() -> None:
    for depth in (90, 900, 3_000, 90_000):
        arguments = read_arguments('{"path": ' + "[" * depth + "]" * depth + "}")
        assert json.dumps(arguments, indent=2)
