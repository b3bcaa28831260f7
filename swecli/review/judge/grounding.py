"""Findings held against the files they speak of, against the ledger, and the states they may have. What does not fit a
file is marked, never dropped. `move` is the one place that changes a state."""

from __future__ import annotations

import hashlib
import json
import re
import tomllib
from bisect import bisect_right
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import accumulate
from pathlib import Path
from typing import NamedTuple

from swecli.models.finding import Finding, FindingState, Judgement, collapse_whitespace, fingerprint
from swecli.review.judge.sources import LIMITS, Source, Sources

_NEAR = 3  # lines around a finding in which its quote may stand, and between two places that may still be one
_LONGEST_ANCHOR = 400
_SHORTEST_QUOTE = 6  # letters from which on a quote can place a finding
# what happened → from which state to which; a state that is not named stays. A dismissal is moved by the user alone.
_MOVES: Mapping[str, Mapping[str, FindingState]] = {
    "there": {"gone": "open"},
    "reported again": {"gone": "open", "fixed": "regressed"},  # and confirmed, or nothing is verified
    "refuted": {"open": "refuted"},
    "vanished": {"open": "gone", "regressed": "gone"},
    "fixed": {"open": "fixed", "gone": "fixed", "regressed": "fixed"},
    "over the limit": {"fixed": "regressed"},
}


def move(finding: Finding, what: str, why: str = "") -> Finding:
    """The finding in the state that what happened leads to, with the reason; as it was where it leads nowhere."""
    to = _MOVES[what].get(finding.state, finding.state)
    return finding if to == finding.state else replace(finding, state=to, reason=why)


# The code of a finding, found again


class _Block(NamedTuple):
    """Some lines without their white space: how many letters, and their digest. `measure` is what was measured of the
    function there, None where nothing was."""

    length: int
    digest: str
    measure: int | None = None


def make_block(lines: Iterable[str], measure: int | None = None) -> _Block:
    whole = strip_whitespace("".join(lines))
    return _Block(len(whole), _digest(whole), measure)


def load_block(text: str, anchor: str) -> _Block:
    """A block from JSON; where there is none, as in an older ledger, the anchor alone is it."""
    return _Block(*json.loads(text)[:3]) if text else make_block([anchor])


def strip_whitespace(text: str) -> str:
    return "".join(text.split())


def normalize_code(text: str) -> str:
    """Code as it was shown, without fences, without numbers and signs in front of its lines, without white space."""
    lines = (line.lstrip().lstrip("0123456789").lstrip("\t|:+- →") for line in text.split("\n"))
    return "".join("".join(line for line in lines if not line.startswith("```")).split())


def match_quote(quote: str, lines: Iterable[str]) -> str:
    """A quote as it stands among these lines, or in them as they were shown, without white space; "" where nowhere."""
    whole = strip_whitespace("".join(lines))
    return next(
        (
            text
            for text in (strip_whitespace(quote.strip().strip("`")), normalize_code(quote))
            if text and text in whole
        ),
        "",
    )


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:20]


def find_block(block: _Block, anchor: str, lines: Sequence[str]) -> list[tuple[int, int]]:
    """Where the block stands among these lines: (first, last) from 1, however they are indented, broken or joined.
    `anchor` is how its text begins, "" where that is not known."""
    texts = [strip_whitespace(line) for line in lines]
    whole, starts = "".join(texts), [0, *accumulate(map(len, texts))][:-1]
    begins, head = {start: n for n, start in enumerate(starts, 1)}, strip_whitespace(anchor)
    return [
        (first, bisect_right(starts, start + block.length - 1))
        for start, first in begins.items()
        if (start + block.length in begins or start + block.length == len(whole))
        and whole.startswith(head, start)
        and _digest(whole[start : start + block.length]) == block.digest
    ]


# Grounding


def ground(findings: Iterable[Finding], sources: Sources, names: Mapping[str, str] | None = None) -> list[Finding]:
    """Each finding compared with its file. Verified: the lines exist and the quoted code stands there. A quote that
    stands elsewhere exactly once corrects the line; without a line to hold on to the finding is refuted by rule. A path
    that leads to no file is the reviewed one that it must mean, of `names`: old or new name → the file."""
    return [
        _grounded(found, source if source.hash else sources.get(_meant(found.path, names or {})))
        for found in findings
        for source in [sources.get(found.path)]
    ]


def _meant(path: str, names: Mapping[str, str]) -> str:
    """The one of these files whose name ends it (`a/shop/x.py`, an absolute path) or that it ends (`x.py`)."""
    wanted = f"/{strip_whitespace(path)}"
    inside = [name for name in names if wanted.endswith(f"/{strip_whitespace(name).replace(chr(92), '/')}")]
    around = {file for name, file in names.items() if f"/{strip_whitespace(name)}".endswith(wanted)}
    found = {names[max(inside, key=len)]} if inside else around
    return found.pop() if len(found) == 1 and ".." not in path.split("/") else path


def _grounded(finding: Finding, source: Source) -> Finding:
    path = source.path if source.hash else finding.path
    finding = _placed(finding, source)
    line, why = finding.line, _what_is_wrong(finding, source)
    anchor = collapse_whitespace(source.lines[line - 1])[:_LONGEST_ANCHOR] if 1 <= line <= len(source.lines) else ""
    # without a line to hold on to, two findings differ by their words alone
    mark = anchor or f"{collapse_whitespace(finding.evidence)} {collapse_whitespace(finding.message)}"
    # how often the text of that line stands in the file up to there, itself included
    count = sum(collapse_whitespace(text)[:_LONGEST_ANCHOR] == anchor for text in source.lines[:line]) if anchor else 1
    placed = replace(
        finding, path=path, verified=not why, why=why, anchor=anchor, block=_block(finding, source) if anchor else "",
        symbol=source.symbol(line).name if anchor else "", file_hash=source.hash,
        fingerprint=fingerprint(finding.code_smell_type, path, mark, count),
    )  # fmt: skip
    if anchor:
        return placed
    judgement = Judgement("refuted", why=why, by="rule")
    return move(replace(placed, verdict="refuted", judgement=judgement), "refuted", why)


def _placed(finding: Finding, source: Source) -> Finding:
    """At the lines where its quote stands, if it stands in just one place and not where it was reported."""
    quote = match_quote(finding.evidence, source.lines)
    if len(quote) < _SHORTEST_QUOTE or (1 <= finding.line <= len(source.lines) and not _misquoted(finding, source)):
        return finding
    texts = [strip_whitespace(line) for line in source.lines]
    whole = "".join(texts)
    if whole.count(quote) != 1:
        return finding
    length = max(0, (finding.end_line or finding.line) - finding.line) if finding.line > 0 else 0
    line = bisect_right([0, *accumulate(map(len, texts))], whole.index(quote))
    return replace(finding, line=line, end_line=min(line + length, len(source.lines)) if finding.end_line else None)


def _block(finding: Finding, source: Source) -> str:
    """What must stand unchanged for the finding to be true still: its lines, or the function that was measured."""
    last, measured, smell = finding.end_line or finding.line, None, finding.code_smell_type
    if smell in LIMITS and (function := source.function(finding.line)) is not None:
        last, measured = max(last, function.last), function.measure(smell)
    return json.dumps(make_block(source.lines[finding.line - 1 : last], measured), separators=(",", ":"))


def _what_is_wrong(finding: Finding, source: Source) -> str:
    if source.problem:
        return source.problem
    if finding.line < 1:
        return "it names no line, and no code that is found in exactly one place"
    end = f"is past the end of the file ({len(source.lines):,} lines)"
    if finding.line > len(source.lines):
        return f"line {finding.line:,} {end}"
    if finding.end_line and finding.end_line > len(source.lines):
        return f"its last line {finding.end_line:,} {end}"
    return "the quoted code is not there" if _misquoted(finding, source) else ""


def _misquoted(finding: Finding, source: Source) -> bool:
    """Whether it quotes code that does not stand there, give or take a few lines."""
    first, last = max(0, finding.line - 1 - _NEAR), (finding.end_line or finding.line) + _NEAR
    around = source.lines[first : last + finding.evidence.count("\n")]
    return bool(finding.evidence.strip("` \n")) and not match_quote(finding.evidence, around)


# Whether what is reported now is what the ledger has already, in whatever words and at whatever line

# shares of content words from which on, and up to which, two claims are one, or two: measured by `scripts/bench review`
_SAME, _NEW = 0.34, 0.15
_FAMILIES = tomllib.loads(Path(__file__).with_name("families.toml").read_text("utf-8"))
_FAMILY_OF = {word: smell_family for smell_family, words in _FAMILIES.items() for word in words.split()}
_WORD = re.compile(r"[A-Za-z_][A-Za-z_0-9]{2,}")
_LITERAL = re.compile(r"`[^`\n]+`|\b\d+(?:\.\d+)?\b|'[^'\n]+'|\"[^\"\n]+\"")


def smell_family(kind: str) -> str:
    """One of twelve families of types, by the words of its name; "" where no word decides."""
    found = [_FAMILY_OF[word] for word in re.split(r"[^A-Z]+", kind.upper()) if word in _FAMILY_OF]
    return max(found, key=found.count, default="")


def _overlap(one: str, other: str) -> float:
    """The share of the shorter text's content words that the other has too, 0 to 1; 0 where their literals differ."""
    literals = [set(_LITERAL.findall(text)) for text in (one, other)]
    if all(literals) and not literals[0] & literals[1]:
        return 0.0
    words = [{word.lower()[:7] for word in _WORD.findall(text) if len(word) > 3} for text in (one, other)]
    return len(words[0] & words[1]) / min(map(len, words)) if all(words) else 0.0


def identify(candidate: Finding, known: Sequence[Finding], mine: Collection[str] = ()) -> tuple[str, str]:
    """The id of the row that a candidate is, and of the one that it may be, which a model has to decide; "" for none.
    The first rule that decides counts. `mine` are the ids that this review has reported already: only lines that
    overlap make one of those."""
    rows = [row for row in known if row.path == candidate.path]
    alias = f"{candidate.code_smell_type}|{candidate.line}|{candidate.message[:200]}"
    certain = [
        *(row for row in rows if row.key == candidate.key),
        *(row for row in rows if row.id == candidate.same_as and _one_place(row, candidate)),
        *(row for row in rows if alias in row.aliases),
    ]
    if certain:
        return certain[0].id, ""
    best = like = (0.0, "")
    for row in rows:
        families = smell_family(row.code_smell_type), smell_family(candidate.code_smell_type)
        if all(families) and families[0] != families[1]:
            continue
        wordings = [alias.split("|", 2)[2] for alias in row.aliases if alias.count("|") > 1]
        shared = max(_overlap(candidate.message, text) for text in (row.message, *wordings))
        similar_files = row.code_smell_type == candidate.code_smell_type or shared > _NEW
        if _touch(row, candidate) and (all(families) and similar_files or shared >= _SAME):
            best = max(best, (1.0 + shared, row.id))
        elif shared > _NEW and row.id not in mine and _one_place(row, candidate):
            best, like = (max(best, (shared, row.id)), like) if shared >= _SAME else (best, max(like, (shared, row.id)))
    return best[1], "" if best[1] else like[1]


def identify_all(found: Iterable[Finding], known: Sequence[Finding], mine: Collection[str] = ()) -> list[Finding]:
    """Each candidate with the id of its row, or in `same_as` of the row it may be. Exact places are matched first."""
    out: dict[int, Finding] = {}
    taken = set(mine)
    candidates = list(enumerate(found))
    exact = {row.key for row in known}
    for number, candidate in sorted(candidates, key=lambda pair: pair[1].key not in exact):
        row, like = identify(candidate, known, taken)
        out[number] = replace(candidate, id=row, same_as=like)
        taken |= {out[number].id} - {""}
    return [out[number] for number, _ in candidates]


def _touch(row: Finding, other: Finding, around: int = 0) -> bool:
    first, last = row.line - around, (row.end_line or row.line) + around
    return first <= (other.end_line or other.line) and other.line <= last


def _one_place(row: Finding, other: Finding) -> bool:
    return _touch(row, other, _NEAR) or bool(row.symbol and row.symbol == other.symbol)
