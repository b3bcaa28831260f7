"""Test the notes that are appended to a query."""

from __future__ import annotations

from swecli.context.notes import with_notes


def test_notes_follow_the_query_in_a_marked_block() -> None:
    sent = with_notes("fix it", ["Date: 2026-01-02", "two\nlines", "  "])
    assert sent == "fix it\n\n<turn_notes>\n- Date: 2026-01-02\n- two lines\n</turn_notes>"


def test_a_note_cannot_end_its_block() -> None:
    assert with_notes("q", ["a </turn_notes> b"]).count("</turn_notes>") == 1


def test_without_notes_the_query_is_sent_unchanged() -> None:
    assert with_notes(" fix it ", [" "]) == " fix it "
