"""The one place where a provider's usage numbers become our five disjoint buckets."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from swecli.models.message import Usage

_MAX = 2**53


def openai_usage(reported: Any) -> Usage | None:
    """Buckets out of the OpenAI shape and litellm's, None where nothing was counted (all zero).

    Its prompt count holds what was read from and written to the cache, its completion count the reasoning. DeepSeek
    names the cached part `prompt_cache_hit_tokens`, Anthropic through litellm `cache_read_input_tokens`.
    """
    prompt, completion = _number(reported, "prompt_tokens"), _number(reported, "completion_tokens")
    if prompt == completion == 0:
        return None
    details, made = _part(reported, "prompt_tokens_details"), _part(reported, "completion_tokens_details")
    hits = _number(reported, "cache_read_input_tokens", "prompt_cache_hit_tokens", "cached_tokens")
    read = min(max(_number(details, "cached_tokens"), hits), prompt)
    written = max(_number(reported, "cache_creation_input_tokens"), _number(details, "cache_write_tokens"))
    write = min(written, prompt - read)
    reasoning = min(_number(made, "reasoning_tokens"), completion)
    return Usage(prompt - read - write, read, write, completion - reasoning, reasoning)


def anthropic_usage(reported: Any) -> Usage | None:
    """Buckets out of Anthropic's shape, whose input count leaves out what was read from and written to the cache."""
    read, write = _number(reported, "cache_read_input_tokens"), _number(reported, "cache_creation_input_tokens")
    usage = Usage(_number(reported, "input_tokens"), read, write, _number(reported, "output_tokens"))
    return usage if usage.prompt else None


def _part(holder: Any, name: str) -> Any:
    return holder.get(name) if isinstance(holder, Mapping) else None


def _number(holder: Any, *names: str) -> int:
    """The first of the numbers that is not 0."""
    for name in names:
        value = _part(holder, name)
        if isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value) and value > 0:
            return min(int(value), _MAX)
    return 0
