"""Pairs of strategies of which the user has to say which one holds, as a model found them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from enum import StrEnum
from itertools import combinations
from typing import TYPE_CHECKING

from swecli.models.json_value import Json, JsonObject
from swecli.models.playbook import Bullet
from swecli.text import shorten
from swecli.values import dataclass

if TYPE_CHECKING:  # a first request is made before the store is loaded
    from swecli.store.turn_records import TurnRecords

_PREFIX = "pair:"  # of the names under which the store keeps pairs
_MAX_TEXT = 90  # characters of a strategy in a line


class PairKind(StrEnum):
    """What two strategies are to each other, as it is stored."""

    CONTRADICTION = "contradiction"
    DOUBLE = "double"


_CLAUSES = {
    PairKind.CONTRADICTION: "contradict each other",
    PairKind.DOUBLE: "say the same, or one replaces the other",
}


@dataclass(frozen=True, slots=True)
class Pair:
    """Two strategies by their ids, the older one first; `reason` is a model's reason, or ""."""

    kind: PairKind
    first: str
    second: str
    reason: str = ""

    @property
    def ids(self) -> tuple[str, str]:
        return (self.first, self.second)

    @property
    def figure(self) -> str:
        """The name under which the store keeps it."""
        return f"{_PREFIX}{self.first}+{self.second}"

    @property
    def clause(self) -> str:
        """What it says, without the texts."""
        reason = f": {self.reason}" if self.reason else ""
        return f"{self.first} and {self.second} {_CLAUSES[self.kind]}{reason}"

    def line(self, bullets: Mapping[str, Bullet]) -> str:
        """Return what it says, with both texts."""
        texts = [f'{name} "{shorten(bullets[name].content, _MAX_TEXT)}"' for name in self.ids]
        return f"{' and '.join(texts)} {_CLAUSES[self.kind]}"


def make_pairs(kind: PairKind, ids: Iterable[str], reason: str = "") -> list[Pair]:
    """Return a pair for each two of these strategies."""
    in_order = sorted(set(ids), key=lambda name: int(name.removeprefix("P-")))
    return [Pair(kind, *pair_ids, reason) for pair_ids in combinations(in_order, 2)]


def find_open(bullets: Mapping[str, Bullet], turns: TurnRecords) -> list[Pair]:
    """Return the pairs of strategies in use that the user has not settled: both texts are as they were then."""
    open_pairs = list[Pair]()
    for name, value in turns.figures_of(_PREFIX).items():
        first, _, second = name.removeprefix(_PREFIX).partition("+")
        pair = Pair(PairKind(value["kind"]), first, second, value["why"])
        is_current = value["texts"] == _fingerprint(pair, bullets)
        if is_current and not value["is_settled"]:
            open_pairs.append(pair)
    return open_pairs


def find_new(
    pairs: Iterable[Pair], bullets: Mapping[str, Bullet], turns: TurnRecords
) -> list[Pair]:
    """Return those of these pairs that are not stored, settled or not, with their present texts."""
    stored_figures = turns.figures_of(_PREFIX)
    return [
        pair
        for pair in pairs
        if _fingerprint(pair, bullets)
        and stored_figures.get(pair.figure, {}).get("texts") != _fingerprint(pair, bullets)
    ]


def figures_of(
    pairs: Iterable[Pair], bullets: Mapping[str, Bullet], *, is_settled: bool = False
) -> JsonObject:
    """Return what the store keeps of these pairs, by name."""
    figures: dict[str, Json] = {}
    for pair in pairs:
        figures[pair.figure] = {
            "kind": pair.kind.value,
            "why": pair.reason,
            "texts": _fingerprint(pair, bullets),
            "is_settled": is_settled,
        }
    return figures


def _fingerprint(pair: Pair, bullets: Mapping[str, Bullet]) -> str:
    """Return a hash of both texts, "" if one of them is not in prompts."""
    if not all(name in bullets and bullets[name].is_live for name in pair.ids):
        return ""
    texts = [bullets[name].content for name in pair.ids]
    return hashlib.sha256(json.dumps(texts).encode()).hexdigest()[:24]
