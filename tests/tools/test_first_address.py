"""Test connecting to the first address that answers, with real sockets on this machine."""

from __future__ import annotations

import asyncio
import socket
import sys
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from typing import Any

import httpcore
import pytest

from swecli.tools.first_address import connect_to_first
from swecli.tools.web_addresses import ALLOW_PRIVATE
from swecli.tools.web_client import WebRequest, get

pytestmark = pytest.mark.skipif(
    sys.platform != "linux", reason="only Linux has all of 127.0.0.0/8, and drops what is too much"
)
LIMIT = 25  # seconds; far from what is needed, and less than a fetch may take


@pytest.fixture
def listening() -> Iterator[socket.socket]:
    """Return a socket that listens at 127.0.0.1."""
    with socket.create_server(("127.0.0.1", 0), backlog=20) as server:
        yield server


@pytest.fixture
def port(listening: socket.socket) -> Iterator[int]:
    """Return a port at which 127.0.0.1 answers, and 127.0.0.2 and 127.0.0.3 do not: connections wait there for ever, as
    at an address that a firewall guards. At 127.0.0.9 they are refused."""
    with ExitStack() as sockets:
        chosen: int = listening.getsockname()[1]
        for address in ("127.0.0.2", "127.0.0.3"):
            silent = sockets.enter_context(socket.create_server((address, chosen), backlog=0))
            _fill(silent, sockets)
        yield chosen


def _fill(silent: socket.socket, sockets: ExitStack) -> None:
    """Connect to a socket until no further connection fits into its queue."""
    for _ in range(20):
        client = sockets.enter_context(socket.socket())
        client.setblocking(False)
        with suppress(BlockingIOError):
            client.connect(silent.getsockname())


async def connect(*addresses: str, port: int) -> str:
    """Return the address that was connected to. Raises TimeoutError after a long time."""
    backend = httpcore.AnyIOBackend()
    async with asyncio.timeout(LIMIT):
        stream = await connect_to_first(addresses, lambda one: backend.connect_tcp(one, port))
        reached = stream.get_extra_info("server_addr")
        await stream.aclose()
    return str(reached[0])


async def test_a_page_is_fetched_although_the_first_address_of_its_host_never_answers(
    port: int, listening: socket.socket, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def both(*_: object, **__: object) -> list[tuple[Any, ...]]:
        return [(0, 0, 0, "", (address, port)) for address in ("127.0.0.2", "127.0.0.1")]

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.0 200 OK\r\ncontent-type: text/plain\r\n\r\nthe page")
        writer.close()

    # in place of a name server: no name leads to two addresses of this machine everywhere
    monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", both)
    async with await asyncio.start_server(answer, sock=listening.dup()):
        request = WebRequest(f"http://two.example:{port}/", "two.example")
        page = await get(request, {ALLOW_PRIVATE: "1"}, LIMIT)
    assert page.data == b"the page"


async def test_addresses_that_never_answer_do_not_use_up_the_time_of_the_others(port: int) -> None:
    assert await connect("127.0.0.2", "127.0.0.3", "127.0.0.1", port=port) == "127.0.0.1"


async def test_an_address_that_refuses_is_left_at_once(port: int) -> None:
    assert await connect("127.0.0.9", "127.0.0.1", port=port) == "127.0.0.1"


async def test_the_first_address_is_taken_if_it_answers(port: int) -> None:
    tried = []

    async def answer(address: str) -> httpcore.AsyncNetworkStream:
        tried.append(address)
        return await httpcore.AnyIOBackend().connect_tcp(address, port)

    stream = await connect_to_first(["127.0.0.1", "127.0.0.2"], answer)
    await stream.aclose()
    assert tried == ["127.0.0.1"]


async def test_if_all_addresses_refuse_that_is_the_error(port: int) -> None:
    with pytest.raises(httpcore.ConnectError):
        await connect("127.0.0.9", "127.0.0.10", port=port)


async def test_nothing_goes_on_when_time_is_up(port: int) -> None:
    before = asyncio.all_tasks()
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.6):
            await connect("127.0.0.2", "127.0.0.3", port=port)
    assert asyncio.all_tasks() == before
