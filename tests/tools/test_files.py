"""Test reading files without following links, and writing them atomically."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from swecli.tools.base import ToolError
from swecli.tools.files import digest, read_bytes, write_atomic


def names(folder: Path) -> list[str]:
    return sorted(entry.name for entry in folder.iterdir())


def test_an_atomic_write_keeps_the_mode_and_leaves_no_temporary_file(root: Path) -> None:
    script = root / "run.sh"
    script.write_bytes(b"old")
    script.chmod(0o750)
    write_atomic(root, script, b"new", digest(b"old"))
    assert script.read_bytes() == b"new"
    assert stat.S_IMODE(script.stat().st_mode) == 0o750
    assert names(root) == ["run.sh"]


def test_a_new_file_gets_its_folders_and_the_default_mode(root: Path) -> None:
    old = os.umask(0o022)
    try:
        write_atomic(root, root / "a" / "b" / "c.txt", b"x", None)
    finally:
        os.umask(old)
    assert stat.S_IMODE((root / "a/b/c.txt").stat().st_mode) == 0o644
    assert names(root / "a/b") == ["c.txt"]


@pytest.mark.parametrize("expected", [None, digest(b"other")])
def test_a_file_with_unexpected_content_is_not_overwritten(
    root: Path, expected: str | None
) -> None:
    (root / "f").write_bytes(b"mine")
    with pytest.raises(ToolError, match="in the meantime|changed since"):
        write_atomic(root, root / "f", b"theirs", expected)
    assert (root / "f").read_bytes() == b"mine"
    assert names(root) == ["f"]


def test_a_removed_file_is_not_created_again(root: Path) -> None:
    with pytest.raises(ToolError, match="removed"):
        write_atomic(root, root / "f", b"x", digest(b"y"))
    assert names(root) == []


def test_a_read_only_file_is_not_overwritten(root: Path) -> None:
    (root / "f").write_bytes(b"mine")
    (root / "f").chmod(0o444)
    with pytest.raises(ToolError, match="read-only"):
        write_atomic(root, root / "f", b"theirs", digest(b"mine"))


def test_pipes_and_folders_are_refused_without_blocking(root: Path) -> None:
    os.mkfifo(root / "pipe")
    (root / "folder").mkdir()
    with pytest.raises(ToolError, match="not a regular file"):
        read_bytes(root, root / "pipe")
    with pytest.raises(ToolError, match="is a directory"):
        read_bytes(root, root / "folder")
    with pytest.raises(ToolError, match="not a regular file"):
        write_atomic(root, root / "pipe", b"x", None)


def test_a_link_created_after_the_path_was_resolved_is_not_followed(root: Path) -> None:
    (root.parent / "secret").write_text("secret")
    (root / "folder").symlink_to(root.parent)
    (root / "file").symlink_to(root.parent / "secret")
    for path in (root / "folder" / "secret", root / "file"):
        with pytest.raises(ToolError):
            read_bytes(root, path)
        with pytest.raises(ToolError):
            write_atomic(root, path, b"x", None)
        with pytest.raises(ToolError):
            write_atomic(root, path, b"x", digest(b"secret"))
    assert (root.parent / "secret").read_text() == "secret"


def test_writing_a_hard_link_does_not_change_the_other_file(root: Path) -> None:
    other = root.parent / "other"
    other.write_bytes(b"one")
    os.link(other, root / "f")
    write_atomic(root, root / "f", b"two", digest(b"one"))
    assert other.read_bytes() == b"one"


@pytest.mark.skipif(not hasattr(os, "setxattr"), reason="Linux only")
def test_the_extended_attributes_of_a_file_are_kept(root: Path) -> None:
    file = root / "f"
    file.write_bytes(b"one")
    try:
        os.setxattr(file, "user.note", b"mine")
    except OSError:
        pytest.skip("this file system has no extended attributes")
    write_atomic(root, file, b"two", digest(b"one"))
    assert os.getxattr(file, "user.note") == b"mine"


def test_a_file_over_the_limit_is_refused_with_its_size(root: Path) -> None:
    (root / "f").write_bytes(b"x" * 11)
    with pytest.raises(ToolError, match="too large .11 bytes"):
        read_bytes(root, root / "f", limit=10)


def test_a_missing_file_is_reported_with_similar_names(root: Path) -> None:
    (root / "module.py").touch()
    with pytest.raises(ToolError, match=r"modul\.py does not exist\. Near names: module\.py"):
        read_bytes(root, root / "modul.py")
