"""Test loading a project: its instructions, and its skills."""

from __future__ import annotations

from pathlib import Path

import pytest

from swecli.config.paths import project_root
from swecli.config.trust import FolderTrust
from swecli.context.project import Project, find_skills
from tests.support.runtime import make_start

GOOD = "---\nname: {name}\ndescription: What {name} is for.\n---\nDo it so."


def write_skill(folder: Path, name: str, text: str = GOOD) -> Path:
    file = folder / name / "SKILL.md"
    file.parent.mkdir(parents=True)
    file.write_text(text.replace("{name}", name))
    return file


def find(*, trusted: bool = True) -> Project:
    start = make_start()
    return find_skills(start, FolderTrust(project_root(start.cwd), everything=trusted))


def test_skills_of_the_project_and_of_the_user_are_listed() -> None:
    write_skill(Path(".agents/skills"), "pdf")
    write_skill(Path(".claude/skills"), "excel")
    write_skill(Path.home() / ".claude/skills", "letters")
    write_skill(make_start().paths.config / "skills", "poems")
    found = find()
    assert sorted(found.skills) == ["excel", "letters", "pdf", "poems"]
    assert found.notices == []
    for name in found.skills:
        assert f"\n- {name}: What {name} is for." in found.text
    assert "Do it so." not in found.text
    untrusted = find(trusted=False)
    assert sorted(untrusted.skills) == ["letters", "poems"]
    assert untrusted.notices == [
        "Skills of this project are not used: this folder is not trusted. Run /trust to use them."
    ]


@pytest.mark.parametrize(
    ("has_skill", "line"),
    [(True, "Skills and commands of this project are"), (False, "Commands of this project are")],
)
def test_the_commands_of_a_folder_that_is_not_trusted_are_named(has_skill: bool, line: str) -> None:
    if has_skill:
        write_skill(Path(".agents/skills"), "pdf")
    Path(".claude/commands").mkdir(parents=True)
    Path(".claude/commands/fix.md").write_text("Fix it.")
    [notice] = find(trusted=False).notices
    assert notice.startswith(line)


def test_without_skills_the_result_is_empty() -> None:
    assert find() == Project()


def test_skills_are_found_from_a_folder_below_the_project_root(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    Path(".git").mkdir()
    write_skill(Path(".agents/skills"), "pdf")
    Path("deep/er").mkdir(parents=True)
    monkeypatch.chdir("deep/er")
    assert list(find().skills) == ["pdf"]


@pytest.mark.parametrize(
    ("front", "line"),
    [
        ("name: x\ndescription: One line.", "- x: One line."),
        ("name: 'x'\ndescription: \"Quoted: yes.\"", "- x: Quoted: yes."),
        (
            "name: x\ndescription: >-\n  Folded over\n\n  three lines.\nlicense: MIT",
            "- x: Folded over three lines.",
        ),
        ("description: |\n  Block\nmetadata:\n  name: no\nname: x", "- x: Block"),
        ("name: x\ndescription: " + "w" * 500, "- x: " + "w" * 399 + "…"),
    ],
)
def test_name_and_description_are_parsed_from_common_forms_of_yaml(front: str, line: str) -> None:
    write_skill(Path(".agents/skills"), "x", f"---\n{front}\n---\nbody\n")
    assert find().text.splitlines()[-1] == line


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("just text", "missing front matter"),
        ("---\nname: x\ndescription: never closed", "missing front matter"),
        ("---\nname: x\n---\nno description", "missing front matter"),
        ("---\ndescription: no name\n---\n", "missing front matter"),
        ("", "missing front matter"),
        ("---\nname: two words\ndescription: d\n---\n", "its name 'two words' is invalid"),
    ],
)
def test_an_invalid_skill_file_is_one_notice_and_other_skills_are_used(text: str, why: str) -> None:
    write_skill(Path(".agents/skills"), "broken", text)
    write_skill(Path(".agents/skills"), "whole")
    found = find()
    assert list(found.skills) == ["whole"]
    (notice,) = found.notices
    assert notice.startswith(".agents/skills/broken/SKILL.md is not used: ")
    assert why in notice
    assert "\n" not in notice


def test_many_skills_that_cannot_be_used_are_a_few_lines_with_a_count() -> None:
    for number in range(1_000):
        write_skill(Path(".agents/skills"), f"broken{number:04}", "no front matter")
    found = find()
    assert len(found.notices) == 6
    assert "broken0000/SKILL.md is not used" in found.notices[0]
    assert found.notices[-1] == "995 more skills are not used, for reasons like these"


def test_links_out_of_the_project_and_broken_links_are_not_used_and_reported(
    tmp_path: Path,
) -> None:
    outside = write_skill(tmp_path / "elsewhere", "secret")
    folder = Path(".agents/skills")
    write_skill(folder, "inside")
    (folder / "leak").symlink_to(outside.parent)
    (folder / "file").mkdir()
    (folder / "file/SKILL.md").symlink_to(outside)
    (folder / "again").symlink_to("inside")
    (folder / "circle").mkdir()
    (folder / "circle/SKILL.md").symlink_to("SKILL.md")
    (folder / "gone").mkdir()
    (folder / "gone/SKILL.md").symlink_to("moved.md")
    found = find()
    leads_out = "it is a link that leads out of the project"
    problems = {
        "circle": "Too many levels of symbolic links",
        "file": leads_out,
        "gone": "No such file or directory",
        "leak": leads_out,
    }
    assert found.notices == [
        f".agents/skills/{name}/SKILL.md is not used: {problem}"
        for name, problem in problems.items()
    ]
    assert list(found.skills) == ["inside"]


def test_a_duplicate_skill_name_is_reported_and_the_user_skill_is_used() -> None:
    own = write_skill(Path.home() / ".agents/skills", "pdf")
    write_skill(Path(".agents/skills"), "pdf")
    write_skill(Path(".claude/skills"), "other", GOOD.replace("{name}", "pdf"))
    found = find()
    assert {name: skill.file for name, skill in found.skills.items()} == {"pdf": own}
    assert found.notices == [
        f".agents/skills/pdf/SKILL.md is not used: {own.parent} has the same name pdf",
        f".claude/skills/other/SKILL.md is not used: {own.parent} has the same name pdf",
    ]


def test_the_list_of_skills_has_a_size_limit_and_omitted_skills_are_reported() -> None:
    for number in range(30):
        write_skill(
            Path(".agents/skills"),
            f"s{number:02}",
            f"---\nname: s{number:02}\ndescription: {'漢' * 100}\n---\n",
        )
    found = find()
    assert len(found.text.encode()) < 6_300
    assert len(found.skills) == 30, "the user may still name one"
    (notice,) = found.notices
    assert notice.startswith("the list of skills is full: the model does not see s19, s20")
