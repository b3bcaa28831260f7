"""Test that only the user can access the store's files."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from swecli.store.sqlite.files import new_file, spare_name
from tests.support.databases import open_database


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


def test_new_files_and_folders_are_accessible_only_to_the_user(tmp_path: Path) -> None:
    old = os.umask(0)
    try:
        open_database(tmp_path / "a" / "b" / "db").close()
    finally:
        os.umask(old)
    assert mode(tmp_path / "a") == mode(tmp_path / "a" / "b") == 0o700
    assert mode(tmp_path / "a" / "b" / "db") == 0o600


def test_creating_a_file_that_exists_is_an_error(tmp_path: Path) -> None:
    new_file(tmp_path / "x")
    with pytest.raises(FileExistsError):
        new_file(tmp_path / "x")


def test_spare_names_are_unused(tmp_path: Path) -> None:
    names = set()
    for _ in range(3):
        name = spare_name(tmp_path / "swecli.db", "backup")
        name.touch()
        names.add(name.name)
    assert len(names) == 3
    assert all(name.startswith("swecli.db.backup-2") for name in names)
