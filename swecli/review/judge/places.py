"""The code a finding is about as a digest that no reformatting changes, and the search for it in a newer file."""

from __future__ import annotations

import hashlib
import json
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Block:
    """Some lines without their white space: how many letters, and their digest. `measure` is what a rule measured
    there (see `measures`), None where none did."""

    length: int
    digest: str
    measure: int | None = None

    def stored(self) -> str:
        """As a text; `read_block` reads it."""
        return json.dumps([self.length, self.digest, self.measure], separators=(",", ":"))


def block_of(lines: Sequence[str], measure: int | None = None) -> Block:
    """The block of these lines."""
    whole = "".join(squeezed(line) for line in lines)
    return Block(len(whole), _digest(whole), measure)


def read_block(text: str, anchor: str) -> Block:
    """The stored block; where there is none, as in an older ledger, the anchor alone is it."""
    if not text:
        return block_of([anchor])
    length, digest, measure, *_ = json.loads(text)  # older ledgers have digests of single lines behind
    return Block(length, digest, measure)


def squeezed(text: str) -> str:
    """Text without any white space."""
    return "".join(text.split())


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:20]


def places(block: Block, anchor: str, lines: Sequence[str]) -> list[tuple[int, int]]:
    """Where the block stands among these lines: (first, last) from 1. `anchor` is how its text begins, "" where that
    is not known.

    Other indentation, and lines that were broken or joined within the block, do not matter.
    """
    texts = [squeezed(line) for line in lines]
    whole, starts, at = "".join(texts), list[int](), 0
    for text in texts:
        starts.append(at)
        at += len(text)
    begins, head = {start: n for n, start in enumerate(starts, 1)}, squeezed(anchor)
    return [
        (first, bisect_right(starts, start + block.length - 1))
        for start, first in begins.items()
        if (start + block.length in begins or start + block.length == len(whole))
        and whole.startswith(head, start)
        and _digest(whole[start : start + block.length]) == block.digest
    ]
