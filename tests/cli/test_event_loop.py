"""Test running the event loop of the program."""

from __future__ import annotations

import signal
import subprocess
import sys

from tests.support.shell import environment

READING = """
import os, sys
from swecli.cli.event_loop import run_event_loop

async def read():
    print("ready", flush=True)
    os.read(0, 1)  # nothing is awaited

try:
    run_event_loop(read())
except KeyboardInterrupt:
    print("interrupted")
"""


def test_ctrl_c_interrupts_also_where_no_coroutine_waits() -> None:
    program = subprocess.Popen(
        [sys.executable, "-c", READING],
        env=environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        preexec_fn=lambda: signal.signal(
            signal.SIGINT, signal.default_int_handler
        ),  # also under nohup
    )
    assert program.stdout
    assert program.stdout.readline() == b"ready\n"
    program.send_signal(signal.SIGINT)
    assert program.wait(20) == 0
    assert program.stdout.read() == b"interrupted\n"
    program.stdout.close()
    assert program.stdin
    program.stdin.close()
