"""Which of a model's thinking levels is asked for, and how each service is told."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from swecli.llm.profile import Profile
from swecli.llm.services import LEVELS, Dialect
from swecli.models.json_value import JsonMapping, JsonObject

_MIN_BUDGET = 1_024  # tokens; Anthropic refuses fewer
_BUDGETS = {"low": 4_096, "medium": 10_000, "high": 24_000}
# Google's own numbers for the levels, for models that take a number of tokens; above them it is the model's most
_BUDGETS_OF_GEMINI = {"off": 0, "low": 1_024, "medium": 8_192, "high": 24_576}
_TOKENS_OF_LOW, _TOKENS_OF_MEDIUM = 2_048, 8_192  # up to which a number of tokens is that level


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


def thinking_fields(dialect: Dialect, profile: Profile, requested: str, limit: int) -> JsonObject:
    """Return the fields of a request that ask for a level, in a dialect; {} if nothing can be sent. `limit` is the
    longest answer in tokens."""
    if not profile.may_think:
        return {}
    level = nearest_level(profile.levels, requested)
    is_off = requested == "off"
    tokens = int(requested) if requested.isdecimal() else None
    effort = {"reasoning_effort": level} if level else {}
    match dialect:
        case "none":
            return {}
        case "effort":
            return effort
        case "litellm":  # it refuses the field for models that it does not know to think
            return effort if profile.thinking != "none" else {}
        case "switch":
            has_level_for_off = profile.states_levels or not is_off
            if effort and has_level_for_off:
                return effort
            return {"thinking": {"type": "disabled" if is_off else "enabled"}}
        case "enable_thinking":
            budget = {"thinking_budget": tokens} if tokens is not None else {}
            return {"enable_thinking": not is_off, **budget}
        case "reasoning":
            if tokens is not None:
                return {"reasoning": {"max_tokens": tokens}}
            return {"reasoning": {"effort": level}} if level else {}
        case "responses":
            return {"reasoning": {"effort": level}} if level else {}
        case "template":
            switch = {"chat_template_kwargs": {"enable_thinking": not is_off}}
            return switch if is_off else {**switch, **effort}
        case "gemini":
            config: JsonObject = {"thinkingLevel": level} if level else {}
            if profile.budget_limits:
                fewest, most = profile.budget_limits
                wanted = _budget(_BUDGETS_OF_GEMINI, requested, most)
                config = {"thinkingBudget": min(max(wanted, fewest), most)}
            return {"generationConfig": {"thinkingConfig": config}} if config else {}
        case "anthropic":
            return _of_anthropic(profile, requested, limit)


def _of_anthropic(profile: Profile, requested: str, limit: int) -> JsonObject:
    """Return the fields for Anthropic; a token budget only for models without adaptive thinking."""
    if requested == "off" and profile.thinking != "always":
        return {"thinking": {"type": "disabled"}} if profile.thinks_unasked else {}
    if profile.thinking == "budget" and limit <= _MIN_BUDGET:
        return {}
    if profile.thinking == "budget":
        budget = min(_budget(_BUDGETS, requested, limit), limit - _MIN_BUDGET)
        return {"thinking": {"type": "enabled", "budget_tokens": max(_MIN_BUDGET, budget)}}
    # else the newest models leave their thoughts out
    fields: JsonObject = {"thinking": {"type": "adaptive", "display": "summarized"}}
    thinking_levels = [level for level in profile.levels if level != "none"]
    if effort := nearest_level(thinking_levels, requested):
        fields["output_config"] = {"effort": effort}
    return fields


def _budget(budgets: Mapping[str, int], requested: str, largest: int) -> int:
    """Return the tokens that a word or a number stands for."""
    return int(requested) if requested.isdecimal() else budgets.get(requested, largest)


def in_words(fields: JsonMapping) -> str:
    """Return what is sent, for a person: `thinking.type = adaptive, output_config.effort = high`; "" for nothing."""
    return ", ".join(f"{path} = {value}" for path, value in _paths(fields, ""))


def _paths(fields: JsonMapping, prefix: str) -> list[tuple[str, str]]:
    paths: list[tuple[str, str]] = []
    for name, value in fields.items():
        if isinstance(value, Mapping):
            paths += _paths(value, f"{prefix}{name}.")
        else:
            word = str(value).lower() if isinstance(value, bool) else str(value)
            paths.append((prefix + name, word))
    return paths
