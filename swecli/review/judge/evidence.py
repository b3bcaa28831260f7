"""What a verifier is shown of a claim: the code it is about, what that code calls, who calls it, and its test."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from swecli.models.finding import Finding
from swecli.review.judge.sources import Sources
from swecli.review.judge.symbols import Symbol

MOST_LINES = 80  # of the enclosing symbol
MOST_CALLERS = 5
MOST_DEFINITIONS = 3
MOST_FILES = 400  # looked through for callers
_NAME = re.compile(r"[A-Za-z_]\w{2,}")


def evidence_pack(finding: Finding, sources: Sources, places: Iterable[str] = ()) -> str:
    """The claim and its code, as text. `places` are `path:line` that the verifier asked to see."""
    source = sources.get(finding.path)
    symbol = sources.symbol(finding.path, min(max(1, finding.line), max(1, len(source.lines))))
    out = [
        f"### {finding.id}: {finding.code_smell_type} at {finding.place}",
        f"Claim: {' '.join(finding.message.split())}",
        _code(finding.path, _window(symbol, finding.line), sources),
    ]
    out += [f"It names: {_code(finding.path, used, sources, 12)}" for used in _definitions(finding, symbol, sources)]
    out += [f"Used in {line}" for line in _callers(finding, symbol, sources)]
    for place in list(places)[:2]:
        path, _, line = place.rpartition(":")
        if line.isdecimal() and sources.get(path).lines:
            at = int(line)
            out.append(_code(path, Symbol("", max(1, at - 20), at + 20), sources))
    return "\n".join(out)


def _code(path: str, symbol: Symbol, sources: Sources, most: int = MOST_LINES) -> str:
    lines = sources.get(path).lines
    rows = range(symbol.first, min(symbol.last, symbol.first + most - 1, len(lines)) + 1)
    return "\n".join([f"{path}:", *(f"{number:>6} {lines[number - 1][:400]}" for number in rows)])


def _window(symbol: Symbol, line: int) -> Symbol:
    """At most so many lines of the symbol, around the place."""
    if symbol.last - symbol.first < MOST_LINES:
        return symbol
    first = max(symbol.first, line - MOST_LINES // 2)
    return Symbol(symbol.name, first, min(symbol.last, first + MOST_LINES - 1))


def _definitions(finding: Finding, symbol: Symbol, sources: Sources) -> list[Symbol]:
    """Symbols of the same file that the finding's lines or its claim name."""
    lines = sources.get(finding.path).lines[max(0, finding.line - 1) : finding.end_line or finding.line]
    names = set(_NAME.findall("\n".join([*lines, finding.message])))
    others = (s for s in sources.symbols(finding.path) if s.name.rpartition(".")[2] in names)
    return [other for other in others if not symbol.first <= other.first <= symbol.last][:MOST_DEFINITIONS]


def _callers(finding: Finding, symbol: Symbol, sources: Sources) -> Iterator[str]:
    """Lines elsewhere that name the symbol, those of tests last."""
    name = symbol.name.rpartition(".")[2]
    if len(name) < 4:
        return
    found = 0
    word = re.compile(rf"\b{re.escape(name)}\s*\(")
    for path in [finding.path, *sources.alike(finding.path)[:MOST_FILES]]:
        for number, line in enumerate(sources.get(path).lines, 1):
            inside = path == finding.path and symbol.first <= number <= symbol.last
            if not inside and word.search(line):
                yield f"{path}:{number}: {line.strip()[:200]}"
                found += 1
                break
        if found >= MOST_CALLERS:
            return
