"""Which of a model's thinking levels is asked for, and how chat completions say it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from swecli.config.model_entry import THINKING
from swecli.llm.services import Dialect

# all levels of all services, from the least to the most
LEVELS = ("none", "minimal", *(word for word in THINKING if word != "off"))
_TOKENS_OF_LOW, _TOKENS_OF_MEDIUM = 2_048, 8_192  # up to which a number of tokens is that level


def levels_in(row: Mapping[str, Any], usual: Sequence[str]) -> tuple[str, ...]:
    """Return the levels that a row of the table states, in order: a list, or the usual ones of the service with those
    that it adds or takes away. What is no level is left out: the table may be of tomorrow."""
    stated = row.get("reasoning_effort_levels")
    if isinstance(stated, list):
        return tuple(level for level in LEVELS if level in stated)
    levels = set(usual)
    for level in LEVELS:
        supported = row.get(f"supports_{level}_reasoning_effort")
        if supported is True:
            levels.add(level)
        elif supported is False:
            levels.discard(level)
    return tuple(level for level in LEVELS if level in levels)


def nearest_level(levels: Sequence[str], requested: str) -> str:
    """Return the level that stands for a word or a number of tokens: the highest one not above it, else the lowest one;
    "" if there are no levels. Only "off" is "none"."""
    if requested.isdecimal():
        tokens = int(requested)
        requested = "high"
        if tokens <= _TOKENS_OF_MEDIUM:
            requested = "low" if tokens <= _TOKENS_OF_LOW else "medium"
    if requested == "off":
        return next(iter(levels), "")
    thinking = [level for level in levels if level != "none"]
    rank = LEVELS.index(requested)
    lower = [level for level in thinking if LEVELS.index(level) <= rank]
    return lower[-1] if lower else next(iter(thinking), "")


def chat_fields(
    dialect: Dialect, levels: Sequence[str], requested: str, *, can_be_off: bool
) -> dict[str, Any]:
    """Return the fields of a chat completion for a level, in the service's dialect; {} if nothing can be sent. With
    `can_be_off` a service's switch works beside the levels."""
    level = nearest_level(levels, requested)
    is_off = requested == "off"
    effort = {"reasoning_effort": level} if level else {}
    match dialect:
        case "none":
            return {}
        case "effort":
            return effort
        case "switch":
            if effort and not (is_off and can_be_off):
                return effort
            return {"thinking": {"type": "disabled" if is_off else "enabled"}}
        case "enable_thinking":
            budget = {"thinking_budget": int(requested)} if requested.isdecimal() else {}
            return {"enable_thinking": not is_off, **budget}
        case "reasoning":
            if requested.isdecimal():
                return {"reasoning": {"max_tokens": int(requested)}}
            return {"reasoning": {"effort": level}} if level else {}
        case "template":
            switch = {"chat_template_kwargs": {"enable_thinking": not is_off}}
            return switch if is_off else {**switch, **effort}


def in_words(fields: Mapping[str, Any]) -> str:
    """Return what is sent, for a person: `thinking.type = adaptive, output_config.effort = high`; "" for nothing."""
    return ", ".join(f"{path} = {value}" for path, value in _paths(fields, ""))


def _paths(fields: Mapping[str, Any], prefix: str) -> list[tuple[str, str]]:
    paths: list[tuple[str, str]] = []
    for name, value in fields.items():
        if isinstance(value, Mapping):
            paths += _paths(value, f"{prefix}{name}.")
        else:
            word = str(value).lower() if isinstance(value, bool) else str(value)
            paths.append((prefix + name, word))
    return paths
