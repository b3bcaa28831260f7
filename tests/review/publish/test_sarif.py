"""Test SARIF against its official schema."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from swecli.models.finding import KINDS, SEVERITIES, STATES, Finding
from swecli.review.publish.sarif import as_sarif
from tests.support.sarif import check_sarif


def valid_run(findings: list[Finding]) -> dict[str, Any]:
    log = json.loads(json.dumps(as_sarif(findings)))
    check_sarif(log)
    return dict(log["runs"][0])


ONE = Finding(
    "src/a b.py",
    3,
    "DEAD_CODE",
    "m",
    "high",
    "do",
    5,
    2,
    suggestion="x",
    fingerprint="abc",
    id="F-1",
)


def test_a_log_without_findings_is_valid() -> None:
    assert valid_run([])["results"] == []


def test_a_result_has_location_region_level_and_fingerprint() -> None:
    [result] = valid_run([ONE])["results"]
    place = result["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == "src/a%20b.py"
    assert place["region"] == {"startLine": 3, "endLine": 5}
    assert result["level"] == "error"
    assert result["partialFingerprints"] == {"swecliFingerprint/v1": "abc"}


def test_dismissed_findings_are_suppressed_with_their_reason_and_fixed_ones_are_left_out() -> None:
    run = valid_run(
        [replace(ONE, state="dismissed", reason="meant so"), replace(ONE, state="fixed")]
    )
    assert [r["suppressions"][0]["justification"] for r in run["results"]] == ["meant so"]


FINDINGS = st.builds(
    Finding,
    path=st.text(min_size=1, max_size=20).filter(lambda t: t.isprintable()),
    line=st.integers(1, 10**9),
    code_smell_type=st.text(max_size=10),
    message=st.text(max_size=20),
    severity=st.sampled_from([*SEVERITIES, "odd"]),
    end_line=st.none() | st.integers(1, 10**9),
    kind=st.sampled_from(KINDS),
    state=st.sampled_from(STATES),
    suggestion=st.sampled_from(["", "x\n"]),
)


@pytest.mark.slow
@given(st.lists(FINDINGS, max_size=4))
def test_any_findings_are_a_valid_log(findings: list[Finding]) -> None:
    valid_run(findings)
