"""What was said in turns that are no longer sent, as excerpts that travel with the query that refers to them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from swecli.context.tokens import TokenCounter
from swecli.store.records import FoundInteraction

_INTRODUCTION = "Found in earlier turns of this session that are no longer sent; quoted, not asked for now:"


@dataclass(frozen=True, slots=True)
class Excerpts:
    """Lines for the notes of a query, and the interactions that they quote, in the order of the lines."""

    lines: tuple[str, ...] = ()
    interactions: tuple[int, ...] = ()


def excerpts(found: Iterable[FoundInteraction], most: int | None, counter: TokenCounter) -> Excerpts:
    """The quotations of what was found, best first, in at most `most` tokens together (None: no limit); one that does
    not fit is left out."""
    lines, numbers, used = [_INTRODUCTION], list[int](), counter.count(f"- {_INTRODUCTION}\n")
    for place in (place for one in found for place in one.excerpts):
        tokens = counter.count(f"- {place.quotation}\n")
        if most is None or used + tokens <= most:
            lines, used = [*lines, place.quotation], used + tokens
            numbers += [place.interaction] if place.interaction not in numbers else []
    return Excerpts(tuple(lines), tuple(numbers)) if numbers else Excerpts()
