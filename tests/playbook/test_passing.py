"""What will soon be false is recognised, and lasting rules that look like it are left alone."""

from __future__ import annotations

from swecli.playbook.passing import passing

SOON_FALSE = {
    "The server is pid 4711": "a process id (pid 4711)",
    "The coverage is now 83.4 %": "a figure of one run (coverage is now 83.4 %)",
    "Gestern schlug der Build fehl": "a date (Gestern)",
    "Bob is away until Monday": "a date (until Monday)",
    "The current branch is fix/rounding": "the story of one turn (The current branch)",
    "I added three tests and they pass": "the story of one turn (I added)",
    "The user asked for a new endpoint": "the story of one turn (The user asked)",
    "Next step: write the migration": "the story of one turn (Next step:)",
    "First the edit failed, then reading it again helped": "the story of one turn (then reading it again helped)",
}
LASTING = [
    "`today()` is injected into pricing",
    "today() comes from the clock fixture",
    "Timeouts below 30 seconds make the tests flaky",
    "A commit takes about 20 seconds",
    "The user wants short answers",
    "I/O errors are raised as ShopError",
    "Run the linter, then the tests",
    "Reports are due on the first of a month",
]


def test_what_cannot_last_is_named() -> None:
    assert {content: passing(content) for content in SOON_FALSE} == SOON_FALSE


def test_rules_that_hold_are_let_through() -> None:
    assert {content: said for content in LASTING if (said := passing(content))} == {}


def test_of_users_only_what_is_surely_gone_soon_is_refused() -> None:
    assert passing("Freeze until Monday", strict=False) == ""
    assert passing("The log is /var/folders/x/y.log", strict=False).startswith("a temporary path")
