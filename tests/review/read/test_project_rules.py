"""The project's own checks."""

from __future__ import annotations

from pathlib import Path

import pytest

from swecli.review.read.project_rules import LONGEST, Rule, load_rules, parse_rule


@pytest.mark.parametrize(
    ("text", "check"),
    [
        ("No print.", Rule("stem", "No print.")),
        ("---\nname: P\nseverity-default: high\n---\nNo print.", Rule("P", "No print.", "high")),
        ("---\r\nname: 'P'\r\ndescription: d\r\n---\r\nrule\r\n", Rule("P", "d\nrule")),
        ("---\nseverity-default: odd\n---\nx", Rule("stem", "x")),
        ("---\nname: never closed\nx", Rule("stem", "---\nname: never closed\nx")),
    ],
)
def test_a_check_is_words_with_a_head(text: str, check: Rule) -> None:
    assert parse_rule("stem", text) == check


def test_what_cannot_be_used_is_named() -> None:
    folder = Path(".agents/checks")
    folder.mkdir(parents=True)
    (folder / "a.md").write_text("rule")
    (folder / "b.md").write_bytes(b"\xff\xfe\x00")
    (folder / "c.md").write_text("")
    (folder / "d.md").symlink_to("a.md")
    (folder / "e.md").write_text("x" * (LONGEST + 1))
    (folder / "notes.txt").write_text("no check")
    checks, notes = load_rules(Path.cwd())
    assert [(check.name, len(check.text)) for check in checks] == [("a", 4), ("e", LONGEST)]
    assert [note.split("/")[-1].split(" ")[0] for note in notes] == ["b.md", "c.md", "d.md", "e.md"]


def test_without_the_folder_there_are_none() -> None:
    assert load_rules(Path.cwd()) == ([], [])
