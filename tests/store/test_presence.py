"""Test that other processes see which sessions are open, until the process that has them open ends."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from swecli.store.presence import SessionPresence

ROOT = Path(__file__).parents[2]
OTHER = """
import sys
from pathlib import Path
from swecli.store.presence import SessionPresence

presence = SessionPresence(Path(sys.argv[1]))
presence.enter(sys.argv[2])
print(presence.is_elsewhere(), flush=True)
sys.stdin.read()
presence.leave()
"""


@contextmanager
def other_process(folder: Path, session: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Let another process have a session open. Yields it, and whether it saw that somebody else has."""
    command = [sys.executable, "-c", OTHER, str(folder), session]
    with subprocess.Popen(
        command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        yield process, process.stdout.readline().strip()
        process.kill()


def test_a_session_is_open_elsewhere_while_another_process_has_it_open(tmp_path: Path) -> None:
    presence = SessionPresence(tmp_path / "open")
    presence.enter("s")
    assert presence.is_elsewhere() is False
    with other_process(tmp_path / "open", "s") as (process, saw):
        assert saw == "True"
        assert presence.is_elsewhere() is True
        process.kill()
        process.wait()
        assert presence.is_elsewhere() is False
    presence.leave()
    assert list((tmp_path / "open").iterdir()) == []


def test_the_first_of_two_may_leave_and_the_other_is_still_seen(tmp_path: Path) -> None:
    presence = SessionPresence(tmp_path / "open")
    presence.enter("s")
    with other_process(tmp_path / "open", "s"):
        presence.leave()
        presence.enter("s")
        assert presence.is_elsewhere() is True
        presence.enter("another")
        assert presence.is_elsewhere() is False
        assert presence.is_open_elsewhere("s")
        assert not presence.is_open_elsewhere("a third one")


def test_in_a_folder_that_cannot_be_made_nothing_is_known(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    presence = SessionPresence(tmp_path / "file")
    presence.enter("s")
    assert presence.is_elsewhere() is None
    presence.leave()


def test_the_name_of_an_imported_session_leads_to_no_other_folder(tmp_path: Path) -> None:
    presence = SessionPresence(tmp_path / "open")
    presence.enter("../../elsewhere")
    [file] = (tmp_path / "open").iterdir()
    assert file.parent == tmp_path / "open"
    presence.leave()
