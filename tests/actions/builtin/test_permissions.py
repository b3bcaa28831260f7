"""Test `swecli permissions`."""

from __future__ import annotations

from tests.support.shell import HELLO, Run


def test_a_rule_of_the_last_session_is_allowed_shown_and_removed(run: Run) -> None:
    run("-p", "hello", "-m", HELLO)
    assert "allowed in this session: run(make *)" in run("permissions", "allow", "run(make *)").out
    assert run("permissions", "--json").json == [
        {"#": "1", "list": "allow", "rule": "run(make *)", "from": "this session"}
    ]
    assert "asked again for run(make *)" in run("permissions", "remove", "1").out
    assert run("permissions", "show", "--json").json == []


def test_a_number_without_a_rule_is_refused(run: Run) -> None:
    run("-p", "hello", "-m", HELLO)
    refused = run("permissions", "remove", "1")
    assert refused.code == 2
    assert "Rule '1' cannot be removed here." in refused.complaint
