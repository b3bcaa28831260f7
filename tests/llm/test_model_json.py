"""Test reading the JSON that models write."""

from __future__ import annotations

from typing import Any

import pytest

from swecli.llm.model_json import find_fault, find_values, parse_json, read_object, require_all

TEXT = {"type": "string"}
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"name": TEXT, "why": TEXT},
    "required": ["name"],
    "additionalProperties": False,
}


@pytest.mark.parametrize(
    "text",
    [
        '{"a": "x\\ny"}',
        '```json\n{"a": "x\\ny"}\n```',
        '{"a": "x\\ny"}<|im_end|>',
        '{"a": "x\ny"}',
        '{}{"a": "x\\ny"}',
        '{"a": "x\\ny"}{"a": "x\\ny"}',
    ],
)
def test_a_fence_and_what_only_a_server_can_cure_are_read_over(text: str) -> None:
    assert parse_json(text) == {"a": "x\ny"}


@pytest.mark.parametrize(
    "text",
    [
        "",
        '{"a": "half',
        '{"a": 1,}',
        "{'a': 1}",
        "{a: 1}",
        '{"a": "say "hi", x"}',
        '{"a": 1} and more',
        '{"a": 1} {"a": 2}',
    ],
)
def test_a_fault_of_the_model_is_named_and_not_repaired(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        parse_json(text)


def test_the_whole_values_in_a_text_are_found_with_their_places() -> None:
    text = 'Look: {"a": [1]}, then\n```json\n[2]\n```\nand {"cut": ['
    found = [(one.value, text[one.start : one.end]) for one in find_values(text)]
    assert found == [({"a": [1]}, '{"a": [1]}'), ([2], "[2]")]


def test_a_text_nested_without_end_holds_no_value() -> None:
    assert list(find_values("[" * 100_000)) == []


def test_the_last_object_that_follows_the_schema_is_the_answer() -> None:
    text = '{"name": "draft"} then ```json\n{"name": "b", "why": "x"}\n``` as {"other": 1} says'
    assert read_object(text, SCHEMA) == ({"name": "b", "why": "x"}, "")


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("I cannot.", "the answer has no complete JSON object"),
        ('{"name": "b", "wh', "the answer has no complete JSON object"),
        ("{}", "the answer has no complete JSON object"),
        ('{"why": "x"}', "$: 'name' is a required property"),
        ('{"name": 3}', "$.name: 3 is not of type 'string'"),
    ],
)
def test_what_is_wrong_with_an_answer_is_named(text: str, fault: str) -> None:
    assert read_object(text, SCHEMA) == ({}, fault)


def test_a_fault_that_quotes_a_long_value_is_cut() -> None:
    assert len(find_fault({"name": ["x" * 9_000]}, SCHEMA)) < 600


def test_a_strict_service_is_told_that_every_field_is_required() -> None:
    nested = {"type": "array", "items": SCHEMA}
    assert require_all(nested)["items"]["required"] == ["name", "why"]
    assert SCHEMA["required"] == ["name"]
