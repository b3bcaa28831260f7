"""A smell that was fixed again and again becomes a strategy."""

from __future__ import annotations

from swecli.models.finding import Finding
from swecli.review.judge.ledger import lesson, lessons
from tests.support.reviews import store_of
from tests.support.runtime import make_runtime


def test_the_findings_are_its_evidence_without_their_secrets() -> None:
    found = [Finding("a.py", n, "DEAD_CODE", "sk-ant-REDACTED", id=f"F-{n}") for n in (1, 2, 3)]
    [op] = lesson("name", "DEAD_CODE", found, "s").ops
    assert [row.quote.split(" ")[0] for row in op.evidence] == ["F-1", "F-2", "F-3"]
    assert "abcdefghij" not in op.evidence[0].quote
    assert len(op.fields["content"].split()) <= 60


def test_nothing_was_fixed_so_nothing_is_proposed() -> None:
    runtime = make_runtime()
    assert lessons(runtime.sessions, store_of(runtime), "/playbook") == []
