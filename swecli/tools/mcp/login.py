"""The user's login at a service, by OAuth: the official library speaks it, the tokens stand in a private file."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import stat
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlsplit

from swecli.config.mcp_file import RegisteredClient, ServerEntry
from swecli.config.private_files import write_file
from swecli.config.settings import Start
from swecli.models.errors import ToolError
from swecli.models.json_value import JsonObject
from swecli.text import one_line
from swecli.tools.mcp.connection import Connection
from swecli.tools.mcp.names import how_to
from swecli.tools.mcp.servers import Server
from swecli.tools.mcp.service import Service

if TYPE_CHECKING:
    import httpx2
    from mcp.client.auth import OAuthClientProvider, TokenStorage
    from mcp.shared.auth import AuthorizationCodeResult

_SECONDS = 300.0  # that a person has for the pages of a login, as in the official library
_LONGEST_REQUEST = 16_384  # bytes of what the browser sends back
_FOLDER = "mcp"
_DIGEST = 16  # characters in the name of a file, which tell addresses apart
_CLIENT = "client"
_TOKENS = "tokens"
_EXPIRES = "expires"  # seconds since 1970
_SERVER = "server"
_LOGIN_PAGE = (
    b"HTTP/1.1 200 OK\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n"
    b"You can close this page and go back to swecli.\n"
)


def login_file(server: Server, url: str, start: Start) -> Path:
    """Return the file with the tokens for a server at this address: those of another address are not sent there."""
    digest = hashlib.sha256(f"{server.scope} {server.root} {url}".encode()).hexdigest()[:_DIGEST]
    return start.paths.state / _FOLDER / f"{server.name}-{digest}.json"


def forget_login(name: str, start: Start) -> None:
    """Remove all tokens for servers of this name. Raises OSError."""
    for file in (start.paths.state / _FOLDER).glob(f"{name}-{'?' * _DIGEST}.json"):
        file.unlink(missing_ok=True)


def find_login(
    server: Server, entry: ServerEntry, start: Start, fail: Callable[[str], ToolError]
) -> httpx2.Auth | None:
    """Return what adds the user's login to each request; None if there is none. `entry` is the server's with its
    variables filled in, `fail` makes the error for a login that has ended. Raises ToolError if others can read its
    file."""
    file = login_file(server, entry.url, start)
    if not file.exists():
        return None
    store = _TokenFile(file)
    store.read()  # raises

    def refuse(address: str) -> None:
        raise fail(f"the login has ended or does not suffice: {how_to('login', server.name)}")

    return _make_login(entry, store, refuse, None)


async def log_in_at(server: Server, start: Start, say: Callable[[str], None]) -> None:
    """Log in at a service, by the address that the user opens in a browser, and keep the tokens. Raises ToolError and
    ConfigError."""
    entry = server.filled_entry(start)
    answer = _Answer()
    port = entry.client.port if entry.client is not None else 0
    try:
        listener = await asyncio.start_server(answer.take, "127.0.0.1", port)
    except OSError as error:
        raise ToolError(
            f"Nothing can listen on port {port} for the login: {error.strerror}."
        ) from error
    async with listener as listening:
        port = listening.sockets[0].getsockname()[1]
        store = _TokenFile(login_file(server, entry.url, start), is_new=True)

        def show(address: str) -> None:
            parts = urlsplit(address)
            if parts.scheme not in ("http", "https"):
                raise ToolError(f"it names no web page for the login: {one_line(address, 80)}")
            say(f"{server.name} logs in at {one_line(parts.netloc, 100)}. Open in a browser:")
            say(one_line(address, 4_000))

        login = _make_login(entry, store, show, answer, f"http://127.0.0.1:{port}/callback")
        service = Service(server.name, entry.url, entry.headers)
        service.auth = login
        connection = Connection(server.name, service)
        try:
            await connection.open(_SECONDS)
            await connection.list_tools()
        finally:
            await connection.close()
        store.keep_server(login)
    if not store.has_tokens:
        raise ToolError(f"The MCP server {server.name} asks for no login.")


def _make_login(
    entry: ServerEntry,
    store: _TokenFile,
    show: Callable[[str], None],
    answer: _Answer | None,
    redirect: str = "http://127.0.0.1/callback",
) -> OAuthClientProvider:
    """Return the library's login with our file; without an `answer` it refreshes tokens, and cannot ask anew."""
    # late: the library of the protocol
    from mcp.client.auth import OAuthClientProvider
    from mcp.shared.auth import OAuthClientMetadata
    from pydantic import AnyUrl

    async def open_page(address: str) -> None:
        show(address)

    metadata = OAuthClientMetadata(
        client_name="swecli",
        redirect_uris=[AnyUrl(redirect)],
        token_endpoint_auth_method="none",
    )
    wait_for_answer = (answer or _Answer()).wait
    storage = _storage(store, entry.client, redirect)
    login = OAuthClientProvider(entry.url, metadata, storage, open_page, wait_for_answer)
    store.restore_server(login)
    return login


def _storage(
    file: _TokenFile, given_client: RegisteredClient | None, redirect: str
) -> TokenStorage:
    """Return the file as the library wants it. `given_client`: the service gave the client out by hand, and registers
    none."""
    # late: the library of the protocol
    from mcp.client.auth import TokenStorage
    from mcp.shared.auth import OAuthClientInformationFull, OAuthToken
    from pydantic import AnyUrl

    class Storage(TokenStorage):
        async def get_tokens(self) -> OAuthToken | None:
            tokens = file.read().get(_TOKENS)
            return None if tokens is None else OAuthToken.model_validate(tokens)

        async def set_tokens(self, tokens: OAuthToken) -> None:
            if tokens.expires_in is not None:
                file.keep(_EXPIRES, str(time.time() + tokens.expires_in))
            file.keep(_TOKENS, tokens.model_dump_json(exclude_none=True))

        async def get_client_info(self) -> OAuthClientInformationFull | None:
            if given_client is not None:
                return OAuthClientInformationFull(
                    client_id=given_client.client_id,
                    client_secret=given_client.secret or None,
                    redirect_uris=[AnyUrl(redirect)],
                    token_endpoint_auth_method="client_secret_basic"
                    if given_client.secret
                    else "none",
                )
            client = file.read().get(_CLIENT)
            return None if client is None else OAuthClientInformationFull.model_validate(client)

        async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
            file.keep(_CLIENT, client_info.model_dump_json(exclude_none=True))

    return Storage()


class _Answer:
    """What the browser brings back from the login."""

    def __init__(self) -> None:
        self._came: asyncio.Queue[dict[str, list[str]]] = asyncio.Queue()

    async def take(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Take a request of the browser; only one for the right page counts."""
        try:
            line = await asyncio.wait_for(reader.readline(), 10)
            path = line[:_LONGEST_REQUEST].decode("latin-1").split(" ")[1:2]
            parts = urlsplit(path[0] if path else "")
            if parts.path == "/callback":
                self._came.put_nowait(parse_qs(parts.query))
            writer.write(_LOGIN_PAGE)
            await writer.drain()
        except (OSError, ValueError, TimeoutError):
            pass  # not the browser
        finally:
            writer.close()

    async def wait(self) -> AuthorizationCodeResult:
        """Wait for the answer. Raises ToolError if the login was refused."""
        # late: the library of the protocol
        from mcp.shared.auth import AuthorizationCodeResult

        query = await self._came.get()
        if "code" not in query:
            cause = query.get("error_description", query.get("error", ["no code"]))[0]
            raise ToolError(f"the login was refused: {one_line(cause, 200)}")
        state, issuer = query.get("state", [None])[0], query.get("iss", [None])[0]
        return AuthorizationCodeResult(code=query["code"][0], state=state, iss=issuer)


class _TokenFile:
    """Keeps tokens and the registered client in a file that only the user can read; `is_new`: what it holds from an
    earlier login is not used."""

    def __init__(self, file: Path, *, is_new: bool = False) -> None:
        self._file = file
        self._entries: JsonObject | None = {} if is_new else None

    @property
    def has_tokens(self) -> bool:
        return _TOKENS in self.read()

    def read(self) -> JsonObject:
        """Return what the file holds. Raises ToolError if it is not the user's alone, or damaged."""
        if self._entries is not None:
            return self._entries
        try:
            with self._file.open("rb") as file:
                state = os.fstat(file.fileno())
                if state.st_mode & (stat.S_IRWXG | stat.S_IRWXO) or state.st_uid != os.geteuid():
                    raise ToolError(
                        f"Others can read the tokens in {self._file}: they are not used. Run chmod 600 on it."
                    )
                entries = json.loads(file.read())
        except (OSError, ValueError) as error:
            raise ToolError(f"The tokens in {self._file} cannot be read: log in again.") from error
        if not isinstance(entries, dict):
            raise ToolError(f"The tokens in {self._file} cannot be read: log in again.")
        self._entries = entries
        return entries

    def keep(self, key: str, value: str) -> None:
        """Write a value, which is JSON, beside the others. Raises OSError."""
        entries = {**self.read(), key: json.loads(value)}
        # a file that others can read is replaced, since its mode would be kept
        if self._file.exists() and self._file.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO):
            self._file.unlink()
        write_file(self._file, json.dumps(entries))
        self._entries = entries

    def keep_server(self, login: OAuthClientProvider) -> None:
        """Keep what the library found out of the server that gives tokens, and would have to find again."""
        metadata = login.context.oauth_metadata
        if metadata is not None:
            self.keep(_SERVER, metadata.model_dump_json(exclude_none=True))

    def restore_server(self, login: OAuthClientProvider) -> None:
        """Let the library refresh a token that has expired meanwhile, which it would not do by itself."""
        # late: the library of the protocol
        from mcp.shared.auth import OAuthMetadata

        entries = self.read()
        login.context.token_expiry_time = entries.get(_EXPIRES)
        if _SERVER in entries:
            login.context.oauth_metadata = OAuthMetadata.model_validate(entries[_SERVER])
