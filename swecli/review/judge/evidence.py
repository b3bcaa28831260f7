"""What a verifier is shown with a claim: the code there, with what the change added and removed."""

from __future__ import annotations

from collections.abc import Iterator

from swecli.models.finding import Finding, collapse_whitespace
from swecli.review.judge.sources import Before, Source, Sources

_MAX_LINES = 80  # of the enclosing symbol, and of removed code
_MAX_LENGTH = 400  # characters of a line
_OLD = "Probably old: the change adds no line there, and removes none beside it."
_MOVED_NOTE = "Its code is not where it was: look for where it stands now."


def describe_claim(
    finding: Finding, sources: Sources, earlier: Finding | None = None, *, is_change: bool = False
) -> str:
    """Return a claim with its code, without the severity and the reasons of who made it. `earlier` is the known claim
    that it may repeat in other words; `is_change` says that the code is compared with what it was before."""
    before = sources.before.get(finding.path)
    text: list[str] = []
    if earlier is not None:
        claim = (
            f"{earlier.code_smell_type} at {earlier.place}: {collapse_whitespace(earlier.message)}"
        )
        text.append(f"{finding.id} may be {earlier.id}, which is known: {claim}")
    text.append(f"### {finding.id}: {finding.code_smell_type} at {finding.place}")
    text.append(f"Claim: {collapse_whitespace(finding.message)}")
    if finding.state == "gone":
        text.append(_MOVED_NOTE)
    elif is_change and _is_old(finding, before):
        text.append(_OLD)
    if finding.proof is not None:
        text.append(f"A script that tries it was run on both sides: {finding.proof}")
    return "\n".join([*text, *_show_code(finding, sources.reviewed(finding.path), before)])


def _is_old(finding: Finding, before: Before | None) -> bool:
    """Return whether the change does not touch the lines of a finding, which then is probably older than it."""
    if finding.removed:
        return False
    return before is None or not before.touches(finding.line, finding.end_line or finding.line)


def _show_code(finding: Finding, source: Source, before: Before | None) -> list[str]:
    """Return the function or block around a claim, each line with its number; `+` and `-` mark what the change added
    and removed there."""
    is_gone = before is not None and before.is_gone
    symbol = source.symbol_at(min(max(1, finding.line), max(1, len(source.lines))))
    first = symbol.first
    if symbol.last - first >= _MAX_LINES:
        first = max(first, finding.line - _MAX_LINES // 2)
    last = min(symbol.last, first + _MAX_LINES - 1, len(source.lines))
    title = f"{finding.path}, which the change deletes:" if is_gone else f"{finding.path}:"
    if before is None or is_gone:
        sign = "-" if is_gone else " "
        return [title, *(_row(number, sign, source) for number in range(first, last + 1))]
    return [title, *_mark_lines(finding, source, before, range(first, last + 1))]


def _mark_lines(finding: Finding, source: Source, before: Before, lines: range) -> Iterator[str]:
    """Yield lines of a changed file, and those that were removed before each of them: the nearest to the claim, also
    where it is about code that was removed elsewhere."""
    near = range(lines.start, lines.stop + 1)
    removals = [pair for pair in before.removals if finding.removed or pair[0] in near]
    removals.sort(key=lambda pair: abs(pair[0] - finding.line))
    removed: dict[int, list[str]] = {}
    for place, text in removals[:_MAX_LINES]:
        removed.setdefault(place, []).append(text)
    for number in sorted({*lines, *removed}):
        yield from (f"       - {text[:_MAX_LENGTH]}" for text in removed.get(number, ()))
        if number in lines:
            yield _row(number, "+" if number in before.added else " ", source)


def _row(number: int, sign: str, source: Source) -> str:
    return f"{number:>6} {sign} {source.lines[number - 1][:_MAX_LENGTH]}"
