"""Test reading files of a folder that may be a stranger's."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from swecli.regular_files import open_regular, read_regular


@pytest.mark.parametrize("kind", ["pipe", "endless", "socket", "folder", "missing", "circle"])
def test_only_regular_files_are_opened_and_none_blocks(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "x"
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "endless":
        path.symlink_to("/dev/zero")
    elif kind == "socket":
        with socket.socket(socket.AF_UNIX) as listening:
            listening.bind(str(path))
    elif kind == "folder":
        path.mkdir()
    elif kind == "circle":
        path.symlink_to(path)
    with pytest.raises(OSError, match=str(path)) as raised:
        open_regular(path)
    assert raised.value.strerror


def test_a_file_beyond_the_limit_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"12345")
    assert read_regular(tmp_path / "a", 5) == b"12345"
    with pytest.raises(OSError, match="Larger than 4 bytes"):
        read_regular(tmp_path / "a", 4)
