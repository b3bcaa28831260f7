"""Test ignore rules by comparing them with git's."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from swecli.tools.base import ToolError
from swecli.tools.searching import files_below, list_with

needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="skipped: git is not installed")


def make(root: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)


def walked_files(root: Path, start: str = ".") -> list[str]:
    return files_below(root, start, None, 60)


def git_lists(root: Path) -> list[str]:
    git = [
        "git",
        "-c",
        "core.excludesFile=/dev/null",
        "ls-files",
        "--others",
        "--cached",
        "--exclude-standard",
        "-z",
    ]
    done = subprocess.run(git, cwd=root, capture_output=True, check=True)
    return sorted(name for name in done.stdout.decode().split("\0") if name)


def test_ignore_files_apply_at_every_level(root: Path) -> None:
    make(
        root,
        {
            ".gitignore": "*.log\n/build/\n!keep.log\n",
            "a.log": "",
            "keep.log": "",
            "build/x": "",
            "src/build/y": "",
            "src/.gitignore": "!special.log\nsecret*\r\n",
            "src/special.log": "",
            "src/secret.txt": "",
            ".aiignore": "data/\n",
            "data/big.csv": "",
            ".swecliignore": "*.min.js\n/src/local\n",
            "src/local": "",
            "src/a.min.js": "",
            "src/a.js": "",
        },
    )
    assert walked_files(root) == [
        ".aiignore",
        ".gitignore",
        ".swecliignore",
        "keep.log",
        "src/.gitignore",
        "src/a.js",
        "src/build/y",
        "src/special.log",
    ]


def test_version_control_and_dependency_folders_are_ignored_by_default(root: Path) -> None:
    make(
        root,
        {".git/config": "", "node_modules/m/i.js": "", "a/__pycache__/x.pyc": "", "a/b.py": ""},
    )
    assert walked_files(root) == ["a/b.py"]


def test_swecliignore_can_include_a_folder_ignored_by_default(root: Path) -> None:
    make(root, {".swecliignore": "!node_modules/\n", "node_modules/m.js": ""})
    assert "node_modules/m.js" in walked_files(root)


def test_an_ignored_folder_is_listed_if_it_is_the_start(root: Path) -> None:
    make(root, {".gitignore": "out/\n", "out/a": "", "out/deep/b": "", "out/.git/c": ""})
    assert walked_files(root) == [".gitignore"]
    assert walked_files(root, "out") == ["out/a", "out/deep/b"]


def test_ignore_files_above_the_workspace_apply_up_to_the_top_of_the_repository(root: Path) -> None:
    make(
        root,
        {
            "../.git/info/exclude": "never\n",
            "../.gitignore": "*.tmp\n/project/top\n",
            "../../x": "",
        },
    )
    make(root, {"a.tmp": "", "never": "", "top": "", "b": ""})
    (root.parent.parent / ".gitignore").write_text("b\n")
    try:
        assert walked_files(root) == ["b"]
    finally:
        (root.parent.parent / ".gitignore").unlink()


def test_without_a_repository_ignore_files_above_the_workspace_do_not_apply(root: Path) -> None:
    make(root, {"../.gitignore": "*\n", ".gitignore": "a\n", "a": "", "b": ""})
    assert walked_files(root) == [".gitignore", "b"]


def test_links_and_pipes_are_not_listed(root: Path) -> None:
    make(root, {"a/b/c": "", "z": ""})
    (root / "up").symlink_to("..")
    os.mkfifo(root / "pipe")
    assert walked_files(root) == ["a/b/c", "z"]


def test_invalid_ignore_files_and_lines_are_skipped(root: Path) -> None:
    make(root, {"a": "", "c/x": ""})
    (root / "c" / ".gitignore").mkdir()
    (root / ".aiignore").write_text("!\n\\\nb\n")
    (root / "b").touch()
    assert walked_files(root) == [".aiignore", "a", "c/x"]


def test_an_aiignore_file_that_is_not_utf_8_is_an_error(root: Path) -> None:
    (root / ".aiignore").write_bytes(b"# gr\xf6\xdfe\nb\n")
    with pytest.raises(ToolError, match=r"\.aiignore is not UTF-8"):
        walked_files(root)


def test_a_very_deep_tree_is_listed(root: Path) -> None:
    path = "/".join(["d"] * 400)
    make(root, {f"{path}/file": ""})
    assert walked_files(root) == [f"{path}/file"]


def test_a_listing_over_its_time_limit_is_an_error(root: Path) -> None:
    with pytest.raises(ToolError, match="took longer than"):
        files_below(root, ".", None, 0)


def test_a_listing_whose_program_is_killed_is_an_error(root: Path) -> None:
    make(root, {"a": "", "b": ""})
    killed = ["/bin/sh", "-c", "printf 'a\\0'; kill -9 $$"]
    with pytest.raises(ToolError, match=r"ended early \(exit code -9\)"):
        list_with(killed, root, ".", dict(os.environ), 60)


PATTERNS = st.lists(
    st.sampled_from(
        [
            "a",
            "*.x",
            "/a",
            "a/",
            "!a",
            "!*.x",
            "a/b",
            "**/b",
            "a/**",
            "!a/b",
            "# a",
            "",
            "\\!a",
            "[ab]",
            "?",
            "b/*",
            "!b/a",
            "/*",
            "!/a/",
            "**",
            "**/",
            "a/**/b",
            "!**/a/",
            "*/",
        ]
    ),
    max_size=5,
)


@needs_git
@settings(deadline=None, max_examples=40)
@given(PATTERNS, PATTERNS, PATTERNS)
@pytest.mark.slow
def test_the_listed_files_are_those_of_git_ls_files(
    top: list[str], below: list[str], exclude: list[str]
) -> None:
    with tempfile.TemporaryDirectory() as name:
        root = Path(name).resolve()
        subprocess.run(["git", "init", "-q"], cwd=root, check=True, capture_output=True)
        for file in ["a/a", "a/b", "a/c.x", "b/a", "b/b/a", "b/c.x", "c/a/b", "d.x", "e", "!a"]:
            make(root, {file: ""})
        make(root, {".gitignore": "\n".join(top), "b/.gitignore": "\n".join(below)})
        make(root, {".git/info/exclude": "\n".join(exclude)})
        assert sorted(walked_files(root)) == git_lists(root)


def make_unreadable(file: Path, kind: str) -> None:
    file.parent.mkdir(parents=True)
    if kind == "pipe":
        os.mkfifo(file)
    else:
        file.symlink_to("/dev/zero")


@pytest.mark.parametrize("kind", ["pipe", "endless"])
@pytest.mark.parametrize("name", ["sub/deep/.gitignore", "sub/.git/info/exclude"])
def test_a_listing_does_not_wait_for_an_ignore_file_in_a_subfolder(
    root: Path, kind: str, name: str
) -> None:
    (root / ".git").mkdir()
    make_unreadable(root / name, kind)
    begun = time.monotonic()
    with pytest.raises(ToolError, match=rf"^{name} cannot be used"):
        walked_files(root)
    assert time.monotonic() - begun < 10
