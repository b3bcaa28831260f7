"""Which findings fail a review, and which are posted: exit code, SARIF, comments and summary all ask here."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from swecli.models.counts import pluralize
from swecli.models.finding import Finding
from swecli.models.review_events import ReviewFinished
from swecli.values import dataclass

# exit codes of a review
_SEVERE = 1  # a finding fails it
_INCOMPLETE = 3  # not everything was read
FAILED = 4  # it could not be done, or not be posted
_MAX_NAMED = 10  # findings that fail a review and are named in one line


@dataclass(frozen=True, slots=True)
class Gate:
    """What the user asks of a finding: `least` is the verdict it needs to count (confirmed, cannot_tell, any),
    `fail_on` the severity from which it fails the review ("": none does), `post_min` that from which it is posted. What
    fails is posted at any severity."""

    least: str = "confirmed"
    fail_on: str = ""
    post_min: str = "medium"

    def counts(self, finding: Finding) -> bool:
        """Return whether a finding is open, and as sure as the user asks."""
        return finding.is_open and finding.has_verdict(self.least)

    def fails(self, finding: Finding) -> bool:
        """Return whether a finding makes the review fail."""
        return self.counts(finding) and bool(self.fail_on) and finding.at_least(self.fail_on)

    def is_posted(self, finding: Finding) -> bool:
        """Return whether a finding belongs on the pull request."""
        is_severe = finding.at_least(self.post_min)
        return self.counts(finding) and (is_severe or self.fails(finding))

    def exit_code(self, end: ReviewFinished, *, is_incomplete_allowed: bool) -> int:
        """Return 1 for a finding that fails the review, else 3 if it is incomplete, else 0."""
        if any(map(self.fails, end.findings)):
            return _SEVERE
        return 0 if end.complete or is_incomplete_allowed else _INCOMPLETE

    def describe(self, findings: Iterable[Finding]) -> str:
        """Return `2 findings fail the review (--fail-on high)`, "" if none does."""
        failing = sum(map(self.fails, findings))
        if not failing:
            return ""
        verb = "fails" if failing == 1 else "fail"
        return f"{pluralize(failing, 'finding')} {verb} the review (--fail-on {self.fail_on})"

    def name_failing(self, findings: Sequence[Finding]) -> str:
        """Return what `describe` does, with the ids of the first of them."""
        ids = [finding.id for finding in findings if self.fails(finding)]
        more = ", …" if len(ids) > _MAX_NAMED else ""
        return f"{self.describe(findings)}: {', '.join(ids[:_MAX_NAMED])}{more}" if ids else ""
