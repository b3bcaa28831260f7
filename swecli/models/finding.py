"""A review as it is kept, its findings, the words they may use, and the key by which two of them are the same."""

from __future__ import annotations

import hashlib
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Literal

_Severity = Literal["low", "medium", "high", "critical"]
FindingKind = Literal["smell", "correctness", "security", "check"]
FindingState = Literal["open", "refuted", "gone", "fixed", "regressed", "dismissed"]
Verdict = Literal["", "confirmed", "cannot_tell", "refuted"]
ReviewEnd = Literal["done", "unreadable", "max_loops", "max_budget", "interrupted", "failed"]

SEVERITIES: tuple[_Severity, ...] = ("low", "medium", "high", "critical")
KINDS: tuple[FindingKind, ...] = ("smell", "correctness", "security", "check")
STATES: tuple[FindingState, ...] = ("open", "refuted", "gone", "fixed", "regressed", "dismissed")
OPEN_STATES: tuple[FindingState, ...] = ("open", "regressed", "gone")  # gone is not verified, so it is not a fix
_VERDICTS: tuple[Verdict, ...] = ("confirmed", "cannot_tell", "")  # the surest first; refuted is never shown as one

# The eleven smells a review looks for, each with the line that the model reads.
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
class Judgement:
    """What a check of a finding's claim against the code came to. `path`, `line` and `quote` are its evidence."""

    verdict: Verdict
    path: str = ""
    line: int = 0
    quote: str = ""
    why: str = ""
    by: str = ""


@dataclass(frozen=True, slots=True)
class Finding:
    """Something a review reported about one place in the code.

    `line` and `end_line` count from 1; 0 means no line. `code_smell_type` is one of `SMELLS` where `kind` is "smell",
    else the name of the rule or check. `suggestion` replaces the lines from `line` to `end_line` literally. `evidence`
    is code the reviewer quoted. `verified` is None until it was looked up in the file; `why` holds what did not fit.
    `anchor` is the text of its line, `block` the digest of its lines, `symbol` what they belong to, and `file_hash` the
    digest of its file, all as last looked up. `reason` is why it has its state. `verdict` and `judgement` are of the
    check against the code. `source` is call, json, text, or cut for what was read of half an entry; `aliases` are other
    wordings it was reported in; `late` is found in code that was read before. `same_as` is the finding that
    it may be, as the reviewer named it, or by its words. `id` is `F-` and a number, "" until it is in the ledger.
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
    symbol: str = ""
    verdict: Verdict = ""
    judgement: Judgement | None = None
    source: str = "call"
    aliases: tuple[str, ...] = ()
    late: bool = False
    same_as: str = ""

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
        """`src/a.py:12` or `src/a.py:12-15`; without a line only the path."""
        end = f"-{self.end_line}" if self.end_line and self.end_line > self.line else ""
        return f"{self.path}:{self.line}{end}" if self.line > 0 else self.path

    @property
    def is_open(self) -> bool:
        """Whether there is still something to do about it."""
        return self.state in OPEN_STATES

    @property
    def is_unchecked(self) -> bool:
        """Whether no check of it came to an answer."""
        return not self.verdict or (self.judgement is not None and self.judgement.by == "failure")

    @property
    def doubt(self) -> str:
        """What keeps it from being sure, in words; "" where nothing does."""
        if self.state == "gone":
            return "gone, not verified"
        return f"not in its file: {self.why}" if self.verified is False and self.why else ""

    @property
    def status(self) -> str:
        """Its verdict and state in a word or two: `open, confirmed`, `gone, not verified`."""
        words = {"confirmed": "confirmed", "cannot_tell": "cannot tell", "refuted": "refuted", "": "unverified"}
        if self.state in ("gone", "refuted", "dismissed", "fixed"):
            return "gone, not verified" if self.state == "gone" else self.state
        return f"{self.state}, {words[self.verdict]}"

    def at_least(self, severity: str) -> bool:
        """Whether it is as severe as that, or more."""
        order: tuple[str, ...] = SEVERITIES
        return order.index(self.severity) >= order.index(severity) if self.severity in order else False

    def has_verdict(self, least: str) -> bool:
        """Whether its verdict is at least that one of confirmed, cannot_tell, any. What was refuted never is."""
        taken = {"confirmed": ("confirmed",), "cannot_tell": ("confirmed", "cannot_tell")}
        return self.verdict != "refuted" and (least == "any" or self.verdict in taken.get(least, ()))

    def to_json(self) -> dict[str, Any]:
        """All fields but `block` and `same_as` as plain JSON values."""
        out = {f.name: getattr(self, f.name) for f in fields(self) if f.name not in ("block", "same_as")}
        return out | {"judgement": self.judgement and asdict(self.judgement), "aliases": list(self.aliases)}


@dataclass(frozen=True, slots=True)
class StateChange:
    """A change of a finding's state: on what (`cause`), by whom, why. `at` is ISO 8601, "" before it is stored."""

    before: str
    after: str
    cause: str
    by: str = ""
    why: str = ""
    at: str = ""


def worst_first(finding: Finding) -> tuple[int, int, str, int]:
    """The order in which findings are shown: verdict, severity, path, line."""
    verdict = _VERDICTS.index(finding.verdict) if finding.verdict in _VERDICTS else len(_VERDICTS)
    severity = SEVERITIES.index(finding.severity) if finding.severity in SEVERITIES else 0
    return (verdict, -severity, finding.path, finding.line)


@dataclass(frozen=True, slots=True)
class ReviewRecord:
    """One review. `id` is `R-` and a number, `spec` the words its target was named with, `label` the target in words.

    `status` is "running" until it has ended. `total` counts what was reported, repetitions too; `unique` without
    them; `seen` are the digests of the hunks that were read; `spent` is what it took, by name.
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
    lost: tuple[str, ...] = ()
    spent: dict[str, float] = field(default_factory=dict)


def pluralize(count: int, noun: str) -> str:
    """`1 finding`, `2,000 findings`."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def collapse_whitespace(text: str) -> str:
    """Text with its white space folded, so that another indentation is not other code."""
    return " ".join(text.split())


def fingerprint(rule: str, path: str, text: str, occurrence: int = 1) -> str:
    """What stays the same when code above a finding moves: a digest of rule, path and normalised text.

    `occurrence` counts equal texts of one file from 1, so that two places with the same code stay two findings
    (as SARIF 2.1.0 asks of `partialFingerprints`: no absolute line numbers).
    """
    parts = (rule, path, collapse_whitespace(text), str(occurrence))
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:20]
