"""Usage numbers fill disjoint buckets, whatever a provider says."""

from __future__ import annotations

import math
from types import SimpleNamespace as Said
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from swecli.llm.providers.usage import normalise
from swecli.models.message import Usage

numbers = st.one_of(st.none(), st.integers(-5, 10**6), st.floats(), st.text(max_size=2))


def test_cached_and_reasoning_tokens_are_taken_out_of_what_holds_them() -> None:
    said = Said(
        prompt_tokens=100,
        completion_tokens=20,
        prompt_tokens_details=Said(cached_tokens=60, cache_write_tokens=10),
        completion_tokens_details=Said(reasoning_tokens=5),
    )
    assert normalise(said) == Usage(input=30, cache_read=60, cache_write=10, output=15, reasoning=5)


def test_nothing_said_is_unknown() -> None:
    assert normalise(None) is None
    assert normalise(Said(prompt_tokens=0, completion_tokens=0)) is None


@given(numbers, numbers, numbers, numbers, numbers)
def test_buckets_are_never_negative_and_add_up(prompt: Any, out: Any, read: Any, write: Any, reasoning: Any) -> None:
    said = Said(
        prompt_tokens=prompt,
        completion_tokens=out,
        prompt_tokens_details=Said(cached_tokens=read),
        cache_creation_input_tokens=write,
        completion_tokens_details=Said(reasoning_tokens=reasoning),
    )
    usage = normalise(said)
    if usage is None:
        return
    assert all(value >= 0 for value in usage.to_json().values())
    expected = [max(int(n), 0) if isinstance(n, int | float) and math.isfinite(n) else 0 for n in (prompt, out)]
    assert usage.total == sum(min(n, 2**53) for n in expected)
