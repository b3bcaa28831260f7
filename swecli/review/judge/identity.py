"""Whether what a reviewer reports now is what the ledger has already, in whatever words and at whatever line.

The thresholds are measured on the pairs of `scripts/bench review`.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple

from swecli.models.finding import Finding

_SAME, _NEW = 0.34, 0.15  # shares of content words from which on, and up to which, two claims are one, or two
_NEAR = 3  # lines between two places that may still be one
_FAMILIES = {
    "errors": "ERROR EXCEPT EXCEPTION HANDLING SWALLOW SWALLOWED CATCH PANIC UNCHECKED RAISE THROW",
    "resources": "RESOURCE LEAK LEAKS UNCLOSED CLOSE HANDLE MEMORY CONNECTION FILE DESCRIPTOR",
    "shared state": "MUTABLE SHARED STATE GLOBAL GLOBALS DEFAULT ARGUMENT CACHE ALIASING",
    "logic": "LOGIC WRONG CONDITION INVERTED OPERATOR COMPARISON CALCULATION RESULT INCORRECT DEAD UNREACHABLE UNUSED",
    "boundary": "BOUNDARY BOUNDS OFF INDEX RANGE OVERFLOW EMPTY ZERO DIVISION NULL NONE NIL UNDEFINED",
    "contract": "CONTRACT API RETURN SIGNATURE TYPE TYPES COMPATIBILITY BREAKING DOCUMENTATION",
    "concurrency": "RACE CONCURRENCY DEADLOCK THREAD ASYNC AWAIT LOCK ATOMIC",
    "injection": "INJECTION SQL XSS COMMAND EVAL TRAVERSAL DESERIALIZATION SHELL SSRF",
    "secrets": "SECRET SECRETS PASSWORD CREDENTIAL CREDENTIALS TOKEN HARDCODED KEY",
    "complexity": "COMPLEX COMPLEXITY LONG METHOD FUNCTION FUNCTIONS LARGE CLASS PARAMETER LIST NESTING ENVY",
    "duplication": "DUPLICATE DUPLICATED DUPLICATION REPEATED COPY CLUMPS DATA",
    "naming": "MAGIC NUMBER NUMBERS NAMING NAME CONSTANT CONSTANTS LITERAL",
}
_FAMILY_OF = {word: family for family, words in _FAMILIES.items() for word in words.split()}
_WORD = re.compile(r"[A-Za-z_][A-Za-z_0-9]{2,}")
_LITERAL = re.compile(r"`[^`\n]+`|\b\d+(?:\.\d+)?\b|'[^'\n]+'|\"[^\"\n]+\"")


class Identity(NamedTuple):
    """What a candidate is: the id of a row, or of one it only `resembles`; "" for neither."""

    same: str = ""
    resembles: str = ""


def family(kind: str) -> str:
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


def identify(candidate: Finding, known: Sequence[Finding], mine: Collection[str] = ()) -> Identity:
    """Compare a candidate with the rows of its file; the first rule that decides counts.

    `mine` are the ids that this review has reported already: only lines that overlap make one of those.
    """
    rows = [row for row in known if row.path == candidate.path]
    alias = f"{candidate.code_smell_type}|{candidate.line}|{candidate.message[:200]}"
    certain = [
        *(row for row in rows if row.key == candidate.key),
        *(row for row in rows if row.id == candidate.same_as and _one_place(row, candidate)),
        *(row for row in rows if alias in row.aliases),
    ]
    if certain:
        return Identity(certain[0].id)
    best, resembles = (0.0, ""), ""
    for row in rows:
        families = family(row.code_smell_type), family(candidate.code_smell_type)
        if all(families) and families[0] != families[1]:
            continue
        wordings = [alias.split("|", 2)[2] for alias in row.aliases if alias.count("|") > 1]
        shared = max(_overlap(candidate.message, text) for text in (row.message, *wordings))
        alike = row.code_smell_type == candidate.code_smell_type or shared > _NEW
        if _touch(row, candidate) and (all(families) and alike or shared >= _SAME):
            best = max(best, (1.0 + shared, row.id))
        elif row.id in mine or not _one_place(row, candidate):
            continue
        elif shared >= _SAME:
            best = max(best, (shared, row.id))
        elif shared > _NEW:
            resembles = row.id
    return Identity(best[1], "" if best[1] else resembles)


def identified(found: Iterable[Finding], known: Sequence[Finding], mine: Collection[str] = ()) -> list[Finding]:
    """Each candidate with the id of its row, or the mark of the one it resembles. Exact places are matched first."""
    out: dict[int, Finding] = {}
    taken = set(mine)
    candidates = list(enumerate(found))
    exact = {row.key for row in known}
    for number, candidate in sorted(candidates, key=lambda pair: pair[1].key not in exact):
        identity = identify(candidate, known, taken)
        taken |= {identity.same} if identity.same else set()
        out[number] = replace(candidate, id=identity.same, resembles=identity.resembles)
    return [out[number] for number, _ in candidates]


def _touch(row: Finding, other: Finding, around: int = 0) -> bool:
    first, last = row.line - around, (row.end_line or row.line) + around
    return first <= (other.end_line or other.line) and other.line <= last


def _one_place(row: Finding, other: Finding) -> bool:
    return _touch(row, other, _NEAR) or bool(row.symbol and row.symbol == other.symbol)
