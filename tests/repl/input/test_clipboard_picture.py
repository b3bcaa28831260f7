"""Test which pictures a pasted text names."""

from __future__ import annotations

from pathlib import Path

import pytest

from swecli.repl.input.clipboard_picture import find_dropped_pictures

SCREENSHOT = "Screenshot 9.41.00\u202fAM.png"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in (SCREENSHOT, "a b.png", "c.png", "it's.png", "notes.txt"):
        (tmp_path / name).touch()
    return tmp_path


@pytest.mark.parametrize(
    ("dropped", "names"),
    [
        ("{0}/c.png ", ["c.png"]),
        ("{0}/a b.png", ["a b.png"]),
        (r"{0}/a\ b.png", ["a b.png"]),
        ("'{0}/a b.png' '{0}/c.png'", ["a b.png", "c.png"]),
        ("{0}/a b.png {0}/c.png", ["a b.png", "c.png"]),
        ("{0}/c.png\n{0}/a b.png\n", ["c.png", "a b.png"]),
        ("{0}/Screenshot 9.41.00 AM.png", [SCREENSHOT]),
        (r"{0}/Screenshot\ 9.41.00\ AM.png", [SCREENSHOT]),
        ("{0}/" + SCREENSHOT, [SCREENSHOT]),
        ("file://{0}/a%20b.png file://{0}/c.png", ["a b.png", "c.png"]),
        ("{0}/it's.png", ["it's.png"]),
        ("{0}/c.png {0}/notes.txt", []),
        ("see {0}/c.png", []),
        ("{0}/gone.png", []),
        ("no picture", []),
    ],
)
def test_dropped_pictures_are_found(folder: Path, dropped: str, names: list[str]) -> None:
    found = find_dropped_pictures(dropped.format(folder))
    assert [one.name for one in found] == names
