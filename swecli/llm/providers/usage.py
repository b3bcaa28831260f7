"""The one place where a provider's usage numbers become our five disjoint buckets."""

from __future__ import annotations

import math
from typing import Any

from swecli.models.message import Usage

_MAX = 2**53


def normalise(said: Any) -> Usage | None:
    """Buckets out of litellm's usage object; None when the provider said nothing (all zero).

    Its prompt count holds what was read from and written to the cache, its completion count the reasoning.
    """
    prompt, completion = _number(said, "prompt_tokens"), _number(said, "completion_tokens")
    if prompt == completion == 0:
        return None
    details = getattr(said, "prompt_tokens_details", None)
    read = max(_number(details, "cached_tokens"), _number(said, "cache_read_input_tokens"))
    write = max(_number(said, "cache_creation_input_tokens"), _number(details, "cache_write_tokens"))
    read = min(read, prompt)
    write = min(write, prompt - read)
    reasoning = min(_number(getattr(said, "completion_tokens_details", None), "reasoning_tokens"), completion)
    return Usage(prompt - read - write, read, write, completion - reasoning, reasoning)


def _number(holder: Any, name: str) -> int:
    value = getattr(holder, name, None)
    return min(max(int(value), 0), _MAX) if isinstance(value, int | float) and math.isfinite(value) else 0
