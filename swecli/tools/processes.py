"""Run a program in its own process group: stream its output, enforce a timeout, and leave no process behind."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Callable, Collection, Coroutine, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal

from swecli.descendants import Leftovers, Process, leftovers, list_processes, reap_group
from swecli.values import dataclass

_READ_SIZE = 65_536
_GRACE_ON_TIMEOUT = 2.0  # seconds, as all of these
_GRACE_ON_CANCEL = 0.3
_GRACE_ON_KILL = 1.0  # for the kernel; what is still there then belongs to another user
_DRAIN = 0.25  # for what is in the pipe when the program has ended
_FINAL_OUTPUT = 0.05  # for what is in the pipe when the group was killed
_FIRST_LOOK = 0.001  # after which it is looked whether all has ended: most has, at once
_NEXT_LOOK = 0.01

_StopReason = Literal["exit", "timeout", "stopped"]


@dataclass(frozen=True, slots=True)
class ProcessExit:
    """How a program ended. `code` is the shell's (128 + n for signal n). `reason` is "stopped" if `on_output` returned
    True. `left_running`: it left processes in the background, which were killed. `pipeline` has the codes of the
    programs of a shell's last pipeline, if they were asked for. `still_running` names the processes that it left and
    that could not be ended: another user's, for example."""

    code: int
    reason: _StopReason = "exit"
    left_running: bool = False
    pipeline: tuple[int, ...] = ()
    still_running: tuple[str, ...] = ()


async def run_group(
    argv: Sequence[str],
    *,
    cwd: Path,
    env: Mapping[str, str],
    timeout: float | None,
    on_output: Callable[[bytes], bool | None],
    errors_too: bool = True,
    pass_fds: Collection[int] = (),
    has_monitor: bool = False,
    stdin: int = asyncio.subprocess.DEVNULL,
    stderr: int | None = None,
) -> ProcessExit:
    """Run a program and pass its output to `on_output` in pieces, until the program ends or
    `on_output` returns True. `errors_too` mixes in standard error, which is discarded otherwise. Kills the process
    group, and on Linux all other descendants, at the end, after `timeout` seconds (None: no limit) and on cancellation.
    It has no standard input but that of a descriptor `stdin`; a descriptor `stderr` gets its standard error instead.
    With `has_monitor` the program waits for another one and ends with it: only the others are asked to terminate.
    Raises OSError if the program cannot be started, and CancelledError."""
    loop = asyncio.get_running_loop()
    stream = asyncio.StreamReader()
    # our own pipe: asyncio waits for its pipe as long as a background process holds it open
    reading, writing = os.pipe()
    protocol = asyncio.StreamReaderProtocol(stream)
    pipe, _ = await loop.connect_read_pipe(lambda: protocol, os.fdopen(reading, "rb", 0))
    try:
        with leftovers() as group_leftovers:
            if stderr is None:
                stderr = writing if errors_too else asyncio.subprocess.DEVNULL
            try:
                process = await asyncio.create_subprocess_exec(
                    *argv,
                    cwd=cwd,
                    env=group_leftovers.mark(env),
                    stdin=stdin,
                    stdout=writing,
                    stderr=stderr,
                    start_new_session=True,
                    pass_fds=tuple(pass_fds),
                )
            finally:
                os.close(writing)
            return await _wait(
                process, _read(stream, on_output), timeout, group_leftovers, has_monitor
            )
    finally:
        pipe.close()


async def _wait(
    process: asyncio.subprocess.Process,
    reading: Coroutine[Any, Any, bool],
    timeout: float | None,
    group_leftovers: Leftovers,
    has_monitor: bool,
) -> ProcessExit:
    reader = asyncio.ensure_future(reading)
    exited = asyncio.ensure_future(process.wait())
    try:
        reason = await _wait_end(reader, exited, timeout)
    except asyncio.CancelledError:
        await _finish(process, exited, reader, _GRACE_ON_CANCEL, group_leftovers, has_monitor)
        raise
    left_running = False
    if reason == "exit" and not has_monitor:
        # what a monitor waits for is killed by its end, and may still be there for a moment
        left_running = _is_alive(process.pid, exited) or bool(group_leftovers.find())
    grace = _GRACE_ON_TIMEOUT if reason == "timeout" else _GRACE_ON_CANCEL
    still_running = await _finish(process, exited, reader, grace, group_leftovers, has_monitor)
    if not reader.cancelled() and (failure := reader.exception()):
        raise failure
    code = -signal.SIGKILL if process.returncode is None else process.returncode
    exit_code = 128 - code if code < 0 else code
    return ProcessExit(
        exit_code, reason, left_running, still_running=tuple(map(str, still_running))
    )


async def _wait_end(
    reader: asyncio.Future[bool], exited: asyncio.Future[int], timeout: float | None
) -> _StopReason:
    try:
        async with asyncio.timeout(timeout):
            ends: set[asyncio.Future[Any]] = {reader, exited}
            await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
            if not exited.done():
                if reader.exception() or reader.result():
                    return "stopped"
                await asyncio.wait({exited})  # it closed its output and is still running
    except TimeoutError:
        return "timeout"
    # read what is in the pipe, but do not wait for a background process that holds it open
    await asyncio.wait({reader}, timeout=_DRAIN)
    return "exit"


async def _finish(
    process: asyncio.subprocess.Process,
    exited: asyncio.Future[int],
    reader: asyncio.Future[bool],
    grace: float,
    group_leftovers: Leftovers,
    has_monitor: bool,
) -> list[Process]:
    """Terminate the process group and what has left it, and kill all after `grace` seconds, or at once if cancelled
    again. Return what is still running."""
    try:
        try:
            await _end_group(process.pid, exited, grace, has_monitor)
        finally:
            still_running = await _end_leftovers(group_leftovers, grace)
        await asyncio.wait({reader}, timeout=_FINAL_OUTPUT)
    finally:
        reader.cancel()
    await asyncio.wait({reader})
    return still_running


async def _end_leftovers(group_leftovers: Leftovers, grace: float) -> list[Process]:
    """End what has left the group of a command that has ended. Return what cannot be ended."""
    loop = asyncio.get_running_loop()
    running = group_leftovers.find()
    for process in running:
        process.send(signal.SIGTERM)
        process.send(signal.SIGCONT)
    kill_at = loop.time() + grace
    give_up_at = kill_at + _GRACE_ON_KILL
    try:
        while running and loop.time() < give_up_at:
            if loop.time() >= kill_at:
                for process in running:
                    process.send(signal.SIGKILL)
            await asyncio.sleep(_NEXT_LOOK)
            running = group_leftovers.find()
    except asyncio.CancelledError:
        for process in group_leftovers.find():
            process.send(signal.SIGKILL)
        raise
    return running


async def _end_group(
    group: int, exited: asyncio.Future[int], grace: float, has_monitor: bool
) -> None:
    loop = asyncio.get_running_loop()
    if not _is_alive(group, exited) and exited.done():
        return
    if not has_monitor:
        _signal(group, signal.SIGTERM)
    elif not exited.done():
        # when the monitor ends all others are killed, before they could clean up
        for member in _running_members(group):
            if member.pid != group:
                member.send(signal.SIGTERM)
    _signal(group, signal.SIGCONT)  # a stopped process handles SIGTERM only once it continues
    deadline = loop.time() + grace
    looks = _looks()
    try:
        while (_is_alive(group, exited) or not exited.done()) and loop.time() < deadline:
            await asyncio.sleep(next(looks))
    finally:  # also when the event loop is shutting down
        if _is_alive(group, exited):
            _signal(group, signal.SIGKILL)
    await asyncio.wait({exited}, timeout=5)


def _looks() -> Iterator[float]:
    """Yield the seconds until each next look."""
    seconds = _FIRST_LOOK
    while True:
        yield seconds
        seconds = min(2 * seconds, _NEXT_LOOK)


async def _read(stream: asyncio.StreamReader, on_output: Callable[[bytes], bool | None]) -> bool:
    """Pass output to `on_output` until the end of the pipe. Return True if `on_output` stopped it."""
    while data := await stream.read(_READ_SIZE):
        if on_output(data):
            return True
        await asyncio.sleep(0)  # a program that prints without pause must not block other tasks
    return False


def _is_alive(group: int, exited: asyncio.Future[int]) -> bool:
    """Return whether a process of the group is running; zombies do not count. `exited` is about its first process,
    which is waited for elsewhere."""
    if exited.done():
        reap_group(group)  # so that most often nothing is left, and the table is not read
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    if not sys.platform.startswith("linux"):
        return True
    return bool(_running_members(group))


def _running_members(group: int) -> list[Process]:
    """Return the processes of a group that are running; zombies do not count."""
    return [
        process for process in list_processes() if process.group == group and not process.is_zombie
    ]


def _signal(group: int, number: signal.Signals) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)
