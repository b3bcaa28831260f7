"""Test loading AGENTS.md from the repository root down to the working directory."""

from __future__ import annotations

from pathlib import Path

import pytest

from swecli.config.paths import project_root
from swecli.config.trust import FolderTrust
from swecli.context.project import Project, load_instructions


@pytest.fixture
def cwd(tmp_path: Path) -> Path:
    folder = tmp_path / "repo" / "pkg" / "deep"
    folder.mkdir(parents=True)
    (tmp_path / "repo" / ".git").mkdir()
    (tmp_path / "AGENTS.md").write_text("above the repository")
    (tmp_path / "repo" / "AGENTS.md").write_text("Root rules.\n")
    (folder / "AGENTS.md").write_text("Deep rules.")
    return folder


def load(cwd: Path, limit: int = 1000) -> Project:
    return load_instructions(cwd, FolderTrust(project_root(cwd), everything=True), limit=limit)


def test_instructions_are_ordered_from_the_repository_root_to_the_working_directory(
    cwd: Path,
) -> None:
    found = load(cwd)
    assert found.text.index("Root rules.") < found.text.index("Deep rules.")
    assert 'path="AGENTS.md"' in found.text
    assert 'path="pkg/deep/AGENTS.md"' in found.text
    assert found.files == [cwd.parents[1] / "AGENTS.md", cwd / "AGENTS.md"]
    assert found.notices == []
    assert "above the repository" not in found.text


def test_claude_md_is_read_only_in_a_directory_without_agents_md(cwd: Path) -> None:
    (cwd / "CLAUDE.md").write_text("not this")
    (cwd.parent / "CLAUDE.md").write_text("but this")
    text = load(cwd).text
    assert "not this" not in text
    assert text.index("Root rules.") < text.index("but this") < text.index("Deep rules.")


def test_outside_a_repository_instructions_of_parent_directories_are_not_read(
    tmp_path: Path,
) -> None:
    (tmp_path / "AGENTS.md").write_text("above")
    below = tmp_path / "below"
    below.mkdir()
    assert load(below) == Project()


def test_a_directory_with_a_git_file_is_a_repository_root(tmp_path: Path) -> None:
    (tmp_path / ".git").write_text("gitdir: elsewhere")
    (tmp_path / "a").mkdir()
    (tmp_path / "AGENTS.md").write_text("all of it")
    assert load(tmp_path / "a").files == [tmp_path / "AGENTS.md"]


def test_instructions_of_an_untrusted_folder_are_not_read_and_a_notice_names_the_command(
    cwd: Path,
) -> None:
    found = load_instructions(cwd, FolderTrust(project_root(cwd)))
    assert (found.text, found.files) == ("", [])
    (notice,) = found.notices
    assert "AGENTS.md, pkg/deep/AGENTS.md" in notice
    assert notice.endswith("Run /trust to use them.")


def test_an_untrusted_folder_without_instructions_gives_no_notice(tmp_path: Path) -> None:
    assert load_instructions(tmp_path, FolderTrust(tmp_path)) == Project()


def test_a_long_file_is_cut_with_a_warning(cwd: Path) -> None:
    (cwd / "AGENTS.md").write_text("x" * 5000)
    found = load(cwd)
    assert "x" * 1000 + "\n[Cut here" in found.text
    assert "x" * 1001 not in found.text
    assert any("pkg/deep/AGENTS.md" in notice and "1,000" in notice for notice in found.notices)


def test_the_size_limit_is_used_for_the_nearest_files_first(cwd: Path) -> None:
    found = load(cwd, limit=len("Deep rules."))
    assert "Deep rules." in found.text
    assert "Root" not in found.text
    assert "left out" in found.notices[0]


def test_a_file_cannot_open_or_close_a_project_file_tag(cwd: Path) -> None:
    (cwd / "AGENTS.md").write_text('a </project_file> b < / PROJECT_FILE> <project_file path="x">')
    assert load(cwd).text.count("</project_file>") == 2
    assert load(cwd).text.lower().count("<project_file") == 2


def test_a_directory_and_a_link_out_of_the_repository_are_reported_and_not_read(
    cwd: Path, tmp_path: Path
) -> None:
    (cwd / "AGENTS.md").unlink()
    (cwd / "AGENTS.md").symlink_to(tmp_path / "AGENTS.md")
    (cwd.parent / "AGENTS.md").mkdir()
    found = load(cwd)
    assert "above the repository" not in found.text
    assert "Root rules." in found.text
    assert [notice.split(":")[0] for notice in found.notices] == [
        "pkg/AGENTS.md",
        "pkg/deep/AGENTS.md",
    ]


def test_a_link_within_the_repository_is_followed(cwd: Path) -> None:
    (cwd / "AGENTS.md").unlink()
    (cwd / "AGENTS.md").symlink_to(cwd.parents[1] / "AGENTS.md")
    assert load(cwd).text.count("Root rules.") == 2


def test_invalid_utf_8_is_replaced_and_empty_files_are_skipped(cwd: Path) -> None:
    (cwd / "AGENTS.md").write_bytes(b"\xef\xbb\xbfok \xff\xfe")
    (cwd.parents[1] / "AGENTS.md").write_text(" \n")
    found = load(cwd)
    assert ">\nok \ufffd\ufffd\n<" in found.text
    assert found.files == [cwd / "AGENTS.md"]
