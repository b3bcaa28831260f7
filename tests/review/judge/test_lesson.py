"""Test learning a strategy from the reason of a dismissal."""

from __future__ import annotations

from dataclasses import replace

from swecli.models.finding import Finding
from swecli.review.judge.lesson import propose_lesson
from tests.support.reviews import review_store
from tests.support.runtime import make_runtime


def test_a_dismissal_proposes_a_quarantined_strategy_and_an_equal_one_adds_evidence() -> None:
    runtime = make_runtime()
    sessions, store = runtime.sessions, review_store(runtime)
    why = "the tests need\nliterals, key sk-ant-REDACTED"
    found = [
        Finding("a.py", n, "MAGIC_NUMBERS", "37", id=f"F-{n}", state="dismissed", reason=why)
        for n in (1, 2)
    ]
    session = sessions.start("project", "scripted/test")
    line = propose_lesson(sessions, store, found[0], "/playbook")
    assert (
        line == "P-1 is proposed, since F-1 was dismissed. It needs your approval: /playbook review"
    )
    assert propose_lesson(sessions, store, found[1], "/playbook") == ""
    [bullet] = session.playbook.bullets.values()
    assert (bullet.state, bullet.scope, bullet.section) == ("quarantined", "project", "review")
    assert bullet.content.startswith(
        "magic numbers is not a problem here because the tests need literals, key "
    )
    assert "ant-api03" not in bullet.content
    assert [row.quote[:3] for row in sessions.playbook.evidence("P-1")][::2] == ["F-1", "F-2"]
    assert propose_lesson(sessions, store, replace(found[0], state="open"), "/playbook") == ""
