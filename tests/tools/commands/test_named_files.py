"""Test finding the files that the words of a command name."""

from __future__ import annotations

from pathlib import Path

from swecli.tools.commands.named_files import named_files


def make(root: Path, *names: str) -> None:
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()


def test_a_word_is_looked_up_in_each_folder_that_words_name(root: Path) -> None:
    make(root, "a", "sub/a", "sub/deep/a", "other/a")
    found = named_files(root, ["cd", "sub", "deep", "a", "../a"])
    names = [path.relative_to(root).as_posix() for path in found]
    assert names == ["a", "sub/a", "sub/deep/a"]


def test_links_are_followed_inside_the_workspace_and_not_out_of_it(
    root: Path, tmp_path: Path
) -> None:
    make(root, "file")
    make(tmp_path, "outside")
    (root / "inner").symlink_to("file")
    (root / "outer").symlink_to(tmp_path / "outside")
    assert list(named_files(root, ["inner", "outer", "../outside"])) == [root / "file"]


def test_of_wildcards_without_number_not_all_are_looked_up(root: Path) -> None:
    make(root, *(f"folder-{number}/file" for number in range(100)))
    words = ["*/*", *(f"?{'*' * number}" for number in range(1, 1000)), "folder-1/file"]
    assert len(list(named_files(root, words))) <= 100
