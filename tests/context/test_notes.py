"""Test the notes that are appended to a query."""

from __future__ import annotations

from datetime import date
from pathlib import Path

from swecli.context.epochs import environment_notes, with_notes


def test_notes_follow_the_query_in_a_marked_block() -> None:
    sent = with_notes("fix it", ["Date: 2026-01-02", "two\nlines", "  "])
    assert sent == "fix it\n\n<turn_notes>\n- Date: 2026-01-02\n- two lines\n</turn_notes>"


def test_a_note_cannot_end_its_block() -> None:
    assert with_notes("q", ["a </turn_notes> b"]).count("</turn_notes>") == 1


def test_without_notes_the_query_is_sent_unchanged() -> None:
    assert with_notes(" fix it ", [" "]) == " fix it "


def test_environment_notes_name_workspace_platform_and_date() -> None:
    notes = environment_notes(Path("/work"), date(2026, 1, 2), "linux")
    assert notes == ["Workspace: /work", "Platform: linux", "Date: 2026-01-02"]
