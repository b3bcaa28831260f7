"""Test exporting findings as Markdown."""

from __future__ import annotations

import json

import pytest

from swecli.models.finding import Finding
from swecli.review.publish.posting import as_markdown
from swecli.review.publish.view import as_sarif
from tests.support.secrets import secrets


def test_the_worst_come_first_with_their_counts() -> None:
    text = as_markdown(
        [Finding("a.py", 1, "X", "small", "low"), Finding("b.py", 2, "Y", "big", "critical", state="fixed")]
    )
    assert text.index("## Critical (1)") < text.index("## Low (1)")
    assert "2 findings, 1 of them open." in text


def test_foreign_text_stays_text() -> None:
    text = as_markdown([Finding("a`b.py", 1, "X", "# <script> @someone\n## more", suggestion="```\nx")])
    assert "<script>" not in text
    assert "\n# &lt;" not in text
    assert "@someone" not in text
    assert "````suggestion" in text


def test_a_fence_is_longer_than_any_inside() -> None:
    assert "\n``````suggestion\n" in as_markdown([Finding("a.py", 1, "X", "m", suggestion="a\n`````\nb")])


def test_nothing_is_reported_to_be_nothing() -> None:
    assert "No findings" in as_markdown([])
    assert "1 finding, 1 of them open." in as_markdown([Finding("a.py", 1, "X", "small")])


@pytest.mark.parametrize(
    "name", ["GitHub personal", "quoted password", "Postgres URL", "RSA key", "AWS secret as JSON"]
)
def test_what_findings_quote_is_exported_without_secrets(name: str) -> None:
    text, secret = secrets()[name]
    found = Finding(
        "a.py", 1, "HARD_CODED", f"seen: {text}", improvement=text, suggestion=text, evidence=text, anchor=text
    )
    sarif = as_sarif([found])
    for export in (as_markdown([found]), json.dumps(sarif)):
        assert secret not in export
        assert json.dumps(secret)[1:21] not in export
