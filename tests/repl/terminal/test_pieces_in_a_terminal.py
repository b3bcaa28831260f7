"""Test in a real pseudo-terminal that a hunk is named as it is shown: read, completed with Tab, undone and redone."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.shell import script
from tests.support.terminal import Terminal

LINES = "".join(f"line {number}\n" for number in range(1, 31))


@pytest.mark.slow
@pytest.mark.parametrize("columns", [60, 100])
def test_a_hunk_is_shown_completed_undone_and_redone(columns: int) -> None:
    Path("a file.txt").write_text(LINES)
    edits = [
        {"old_text": "line 3\n", "new_text": "three\n"},
        {"old_text": "line 20\n", "new_text": "twenty\n"},
    ]
    call = {"name": "edit_file", "arguments": {"path": "a file.txt", "edits": edits}}
    replies = script("s.json", {"text": "", "calls": [call]}, "Done.")
    environ = {"SWECLI_REFLECT_WITH_MODEL": "false"}
    with Terminal(
        "-m", replies, "--mode", "auto", columns=columns, rows=40, environ=environ
    ) as terminal:
        terminal.wait("· auto")
        terminal.keys("change two lines\r")
        terminal.wait("Done.")
        terminal.keys("/diff T1\r")
        screen = terminal.wait("hunk 2")
        assert "a file.txt: changed (+2 −2) · by tools" in screen
        terminal.wait("^>$")
        terminal.keys("/undo T1 ")
        terminal.wait('"a file.txt" +by tools')
        terminal.keys("\t ")
        terminal.wait("2 +line 20: - line 20")
        terminal.keys("2\r")
        terminal.wait(r"Undone: hunk 2 of a file.txt \(line 20\) from")
        assert Path("a file.txt").read_text() == LINES.replace("line 3\n", "three\n")
        terminal.keys("/redo\r")
        terminal.wait("Redone: hunk 2 of a file.txt")
        assert "twenty\n" in Path("a file.txt").read_text()
