"""Test servers that are reached over HTTP, on loopback: those of the official library, and ones that misbehave."""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
import sys
import urllib.request
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from socket import create_connection, create_server
from time import sleep
from urllib.parse import parse_qs, urlsplit

import pytest

from swecli.config.settings import Start
from swecli.models.errors import ConfigError
from swecli.models.json_value import JsonObject
from swecli.tools.base import ToolError
from swecli.tools.guard import Guard
from swecli.tools.mcp.connections import Connections
from swecli.tools.mcp.login import log_in_at, login_file
from swecli.tools.mcp.results import to_result
from swecli.tools.mcp.servers import Server, read_servers
from tests.support.mcp_servers import GUARDED, USEFUL, approve, write_user_file
from tests.support.runtime import make_start, trust_everything

pytestmark = pytest.mark.slow


def free_port() -> int:
    with create_server(("127.0.0.1", 0)) as listening:
        return int(listening.getsockname()[1])


@contextmanager
def served(program: Path, *arguments: str, port: int) -> Iterator[str]:
    """Run a service until the end of the context, and yield its address."""
    with subprocess.Popen(
        [sys.executable, str(program), *arguments],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as process:
        try:
            while not _answers(port):
                assert process.poll() is None, "it ended"
                sleep(0.05)
            yield f"http://127.0.0.1:{port}/mcp"
        finally:
            process.kill()


def _answers(port: int) -> bool:
    with suppress(OSError), create_connection(("127.0.0.1", port)):
        return True
    return False


@asynccontextmanager
async def answering(answer: bytes) -> AsyncIterator[str]:
    """Answer each request on loopback with these bytes, and yield the address."""

    async def take(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        try:
            writer.write(answer)
            await writer.drain()
        except ConnectionError:
            pass
        writer.close()

    async with await asyncio.start_server(take, "127.0.0.1", 0) as listening:
        yield f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}/mcp"


def only_server(start: Start) -> Server:
    return read_servers(start).by_name["one"]


async def test_a_service_is_called() -> None:
    port = free_port()
    start = make_start()
    with served(USEFUL, "http", str(port), port=port) as url:
        write_user_file(start, one={"type": "http", "url": url})
        record = await approve(start, "one")
        run = Connections(start, None)
        result = await run.call(
            only_server(start), record.tools["add"], {"a": 1, "b": 2}, Guard(start.cwd)
        )
    assert to_result("one", "add", result).for_model.endswith("\n3")


async def test_a_service_that_was_started_again_is_reached_by_the_next_call() -> None:
    port = free_port()
    start = make_start()
    with served(USEFUL, "http", str(port), port=port) as url:
        write_user_file(start, one={"type": "http", "url": url})
        add = (await approve(start, "one")).tools["add"]
        run = Connections(start, None)
        server = only_server(start)
        assert await run.call(server, add, {"a": 1, "b": 2}, Guard(start.cwd))
    with pytest.raises(ToolError, match="The MCP server one failed"):
        await run.call(server, add, {"a": 1, "b": 2}, Guard(start.cwd))
    with served(USEFUL, "http", str(port), port=port):
        assert await run.call(server, add, {"a": 1, "b": 2}, Guard(start.cwd))


async def test_a_service_that_is_gone_is_named() -> None:
    start = make_start()
    write_user_file(start, one={"url": f"http://127.0.0.1:{free_port()}/mcp"})
    with pytest.raises(ToolError, match="The MCP server one failed: .*connect"):
        await approve(start, "one")


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (
            b"HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n",
            "it asks for a login: /mcp login one",
        ),
        (
            b"HTTP/1.1 307 Away\r\nLocation: http://example.org/mcp\r\nContent-Length: 0\r\n\r\n",
            "not followed",
        ),
        (
            b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n" + b" " * 17_000_000,
            "more than 16,000,000 bytes",
        ),
        (
            b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Encoding: gzip\r\n\r\n",
            "it packed its answer",
        ),
    ],
)
async def test_a_service_that_misbehaves_gets_one_line(answer: bytes, words: str) -> None:
    start = make_start()
    async with answering(answer) as url:
        write_user_file(start, one={"url": url})
        with pytest.raises(ToolError, match=words):
            await approve(start, "one")


@asynccontextmanager
async def asking_for_a_login(elsewhere: str) -> AsyncIterator[str]:
    """Serve a service that asks for a login, and yield its address. `elsewhere` is what leads away: the "resource" that
    the login would be for, or where it gives "tokens"."""
    base = ""

    def answer_to(path: str) -> JsonObject | None:
        resource = f"{base}/mcp"
        if elsewhere == "resource":
            resource = "https://bank.example/mcp"
        if "protected-resource" in path:
            return {"resource": resource, "authorization_servers": [base]}
        if "authorization-server" in path:
            return {
                "issuer": base,
                "authorization_endpoint": f"{base}/authorize",
                "token_endpoint": f"{base}/token",
                "registration_endpoint": f"{base}/register",
                "response_types_supported": ["code"],
                "code_challenge_methods_supported": ["S256"],
            }
        if path == "/register":
            return {"client_id": "us", "redirect_uris": ["http://127.0.0.1/callback"]}
        return None

    async def take(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        request = (await reader.readuntil(b"\r\n\r\n")).decode()
        path = request.split(" ")[1]
        body = answer_to(path)
        status, more = "401 Unauthorized", ""
        if path == "/token" and elsewhere == "tokens":
            status, more = "307 Away", "Location: http://127.0.0.2:9/token\r\n"
        text = "" if body is None else json.dumps(body)
        if body is not None:
            status = "201 Created" if path == "/register" else "200 OK"
        writer.write(
            f"HTTP/1.1 {status}\r\n{more}Content-Type: application/json\r\nConnection: close\r\n"
            f"Content-Length: {len(text)}\r\n\r\n{text}".encode()
        )
        await writer.drain()
        writer.close()

    async with await asyncio.start_server(take, "127.0.0.1", 0) as listening:
        base = f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}"
        yield f"{base}/mcp"


@pytest.mark.parametrize(
    ("elsewhere", "words"),
    [
        ("resource", "https://bank.example/mcp does not match expected http://127.0.0.1"),
        ("tokens", "redirected to http://127.0.0.2:9/token; not followed"),
    ],
)
async def test_a_login_that_leads_elsewhere_is_refused_in_one_line(
    elsewhere: str, words: str
) -> None:
    start = make_start()

    async def agree(address: str) -> None:
        """Do what the page of a login does when the user agrees."""
        query = parse_qs(urlsplit(address).query)
        back = f"{query['redirect_uri'][0]}?code=abc&state={query['state'][0]}"
        await asyncio.to_thread(urllib.request.urlopen, back)

    opened: list[asyncio.Task[None]] = []

    def say(line: str) -> None:
        if line.startswith("http"):
            opened.append(asyncio.create_task(agree(line)))

    async with asking_for_a_login(elsewhere) as url:
        write_user_file(start, one={"url": url})
        with pytest.raises(ToolError, match=words) as caught:
            await log_in_at(only_server(start), start, say)
        await asyncio.gather(*opened)
    assert "\n" not in str(caught.value)


async def log_in(start: Start) -> list[str]:
    """Log in as a user who opens the address that is shown."""
    said: list[str] = []
    opened: list[asyncio.Task[None]] = []

    def open_page(address: str) -> None:
        with urllib.request.urlopen(address) as page:
            assert b"go back to swecli" in page.read()

    def say(line: str) -> None:
        said.append(line)
        if line.startswith("http"):
            opened.append(asyncio.create_task(asyncio.to_thread(open_page, line)))

    await log_in_at(only_server(start), start, say)
    await asyncio.gather(*opened)
    return said


async def call_secret(start: Start, record: object) -> str:
    run = Connections(start, None)
    server = only_server(start)
    assert server.approved is not None
    result = await run.call(server, server.approved.tools["secret"], {}, Guard(start.cwd))
    return to_result("one", "secret", result).for_model


async def test_a_login_listens_on_the_port_that_the_service_knows() -> None:
    start = make_start()
    with create_server(("127.0.0.1", 0)) as taken:
        port = int(taken.getsockname()[1])
        client = {"clientId": "us", "callbackPort": port}
        write_user_file(start, one={"url": "http://127.0.0.1:9/mcp", "oauth": client})
        with pytest.raises(ToolError, match=f"Nothing can listen on port {port} for the login"):
            await log_in(start)


async def test_a_login_for_a_projects_server_gets_no_key_of_a_model(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test-1234567890")
    entry = {"url": "http://127.0.0.1:9/mcp?key=${OPENAI_API_KEY}"}
    Path(".mcp.json").write_text(json.dumps({"mcpServers": {"one": entry}}))
    start = make_start()
    trust_everything(start)
    with pytest.raises(ConfigError, match="needs the variable OPENAI_API_KEY"):
        await log_in(start)


async def test_a_login_is_kept_in_a_private_file_refreshed_and_ends_when_it_is_revoked() -> None:
    port = free_port()
    start = make_start()
    with served(GUARDED, str(port), "5", port=port) as url:
        write_user_file(start, one={"type": "http", "url": url})
        with pytest.raises(ToolError, match="it asks for a login: /mcp login one, or in a shell"):
            await approve(start, "one")
        said = await log_in(start)
        assert said[0] == f"one logs in at 127.0.0.1:{port}. Open in a browser:"
        file = login_file(only_server(start), url, start)
        assert file.stat().st_mode & 0o777 == 0o600
        record = await approve(start, "one")
        assert "the secret" in await call_secret(start, record)

        await asyncio.sleep(6)
        assert "the secret" in await call_secret(start, record)
        assert Path("refreshed").exists()

        file.chmod(0o640)
        with pytest.raises(ToolError, match=re.escape(f"Others can read the tokens in {file}")):
            await call_secret(start, record)
        file.chmod(0o600)

        open_run = Connections(start, None)
        secret = record.tools["secret"]
        assert await open_run.call(only_server(start), secret, {}, Guard(start.cwd))
        Path("revoked").touch()
        ended = "the login has ended or does not suffice: /mcp login one"
        with pytest.raises(ToolError, match=ended):
            await call_secret(start, record)
        with pytest.raises(ToolError, match=ended):
            await open_run.call(only_server(start), secret, {}, Guard(start.cwd))
