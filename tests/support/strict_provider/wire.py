"""Read requests from a socket, and send answers with or without faults."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import struct
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from tests.support.strict_provider.script import Received, Wire

PING = b": keep-alive\n\n"


class ClientGone(Exception):
    """The client closed its side before the answer was complete."""


class Connection:
    """One client's connection, which may carry several requests."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    async def read_request(self) -> tuple[str, str, dict[str, str], bytes] | None:
        """Return (method, path, headers with lower-case names, body), or None at the end of the connection."""
        try:
            head = await self.reader.readuntil(b"\r\n\r\n")
        except (asyncio.IncompleteReadError, ConnectionError):
            return None
        first, *lines = head.decode("latin-1").split("\r\n")
        method, path, _ = first.split(" ", 2)
        headers = {
            name.strip().lower(): value.strip()
            for name, _, value in (x.partition(":") for x in lines)
            if name
        }
        try:
            if headers.get("transfer-encoding", "").lower() == "chunked":
                return method, path, headers, await self._chunked_body()
            length = int(headers.get("content-length", "0"))
            return method, path, headers, await self.reader.readexactly(length)
        except (asyncio.IncompleteReadError, ConnectionError, ValueError):
            return None  # the client was killed while it sent

    async def _chunked_body(self) -> bytes:
        body = b""
        while size := int((await self.reader.readline()).strip(), 16):
            body += await self.reader.readexactly(size)
            await self.reader.readline()
        await self.reader.readline()
        return body

    async def send_json(self, status: int, value: Any, headers: Mapping[str, str]) -> None:
        body = value if isinstance(value, bytes) else json.dumps(value, ensure_ascii=False).encode()
        fields = {"content-type": "application/json", "content-length": str(len(body)), **headers}
        self.writer.write(_head(status, fields) + body)
        await self.writer.drain()

    async def send_stream(self, events: list[bytes], wire: Wire, received: Received) -> bool:
        """Send a chunked body with the faults of `wire`. Returns False if the connection cannot be used again."""
        fields = {"content-type": wire.content_type, "transfer-encoding": "chunked", **wire.headers}
        self.writer.write(_head(wire.status, fields))
        received.started.set()
        if wire.malformed is not None:
            name, found, _ = events[wire.malformed].partition(b"data: ")
            events[wire.malformed] = (name if found else b"") + b'data: {"broken": \n\n'
        body = wire.body if wire.body is not None else b"".join(events)
        end, action = _first_fault(wire, len(body))
        await self._send_pieces(
            body[:end], [len(e) for e in events] if wire.body is None else [], wire
        )
        if action in ("", "cut"):
            self.writer.write(b"0\r\n\r\n")
            await self.writer.drain()
            return not action
        if action in ("stall", "pings"):
            await self._until_gone(pings=action == "pings")
            raise ClientGone
        if action == "reset":
            _linger_zero(self.writer)
        return False

    async def _send_pieces(self, body: bytes, lengths: list[int], wire: Wire) -> None:
        at = 0
        while at < len(body):
            size = wire.split or (lengths.pop(0) if lengths else len(body))
            piece = body[at : at + size]
            self.writer.write(f"{len(piece):x}\r\n".encode() + piece + b"\r\n")
            at += size
            try:
                await self.writer.drain()
            except ConnectionError:
                raise ClientGone from None
            await asyncio.sleep(wire.pause)

    async def _until_gone(self, pings: bool) -> None:
        """Send nothing, or pings, until the client disconnects."""
        gone = asyncio.ensure_future(self.reader.read(1))
        try:
            while not gone.done():
                if pings:
                    self.writer.write(f"{len(PING):x}\r\n".encode() + PING + b"\r\n")
                await asyncio.wait([gone], timeout=0.02)
            with contextlib.suppress(ConnectionError):
                gone.result()
        finally:
            gone.cancel()


def _first_fault(wire: Wire, length: int) -> tuple[int, str]:
    """Return the number of bytes to send and the fault that follows them."""
    faults = {
        "cut": wire.cut_at,
        "broken": wire.broken_at,
        "reset": wire.reset_at,
        "stall": wire.stall_at,
        "pings": wire.pings_at,
    }
    known = [(at, name) for name, at in faults.items() if at is not None]
    at, name = min(known, default=(length, ""))
    return min(at, length), name


def _linger_zero(writer: asyncio.StreamWriter) -> None:
    """Make the next close reset the connection."""
    raw: socket.socket = writer.get_extra_info("socket")
    raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()


def _head(status: int, fields: Mapping[str, str]) -> bytes:
    phrase = HTTPStatus(status).phrase if status in HTTPStatus._value2member_map_ else "Unknown"
    lines = [f"HTTP/1.1 {status} {phrase}", *(f"{name}: {value}" for name, value in fields.items())]
    return "\r\n".join([*lines, "", ""]).encode("latin-1")
