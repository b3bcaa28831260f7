"""The lines of the protocol, on the stdin and stdout that the process was started with. Nothing else reads or writes
there from then on: what prints to stdout prints to stderr."""

from __future__ import annotations

import asyncio
import json
import os
from typing import Any

from swecli.models.errors import UsageError

# of one line: a prompt with the 20 MB of pictures that services accept, and its text
MAX_LINE = 64 * 2**20
_PARSE_ERROR = -32700  # of JSON-RPC 2.0, as the next one
_INVALID_REQUEST = -32600
_FLUSH_SECONDS = 2.0  # that an editor gets to read the last lines
_HOW_TO_START = "An editor starts it, with pipes: see docs/how-to/work-in-your-editor.md"


class Lines:
    """Reads and writes one JSON object a line. Lines that are none are answered with an error."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.WriteTransport) -> None:
        self._reader = reader
        self._writer = writer

    @classmethod
    async def open(cls) -> Lines:
        """Take over stdin and stdout. Raises UsageError if an editor could not read and write there."""
        if os.isatty(0) or os.isatty(1):
            raise UsageError("swecli acp is not for a terminal.", _HOW_TO_START)
        stdin = os.dup(0)
        stdout = os.dup(1)
        null = os.open(os.devnull, os.O_RDWR)
        os.dup2(null, 0)
        os.close(null)
        os.dup2(2, 1)
        loop = asyncio.get_running_loop()
        reader = asyncio.StreamReader(limit=MAX_LINE)
        try:
            await loop.connect_read_pipe(
                lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(stdin, "rb", 0)
            )
            writer, _ = await loop.connect_write_pipe(_Writing, os.fdopen(stdout, "wb", 0))
        except ValueError as error:  # a file
            raise UsageError(
                "swecli acp needs a pipe as its stdin and stdout.", _HOW_TO_START
            ) from error
        return cls(reader, writer)

    async def receive(self) -> dict[str, Any] | None:
        """Return the next message, None at the end of the input."""
        while True:
            line = await self._read_line()
            if line is None:
                self._refuse(_INVALID_REQUEST, f"The line is longer than {MAX_LINE:,} bytes.")
                continue
            if not line:
                return None
            if not line.strip():
                continue
            try:
                message = json.loads(line)
            except (ValueError, RecursionError) as error:
                self._refuse(_PARSE_ERROR, f"The line is not JSON: {error}.")
                continue
            if _is_message(message):
                return message  # type: ignore[no-any-return]  # an object, as was checked
            self._refuse(_INVALID_REQUEST, "The line is no message of JSON-RPC 2.0.")

    async def send(self, message: dict[str, Any]) -> None:
        """Write a message, for the library's connection."""
        self.write(message)

    def write(self, message: dict[str, Any]) -> None:
        """Write a message. Nobody is waited for, so that a turn which is cancelled still tells how it ends; the memory
        bears an editor that does not read. What an editor that is gone does not get is lost with it."""
        if self._writer.is_closing():
            return
        line = json.dumps(message, ensure_ascii=False, separators=(",", ":"))
        # half a surrogate pair is no text for most readers of JSON
        self._writer.write(line.encode("utf-8", "replace") + b"\n")

    async def close(self) -> None:
        """Write what is left, as far as the editor reads it."""
        self._writer.close()
        protocol = self._writer.get_protocol()
        assert isinstance(protocol, _Writing)
        try:
            async with asyncio.timeout(_FLUSH_SECONDS):
                await protocol.ended.wait()
        except TimeoutError:
            self._writer.abort()

    async def _read_line(self) -> bytes | None:
        """Read a line; b"" at the end of the input, None for one that is too long, which is skipped."""
        is_too_long = False
        while True:
            try:
                line = await self._reader.readuntil(b"\n")
            except asyncio.IncompleteReadError as end:
                line = end.partial
            except asyncio.LimitOverrunError as overrun:
                await self._reader.readexactly(overrun.consumed)
                is_too_long = True
                continue
            except OSError:  # the editor is gone
                return b""
            return None if is_too_long and line else line

    def _refuse(self, code: int, problem: str) -> None:
        self.write({"jsonrpc": "2.0", "id": None, "error": {"code": code, "message": problem}})


class _Writing(asyncio.BaseProtocol):
    """Knows when everything was written, or nobody reads any more."""

    def __init__(self) -> None:
        self.ended = asyncio.Event()

    def connection_lost(self, error: Exception | None) -> None:
        self.ended.set()


def _is_message(value: object) -> bool:
    """Return whether a value is a request, a notification or a response."""
    if not isinstance(value, dict):
        return False
    if "method" in value:
        return isinstance(value["method"], str) and isinstance(value.get("id"), int | str | None)
    return isinstance(value.get("id"), int | str) and ("result" in value or "error" in value)
