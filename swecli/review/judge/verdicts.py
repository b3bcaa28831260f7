"""Reads a verifier's verdicts: each needs evidence that code can find again, on the right side of the change."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from swecli.models.finding import Finding, Judgement, Side, Verdict, collapse_whitespace
from swecli.models.json_value import JsonObject
from swecli.review.file_kinds import matches_kind
from swecli.review.judge.sources import Source, Sources, normalize_code, strip_whitespace
from swecli.values import dataclass

_MIN_QUOTE = 6  # characters of a quote that is evidence, as of one that places a finding
_MAX_QUOTE = 400  # characters that are stored
_NOT_SHOWN = "its quote stands in no file that was shown"
_UNPROVEN: dict[Verdict, str] = {
    "pre_existing": "what it quotes did not stand there before the change",
    "intended": "what it quotes is said nowhere",
}


class _Evidence(NamedTuple):
    """Code that a verdict rests on, where it stands, and on which side of the change."""

    path: str
    line: int
    quote: str
    side: Side


@dataclass(frozen=True, slots=True)
class Hearing:
    """What a verifier had before it: the files, the code that it was shown, without white space, and what the author
    says of the change."""

    sources: Sources
    shown_text: str
    intent: str = ""

    def read_judgement(self, answer: JsonObject, claim: Finding, judge: str) -> Judgement:
        """Return the judgement of an answer on a claim; without evidence for its verdict it is cannot_tell."""
        verdict: Verdict = answer["verdict"]
        reason = collapse_whitespace(answer.get("why", ""))[:_MAX_QUOTE]
        if verdict == "cannot_tell":
            return Judgement(verdict, why=reason, by=judge)
        evidence = self._find_evidence(answer, claim, verdict)
        if evidence is None:
            explanation = f"{reason} ({_UNPROVEN.get(verdict, _NOT_SHOWN)})".strip()
            return Judgement("cannot_tell", why=explanation, by=judge)
        quote = evidence.quote.strip("`")[:_MAX_QUOTE]
        return Judgement(
            verdict, evidence.path, evidence.line, quote, reason, judge, side=evidence.side
        )

    def _find_evidence(
        self, answer: JsonObject, claim: Finding, verdict: Verdict
    ) -> _Evidence | None:
        """Return what an answer rests on; None if it stands nowhere, or on the wrong side. Code that stands no longer
        refutes nothing."""
        path = _path_of(answer.get("path", ""), claim.path)
        absent = answer.get("absent", "").strip()
        quote = absent or answer.get("quote", "").strip()
        if verdict == "intended" and self._is_said(quote):
            return _Evidence(claim.path, claim.line, quote, "head")
        if not self._was_shown(quote):
            return None
        if verdict == "intended":
            return self._find_in_tests(path, claim, quote)
        if verdict == "refuted":
            return self._find_in_head(path, claim, quote)
        if verdict == "pre_existing":
            lines = self._base(path).find_quote(quote, _MIN_QUOTE)
            return _Evidence(path, lines[0], quote, "base") if lines else None
        present = None
        if not absent and answer.get("side") != "base":
            present = self._find_in_head(path, claim, quote)
        return present or self._find_absence(path, quote)

    def _find_in_head(self, path: str, claim: Finding, quote: str) -> _Evidence | None:
        """Return a quote of the code as it is now; None if it does not stand there. Of several places the one nearest
        to the claim is meant."""
        is_own = path == claim.path
        source = self.sources.get(path) if is_own else self.sources.find(path)
        lines = source.find_quote(quote, _MIN_QUOTE)
        if not lines:
            return None
        line = min(lines, key=lambda line: abs(line - claim.line)) if is_own else lines[0]
        return _Evidence(path, line, quote, "head")

    def _find_in_tests(self, path: str, claim: Finding, quote: str) -> _Evidence | None:
        """Return a quote of a test or a document that the change has written; None for other code, which does not say
        what is wanted of it."""
        before = self.sources.before.get(path)
        is_said_there = matches_kind(path, "tests") or matches_kind(path, "docs")
        if before is None or not is_said_there:
            return None
        evidence = self._find_in_head(path, claim, quote)
        return evidence if evidence and evidence.line in before.added else None

    def _find_absence(self, path: str, text: str) -> _Evidence | None:
        """Return a text that stood in a file before the change, at the line of now where it stood, or in a file that is
        gone at its own; None if it did not stand there, or still does."""
        before = self.sources.before.get(path)
        is_gone = self.sources.get(path).is_missing if before is None else before.is_gone
        if not is_gone and self.sources.get(path).find_quote(text):
            return None
        stood = self._base(path) if before is None else before
        lines = stood.find_quote(text, _MIN_QUOTE)
        return _Evidence(path, lines[0], text, "base") if lines else None

    def _base(self, path: str) -> Source:
        """Return a file as it was before the change."""
        before = self.sources.before.get(path)
        if before is not None:
            return before.source
        if self.sources.base is None:
            return Source(path, is_missing=True)
        return self.sources.side("base").find(path)

    def _was_shown(self, quote: str) -> bool:
        forms = normalize_code(quote), strip_whitespace(quote.strip("`"))
        return any(form and form in self.shown_text for form in forms)

    def _is_said(self, quote: str) -> bool:
        """Return whether a quote stands in what the author says of the change."""
        words = collapse_whitespace(quote)
        return len(words) >= _MIN_QUOTE and words in collapse_whitespace(self.intent)


def _path_of(named_path: str, claimed_path: str) -> str:
    """Return the path that an answer names, by default that of the claim; `b/a.py`, as in diffs, is `a.py`."""
    path = (named_path or claimed_path).removeprefix("./")
    return claimed_path if f"/{path}".endswith(f"/{claimed_path}") else path


def find_same(finding: Finding, batch: Sequence[Finding], answers: Mapping[str, JsonObject]) -> str:
    """Return the id of the finding that an answer calls the same problem, or "": the one that it was asked about, or an
    older one of its file in the same request. One that the answer refutes takes no other along."""
    answer = answers[finding.id]
    same = answer.get("same_as", "")
    in_file = [other for other in batch if other.path == finding.path]
    older = {other.id for other in in_file if _number(other.id) < _number(finding.id)}
    if not same or same not in {finding.same_as, *older}:
        return ""
    is_refuted = answers.get(same, {}).get("verdict") == "refuted"
    return "" if is_refuted and answer["verdict"] != "refuted" else same


def _number(name: str) -> int:
    return int(name.removeprefix("F-"))
