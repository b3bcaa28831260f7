"""Test that what fails a review is shown wherever it is told of, and that nothing else is said to fail it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from swecli.models.finding import SEVERITIES, STATES, Finding
from swecli.models.review_events import ReviewFinished
from swecli.review.publish.gate import Gate
from swecli.review.publish.posting import Push, plan_push
from swecli.review.publish.sarif import as_sarif
from swecli.review.publish.view import row_view
from swecli.review.target.diffs import FileDiff, parse_hunks
from swecli.review.target.github import GitHub, PullState
from swecli.review.target.targets import Target
from tests.support.github import FakeGitHub

PATCH = "@@ -1,3 +1,4 @@\n one\n+two\n+three\n four\n"


@pytest.fixture(scope="module")
def hub() -> Iterator[FakeGitHub]:
    with FakeGitHub({"a.py": PATCH}) as hub:
        yield hub


FINDING = st.builds(
    Finding,
    path=st.sampled_from(["a.py", "other.py"]),
    line=st.sampled_from([2, 3, 70]),
    code_smell_type=st.just("LOGIC"),
    message=st.just("m"),
    severity=st.sampled_from(SEVERITIES),
    state=st.sampled_from(STATES),
    verdict=st.sampled_from(["", "confirmed", "cannot_tell", "refuted"]),
    late=st.booleans(),
    removed=st.booleans(),
)
GATE = st.builds(
    Gate,
    st.sampled_from(["confirmed", "cannot_tell", "any"]),
    st.sampled_from(["", *SEVERITIES]),
    st.sampled_from(SEVERITIES),
)


def numbered(findings: list[Finding]) -> tuple[Finding, ...]:
    """Return the findings with ids and fingerprints, as the ledger gives them."""
    rows = [
        Finding(
            **{name: getattr(finding, name) for name in Finding.__slots__}
            | {"id": f"F-{number}", "fingerprint": f"{number:08x}"}
        )
        for number, finding in enumerate(findings, 1)
    ]
    return tuple(rows)


def plan(hub: FakeGitHub, findings: tuple[Finding, ...], gate: Gate, earlier: PullState) -> Push:
    end = ReviewFinished(0, 0, 1, {}, "R-1", "done", findings)
    github = GitHub("acme/shop", "secret", hub.url)
    diffs = {"a.py": FileDiff("a.py", hunks=parse_hunks(PATCH))}
    target = Target(
        ("--pr", "7"), "", (), diffs, pr=7, head=hub.head, earlier=earlier, github=github
    )
    return plan_push(target, end, [], gate)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(FINDING, max_size=14).map(numbered), GATE, st.booleans())
def test_what_fails_a_review_is_shown_everywhere_and_only_what_counts_is_posted(
    hub: FakeGitHub, findings: tuple[Finding, ...], gate: Gate, is_second: bool
) -> None:
    earlier = PullState("a" * 40, (), findings[:3] if is_second else ())
    push = plan(hub, findings, gate, earlier)
    failing = [finding for finding in findings if gate.fails(finding)]
    assert gate.exit_code(push.end, is_incomplete_allowed=False) == (1 if failing else 0)

    posted = [*push.inline, *push.on_file, *push.rest, *push.already_posted]
    assert all(finding in posted for finding in failing)
    assert all(gate.counts(finding) for finding in posted)
    summary = push.summary
    told = f"{len(failing)} finding{'s' * (len(failing) != 1)} fail"
    assert (told in summary) == bool(failing)
    for finding in push.rest:
        assert f"`{finding.place}`" in summary

    taken = [finding for finding in findings if finding.has_verdict(gate.least)]
    results = as_sarif(taken, push.end, 0, gate)["runs"][0]["results"]
    sure = {row["properties"]["id"] for row in results if row["kind"] == "fail"}
    assert {finding.id for finding in failing} <= sure
    assert all(row_view(finding).line.startswith(finding.id) for finding in failing)
    assert all(finding.state != "refuted" for finding in failing), "the text leaves those out"
