"""Whether what a model proposes to learn has anything to do with the turn it looked at: by its words and its quote."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from swecli.playbook.digest import TurnDigest
from swecli.playbook.gate import BEGINNING, GENERIC
from swecli.playbook.relevance import terms
from swecli.playbook.words import containment, content_words

QUOTED = 0.5  # share of a quote's words that stand in the turn, at least
_SPAN = re.compile(r"`([^`]*\w[^`]*)`")
_EVERYDAY = terms(" ".join(GENERIC))


def unfounded(content: str, quote: str, digest: TurnDigest) -> str:
    """Why a model's proposal has no ground in its turn; "" when it has.

    Its evidence must be in the turn: half of the quoted words. And what it says must be about the turn: at least one of
    its words that are not everyone's must stand there, two forms of a word being one, or what it has in backticks.
    What was read, run, written and said counts, the strategies that were shown do not: they are no news.
    """
    texts = [*_texts(digest)]
    heard = frozenset().union(*(content_words(text) for text in texts), *(call.vocabulary for call in digest.calls))
    quoted = content_words(quote)
    literal, whole = _plain(quote), _plain(" ".join(texts))
    if not literal or (containment(quoted, heard) < QUOTED and literal not in whole):
        return "its evidence is not in this turn"
    if any(_plain(span) in whole for span in _SPAN.findall(content)):
        return ""
    telling = _beginnings(terms(content) - _EVERYDAY)
    about = _beginnings(frozenset(term for word in heard for term in terms(word)))
    return "" if telling & about else "it is not about anything in this turn"


def _texts(digest: TurnDigest) -> Iterable[str]:
    """All that was said and done, the previous turn's part too where this one judges it."""
    before = digest.previous
    calls = (*digest.calls, *(before.calls if before else ()))
    yield from (digest.query, digest.why, before.query if before else "")
    for call in calls:
        yield from (call.name, call.output, call.reason, *_strings(call.parameters))
        if call.exit_code is not None:
            yield f"exit {call.exit_code} exit_code exit code"


def _strings(value: Any) -> Iterable[str]:
    if isinstance(value, dict):
        value = [*value.values()]
    if isinstance(value, list):
        for item in value:
            yield from _strings(item)
    elif isinstance(value, (str, int, float)):
        yield str(value)


def _plain(text: str) -> str:
    return " ".join(text.split()).lower()


def _beginnings(found: Iterable[str]) -> frozenset[str]:
    return frozenset(term[:BEGINNING] for term in found)
