"""Test that errors are safe to print, in one line."""

from __future__ import annotations

from swecli.headless.plain import LONGEST_LINE, complaint


def test_a_very_long_error_is_truncated() -> None:
    assert len(complaint("x" * 10**6, "")) == len("swecli: ") + LONGEST_LINE


def test_a_complaint_is_one_line_with_message_and_hint() -> None:
    assert complaint("It is\nbroken.", "Mend it.") == "swecli: It is broken.  Mend it."
    assert complaint("It is broken.", "") == "swecli: It is broken."
