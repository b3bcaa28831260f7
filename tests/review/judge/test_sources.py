"""Test reading files for a review."""

from __future__ import annotations

from pathlib import Path

from swecli.review.judge.sources import Sources


def test_a_file_is_cached_until_hundreds_of_others_are_read() -> None:
    sources, first = Sources(Path.cwd()), Path("0.py")
    first.write_text("x\n")
    assert sources.get("0.py").lines == ("x",)
    first.write_text("y\n")
    assert sources.get("0.py").lines == ("x",)
    for number in range(1, 500):
        sources.get(f"{number}.py")
    assert sources.get("0.py").lines == ("y",)


def test_a_link_out_of_the_project_is_not_followed() -> None:
    Path("link").symlink_to("/etc/passwd")
    assert "link out of the workspace" in Sources(Path.cwd()).get("link").problem


def test_invalid_utf8_bytes_are_read_as_replacement_characters() -> None:
    Path("old.py").write_bytes(b"name = 'caf\xe9'\n")
    assert Sources(Path.cwd()).get("old.py").lines == ("name = 'caf\ufffd'",)
