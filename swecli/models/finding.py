"""A review as it is kept, its findings, the words they may use, and the key by which two of them are the same."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field, fields
from typing import Any, Literal

Severity = Literal["low", "medium", "high", "critical"]
FindingKind = Literal["smell", "correctness", "security", "check"]
FindingState = Literal["open", "fixed", "dismissed", "regressed"]
ReviewEnd = Literal["done", "max_loops", "max_budget", "interrupted", "failed"]

SEVERITIES: tuple[Severity, ...] = ("low", "medium", "high", "critical")
KINDS: tuple[FindingKind, ...] = ("smell", "correctness", "security", "check")
STATES: tuple[FindingState, ...] = ("open", "fixed", "dismissed", "regressed")
CHANGED = "changed, look again"  # why a finding whose code is another now can be neither kept nor called fixed
OPEN_STATES: tuple[FindingState, ...] = ("open", "regressed")

# The eleven smells a review looks for, each with the line the model is told.
SMELLS: dict[str, str] = {
    "LONG_METHOD": "a function too long to be understood at once",
    "DUPLICATE_CODE": "the same lines, or nearly, in a second place",
    "MAGIC_NUMBERS": "a number with a meaning and no name",
    "MISSING_ERROR_HANDLING": "a failure that is not expected, or that disappears silently",
    "COMPLEX_FUNCTIONS": "too many branches or levels of nesting in one function",
    "MUTABLE_SHARED_STATE": "state that several callers change: globals, mutable defaults, shared caches",
    "LARGE_CLASS": "a class, or module, that does several unrelated things",
    "LONG_PARAMETER_LIST": "more parameters than a caller can keep in mind",
    "FEATURE_ENVY": "a function that is busier with another object's data than with its own",
    "DATA_CLUMPS": "values that always travel together and are no type of their own",
    "DEAD_CODE": "code that nothing can reach or uses",
}


@dataclass(frozen=True, slots=True)
class Finding:
    """Something a review said about one place in the code.

    `line` and `end_line` count from 1. `code_smell_type` is one of `SMELLS` where `kind` is "smell", else the name
    of the rule or check. `suggestion` replaces the lines from `line` to `end_line` literally. `evidence` is code
    the reviewer quoted. `verified` is None until it was looked up in the file; `why` says what did not fit.
    `anchor` is the text of its line, `block` tells whether its lines are still the same, and `file_hash` is the digest
    of its file, all as last looked up. `reason` is why it was dismissed, or fixed. `id` is `F-` and a number, "" until
    it is in the ledger.
    """

    path: str
    line: int
    code_smell_type: str
    message: str
    severity: str = "medium"
    improvement: str = ""
    end_line: int | None = None
    loop: int = 0
    kind: FindingKind = "smell"
    suggestion: str = ""
    evidence: str = ""
    verified: bool | None = None
    why: str = ""
    id: str = ""
    state: FindingState = "open"
    reason: str = ""
    fingerprint: str = ""
    anchor: str = ""
    file_hash: str = ""
    block: str = ""

    @property
    def key(self) -> tuple[str, int, str]:
        """Path, line and smell type: two findings with one key are one finding, the first wins."""
        return (self.path, self.line, self.code_smell_type)

    @property
    def number(self) -> int:
        """The number in the id; 0 before it has one."""
        return int(self.id.removeprefix("F-") or 0)

    @property
    def place(self) -> str:
        """`src/a.py:12` or `src/a.py:12-15`."""
        end = f"-{self.end_line}" if self.end_line and self.end_line > self.line else ""
        return f"{self.path}:{self.line}{end}"

    @property
    def is_open(self) -> bool:
        """Whether there is still something to do about it."""
        return self.state in OPEN_STATES

    @property
    def doubt(self) -> str:
        """What keeps it from being sure, in words; "" where nothing does."""
        if self.verified is not False:
            return ""
        return self.why if self.why == CHANGED else f"unverified: {self.why}"

    @property
    def standing(self) -> str:
        """Its state in a word or two: `open`, `open, unverified`, `open, changed`."""
        mark = "changed" if self.why == CHANGED else "unverified"
        return f"{self.state}, {mark}" if self.doubt else self.state

    def at_least(self, severity: str) -> bool:
        """Whether it is as severe as that, or more."""
        order: tuple[str, ...] = SEVERITIES
        return order.index(self.severity) >= order.index(severity) if self.severity in order else False

    def to_json(self) -> dict[str, Any]:
        """All fields but `block` as plain JSON values; path, line and smell type are also what `key` is made of."""
        return {f.name: getattr(self, f.name) for f in fields(self) if f.name != "block"}


@dataclass(frozen=True, slots=True)
class ReviewRecord:
    """One review. `id` is `R-` and a number, `spec` the words its target was named with, `label` the target in words.

    `status` is "running" until it has ended. `total` counts what was reported, repetitions too; `unique` without
    them; `seen` are the files the model has read so far.
    """

    project: str
    spec: tuple[str, ...]
    label: str
    session_id: str = ""
    id: str = ""
    status: str = "running"
    loops: int = 0
    total: int = 0
    unique: int = 0
    seen: tuple[str, ...] = ()
    prompt: str = ""
    lost: tuple[str, ...] = field(default=())


def counted(count: int, noun: str) -> str:
    """`1 finding`, `2,000 findings`."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def one_spaced(text: str) -> str:
    """Text with its white space folded, so that another indentation is no other code."""
    return " ".join(text.split())


def fingerprint(rule: str, path: str, text: str, occurrence: int = 1) -> str:
    """What stays the same when code above a finding moves: a digest of rule, path and normalised text.

    `occurrence` counts equal texts of one file from 1, so that two places with the same code stay two findings
    (as SARIF 2.1.0 asks of `partialFingerprints`: no absolute line numbers).
    """
    parts = (rule, path, one_spaced(text), str(occurrence))
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:20]
