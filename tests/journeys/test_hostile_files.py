"""Test whole runs in folders whose files are pipes, devices or huge: they neither block nor fill the memory."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from swecli.config.paths import Paths
from swecli.config.trust import TrustLedger
from tests.support.shell import script, swecli, wait_for_exit

pytestmark = pytest.mark.slow

# file: what the run says about it, "" if nothing
UNTRUSTED = {".aiignore": "", ".swecliignore": "", ".gitignore": ""}
TRUSTED = {
    ".swecli/config.toml": "config.toml is not used",
    "AGENTS.md": "AGENTS.md: not read",
    ".agents/skills/a/SKILL.md": "SKILL.md is not used",
    ".agents/commands/x.md": "",
    "Makefile": "",
}


def make(path: Path, kind: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "endless":
        path.symlink_to("/dev/zero")
    else:
        path.write_bytes(b"#" * 60_000_000)


@pytest.mark.parametrize("kind", ["pipe", "endless", "huge"])
@pytest.mark.parametrize("name", [*UNTRUSTED, *TRUSTED])
def test_a_run_ends_whatever_a_file_of_its_folder_is(name: str, kind: str) -> None:
    if name == ".gitignore" and kind == "huge":
        pytest.skip("ripgrep reads it line by line, in a time that is limited")
    make(Path(name), kind)
    if name in TRUSTED:
        TrustLedger.find(Paths.find(os.environ)).approve(Path.cwd(), {})
    search = {"calls": [{"name": "list_files", "arguments": {}}]}
    done = swecli("-p", "list", "-m", script("s.json", search, "Done."), "--mode", "ask")
    assert TRUSTED.get(name, "") in done.err
    assert (done.code, done.out) == (0, "Done.\n")


@pytest.mark.parametrize("kind", ["pipe", "endless", "huge"])
def test_a_list_is_refused_if_its_ignore_file_cannot_be_used(kind: str) -> None:
    make(Path(".aiignore"), kind)
    search = {"calls": [{"name": "list_files", "arguments": {}}]}
    model = script("s.json", search, "Done.")
    done = swecli("-p", "list", "-m", model, "--output-format", "stream-json")
    assert "leaves out is unknown" in done.out


@pytest.mark.parametrize("tool", ["list_files", "search_files"])
@pytest.mark.parametrize("kind", ["pipe", "endless"])
def test_an_ignore_file_in_a_subfolder_does_not_stop_a_run(kind: str, tool: str) -> None:
    Path(".git").mkdir()
    make(Path("sub/.gitignore"), kind)
    arguments = {"pattern": "x"} if tool == "search_files" else {}
    search = {"calls": [{"name": tool, "arguments": arguments}]}
    model = script("s.json", search, "Done.")
    begun = time.monotonic()
    done = swecli("-p", "list", "-m", model, "--mode", "ask", "--output-format", "stream-json")
    assert (done.code, "sub/.gitignore cannot be used" in done.out) == (0, True)
    assert time.monotonic() - begun < 20  # the limit of a search is 30 s


STUCK = """
import asyncio, sys
from swecli.cli.event_loop import run_event_loop
from swecli.cli.main import _exit
from swecli.headless.runner import until_signal

async def wait():
    waiting = asyncio.ensure_future(asyncio.to_thread(open, sys.argv[1]))
    print("waiting", flush=True)
    await asyncio.wait([waiting], timeout=float(sys.argv[2]))

async def work():
    _, stopped = await until_signal(wait())
    return stopped or 7

_exit(run_event_loop(work()))
"""


@pytest.mark.parametrize(("seconds", "number", "code"), [(0.1, 0, 7), (300, signal.SIGTERM, 143)])
def test_the_program_ends_although_a_thread_does_not(
    tmp_path: Path, seconds: float, number: int, code: int
) -> None:
    os.mkfifo(tmp_path / "pipe")
    process = subprocess.Popen(
        [sys.executable, "-c", STUCK, str(tmp_path / "pipe"), str(seconds)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[2],
    )
    assert process.stdout
    assert process.stdout.readline() == "waiting\n"
    process.send_signal(number)
    assert wait_for_exit(process).code == code
