"""Whether what the user says now takes the place of what they said before, or stands beside it."""

from __future__ import annotations

import re
from collections.abc import Iterable

from swecli.models.playbook import Bullet
from swecli.playbook.gate import nearest
from swecli.playbook.learning.proposals import AddProposal
from swecli.playbook.words import content_word, content_words, written

_BESIDE = re.compile(
    r"\b(?:also|too|as well|in addition|additionally|besides|auch|ebenfalls|zusätzlich)\b", re.IGNORECASE
)
_SPAN = re.compile(r"`([^`]+)`")
_WIDTH = {"session": 0, "project": 1, "user": 2}


def succeeds(add: AddProposal, old: Bullet) -> bool:
    """Whether the user's words and an older lesson of theirs, which are near each other, say one thing differently.

    They do when all that differs is what is said of the matter: figures, the arguments of one command, or how the
    sentences end. "Install numpy with pip" says nothing against "Install pandas with pip"; nor do words that say so
    ("also"), or that apply to less than the older ones.
    """
    if old.trust != "user" or _WIDTH[add.scope] < _WIDTH[old.scope]:
        return False
    if any(_BESIDE.search(text) for text in (add.content, *(item.quote for item in add.evidence))):
        return False
    shared = content_words(add.content) & content_words(old.content)
    return bool(shared) and all(_differs_in_what_is_said(text, shared) for text in (add.content, old.content))


def overtaken(add: AddProposal, bullets: Iterable[Bullet], but: str = "") -> list[Bullet]:
    """The active bullets of the user's that their words take the place of: those that say the opposite, and those that
    say the same matter differently; without the one with the id `but`."""
    found = []
    for old in bullets:
        near = nearest(add.content, [old]) if old.state == "active" and old.id != but and old.trust == "user" else None
        if near is not None and (near[1] == "opposite" or (near[1] == "variant" and succeeds(add, old))):
            found.append(old)
    return found


def _differs_in_what_is_said(text: str, shared: frozenset[str]) -> bool:
    order = [word for word in map(content_word, written(text)) if word]
    own = set(order) - shared
    if all(any(sign.isdigit() for sign in word) for word in own):
        return True
    spans = [words for words in map(content_words, _SPAN.findall(text)) if words & shared]
    if own <= frozenset().union(*spans):
        return True
    first = min(at for at, word in enumerate(order) if word in own)
    return not any(word in shared for word in order[first:])
