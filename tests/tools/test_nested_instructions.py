"""Test finding the instruction files of all folders of a project, to be trusted together."""

from __future__ import annotations

from pathlib import Path

from swecli.tools.nested_instructions import find_nested_instructions


def write(file: Path, text: str = "rules") -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")


def test_those_of_all_folders_are_found_but_for_what_git_ignores(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    write(tmp_path / ".gitignore", "vendor/\n")
    for name in ("AGENTS.md", "web/agents.md", "web/.claude/CLAUDE.md", "api/CLAUDE.local.md"):
        write(tmp_path / name)
    for name in ("vendor/AGENTS.md", "node_modules/left-pad/AGENTS.md", "web/notes.md"):
        write(tmp_path / name)
    found = find_nested_instructions(tmp_path, None)
    assert [str(path.relative_to(tmp_path)) for path in found] == [
        "AGENTS.md",
        "api/CLAUDE.local.md",
        "web/.claude/CLAUDE.md",
        "web/agents.md",
    ]


def test_an_ignore_file_that_cannot_be_read_finds_none(tmp_path: Path) -> None:
    write(tmp_path / "web" / "AGENTS.md")
    (tmp_path / ".swecliignore").write_bytes(b"\xff")
    assert find_nested_instructions(tmp_path, None) == []
