"""Test ending a program by signals, in processes of their own."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
import termios
from collections.abc import Sequence

import pytest

from tests.support.processes import none_is_left
from tests.support.shell import environment

LISTEN = """
import asyncio, os, signal, subprocess, sys
from swecli.ending_signals import EndingSignals

async def main():
    asked = asyncio.Event()
    signals = EndingSignals(lambda number: (print("asked", number, flush=True), asked.set()), same_wish=0.0)
    signals.listen([signal.SIGTERM, signal.SIGINT])
    {work}

asyncio.run(main())
"""
STUCK = """
    child = subprocess.Popen(["sleep", sys.argv[1]], start_new_session=True)
    reading, writing = os.pipe()
    print("ready", flush=True)
    while True:  # nobody reads it
        os.write(writing, b"x" * 65536)
"""
HELD_TERMINAL = """
    import termios
    modes = termios.tcgetattr(0)
    modes[3] &= ~(termios.ECHO | termios.ICANON)
    termios.tcsetattr(0, termios.TCSANOW, modes)
    print("ready", flush=True)
    termios.tcflow(1, termios.TCOOFF)  # as Ctrl+S does
    os.write(1, b"never shown")
"""


def start(work: str, *arguments: str, **streams: int) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-c", LISTEN.format(work=work.strip()), *arguments]
    return subprocess.Popen(command, env=environment(), **streams)  # type: ignore[call-overload, no-any-return]


def test_the_first_signal_asks_and_the_program_ends_in_order() -> None:
    program = start('print("ready", flush=True); await asked.wait()', stdout=subprocess.PIPE)
    assert program.stdout
    assert program.stdout.readline() == b"ready\n"
    program.send_signal(signal.SIGTERM)
    out, _ = program.communicate(timeout=20)
    assert (program.returncode, out) == (0, b"asked 15\n")


@pytest.mark.parametrize(
    "numbers", [(signal.SIGTERM, signal.SIGTERM), (signal.SIGTERM, signal.SIGINT)]
)
def test_a_second_signal_ends_a_program_whose_event_loop_does_not_run(
    numbers: Sequence[signal.Signals],
) -> None:
    seconds = f"300.{os.getpid()}"
    program = start(STUCK, seconds, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert program.stdout
    program.stdout.readline()
    program.send_signal(numbers[0])
    with pytest.raises(subprocess.TimeoutExpired):
        program.wait(0.2)
    program.send_signal(numbers[1])
    _, errors = program.communicate(timeout=20)
    assert program.returncode == 128 + numbers[-1]
    assert b"Ended at once" in errors
    assert none_is_left(seconds)


def test_the_end_gives_a_terminal_that_is_held_its_modes_back() -> None:
    master, terminal = pty.openpty()
    before = termios.tcgetattr(terminal)
    program = start(HELD_TERMINAL, stdin=terminal, stdout=terminal, stderr=terminal)
    while b"ready" not in os.read(master, 1024):
        continue
    program.send_signal(signal.SIGTERM)
    with pytest.raises(subprocess.TimeoutExpired):
        program.wait(0.2)
    program.send_signal(signal.SIGTERM)
    assert program.wait(20) == 143
    assert termios.tcgetattr(terminal) == before
    os.close(terminal)
    os.close(master)
