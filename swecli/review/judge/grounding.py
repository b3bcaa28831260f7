"""Compare findings with their files and with the ledger. A finding that does not match its file is marked, never
dropped. `move` is the only function that changes a state."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal

from swecli.models.finding import (
    SMELLS,
    Finding,
    FindingState,
    Judgement,
    collapse_whitespace,
    fingerprint,
    merge_report,
)
from swecli.review.judge.sources import Before, Block, Source, Sources, strip_whitespace

_NEARBY = 3  # lines around a finding in which its quote may be, and between two places that may be the same
_MAX_ANCHOR = 400  # characters of a finding's line that are stored
_MIN_QUOTE = 6  # characters of a quote that can place a finding
Cause = Literal["there", "reported again", "refuted", "vanished", "fixed"]
# cause → state before → state after; other states stay. Only the user moves a dismissed finding.
_MOVES: Mapping[Cause, Mapping[FindingState, FindingState]] = {
    "there": {"gone": "open"},
    # only if confirmed, if nothing is verified, or if it is not refuted once more
    "reported again": {"gone": "open", "fixed": "regressed", "refuted": "open"},
    "refuted": {"open": "refuted"},
    "vanished": {"open": "gone", "regressed": "gone"},
    "fixed": {"open": "fixed", "gone": "fixed", "regressed": "fixed"},
}


def move(finding: Finding, cause: Cause, reason: str = "") -> Finding:
    """Return the finding in the state that a cause leads to, with the reason; unchanged if the state stays."""
    state = _MOVES[cause].get(finding.state)
    return finding if state is None else replace(finding, state=state, reason=reason)


# Grounding


def ground(
    findings: Iterable[Finding], sources: Sources, names: Mapping[str, str] | None = None
) -> list[Finding]:
    """Compare each finding with its file. It is verified if its lines exist and contain the quoted code; a quote found
    exactly once elsewhere corrects the line, and one of code that the change has removed is placed where that stood;
    without a valid line it is refuted. A path that does not exist is resolved among `names`, which maps old and new
    names of the reviewed files to their paths; other files are read only if the project does not ignore them."""
    grounded = list[Finding]()
    for finding in findings:
        source = sources.reviewed(finding.path)
        if not source.hash:
            source = sources.reviewed(_resolve_path(finding.path, names or {}))
        if names is not None and source.path not in names.values():
            source = sources.find(source.path)
        grounded.append(_ground_one(finding, source, sources.before.get(source.path)))
    return grounded


def _resolve_path(path: str, names: Mapping[str, str]) -> str:
    """Return the only file whose name is the end of the path (`a/shop/x.py`, absolute paths) or ends with it (`x.py`);
    otherwise the path."""
    wanted_path = f"/{strip_whitespace(path)}"
    shorter = list[str]()
    longer = set[str]()
    for name, file in names.items():
        stripped = f"/{strip_whitespace(name)}"
        if wanted_path.endswith(stripped.replace("\\", "/")):
            shorter.append(name)
        if stripped.endswith(wanted_path):
            longer.add(file)
    matches = {names[max(shorter, key=len)]} if shorter else longer
    return matches.pop() if len(matches) == 1 and ".." not in path.split("/") else path


def _ground_one(finding: Finding, source: Source, before: Before | None) -> Finding:
    path = source.path if source.hash else finding.path
    removal = _find_removal(finding, source, before)
    is_gone = before is not None and before.is_gone
    finding = _place_at(finding, removal) if removal else _move_to_quote(finding, source)
    if is_gone and not 1 <= finding.line <= len(source.lines):
        finding = _place_at(finding, min(max(1, finding.line), len(source.lines)))
    finding = _leave_blank_line(finding, source)
    line = finding.line
    mismatch = "" if removal else _find_mismatch(finding, source)
    anchors = [collapse_whitespace(text)[:_MAX_ANCHOR] for text in source.lines[: max(0, line)]]
    anchor = anchors[-1] if 1 <= line <= len(source.lines) else ""
    # without a line, only their words tell two findings apart
    words = f"{collapse_whitespace(finding.evidence)} {collapse_whitespace(finding.message)}"
    # of several lines with this text, the second is told apart from the first
    occurrence = anchors.count(anchor) if anchor else 1
    identity = fingerprint(finding.code_smell_type, path, anchor or words, occurrence)
    placed = replace(
        finding, path=path, verified=not mismatch, why=mismatch, anchor=anchor, file_hash=source.hash,
        block="", symbol="", fingerprint=identity, removed=removal > 0 or is_gone,
    )  # fmt: skip
    if not anchor:
        judgement = Judgement("refuted", why=mismatch, by="rule")
        return move(replace(placed, verdict="refuted", judgement=judgement), "refuted", mismatch)
    return _with_block(placed, source)


def anchor_at(finding: Finding, source: Source, line: int) -> Finding:
    """Return a known finding at the line where its problem stands now, by whose text it is found from then on. Its
    suggestion was for other lines."""
    placed = replace(
        _drop_suggestion(finding),
        path=source.path,
        line=line,
        end_line=None,
        anchor=collapse_whitespace(source.lines[line - 1])[:_MAX_ANCHOR],
        file_hash=source.hash,
        verified=True,
        why="",
    )
    return _with_block(placed, source)


def _with_block(finding: Finding, source: Source) -> Finding:
    """Return a finding with the text of its lines, and the name of the function around them."""
    block = source.block(finding.line, finding.end_line or finding.line)
    symbol = source.symbol_at(finding.line)
    return replace(finding, block=block.dump(), symbol=symbol.name)


def _find_removal(finding: Finding, source: Source, before: Before | None) -> int:
    """Return the line where code stood that the finding quotes and the change has removed; 0 if the quoted code is
    there. Of several places the nearest one is meant."""
    quote = finding.evidence
    if before is None or before.is_gone or not quote.strip("` \n") or source.find_quote(quote):
        return 0
    places = before.find_quote(quote, _MIN_QUOTE)
    nearest = min(places, key=lambda line: abs(line - finding.line), default=0)
    return min(nearest, len(source.lines))


def _place_at(finding: Finding, line: int) -> Finding:
    """Return the finding at the line where the removed code stood that it quotes: it has no lines to replace."""
    return replace(_drop_suggestion(finding), line=line, end_line=None)


def _leave_blank_line(finding: Finding, source: Source) -> Finding:
    """Return the finding where it can be found again: on a blank line at the next line with text, else at the last one.
    A suggestion for blank lines alone would then replace code."""
    texts = [number for number, text in enumerate(source.lines, 1) if text.strip()]
    if not texts or not 1 <= finding.line <= len(source.lines) or finding.line in texts:
        return finding
    line = next((number for number in texts if number > finding.line), texts[-1])
    if finding.line < line <= (finding.end_line or 0):
        return replace(finding, line=line)
    return replace(_drop_suggestion(finding), line=line, end_line=None)


def _move_to_quote(finding: Finding, source: Source) -> Finding:
    """Return the finding at its quote. A quote that stands in one place is the place, whatever line was named; of
    several the nearest one is, if it is near. A suggestion is kept only if the quote leaves no doubt which lines it
    replaces."""
    quote = finding.evidence
    if not quote.strip("` \n"):
        return finding
    whole_lines = source.find_quote(quote, _MIN_QUOTE, whole=True)
    lines = whole_lines if len(whole_lines) == 1 else source.find_quote(quote)
    first = finding.line
    last = finding.end_line or finding.line
    if first in lines:
        return finding
    if len(strip_whitespace(quote)) < _MIN_QUOTE:
        return _drop_suggestion(finding)
    inside = [line for line in lines if first < line <= last]
    quoted = sum(bool(text.strip("` ")) for text in quote.split("\n"))
    is_whole_range = quoted > 1 and quoted == last - first + 1
    if len(lines) == 1 and (is_whole_range or not inside):
        return _shift(finding, lines[0], source)
    gap = min((abs(line - first) for line in lines), default=0)
    nearest = [line for line in lines if abs(line - first) == gap <= _NEARBY]
    if len(nearest) == 1 and not inside:
        finding = _shift(finding, nearest[0], source)
    return _drop_suggestion(finding)


def _shift(finding: Finding, line: int, source: Source) -> Finding:
    """Return the finding at another line, with as many lines as it had."""
    if finding.end_line is None:
        return replace(finding, line=line)
    length = max(0, finding.end_line - finding.line) if finding.line > 0 else 0
    return replace(finding, line=line, end_line=min(line + length, len(source.lines)))


def _drop_suggestion(finding: Finding) -> Finding:
    """Return the finding with its suggestion as text: as a replacement it might replace other lines."""
    improvement = "\n".join(filter(None, (finding.improvement, finding.suggestion)))
    return replace(finding, suggestion="", improvement=improvement)


def _find_mismatch(finding: Finding, source: Source) -> str:
    """Return why the finding does not match its file, or ""."""
    if source.problem:
        return source.problem
    if finding.line < 1:
        return "it names no line, and no code that is found in exactly one place"
    if (last := max(finding.line, finding.end_line or 0)) > len(source.lines):
        return f"line {last:,} is past the end of the file ({len(source.lines):,} lines)"
    if not any(text.strip() for text in source.lines):
        return "its file has only blank lines"
    return "the quoted code is not there" if _is_misquoted(finding, source) else ""


def _is_misquoted(finding: Finding, source: Source) -> bool:
    """Return whether the finding quotes code that does not begin at its lines or near them."""
    if not finding.evidence.strip("` \n"):
        return False
    nearby = range(finding.line - _NEARBY, (finding.end_line or finding.line) + _NEARBY + 1)
    return not any(line in nearby for line in source.find_quote(finding.evidence))


# Identity: which finding of the ledger a reported one is, whatever its words and line

# shares of common words from which two claims are the same, and up to which they are not: see `scripts/bench review`
_SAME, _NEW = 0.34, 0.15
_FAMILIES = tomllib.loads(Path(__file__).with_name("families.toml").read_text("utf-8"))
_FAMILY_OF = {word: family for family, words in _FAMILIES.items() for word in words.split()}
_WORD = re.compile(r"[A-Za-z_][A-Za-z_0-9]{2,}")
_LITERAL = re.compile(r"`[^`\n]+`|\b\d+(?:\.\d+)?\b|'[^'\n]+'|\"[^\"\n]+\"")


def smell_family(smell: str) -> str:
    """Return the family of a type of `families.toml` by the words of its name, or ""."""
    words = re.split(r"[^A-Z]+", smell.upper())
    families = [_FAMILY_OF[word] for word in words if word in _FAMILY_OF]
    return max(families, key=families.count, default="")


def _word_overlap(first: str, second: str) -> float:
    """Return the share, 0 to 1, of the shorter text's content words that the other contains; 0 if literals differ."""
    literals = [set(_LITERAL.findall(text)) for text in (first, second)]
    if all(literals) and not literals[0] & literals[1]:
        return 0.0
    words = [
        {word.lower()[:7] for word in _WORD.findall(text) if len(word) > 3}
        for text in (first, second)
    ]
    return len(words[0] & words[1]) / min(map(len, words)) if all(words) else 0.0


def _identify(
    candidate: Finding, earlier_findings: Sequence[Finding], reported: Collection[str] = ()
) -> tuple[str, str]:
    """Return the id of the known finding that a candidate is, and of the one that it may be, which a model has to
    decide; "" for none. `reported` are ids that this review has reported: only overlapping lines match one of those."""
    in_file = [old for old in earlier_findings if old.path == candidate.path]
    certain = [
        *(
            old
            for old in earlier_findings
            if old.path != candidate.path and _is_moved(old, candidate)
        ),
        *(old for old in in_file if old.key == candidate.key),
        *(old for old in in_file if old.id == candidate.same_as and _is_nearby(old, candidate)),
        *(old for old in in_file if candidate.alias in old.aliases),
    ]
    if certain:
        return certain[0].id, ""
    same = (0.0, "")  # the share of common words, and the id
    similar = (0.0, "")
    for old in in_file:
        families = smell_family(old.code_smell_type), smell_family(candidate.code_smell_type)
        if all(families) and families[0] != families[1]:
            continue
        wordings = [alias.split("|", 2)[2] for alias in old.aliases if alias.count("|") > 1]
        shared = max(_word_overlap(candidate.message, text) for text in (old.message, *wordings))
        is_alike = old.code_smell_type == candidate.code_smell_type or shared > _NEW
        if _overlaps(old, candidate) and ((all(families) and is_alike) or shared >= _SAME):
            same = max(same, (1.0 + shared, old.id))
        elif shared > _NEW and old.id not in reported and _is_nearby(old, candidate):
            if shared >= _SAME:
                same = max(same, (shared, old.id))
            else:
                similar = max(similar, (shared, old.id))
    return same[1], "" if same[1] else similar[1]


def _is_moved(old: Finding, candidate: Finding) -> bool:
    """Return whether a finding that is gone from its file was told again in another file, of the same code."""
    is_same_line = bool(old.anchor) and old.anchor == candidate.anchor
    is_same_block = bool(old.block and candidate.block) and _load(old).has_text_of(_load(candidate))
    if old.state != "gone" or not (is_same_line or is_same_block):
        return False
    families = {smell_family(old.code_smell_type), smell_family(candidate.code_smell_type)}
    return len(families) == 1 or _word_overlap(old.message, candidate.message) >= _SAME


def _load(finding: Finding) -> Block:
    return Block.load(finding.block, finding.anchor)


def identify_all(
    findings: Iterable[Finding], earlier_findings: Sequence[Finding], reported: Collection[str] = ()
) -> list[Finding]:
    """Return the findings of one reply, a problem that it reports twice only once, each with the id of the known
    finding that it is, or of the one that it may be in `same_as`. `reported` are ids that earlier replies of this
    review have reported."""
    identified = list(findings)
    taken_ids = set(reported)
    keys = {old.key for old in earlier_findings}
    in_order = sorted(enumerate(identified), key=lambda pair: pair[1].key not in keys)
    for index, candidate in in_order:  # those with a known key first
        same, similar = _identify(candidate, earlier_findings, taken_ids)
        identified[index] = replace(candidate, id=same, same_as=similar)
        taken_ids.add(same)
    unique: list[Finding] = []
    for candidate in identified:
        for index, first in enumerate(unique):
            if _is_repeated(first, candidate):
                unique[index] = merge_report(first, candidate, stays=True)
                break
        else:
            unique.append(candidate)
    return unique


def _is_repeated(first: Finding, again: Finding) -> bool:
    """Return whether two new findings of one reply are the same problem. Two of the smells never are: one place may
    have several."""
    types = {first.code_smell_type, again.code_smell_type}
    if first.id or again.id or again.line < 1 or (len(types) > 1 and types <= SMELLS.keys()):
        return False
    identified = replace(first, id="first")
    return _identify(again, [identified], {"first"})[0] == "first"


def _overlaps(finding: Finding, other: Finding, margin: int = 0) -> bool:
    first = finding.line - margin
    last = (finding.end_line or finding.line) + margin
    return first <= (other.end_line or other.line) and other.line <= last


def _is_nearby(finding: Finding, other: Finding) -> bool:
    """Return whether two findings of a file are within a few lines of each other, or in one function."""
    is_same_symbol = bool(finding.symbol and finding.symbol == other.symbol)
    return is_same_symbol or _overlaps(finding, other, _NEARBY)
