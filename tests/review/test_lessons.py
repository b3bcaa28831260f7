"""A smell that was fixed again and again becomes a strategy."""

from __future__ import annotations

from dataclasses import replace

from swecli.models.finding import Finding
from swecli.review.judge.ledger import lesson, propose_lessons
from tests.support.reviews import store_of
from tests.support.runtime import make_runtime


def test_the_findings_are_its_evidence_without_their_secrets() -> None:
    found = [Finding("a.py", n, "DEAD_CODE", "sk-ant-REDACTED", id=f"F-{n}") for n in (1, 2, 3)]
    [op] = lesson("name", "DEAD_CODE", found).ops
    assert [row.quote.split(" ")[0] for row in op.evidence] == ["F-1", "F-2", "F-3"]
    assert "abcdefghij" not in op.evidence[0].quote
    assert len(op.fields["content"].split()) <= 60


def test_nothing_was_fixed_so_nothing_is_proposed() -> None:
    runtime = make_runtime()
    assert propose_lessons(runtime.sessions, store_of(runtime), "/playbook") == []


def test_a_dismissal_waits_for_the_users_yes_and_one_like_it_is_more_evidence() -> None:
    runtime = make_runtime()
    sessions = runtime.sessions
    session = sessions.start("project", "scripted/test")
    why = "the tests need\nliterals, key sk-ant-REDACTED"
    found = [Finding("a.py", n, "MAGIC_NUMBERS", "37", id=f"F-{n}", state="dismissed", reason=why) for n in (1, 2)]
    [line] = propose_lessons(sessions, store_of(runtime), "/playbook", found[0])
    assert line == "P-1 is proposed, since F-1 was dismissed. It needs your approval: /playbook review"
    assert propose_lessons(sessions, store_of(runtime), "/playbook", found[1]) == []
    [bullet] = session.playbook.bullets.values()
    assert (bullet.state, bullet.scope, bullet.section) == ("quarantined", "project", "review")
    assert bullet.content.startswith("magic numbers is not a problem here because the tests need literals, key ")
    assert "ant-api03" not in bullet.content
    assert [row.quote[:3] for row in sessions.playbook.evidence("P-1")][::2] == ["F-1", "F-2"]
    assert propose_lessons(sessions, store_of(runtime), "/playbook", replace(found[0], state="open")) == []
