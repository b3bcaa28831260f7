"""Test that a turn calls the functions on the page of the journey, in that order."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.shell import environment, script

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "explanation" / "the-journey.md"
STOP = re.compile(r"^\d+\. `(\S+\.py)` `(\S+)`", re.MULTILINE)

# Run the arguments as `swecli` would, and write the swecli functions that were called, in the order of their first
# call.
TRACED = """
import os, sys, threading
from pathlib import Path
from swecli.cli import main

package, called = str(Path(main.__file__).parents[1]) + os.sep, {}

def notice(frame, event, _):
    code = frame.f_code
    if event == "call" and code.co_filename.startswith(package):
        called.setdefault(f"{code.co_filename.removeprefix(package)} {code.co_qualname}")

threading.setprofile(notice)
sys.setprofile(notice)
code = main.run_safely(sys.argv[1:])
sys.setprofile(None)
Path("called").write_text("\\n".join(called))
os._exit(code)
"""


@pytest.mark.slow
def test_a_turn_calls_the_documented_functions_in_order() -> None:
    stops = [
        f"{file} {function}" for file, function in STOP.findall(PAGE.read_text(encoding="utf-8"))
    ]
    assert stops
    Path("notes.txt").write_text("seven\n")
    model = script(
        "s.json", {"calls": [{"name": "read_file", "arguments": {"path": "notes.txt"}}]}, "Seven."
    )
    argv = [sys.executable, "-c", TRACED, "-p", "what is in notes.txt?", "-m", model]
    done = subprocess.run(
        argv, capture_output=True, text=True, timeout=120, check=False, env=environment()
    )
    assert (done.returncode, done.stdout) == (0, "Seven.\n"), done.stderr
    called = Path("called").read_text().splitlines()
    assert [stop for stop in called if stop in stops] == stops
