"""Test converting providers' usage figures into disjoint buckets."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from swecli.llm.answer import parse_usage
from swecli.models.message import Usage

numbers = st.one_of(st.none(), st.integers(-5, 10**6), st.floats(), st.text(max_size=2))


def test_cached_and_reasoning_tokens_are_subtracted_from_prompt_and_completion_tokens() -> None:
    fields = dict(
        prompt_tokens=100,
        completion_tokens=20,
        prompt_tokens_details=dict(cached_tokens=60, cache_write_tokens=10),
        completion_tokens_details=dict(reasoning_tokens=5),
    )
    assert parse_usage(fields) == Usage(
        input=30, cache_read=60, cache_write=10, output=15, reasoning=5
    )


def test_input_tokens_of_anthropic_do_not_include_cached_tokens() -> None:
    counted = {
        "input_tokens": 3,
        "cache_read_input_tokens": 60,
        "cache_creation_input_tokens": 7,
        "output_tokens": 9,
    }
    assert parse_usage(counted) == Usage(input=3, cache_read=60, cache_write=7, output=9)
    assert parse_usage({"output_tokens": 9}) is None


def test_deepseeks_and_moonshots_cache_counts_are_read() -> None:
    assert parse_usage({"prompt_tokens": 9, "prompt_cache_hit_tokens": 4}) == Usage(
        input=5, cache_read=4
    )
    assert parse_usage({"prompt_tokens": 9, "cached_tokens": 4}) == Usage(input=5, cache_read=4)


def test_usage_without_tokens_is_unknown() -> None:
    assert parse_usage(None) is None
    assert parse_usage(dict(prompt_tokens=0, completion_tokens=0)) is None


@given(numbers, numbers, numbers, numbers, numbers)
def test_buckets_are_never_negative_and_add_up(
    prompt: Any, out: Any, read: Any, write: Any, reasoning: Any
) -> None:
    fields = dict(
        prompt_tokens=prompt,
        completion_tokens=out,
        prompt_tokens_details=dict(cached_tokens=read),
        cache_creation_input_tokens=write,
        completion_tokens_details=dict(reasoning_tokens=reasoning),
    )
    usage = parse_usage(fields)
    if usage is None:
        return
    assert all(value >= 0 for value in asdict(usage).values())
    expected = [
        max(int(n), 0) if isinstance(n, int | float) and 0 < n < 1e12 else 0 for n in (prompt, out)
    ]
    assert usage.total == sum(expected)
