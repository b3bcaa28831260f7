"""How well bullets match and how well they have worked: similarity by stems, a BM25 index, and a belief (harmful,
inert, helpful) per bullet, updated by outcomes and tags.

Outcomes follow a Rasch model of fixed step: P(good | c) = sigmoid(b + sum of _STEP·E over the other shown + _STEP·c). A
tag is a mixture: with probability s, the reflector's insight, it is the class, else it is drawn from the reflector's
habit after such an outcome. The insight is learned from the agreement of tags with beliefs, by one step of expectation
maximisation per tag.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import accumulate
from typing import Any

from swecli.models.playbook import FORGET, NEUTRAL, OUTSIDE, TAG_OF, Bullet, Effect, Tag, Verdict
from swecli.store.sessions.search import stem
from swecli.text import sanitize

_ID = re.compile(r"\[\s*(P-?\d+)\s*\]", re.IGNORECASE)
_SIMILAR = 0.5  # Jaccard similarity of two texts about the same thing
_SATURATION, _LENGTH = 1.2, 0.75  # k1 and b of BM25
_STOP_WORDS = """
    a an and are as at be by can do does for from has have here how i if in is it its me my not of on or our so that
    s t the then there this to use was we what when where which who why will with you your
"""
_STOP = frozenset(_STOP_WORDS.split())


def clean(content: str) -> str:
    """Return one line of visible text, with brackets removed from ids so that a bullet cannot cite another one."""
    text = sanitize(content)
    while (found := _ID.sub(r"\1", text)) != text:
        text = found
    return " ".join(text.split())


class _WordCharacters(dict[int, str]):
    """A table for `str.translate`, ten times as fast as a pattern: all but letters and digits become spaces."""

    def __missing__(self, code: int) -> str:
        letter = chr(code)
        return self.setdefault(code, letter if letter.isalnum() else " ")


_LETTERS = _WordCharacters({0: "\0"})  # NUL separates texts


def _plain(text: str) -> str:
    return text.lower().translate(_LETTERS)


def stems(text: str) -> frozenset[str]:
    """Return the stems of a text's words, without stop words."""
    return frozenset(map(_term, _plain(text).split())) - {""}


@lru_cache(maxsize=32_768)
def _term(word: str) -> str:
    return "" if word in _STOP else stem(word)


def _jaccard(one: frozenset[str], other: frozenset[str]) -> float:
    """Return the Jaccard similarity, 0 to 1; 0 if both sets are empty."""
    union = one | other
    return len(one & other) / len(union) if union else 0.0


def most_similar(text: str, bullets: Iterable[Bullet], least: float = _SIMILAR) -> Bullet | None:
    """Return the bullet most similar to a text, the oldest of several; None below the similarity `least`."""
    words = stems(text)
    scored = (
        (_jaccard(words, stems(bullet.content)), -bullet.number, bullet) for bullet in bullets
    )
    score, _, bullet = max(scored, key=lambda found: found[:2], default=(0.0, 0, None))
    return bullet if score >= least else None


@dataclass(slots=True)
class BulletIndex:
    """A BM25 index over the content and `when` of bullets, kept between queries. All texts are one string; a word is
    stemmed only if it begins like a query's stem, because stemming all words of 10,000 bullets takes a second."""

    _names: list[str] = field(default_factory=list)
    _texts: list[str] = field(default_factory=list)
    _whole: str = ""
    _starts: list[int] = field(
        default_factory=list
    )  # offsets of the texts in `_whole`, and its end
    _spaces: int = 0  # spaces in `_whole`: a fast estimate of its length in words
    _places: dict[str, set[int]] = field(
        default_factory=dict
    )  # indexes of the texts that contain a term

    def update(self, bullets: Mapping[str, Bullet]) -> None:
        texts = [text for bullet in bullets.values() for text in (bullet.content, bullet.when)]
        names = [*bullets]
        if (names, texts) == (self._names, self._texts):
            return
        pairs = zip(texts[::2], texts[1::2], strict=True)
        self._whole = _plain("".join(f" {content} {when} \0" for content, when in pairs))
        lengths = (len(text) + 1 for text in self._whole.split("\0"))
        self._names, self._texts, self._places = names, texts, {}
        self._starts, self._spaces = [*accumulate(lengths, initial=0)], self._whole.count(" ")

    def _places_of(self, term: str) -> set[int]:
        if term not in self._places:
            # a stem differs from its word in the last two letters at most, except for dying, lying and tying
            begin, found = f" {term[: max(2, len(term) - 2)]}", set[int]()
            at = self._whole.find(begin)
            while at >= 0:
                end = self._whole.index(" ", at + 1)
                if _term(self._whole[at + 1 : end]) == term:
                    place = bisect_right(self._starts, at)
                    found.add(place - 1)
                    end = self._starts[place]
                at = self._whole.find(begin, end)
            self._places[term] = found
        return self._places[term]

    def search(self, query: str, least: float) -> dict[str, float]:
        """Return the BM25 scores by id of the bullets that match at least the share `least` of the query's idf mass.
        BM25 after Robertson and Zaragoza, "The Probabilistic Relevance Framework" (2009), with Lucene's non-negative
        idf; a term counts once per text. A term that no bullet contains has the idf of the rarest one."""
        wanted, total = stems(query), len(self._names)
        counts = {term: len(self._places_of(term)) for term in sorted(wanted)}
        idf = {
            term: math.log(1 + (total - count + 0.5) / (count + 0.5))
            for term, count in counts.items()
        }
        enough = least * sum(idf.values())
        sums: dict[int, float] = {}
        left = sum(idf.values())
        for term, weight in sorted(idf.items(), key=lambda pair: -pair[1]):
            # skip texts that the remaining terms cannot lift over the threshold
            for place in (
                self._places_of(term) if left >= enough else sums.keys() & self._places_of(term)
            ):
                sums[place] = sums.get(place, 0.0) + weight
            left -= weight
        passed: dict[str, float] = {}
        for place, value in sums.items():
            if value >= enough:
                length = self._whole.count(" ", self._starts[place], self._starts[place + 1])
                norm = 1 - _LENGTH + _LENGTH * length * total / self._spaces
                passed[self._names[place]] = value * ((_SATURATION + 1) / (1 + _SATURATION * norm))
        return passed


_STEP = 0.6  # logits that a helpful bullet adds to the odds of success, and a harmful one subtracts
_BASE_STEP = 0.15  # learning rate of the base odds of a kind of turn
_MAX_BASE = 6.0  # logits, 99.75 %
_BENEFIT = 0.4  # standard deviations added to the expected value before a bullet is held back
_NO_BENEFIT = -0.1  # the same for unvouched bullets if no reflector has insight
_IGNORANT, _ENOUGH_TAGS = 0.05, 200  # insight below this, after so many tags, is none
_FIRST_INSIGHT, _FIRST_WEIGHT, _MAX_WEIGHT = 0.25, 40, 400
_CLASSES = (-1, 0, 1)
TAGS: tuple[Tag, ...] = ("harmful", "neutral", "helpful")  # in the order of _CLASSES


def passes(bullet: Bullet, *, ignorant: bool = False) -> bool:
    """Return True if the score allows a bullet in prompts. The user's and pinned bullets always pass; others pass again
    when their evidence fades. `ignorant`: no reflector has insight."""
    if bullet.state == "pinned" or bullet.trust == "user":
        return True
    if bullet.seems_harmful:
        return False
    benefit = _NO_BENEFIT if ignorant and bullet.trust in ("reasoning", *OUTSIDE) else _BENEFIT
    harmful, _, helpful = bullet.current_belief
    deviation = math.sqrt(max(0.0, helpful + harmful - bullet.worth**2))
    return bullet.worth + benefit * deviation >= 0


@dataclass(frozen=True, slots=True)
class Reflector:
    """A reflector's learned `insight` (0 to 1) with its weight `n`, the number of its `tags`, and its habit: counts of
    each tag, in the order of TAGS, after a good, a bad and an unknown outcome."""

    insight: float = _FIRST_INSIGHT
    n: float = _FIRST_WEIGHT
    tags: int = 0
    good: tuple[float, float, float] = (1.0, 1.0, 1.0)
    bad: tuple[float, float, float] = (1.0, 1.0, 1.0)
    unknown: tuple[float, float, float] = (1.0, 1.0, 1.0)

    @property
    def ignorant(self) -> bool:
        """True if its insight is low after enough tags."""
        return self.tags >= _ENOUGH_TAGS and self.insight < _IGNORANT

    @classmethod
    def from_json(cls, value: Any) -> Reflector:
        """Restore from a stored dictionary; a new reflector for None."""
        return cls(**value) if isinstance(value, dict) else cls()

    def judge(
        self,
        name: str,
        effects: Sequence[tuple[Bullet, Effect, str]],
        good: bool | None,
        first: Mapping[str, bool],
    ) -> tuple[tuple[Verdict, ...], Reflector]:
        """Return the verdicts of effects (bullet, effect, reason) after an outcome (None: unknown), and the updated
        reflector `name`. Only a bullet's `first` verdict of a turn moves it towards its prior. What was ignored or
        irrelevant in this turn is counted and moves no belief."""
        which = "unknown" if good is None else "good" if good else "bad"
        s, n, counts, verdicts = self.insight, self.n, list(getattr(self, which)), []
        for bullet, effect, why in effects:
            tag = TAG_OF[effect]
            place = TAGS.index(tag)
            habit, known = counts[place] / sum(counts), s * bullet.current_belief[place]
            one, two, three = (s * (other == tag) + (1 - s) * habit for other in TAGS)
            matters = tag != "neutral"
            forget = FORGET if matters and first.get(bullet.id, True) else 0.0
            factors = (one, two, three) if matters else NEUTRAL
            verdicts.append(
                Verdict(bullet.id, "tag", tag, name, why, factors, forget, effect=effect)
            )
            s = (s * n + known / (known + (1 - s) * habit)) / (n + 1)
            n = min(_MAX_WEIGHT, n + 1)
            counts[place] += 1  # within the turn, so that fifty equal tags become a habit
        changed: dict[str, Any] = {which: tuple(counts)}
        return tuple(verdicts), replace(
            self, insight=s, n=n, tags=self.tags + len(verdicts), **changed
        )


def outcome_verdicts(
    shown: Sequence[tuple[Bullet, float, str]],
    good: bool,
    weight: float,
    base: float,
    why: tuple[str, str],
) -> tuple[tuple[Verdict, ...], float]:
    """Return the verdicts of an outcome of `weight` 0 to 1 on the shown bullets, and the new `base` odds (a logit) of
    that kind of turn. Each bullet has its role, its share of the weight (0: no verdict), and the id of the call that
    links it. `why` is the source and the quote of the verdicts."""
    worth = {bullet.id: _STEP * bullet.worth for bullet, _, _ in shown}
    logit, verdicts = base + sum(worth.values()), []
    for bullet, role, call_id in shown:
        if not role:
            continue
        others = logit - worth[bullet.id]
        chances = [_sigmoid(others + _STEP * effect) for effect in _CLASSES]
        first, second, third = (
            max(1e-9, chance if good else 1 - chance) ** (weight * role) for chance in chances
        )
        # only a linked bullet is counted as helpful or harmful
        tag: Tag = "neutral" if role < 1 else "helpful" if good else "harmful"
        verdicts.append(
            Verdict(bullet.id, "outcome", tag, *why, (first, second, third), FORGET, call_id)
        )
    moved = base + _BASE_STEP * weight * (good - _sigmoid(logit))
    return tuple(verdicts), max(-_MAX_BASE, min(_MAX_BASE, moved))


def _sigmoid(logit: float) -> float:
    return 1 / (1 + math.exp(-logit)) if logit >= 0 else math.exp(logit) / (1 + math.exp(logit))
