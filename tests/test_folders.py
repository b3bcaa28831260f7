"""Test going through folders of any depth, and removing them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from swecli.folders import is_folder, make_folders, path_exists, remove_tree, walk

DEPTH = (
    2_200  # twice as deep as a function can call itself; the path is longer than the system takes
)


def make_deep(root: Path) -> None:
    code = f"import os\nfor _ in range({DEPTH}): os.mkdir('d'); os.chdir('d')"
    subprocess.run([sys.executable, "-c", code], cwd=root, check=True)


def test_deep_folders_are_gone_through_as_far_as_a_path_reaches(tmp_path: Path) -> None:
    make_deep(tmp_path)
    try:
        depth = len([folder for folder, _ in walk(str(tmp_path))])
        assert 1_500 < depth < DEPTH
    finally:
        remove_tree(f"{tmp_path}/d")


def test_deep_folders_are_removed_whole(tmp_path: Path) -> None:
    make_deep(tmp_path)
    remove_tree(f"{tmp_path}/d")
    assert not (tmp_path / "d").exists()


def test_a_deep_folder_is_made_with_all_above_it(tmp_path: Path) -> None:
    deep = f"{tmp_path}{'/d' * 1_800}"
    try:
        make_folders(deep)
        assert Path(deep).is_dir()
        make_folders(deep)
    finally:
        remove_tree(f"{tmp_path}/d")


def test_where_a_folder_cannot_be_made_that_is_the_error(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "broken").symlink_to("nowhere")
    for name in ("file", "broken"):
        with pytest.raises(FileExistsError):
            make_folders(f"{tmp_path}/{name}")
    with pytest.raises(NotADirectoryError):
        make_folders(f"{tmp_path}/file/below")
    with pytest.raises(OSError, match="too long"):
        make_folders(f"{tmp_path}{'/d' * 3_000}")
    assert not (tmp_path / "d").exists()


def test_links_are_neither_followed_nor_kept(tmp_path: Path) -> None:
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept/file").touch()
    (tmp_path / "top/below").mkdir(parents=True)
    (tmp_path / "top/below/link").symlink_to(tmp_path / "kept")
    assert [os.path.relpath(folder, tmp_path) for folder, _ in walk(f"{tmp_path}/top")] == [
        "top",
        "top/below",
    ]
    remove_tree(f"{tmp_path}/top")
    assert not (tmp_path / "top").exists()
    assert (tmp_path / "kept/file").exists()


def test_what_is_taken_out_of_the_entries_is_not_entered(tmp_path: Path) -> None:
    top = tmp_path / "top"
    for name in ("a/b", "c/d"):
        (top / name).mkdir(parents=True)
    seen = []
    for folder, entries in walk(str(top)):
        seen.append(folder)
        entries[:] = [entry for entry in entries if entry.name != "c"]
    assert seen == [f"{top}", f"{top}/a", f"{top}/a/b"]


@pytest.mark.parametrize("name", ["x" * 5_000, "nul\0", "\udcff", ""])
def test_a_name_that_the_system_does_not_take_is_that_of_nothing(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").touch()
    assert not path_exists(f"{tmp_path}/file/{name}")
    assert not is_folder(f"{tmp_path}/{name}x")


def test_what_is_there_is_found(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert path_exists(tmp_path / "file")
    assert not is_folder(tmp_path / "file")
    assert is_folder(tmp_path)
