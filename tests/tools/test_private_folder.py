"""Test that nothing stays of a process that was killed, and that nobody removes what another one uses."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from swecli.tools.private_folder import make_private_folder, remove_private_folder

MAKES = """
import sys, tempfile
from swecli.tools.private_folder import make_private_folder
tempfile.tempdir = sys.argv[1]
folder, descriptor = make_private_folder()
(folder / "written").write_text("by a command")
print(folder, flush=True)
input()
"""


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return an empty folder for temporary files."""
    made = tmp_path / "temporary"
    made.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(made))
    return made


def test_the_folder_of_a_killed_process_is_removed_by_the_next_one(place: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", MAKES, place],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as other:
        assert other.stdout is not None
        theirs = Path(other.stdout.readline().strip())
        mine, descriptor = make_private_folder()
        assert (theirs / "written").exists(), "it is in use"
        remove_private_folder(mine, descriptor)
        other.kill()
    mine, descriptor = make_private_folder()
    assert list(place.iterdir()) == [mine]
    remove_private_folder(mine, descriptor)
    assert list(place.iterdir()) == []


def test_what_only_looks_like_one_stays(
    place: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    kept = tmp_path_factory.mktemp("kept") / "file"
    kept.touch()
    (place / "swecli-session-link").symlink_to(kept.parent)
    (place / "another").mkdir()
    remove_private_folder(*make_private_folder())
    assert kept.exists()
    assert (place / "another").exists()
