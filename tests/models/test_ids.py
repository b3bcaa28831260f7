"""Test ids: they sort by time and have a short form."""

from __future__ import annotations

import uuid

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from swecli.models.ids import parse_short_id, uuid7


@given(st.integers(0, 2**48 - 1), st.integers(0, 2**74 - 1))
@settings(deadline=None)
def test_an_id_is_a_version_7_uuid_that_contains_its_time(ms: int, bits: int) -> None:
    value = uuid.UUID(uuid7(ms, bits))
    assert (value.version, value.variant) == (7, uuid.RFC_4122)
    assert value.int >> 80 == ms
    assert ((value.int >> 64) & 0xFFF) << 62 | value.int & (1 << 62) - 1 == bits


@given(st.integers(0, 2**48 - 2))
@settings(deadline=None)
def test_later_ids_sort_after_earlier_ones(ms: int) -> None:
    assert uuid7(ms) < uuid7(ms + 1)


def test_ids_differ_within_a_millisecond() -> None:
    assert len({uuid7(1) for _ in range(1000)}) == 1000


@pytest.mark.parametrize("text", ["P-7", "p-7", "p7", " P7 ", "P-007"])
def test_different_spellings_of_a_short_id_are_parsed(text: str) -> None:
    assert parse_short_id("P", text) == "P-7"


def test_a_short_id_may_have_up_to_18_digits() -> None:
    assert parse_short_id("P", "P-1000000000") == "P-1000000000"
    assert parse_short_id("P", "p" + "9" * 18) == "P-" + "9" * 18


@pytest.mark.parametrize(
    "text", ["", "7", "T-7", "P-", "P--7", "P-7x", "P-٧", "P-7\nx", "P-" + "1" * 19]
)
def test_other_text_is_not_parsed_as_a_short_id(text: str) -> None:
    assert parse_short_id("P", text) is None
