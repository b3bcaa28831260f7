"""The program of a server, in the sandbox, whose messages come and go over pipes, one a line."""

from __future__ import annotations

import asyncio
import math
import os
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from swecli.models.errors import ToolError
from swecli.text import CONTROL_SEQUENCE, one_line
from swecli.tools.guard import Guard
from swecli.tools.jobs import Watch
from swecli.tools.processes import ProcessExit, run_group
from swecli.tools.run_inside import OWN_ERRORS, TRIES, FurtherAccess, run_inside
from swecli.tools.sandbox import Sandbox
from swecli.values import dataclass

if TYPE_CHECKING:
    from mcp.client._transport import TransportStreams

# Bytes of one message: a picture of a whole screen in base64 takes less.
MAX_MESSAGE = 16_000_000
_MAX_WAITING = 1_000  # messages that were not asked for; each is some objects in memory
_MAX_ERRORS = 20_000  # bytes of standard error that are kept, the last ones
_SECONDS_TO_END = 2.0  # after the end of its input, as the official library gives a server


@dataclass(frozen=True, slots=True)
class Program:
    """How a server's program is started. `sandbox` is None if it runs outside; `access` is what its entry lets
    it do in it, and the variables that the entry gives it."""

    argv: Sequence[str]
    cwd: Path
    env: Mapping[str, str]
    guard: Guard
    sandbox: Sandbox | None
    access: FurtherAccess


class Pipes:
    """A running program, and why it cannot be talked to any more: `problem` is "" as long as it can."""

    is_given_up = False  # what it holds would be lost

    def __init__(self, program: Program) -> None:
        self.problem = ""
        self.notes: list[str] = []  # on what was put back in the workspace when it had ended
        self._program = program
        self._errors = bytearray()
        self._line = bytearray()  # the beginning of one that has not ended
        self._has_answered = False
        self._has_ended = False

    @asynccontextmanager
    async def connect(self) -> AsyncIterator[TransportStreams]:
        """Start the program and yield the streams of its messages, as the library wants them; at the end nothing of it
        is left running. Raises ToolError and OSError if it cannot be started."""
        # late: as the library of the protocol
        import anyio
        from mcp.shared.message import SessionMessage

        self._received, reading = anyio.create_memory_object_stream[SessionMessage | Exception](
            math.inf
        )
        writing, self._to_send = anyio.create_memory_object_stream[SessionMessage](0)
        stdin, to_stdin = os.pipe()
        from_stderr, stderr = os.pipe()
        loop = asyncio.get_running_loop()
        errors, _ = await loop.connect_read_pipe(
            lambda: _Tail(self._errors), os.fdopen(from_stderr, "rb", 0)
        )
        sending: asyncio.Task[None] | None = None
        running = asyncio.create_task(self._run(stdin, stderr))
        running.add_done_callback(self._take_end)
        try:
            sending = asyncio.create_task(self._send(to_stdin))
            yield reading, writing
        finally:
            self._has_ended = True
            if sending is not None:
                sending.cancel()
                await asyncio.wait({sending})
            os.close(to_stdin)
            try:
                await asyncio.wait({running}, timeout=_SECONDS_TO_END)
            finally:
                running.cancel()
                await asyncio.wait({running})
                os.close(stdin)
                os.close(stderr)
                errors.close()
                for stream in (self._received, reading, writing, self._to_send):
                    stream.close()

    async def _run(self, stdin: int, stderr: int) -> ProcessExit:
        program = self._program
        if program.sandbox is None:
            return await run_group(
                program.argv,
                cwd=program.cwd,
                env={**program.env, **program.access.env},
                timeout=None,
                on_output=self._take,
                stdin=stdin,
                stderr=stderr,
            )
        end = await self._run_inside(program.sandbox, stdin, stderr)
        for _ in range(TRIES - 1):
            if self._has_answered or not self._errors.startswith(OWN_ERRORS):
                break
            # no sandbox could be made, and nothing was run
            self._errors.clear()
            end = await self._run_inside(program.sandbox, stdin, stderr)
        return end

    async def _run_inside(self, sandbox: Sandbox, stdin: int, stderr: int) -> ProcessExit:
        program = self._program
        return await run_inside(
            sandbox,
            program.guard,
            "workspace",
            program.argv,
            env=program.env,
            access=replace(program.access, commits=True),
            on_note=self.notes.append,
            timeout=None,
            on_output=self._take,
            watch=Watch(),
            stdin=stdin,
            stderr=stderr,
        )

    async def _send(self, descriptor: int) -> None:
        """Write messages to the program, as long as it reads them."""
        os.set_blocking(descriptor, False)
        async for message in self._to_send:
            text = message.message.model_dump_json(by_alias=True, exclude_unset=True)
            rest = memoryview(text.encode("utf-8") + b"\n")
            while rest:
                try:
                    rest = rest[os.write(descriptor, rest) :]
                except BlockingIOError:
                    await _writable(descriptor)
                except BrokenPipeError:  # it has ended, which its other pipe tells
                    return

    def _take(self, piece: bytes) -> None:
        """Take output of the program. Raises ToolError for what is no message, and then the program is ended."""
        if self._has_ended:
            return
        self._has_answered = True
        first, *more = piece.split(b"\n")
        self._line += first
        for part in more:
            self._take_line(bytes(self._line))
            self._line = bytearray(part)
        if len(self._line) > MAX_MESSAGE:
            raise ToolError(f"it sent a message of more than {MAX_MESSAGE:,} bytes")

    def _take_line(self, line: bytes) -> None:
        # late: as above
        from mcp.shared.message import SessionMessage
        from mcp_types import jsonrpc_message_adapter

        if len(line) > MAX_MESSAGE:
            raise ToolError(f"it sent a message of more than {MAX_MESSAGE:,} bytes")
        if not line.strip():
            return
        try:
            message = jsonrpc_message_adapter.validate_json(line, by_name=False)
        except ValueError as error:
            text = line[:200].decode("utf-8", "replace")
            raise ToolError(f"it wrote what is no message: {one_line(text, 100)!r}") from error
        if self._received.statistics().current_buffer_used > _MAX_WAITING:
            raise ToolError("it sends messages without end")
        self._received.send_nowait(SessionMessage(message))

    def _take_end(self, running: asyncio.Task[ProcessExit]) -> None:
        """Note why the program has ended, and end what waits for its messages."""
        if running.cancelled():
            self.problem = "it was ended"
        elif error := running.exception():
            self.problem = str(error)
        else:
            self.problem = f"it ended with exit code {running.result().code}{self._last_words()}"
        self._received.close()

    def _last_words(self) -> str:
        """Return the last line of standard error behind a colon, "" if there is none."""
        error_output = CONTROL_SEQUENCE.sub("", self._errors.decode("utf-8", "replace")).strip()
        return f": {one_line(error_output.splitlines()[-1], 200)}" if error_output else ""


class _Tail(asyncio.Protocol):
    """Keeps the end of what is read."""

    def __init__(self, buffer: bytearray) -> None:
        self._buffer = buffer

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        del self._buffer[:-_MAX_ERRORS]


async def _writable(descriptor: int) -> None:
    """Wait until a pipe takes more."""
    loop = asyncio.get_running_loop()
    writable = asyncio.Event()
    loop.add_writer(descriptor, writable.set)
    try:
        await writable.wait()
    finally:
        with suppress(OSError):
            loop.remove_writer(descriptor)
