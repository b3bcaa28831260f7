"""Test parsing the JSON that models write."""

from __future__ import annotations

import pytest

from swecli.llm.lenient_json import find_json_values, parse_unambiguously


@pytest.mark.parametrize(
    ("text", "value", "repaired", "cut"),
    [
        ('{"a": 1}', {"a": 1}, False, False),
        ("{'a': [1, 2,], b: yes}", {"a": [1, 2], "b": "yes"}, True, False),
        ('{"a": 1, "b": "half', {"a": 1}, True, True),
        ('[1, {"a": 2}, {"b', [1, {"a": 2}, {}], True, True),
    ],
)
def test_json_is_read_and_marked_as_repaired_or_cut(
    text: str, value: object, repaired: bool, cut: bool
) -> None:
    [found] = find_json_values(f"some words {text}")
    assert (found.value, found.repaired, found.cut) == (value, repaired, cut)


def test_json_after_a_truncated_block_is_read() -> None:
    assert [found.value for found in find_json_values('```\n{"a": 1, "b\n```\n{"c": 3}')] == [
        {"a": 1},
        {"c": 3},
    ]


@pytest.mark.parametrize(
    "text",
    [
        '{"a": "x\ny", "b": [1]}',
        '{"a": "x\\ny", "b": [1,],}',
        '```json\n{"a": "x\\ny", "b": [1]}\n```',
        '{"a": "x\\ny", "b": [1]}<|im_end|>',
        "{'a': 'x\\ny', 'b': [1]}",
    ],
)
def test_faults_with_one_reading_are_repaired(text: str) -> None:
    assert parse_unambiguously(text) == {"a": "x\ny", "b": [1]}


def test_a_comma_before_a_bracket_stays_in_a_string() -> None:
    assert parse_unambiguously('{"a": "f(x,)\n[1,]",}') == {"a": "f(x,)\n[1,]"}


@pytest.mark.parametrize(
    "text",
    ['{"a": "say "hi", x"}', '{"a": "half', '{"a": 1} and {"a": 2}', "{a: 1}", '{"a": open("x")}'],
)
def test_faults_with_several_readings_are_not_repaired(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        parse_unambiguously(text)
