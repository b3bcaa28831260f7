"""The code a finding speaks of as a fingerprint that no reformatting changes, and the search for it in a newer file."""

from __future__ import annotations

import hashlib
import json
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

MOST_LINES = 40  # of a block that are remembered one by one
TELLING = 4  # letters a line needs to tell anything
ENOUGH = 3  # remembered lines by which a block is told from another
LEFT = 3  # one of so many of them makes a trace
ALIKE = 0.6  # share of letters two lines have in common, in order, from which one may be the other


@dataclass(frozen=True, slots=True)
class Block:
    """Some lines without their white space: how many letters, their digest, and digests of the single lines.

    `measure` is what a rule measured there (see `measures`), None where none did.
    """

    length: int
    digest: str
    lines: tuple[str, ...] = ()
    measure: int | None = None

    def stored(self) -> str:
        """As a text; `read_block` reads it."""
        return json.dumps([self.length, self.digest, self.measure, *self.lines], separators=(",", ":"))


def block_of(lines: Sequence[str], measure: int | None = None) -> Block:
    """The block of these lines."""
    texts = [squeezed(line) for line in lines]
    whole = "".join(texts)
    telling = [_digest(text, 8) for text in texts if len(text) >= TELLING]
    return Block(len(whole), _digest(whole, 20), tuple(telling[:MOST_LINES]), measure)


def read_block(text: str, anchor: str) -> Block:
    """The stored block; where there is none, as in an older ledger, the anchor alone is it."""
    if not text:
        return block_of([anchor])
    length, digest, measure, *lines = json.loads(text)
    return Block(length, digest, tuple(lines), measure)


def squeezed(text: str) -> str:
    """Text without any white space."""
    return "".join(text.split())


def _digest(text: str, letters: int) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:letters]


def places(block: Block, anchor: str, lines: Sequence[str]) -> list[tuple[int, int]]:
    """Where the block stands among these lines: (first, last) from 1. `anchor` is how its text begins.

    Other indentation, and lines that were broken or joined within the block, do not matter.
    """
    texts = [squeezed(line) for line in lines]
    whole, starts, at = "".join(texts), list[int](), 0
    for text in texts:
        starts.append(at)
        at += len(text)
    begins, head = {start: n for n, start in enumerate(starts, 1)}, squeezed(anchor)
    found, offset = list[tuple[int, int]](), whole.find(head) if head else -1
    while offset >= 0:
        end = offset + block.length
        alone = offset in begins and (end in begins or end == len(whole))
        if alone and _digest(whole[offset:end], 20) == block.digest:
            found.append((begins[offset], bisect_right(starts, end - 1)))
        offset = whole.find(head, offset + 1)
    return found


def trace(block: Block, anchor: str, lines: Sequence[str], near: int) -> int:
    """The line, from 1, where something of the block may be left; 0 where nothing of it is.

    That is its first line; or where it has lines enough to tell, the first of those that stand there still, if they
    are a third of them; else a line that is much like its first.
    """
    head = squeezed(anchor)
    same = [n for n, line in enumerate(lines, 1) if squeezed(line) == head]
    if same or len(block.lines) < ENOUGH:
        return min(same, key=lambda n: abs(n - near)) if same else most_alike(anchor, lines, near) or 0
    known = set(block.lines)
    left = [n for n, line in enumerate(lines, 1) if _digest(squeezed(line), 8) in known]
    there = {_digest(squeezed(lines[n - 1]), 8) for n in left}
    return left[0] if len(there) * LEFT >= len(known) else 0


def most_alike(anchor: str, lines: Sequence[str], near: int) -> int | None:
    """The line, from 1, that may be what the anchor has become: alike, of those the nearest; None without one."""
    matcher = SequenceMatcher(autojunk=False)
    matcher.set_seq2(squeezed(anchor))
    best: tuple[float, int] | None = None
    for number, line in enumerate(lines, 1):
        matcher.set_seq1(squeezed(line)[: len(anchor) * 2])
        if matcher.real_quick_ratio() < ALIKE or matcher.quick_ratio() < ALIKE or matcher.ratio() < ALIKE:
            continue
        rank = (-round(matcher.ratio(), 1), abs(number - near))
        if best is None or rank < (best[0], abs(best[1] - near)):
            best = (rank[0], number)
    return best[1] if best else None
