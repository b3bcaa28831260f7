"""Test that a file is replaced whole, with its mode and through its links."""

from __future__ import annotations

from pathlib import Path

from swecli.config.private_files import write_file


def test_a_new_file_is_private_and_an_overwritten_file_keeps_its_mode() -> None:
    write_file(Path("new/config.toml"), "a")
    assert Path("new/config.toml").stat().st_mode & 0o777 == 0o600
    Path("new/config.toml").chmod(0o640)
    write_file(Path("new/config.toml"), "bä\r\n")
    assert Path("new/config.toml").read_bytes() == "bä\r\n".encode()
    assert Path("new/config.toml").stat().st_mode & 0o777 == 0o640
    assert [p.name for p in Path("new").iterdir()] == ["config.toml"]


def test_writing_to_a_symlink_writes_its_target() -> None:
    Path("dotfiles").mkdir()
    Path("dotfiles/c.toml").write_text("old")
    Path("config.toml").symlink_to("dotfiles/c.toml")
    write_file(Path("config.toml"), "new")
    assert Path("config.toml").is_symlink()
    assert Path("dotfiles/c.toml").read_text() == "new"
