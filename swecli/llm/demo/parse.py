"""From a user's text to intents: the rules are tried in order, and "this and then that" becomes two."""

from __future__ import annotations

import re

from swecli.llm.demo import rules_edit, rules_find, rules_read, rules_run, rules_talk
from swecli.llm.demo.intents import Intent, Talk, Unknown
from swecli.llm.demo.phrase import Phrase, mask, without_polite_head, without_polite_tail
from swecli.llm.demo.rules import Rule

_OPEN_ENDED: tuple[Rule, ...] = (*rules_talk.OPEN_ENDED, *rules_edit.OPEN_ENDED)
_RULES: tuple[Rule, ...] = (
    *rules_talk.RULES,
    *rules_edit.RULES,
    *rules_run.RULES,
    *rules_read.RULES,
    *rules_find.RULES,
    *rules_read.LATE_RULES,
    *rules_run.LAST_RULES,
)
_STRONG = re.compile(
    r"\s*(?:[,;.]?\s+(?:and\s+)?(?:then|after that|afterwards)\b,?|;|\.\s+(?=[A-Z])|\n+)\s*", re.IGNORECASE
)
_WEAK = re.compile(r"\s*(?:,?\s+and\b|,)\s*", re.IGNORECASE)
MOST_PARTS = 4
LONGEST_RULED = 1_000


def parse(text: str) -> tuple[Intent, ...]:
    """What the user asks for, in order; `Unknown` where no rule fits. Total: every text gives at least one."""
    phrase = mask(text)
    found = _first(_OPEN_ENDED, phrase, without_polite_head(phrase.masked))
    if found:
        return (found,)
    whole = _first(rules_read.WHOLE_LINE_RULES, phrase, phrase.masked)
    return _sequence(phrase) or (whole or Unknown(text.strip()),)


def understood(intents: tuple[Intent, ...]) -> bool:
    """Whether every part was understood."""
    return not any(isinstance(intent, Unknown) for intent in intents)


def _sequence(phrase: Phrase) -> tuple[Intent, ...]:
    """The line as several requests if each of its parts is one by itself, else as a single one."""
    for separator in (_STRONG, _WEAK):
        parts = [part for part in separator.split(phrase.masked) if part.strip()]
        if 1 < len(parts) <= MOST_PARTS:
            found = [_single(phrase, part) for part in parts]
            if all(found):
                return _without_greetings([intent for intent in found if intent])
    single = _single(phrase, phrase.masked)
    return (single,) if single else ()


def _without_greetings(intents: list[Intent]) -> tuple[Intent, ...]:
    """The requests alone: "hello" before one needs no answer of its own."""
    return tuple(intent for intent in intents if not isinstance(intent, Talk)) or (intents[0],)


def _single(phrase: Phrase, masked: str) -> Intent | None:
    headless = without_polite_head(masked)
    readings = (" ".join(without_polite_tail(text).split()) for text in (headless, masked))
    found = _first(_OPEN_ENDED, phrase, headless)
    return found or next((intent for text in readings if (intent := _first(_RULES, phrase, text))), None)


def _first(rules: tuple[Rule, ...], phrase: Phrase, masked: str) -> Intent | None:
    if len(masked) > LONGEST_RULED and rules is _RULES:
        return None  # what is that long has none of these short forms, and would only cost time
    return next((intent for rule in rules if (intent := rule.apply(phrase, masked))), None)
