"""Test that JSON can be read by any parser."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from swecli.models.json_value import dumps

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters()),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(st.characters(), max_size=3), inner, max_size=3)
    ),
    max_leaves=8,
)


def parse_strictly(text: str) -> Any:
    def refuse_constant(name: str) -> None:
        raise AssertionError(name)

    return json.loads(text, parse_constant=refuse_constant)


@given(json_values)
def test_any_value_becomes_one_line_of_strict_ascii_json(value: Any) -> None:
    text = dumps(value)
    assert text.isascii()
    assert len(text.splitlines()) == 1
    json.dumps(parse_strictly(text), ensure_ascii=False).encode("utf-8")  # no lone surrogates


@given(
    st.recursive(
        st.integers() | st.text(st.characters(exclude_categories=["Cs"])), st.lists, max_leaves=8
    )
)
def test_json_values_are_unchanged_after_dumps_and_parsing(value: Any) -> None:
    assert parse_strictly(dumps(value)) == value
    assert parse_strictly(dumps(value, indent=2)) == value


def test_values_that_json_does_not_support_become_null_or_text() -> None:
    assert parse_strictly(dumps({"a": math.nan, "b": [math.inf, 1.5]})) == {
        "a": None,
        "b": [None, 1.5],
    }
    assert parse_strictly(dumps({"path": pytest})) == {"path": str(pytest)}
    assert parse_strictly(dumps(["\ud83d\ude00 \ud800", "\\ud800"])) == ["😀 ?", "\\ud800"]
