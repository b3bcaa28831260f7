"""Test exporting findings as Markdown."""

from __future__ import annotations

import json

import pytest

from swecli.models.finding import Finding
from swecli.review.publish.posting import as_markdown
from swecli.review.publish.sarif import as_sarif
from tests.support.secrets import secrets


def test_markdown_lists_severities_worst_first_with_counts() -> None:
    text = as_markdown(
        [
            Finding("a.py", 1, "X", "small", "low"),
            Finding("b.py", 2, "Y", "big", "critical", state="fixed"),
        ]
    )
    assert text.index("## Critical (1)") < text.index("## Low (1)")
    assert "2 findings, 1 of them open." in text


def test_markdown_escapes_markup_and_mentions_in_findings() -> None:
    text = as_markdown(
        [Finding("a`b.py", 1, "X", "# <script> @someone\n## more", suggestion="```\nx")]
    )
    assert "<script>" not in text
    assert "\n# &lt;" not in text
    assert "@someone" not in text
    assert "````suggestion" in text


def test_a_markdown_fence_is_longer_than_any_fence_inside() -> None:
    assert "\n``````suggestion\n" in as_markdown(
        [Finding("a.py", 1, "X", "m", suggestion="a\n`````\nb")]
    )


def test_markdown_has_a_sentence_for_no_findings_and_for_one() -> None:
    assert "No findings" in as_markdown([])
    assert "1 finding, 1 of them open." in as_markdown([Finding("a.py", 1, "X", "small")])


@pytest.mark.parametrize(
    "name", ["GitHub personal", "quoted password", "Postgres URL", "RSA key", "AWS secret as JSON"]
)
def test_exports_contain_no_secret_of_a_finding(name: str) -> None:
    text, secret = secrets()[name]
    found = Finding(
        "a.py",
        1,
        "HARD_CODED",
        f"seen: {text}",
        improvement=text,
        suggestion=text,
        evidence=text,
        anchor=text,
    )
    sarif = as_sarif([found])
    for export in (as_markdown([found]), json.dumps(sarif)):
        assert secret not in export
        assert json.dumps(secret)[1:21] not in export
