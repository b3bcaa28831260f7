"""Findings and reviews as they are stored, with their vocabularies and fingerprints."""

from __future__ import annotations

import hashlib
from dataclasses import asdict, field, fields, replace
from typing import Literal

from swecli.models.json_value import JsonObject
from swecli.models.proof import Proof
from swecli.values import dataclass

_Severity = Literal["low", "medium", "high", "critical"]
FindingKind = Literal["smell", "correctness", "security", "check"]
FindingState = Literal["open", "refuted", "gone", "fixed", "regressed", "dismissed"]
Side = Literal["head", "base"]  # of a change: after it, and before it
Verdict = Literal[
    "", "confirmed", "introduced", "pre_existing", "intended", "cannot_tell", "refuted"
]
ReviewEnd = Literal["done", "unreadable", "max_loops", "max_budget", "interrupted", "failed"]

SEVERITIES: tuple[_Severity, ...] = ("low", "medium", "high", "critical")
_RANKS: dict[str, int] = {severity: rank for rank, severity in enumerate(SEVERITIES)}
KINDS: tuple[FindingKind, ...] = ("smell", "correctness", "security", "check")
STATES: tuple[FindingState, ...] = ("open", "refuted", "gone", "fixed", "regressed", "dismissed")
OPEN_STATES: tuple[FindingState, ...] = ("open", "regressed", "gone")  # gone: not verified as fixed
# verdicts, the most certain first
_CERTAINTY: tuple[Verdict, ...] = (
    "introduced", "confirmed", "cannot_tell", "", "pre_existing", "intended", "refuted",
)  # fmt: skip
# verdicts that a finding counts with, by the least that the user asks for
_VERDICTS_AT: dict[str, tuple[Verdict, ...]] = {
    "confirmed": ("introduced", "confirmed"),
    "cannot_tell": ("introduced", "confirmed", "cannot_tell"),
    "any": ("introduced", "confirmed", "cannot_tell", ""),
}

LOOPS_OF_READ = "loops_of_read"
_PLACE_FIELDS = (
    "path", "line", "end_line", "verified", "why", "anchor", "file_hash", "block", "symbol", "removed",
)  # fmt: skip
_WORD_FIELDS = ("message", "improvement", "severity", "kind")
_CODE_FIELDS = ("suggestion", "evidence")  # what was said of exactly these lines

# The code smells a review looks for, with the description in the prompt.
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
    """The result of checking a finding against the code. Of a change a claim is "introduced" by it, "pre_existing" (it
    was so before), or "intended" (it is what the change is for); of code without a change it is "confirmed".

    `path`, `line` and `quote` are the evidence, on one `side` of the change: a quote of the base that confirms a claim
    about what is missing stands no longer in the head, where `line` is its place. `digest` covers the claim and code
    that the model was shown, with a `+` behind it if it looked up more; without that the same is not paid for twice."""

    verdict: Verdict
    path: str = ""
    line: int = 0
    quote: str = ""
    why: str = ""
    by: str = ""
    digest: str = ""
    side: Side = "head"


@dataclass(frozen=True, slots=True)
class Finding:
    """A problem that a review reported at one place in the code.

    `line` and `end_line` count from 1; 0 means no line. `code_smell_type` is one of `SMELLS` if `kind` is "smell", else
    the name of the rule or check. `suggestion` is the replacement of lines `line` to `end_line`, `evidence` the code
    quoted by the reviewer. `verified` is None until the finding was compared with its file; `why` is what did not
    match. `anchor` (text of its line), `block` (digest of its lines), `symbol` (enclosing function or class) and
    `file_hash` are of the last comparison. `reason` explains its state. `verdict` and `judgement` come from the check
    against the code. `source` is call or json. `aliases` are other wordings of the
    same report. `late` marks a finding in code that an earlier loop had read. `same_as` is the finding it may
    duplicate. `hunk` is the digest of the hunk that it was reported for. `removed` marks a finding about code that the
    change removes: its line is where that stood, in a file of which nothing is left the line that it had. `proof` is a
    script that was run on both sides. `id` is `F-` and a number, "" until the finding is in the ledger.
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
    hunk: str = ""
    removed: bool = False
    proof: Proof | None = None

    @property
    def key(self) -> tuple[str, int, str]:
        """Path, line and smell type. Findings with equal keys are duplicates; the first wins."""
        return (self.path, self.line, self.code_smell_type)

    @property
    def alias(self) -> str:
        """Type, line and words of the report, by which the same report is recognised."""
        return f"{self.code_smell_type}|{self.line}|{self.message[:200]}"

    @property
    def place(self) -> str:
        """The location: `src/a.py:12`, `src/a.py:12-15`, or the path if there is no line."""
        if self.line <= 0:
            return self.path
        end = f"-{self.end_line}" if self.end_line and self.end_line > self.line else ""
        return f"{self.path}:{self.line}{end}"

    @property
    def is_open(self) -> bool:
        return self.state in OPEN_STATES

    @property
    def stands(self) -> bool:
        """Whether a check says that the code does what the finding says, since whenever."""
        return self.verdict in ("introduced", "confirmed", "pre_existing")

    @property
    def is_older(self) -> bool:
        """Whether it is an open problem that the reviewed change has not made."""
        return self.is_open and self.verdict == "pre_existing"

    @property
    def is_unchecked(self) -> bool:
        """Whether no check has given a verdict."""
        return not self.verdict or (self.judgement is not None and self.judgement.by == "failure")

    @property
    def doubt(self) -> str:
        """Why the finding is uncertain, "" if it is not."""
        if self.state == "gone":
            return "gone, not verified"
        if self.verified is False and self.why:
            return f"not in its file: {self.why}"
        return ""

    @property
    def status(self) -> str:
        """State and verdict for the user: `open, confirmed`, `gone, not verified`."""
        if self.state == "gone":
            return "gone, not verified"
        if self.state in ("refuted", "dismissed", "fixed"):
            return self.state
        return f"{self.state}, {self.verdict.replace('_', ' ') or 'unverified'}"

    def at_least(self, severity: str) -> bool:
        """Return True if the finding has this severity or a higher one."""
        return _RANKS.get(self.severity, -1) >= _RANKS[severity]

    def has_verdict(self, least: str) -> bool:
        """Return True if the verdict is at least `least`: confirmed, cannot_tell or any. What is refuted, intended or
        older than the change returns False."""
        return self.verdict in _VERDICTS_AT[least]

    def to_json(self) -> JsonObject:
        """Return all fields except `block`, `hunk` and `same_as` as JSON values."""
        values = {
            declared.name: getattr(self, declared.name)
            for declared in fields(self)
            if declared.name not in ("block", "hunk", "same_as")
        }
        return values | {
            "judgement": self.judgement and asdict(self.judgement),
            "proof": self.proof and asdict(self.proof),
            "aliases": list(self.aliases),
        }


@dataclass(frozen=True, slots=True)
class StateChange:
    """A change of a finding's state: its cause, author, reason and time. `at` is ISO 8601, "" before it is stored."""

    before: str
    after: str
    cause: str
    by: str = ""
    why: str = ""
    at: str = ""


def merge_report(earlier: Finding, later: Finding, *, stays: bool = False) -> Finding:
    """Return a finding with its empty fields filled from a later report of it, whose other words become an alias. The
    place changes only if it is out of date and the finding need not stay; what was said of exactly those lines then
    changes with it."""
    moves = later.line > 0 and not (stays or _is_in_place(earlier, later))
    taken_over = [name for name in _WORD_FIELDS if not getattr(earlier, name)]
    if not moves and earlier.place == later.place:
        taken_over += [name for name in _CODE_FIELDS if not getattr(earlier, name)]
    changed_fields = {name: getattr(later, name) for name in taken_over if getattr(later, name)}
    if moves:
        changed_fields |= {name: getattr(later, name) for name in (*_PLACE_FIELDS, *_CODE_FIELDS)}
    if (later.message, later.code_smell_type) != (earlier.message, earlier.code_smell_type):
        changed_fields["aliases"] = tuple(dict.fromkeys([*earlier.aliases, later.alias]))
    if later.hunk:
        changed_fields["hunk"] = later.hunk
    return replace(earlier, **changed_fields)


def _is_in_place(earlier: Finding, later: Finding) -> bool:
    """Return whether the earlier finding is where its code is now: it was compared with the file that was reviewed."""
    is_compared = bool(earlier.anchor) and earlier.file_hash == later.file_hash
    return is_compared and earlier.state in ("open", "regressed")


def worst_first(finding: Finding) -> tuple[int, int, str, int]:
    """Sort key of findings: verdict, severity (highest first), path, line."""
    return (
        _CERTAINTY.index(finding.verdict),
        -_RANKS.get(finding.severity, 0),
        finding.path,
        finding.line,
    )


@dataclass(frozen=True, slots=True)
class ReviewRecord:
    """One review. `id` is `R-` and a number, `spec` the arguments that name its target, `label` its description.

    `status` is "running" until the review ends. `total` counts all reported findings, `unique` those without
    duplicates. `seen` are digests of the hunks that were read, `spent` maps the names of resources to amounts, with
    `LOOPS_OF_READ` the loops of parts that were read.
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

    @property
    def unread_loops(self) -> int:
        """The loops that went into parts that are not read, which are limited."""
        return self.loops - int(self.spent.get(LOOPS_OF_READ, 0))


def collapse_whitespace(text: str) -> str:
    """Collapse runs of whitespace, so that indentation does not matter."""
    return " ".join(text.split())


def fingerprint(rule: str, path: str, text: str, occurrence: int = 1) -> str:
    """Return a digest of rule, path and normalised text, which does not change when the code moves.

    `occurrence` numbers equal texts of one file from 1, so that their findings stay distinct. Line numbers are left
    out, as SARIF 2.1.0 requires of `partialFingerprints`.
    """
    parts = (rule, path, collapse_whitespace(text), str(occurrence))
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:20]
