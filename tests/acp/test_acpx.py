"""Test `swecli acp` with acpx, a client of other people. Run only where it is installed: it needs Node of its own."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.shell import environment, script, swecli

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        shutil.which("acpx") is None,
        reason="acpx is not installed: npm install -g acpx@0.19, with Node 22 or newer",
    ),
]
_WRITING = {"calls": [{"name": "write_file", "arguments": {"path": "a.txt", "content": "hello\n"}}]}


def acpx(*arguments: str, model: str, folder: Path | None = None, code: int = 0) -> str:
    """Run acpx with swecli as its agent, which ends two seconds after its last prompt, and return what it prints."""
    agent = f"{sys.executable} -m swecli acp -m scripted/{Path(model.partition('/')[2]).absolute()}"
    done = subprocess.run(
        ["acpx", "--ttl", "2", "--agent", agent, *arguments],
        cwd=folder,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout


def test_an_edit_is_made_if_it_is_approved() -> None:
    model = script("s.json", _WRITING, "Written.")
    out = acpx("--approve-all", "exec", "write a.txt", model=model)
    assert "[tool] Create a.txt (+1) (completed)" in out
    assert "[done] end_turn" in out
    assert Path("a.txt").read_text() == "hello\n"


def test_an_edit_is_not_made_if_it_is_denied() -> None:
    model = script("s.json", _WRITING, "Not written.")
    out = acpx("--deny-all", "exec", "write a.txt", model=model, code=5)  # a denial is one to acpx
    assert "Not written." in out
    assert not Path("a.txt").exists()


def test_a_session_is_kept_by_mode_listed_and_continued_in_the_terminal() -> None:
    model = script("s.json", _WRITING, "Written.")
    acpx("sessions", "new", model=model)
    acpx("set-mode", "edits", model=model)
    assert "(completed)" in acpx("--deny-all", "prompt", "write a.txt", model=model)
    assert "write a.txt" in acpx("sessions", "list", model=model)
    acpx("sessions", "close", model=model)
    done = swecli("-c", "-p", "and now?", "-m", script("t.json", "Here."), "--no-reflect")
    assert (done.code, done.out) == (0, "Here.\n")


def test_two_folders_have_sessions_of_their_own() -> None:
    for name in ("one", "two"):
        Path(name).mkdir()
    model = script("s.json", _WRITING, "Written.")
    for name in ("one", "two"):
        acpx("--approve-all", "exec", "write a.txt", model=model, folder=Path(name))
        assert Path(name, "a.txt").exists()


def test_each_message_has_the_form_that_the_client_knows() -> None:
    model = script("s.json", _WRITING, "Written.")
    out = acpx("--approve-all", "--format", "json", "exec", "write a.txt", model=model)
    messages = [json.loads(line) for line in out.splitlines()]
    assert not [message for message in messages if "error" in message]
