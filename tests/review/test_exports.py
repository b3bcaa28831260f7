"""Findings as Markdown."""

from __future__ import annotations

from swecli.models.finding import Finding
from swecli.review.exports import as_markdown, fenced


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
    assert fenced("a\n`````\nb").startswith("``````\n")


def test_nothing_is_said_to_be_nothing() -> None:
    assert "No findings" in as_markdown([])
