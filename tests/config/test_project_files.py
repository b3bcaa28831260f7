"""Test which files of a project can be trusted."""

from __future__ import annotations

from pathlib import Path

from swecli.config.project_files import find_project_files, find_skill_files


def write_skill(name: str) -> Path:
    folder = Path(".agents/skills", name).absolute()
    folder.mkdir(parents=True)
    return folder / "SKILL.md"


def test_skills_are_found_in_the_order_of_their_folders() -> None:
    files = [write_skill(name) for name in ("b", "a", "C", ".d")]
    for file in files:
        file.touch()
    found = find_skill_files(Path.cwd())
    assert [file.parent.name for file in found] == [".d", "C", "a", "b"]


def test_a_link_that_leads_nowhere_or_out_cannot_be_trusted(tmp_path: Path) -> None:
    inside = write_skill("inside")
    inside.touch()
    write_skill("circle").symlink_to("SKILL.md")
    write_skill("gone").symlink_to("moved.md")
    outside = tmp_path / "outside.md"
    outside.touch()
    write_skill("out").symlink_to(outside)
    assert find_project_files(Path.cwd()) == [inside]
