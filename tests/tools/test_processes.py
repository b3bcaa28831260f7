"""Test running programs in process groups of their own."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path

import pytest

from swecli.tools.environment import child_environment
from swecli.tools.processes import ProcessExit, run_group


class Output:
    """Collects a program's output and sets `came` when it contains "ready"."""

    def __init__(self, stop_at: bytes | None = None) -> None:
        self.data = b""
        self.stop_at = stop_at
        self.came = asyncio.Event()

    def __call__(self, data: bytes) -> bool:
        self.data += data
        if b"ready" in self.data:
            self.came.set()
        return self.stop_at is not None and self.stop_at in self.data


async def run_shell(
    root: Path, command: str, output: Output, timeout: float = 20, errors_too: bool = True
) -> ProcessExit:
    argv = ["/bin/sh", "-c", command]
    return await run_group(
        argv,
        cwd=root,
        env=child_environment(None),
        timeout=timeout,
        on_output=output,
        errors_too=errors_too,
    )


async def has_ended(pid: int) -> bool:
    """Return True if the process ends within five seconds; a zombie counts as ended."""
    for _ in range(500):
        try:
            os.kill(pid, 0)
            state = (
                Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
                if sys.platform == "linux"
                else ""
            )
        except (ProcessLookupError, FileNotFoundError):
            return True
        if state == "Z":
            return True
        await asyncio.sleep(0.01)
    return False


async def test_output_errors_and_exit_code_are_returned(root: Path) -> None:
    output = Output()
    assert await run_shell(root, "echo out; echo err >&2; pwd; exit 7", output) == ProcessExit(7)
    assert output.data.decode() == f"out\nerr\n{root}\n"


async def test_errors_can_be_left_out(root: Path) -> None:
    output = Output()
    await run_shell(root, "echo out; echo err >&2", output, errors_too=False)
    assert output.data == b"out\n"


async def test_a_program_gets_no_input(root: Path) -> None:
    output = Output()
    assert await run_shell(root, "cat; echo end", output) == ProcessExit(0)
    assert output.data == b"end\n"


async def test_a_program_ended_by_a_signal_has_the_exit_code_of_a_shell(root: Path) -> None:
    assert (await run_shell(root, "kill -KILL $$", Output())).code == 128 + signal.SIGKILL


@pytest.mark.slow
async def test_a_timeout_ends_the_whole_process_group(root: Path) -> None:
    output = Output()
    ended = await run_shell(root, "sleep 300 & echo $!; echo $$; wait", output, timeout=0.3)
    assert ended.reason == "timeout"
    for pid in output.data.split():
        assert await has_ended(int(pid))


@pytest.mark.slow
async def test_a_program_that_ignores_sigterm_is_killed(root: Path) -> None:
    output = Output()
    command = "trap '' TERM; echo $$; while true; do sleep 0.1; done"
    ended = await run_shell(root, command, output, timeout=0.3)
    assert ended.reason == "timeout"
    assert await has_ended(int(output.data.split()[0]))


async def test_output_after_sigterm_is_read(root: Path) -> None:
    output = Output()
    await run_shell(
        root,
        "trap 'echo bye; exit 3' TERM; echo ready; while true; do sleep 0.05; done",
        output,
        timeout=0.5,
    )
    assert output.data.startswith(b"ready\n")
    assert output.data.endswith(b"bye\n")


@pytest.mark.slow
async def test_cancelling_ends_the_whole_process_group(root: Path) -> None:
    output = Output()
    task = asyncio.create_task(
        run_shell(root, "trap '' TERM; sleep 300 & echo $!; echo $$; echo ready; wait", output)
    )
    await output.came.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    for pid in output.data.split()[:2]:
        assert await has_ended(int(pid))


async def test_cancelling_twice_ends_the_process_group(root: Path) -> None:
    output = Output()
    task = asyncio.create_task(
        run_shell(root, "trap '' TERM; echo $$; echo ready; while true; do sleep 0.1; done", output)
    )
    await output.came.wait()
    task.cancel()
    await asyncio.sleep(0.02)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await has_ended(int(output.data.split()[0]))
    # The loop must see the exit before it closes, or a later test fails with an unclosed process.
    if pending := asyncio.all_tasks() - {asyncio.current_task()}:
        await asyncio.wait(pending, timeout=5)


async def test_a_background_process_that_holds_the_pipe_is_ended(root: Path) -> None:
    output = Output()
    ended = await run_shell(root, "sleep 300 & echo $!", output, timeout=200)
    assert ended == ProcessExit(0, "exit", left_running=True)
    assert await has_ended(int(output.data))


DAEMON = """
import os, sys, time
for _ in range(2):
    if os.fork():
        os._exit(0)
    os.setsid()
print(os.getpid(), flush=True)
time.sleep(300)
"""
LEAVES = {
    "setsid": "setsid sh -c 'echo $$; sleep 300' & sleep 0.3",
    "setsid without a shell's environment": "env -i setsid sh -c 'echo $$; sleep 300' & sleep 0.3",
    "a daemon": f"{sys.executable} -c '{DAEMON}'; sleep 0.3",
    "a daemon's children": "setsid sh -c 'sleep 300 & echo $!; echo $$; wait' & sleep 0.3",
    "ignores SIGTERM": """setsid sh -c "trap '' TERM; echo \\$\\$; sleep 300" & sleep 0.3""",
}


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="the kernel's help is Linux's")
@pytest.mark.parametrize("command", LEAVES.values(), ids=LEAVES)
async def test_a_process_that_left_the_group_is_ended_with_its_command(
    root: Path, command: str
) -> None:
    output = Output()
    ended = await run_shell(root, f"{command}; echo done", output, timeout=200)
    *pids, word = output.data.split()
    assert (ended, word) == (ProcessExit(0, "exit", left_running=True), b"done")
    assert pids
    for pid in pids:
        assert await has_ended(int(pid))


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="the kernel's help is Linux's")
@pytest.mark.parametrize("way", ["timeout", "cancel", "signal"])
async def test_a_process_that_left_the_group_is_ended_however_its_command_ends(
    root: Path, way: str
) -> None:
    output = Output()
    last = "kill -KILL $$" if way == "signal" else "sleep 300"
    command = f"setsid sh -c 'echo $$; echo ready; sleep 300' & sleep 0.3; {last}"
    task = asyncio.create_task(
        run_shell(root, command, output, timeout=1 if way == "timeout" else 30)
    )
    await output.came.wait()
    if way == "cancel":
        task.cancel()
    await asyncio.wait({task})
    assert await has_ended(int(output.data.split()[0]))


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="the kernel's help is Linux's")
async def test_what_another_running_command_started_is_left_alone(root: Path) -> None:
    other = Output()
    daemon = f"{sys.executable} -c '{DAEMON}'; echo ready; sleep 300"
    running = asyncio.create_task(run_shell(root, daemon, other))
    await other.came.wait()
    while len(other.data.split()) < 2:
        await asyncio.sleep(0.01)
    pid = int(next(word for word in other.data.split() if word.isdigit()))
    ended = await run_shell(root, "sleep 0.1", Output())
    os.kill(pid, 0)
    assert not ended.left_running
    running.cancel()
    await asyncio.wait({running})
    assert await has_ended(pid)


async def test_a_program_that_closes_its_output_is_waited_for(root: Path) -> None:
    assert await run_shell(root, "exec >&- 2>&-; sleep 0.2; exit 5", Output()) == ProcessExit(5)


async def test_the_reader_can_stop_the_program(root: Path) -> None:
    output = Output(stop_at=b"5\n")
    ended = await run_shell(root, "seq 1 5; sleep 300", output)
    assert ended.reason == "stopped"


async def test_a_flood_of_output_does_not_block_the_event_loop(root: Path) -> None:
    beats = 0

    async def beat() -> None:
        nonlocal beats
        while True:
            beats += 1
            await asyncio.sleep(0)

    other = asyncio.create_task(beat())
    size = 0

    def count(data: bytes) -> None:
        nonlocal size
        size += len(data)

    await run_group(
        ["/bin/sh", "-c", "yes | head -c 3000000"],
        cwd=root,
        env=child_environment(None),
        timeout=30,
        on_output=count,
    )
    other.cancel()
    assert size == 3_000_000
    assert beats > 10


async def test_the_program_is_ended_if_the_reader_raises(root: Path) -> None:
    pids: list[int] = []

    def broken(data: bytes) -> None:
        pids.append(int(data.split()[0]))
        raise ValueError("broken")

    with pytest.raises(ValueError, match="broken"):
        await run_group(
            ["/bin/sh", "-c", "echo $$; sleep 300"],
            cwd=root,
            env=child_environment(None),
            timeout=30,
            on_output=broken,
        )
    assert await has_ended(pids[0])


async def test_a_program_that_cannot_be_started_is_an_error(root: Path) -> None:
    with pytest.raises(OSError, match="No such file"):
        await run_group(
            [str(root / "none")], cwd=root, env={}, timeout=5, on_output=lambda data: None
        )
