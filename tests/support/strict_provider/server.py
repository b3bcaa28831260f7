"""The strict provider: a loopback server in a thread that plays a script."""

from __future__ import annotations

import asyncio
import contextlib
import ssl
import threading
import time
from dataclasses import replace
from types import TracebackType
from typing import Any

from tests.support.strict_provider import (
    anthropic_rules,
    anthropic_wire,
    gemini_rules,
    gemini_wire,
    openai_rules,
    openai_wire,
    responses_rules,
    responses_wire,
)
from tests.support.strict_provider.common_rules import Refused, read_body
from tests.support.strict_provider.script import Answer, Protocol, Received, Refusal, Reply, Script
from tests.support.strict_provider.wire import ClientGone, Connection

PATHS: dict[str, Protocol] = {
    "/v1/chat/completions": "openai",
    "/chat/completions": "openai",
    "/v1/responses": "responses",
    "/openai/v1/responses": "responses",
    "/v1/messages": "anthropic",
}
WIRES: dict[str, Any] = {
    "openai": openai_wire,
    "responses": responses_wire,
    "anthropic": anthropic_wire,
    "gemini": gemini_wire,
}
OPENAI_MODEL = "gpt-4.1"
ANTHROPIC_MODEL = "claude-haiku-4-5"


class StrictProvider:
    """A server at `openai_base` and `anthropic_base`: `with StrictProvider([Reply("hello")]) as server:`.

    `script` is a list of answers (or functions from the request to one), taken in order, or one function for all.
    Requests that violate a rule are refused and consume no answer. `requests` are all received requests, `looks`
    those that only list models, `refusals` the reasons of those that violated a rule.
    """

    def __init__(
        self,
        script: Script | None = None,
        *,
        key: str | None = "test-key",
        models: tuple[str, ...] = (OPENAI_MODEL, ANTHROPIC_MODEL),
        port: int = 0,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self.script: Script = script if script is not None else []
        self.key = key
        self.models = models
        self.requests: list[Received] = []
        self.looks: list[Received] = []
        self.port, self.tls = port, tls
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, name="strict-provider", daemon=True)
        self._ready = threading.Event()
        self._stop: asyncio.Event | None = None

    # addresses

    @property
    def url(self) -> str:
        return f"http{'s' if self.tls else ''}://127.0.0.1:{self.port}"

    @property
    def openai_base(self) -> str:
        return f"{self.url}/v1"

    @property
    def anthropic_base(self) -> str:
        return self.url

    def environ(self) -> dict[str, str]:
        """Return the environment variables that select this server."""
        return {
            "OPENAI_API_KEY": self.key or "",
            "OPENAI_BASE_URL": self.openai_base,
            "ANTHROPIC_API_KEY": self.key or "",
            "ANTHROPIC_BASE_URL": self.anthropic_base,
            "GEMINI_API_KEY": self.key or "",
            "GEMINI_BASE_URL": self.url,
        }

    # received requests

    @property
    def refusals(self) -> list[str]:
        return [request.refused for request in self.requests if request.refused]

    @property
    def bodies(self) -> list[dict[str, Any]]:
        return [request.body for request in self.requests]

    # life cycle

    def __enter__(self) -> StrictProvider:
        self._thread.start()
        assert self._ready.wait(10), "the strict provider did not start"
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        stop = self._stop
        if stop is not None:
            self._loop.call_soon_threadsafe(stop.set)
        self._thread.join(10)

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_until_complete(self._serve())
        finally:
            asyncio.set_event_loop(None)
            self._loop.close()

    async def _serve(self) -> None:
        self._stop = asyncio.Event()

        async def met(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            try:
                # Cancelled only when the server stops; the stream's own callback would log that as an error.
                with contextlib.suppress(asyncio.CancelledError):
                    await self._converse(Connection(reader, writer))
            finally:
                writer.close()
                with contextlib.suppress(ConnectionError, asyncio.CancelledError):
                    await writer.wait_closed()

        # a client whose loop waits for this server to stop cannot answer the end of its TLS connection
        tls: dict[str, Any] = {"ssl": self.tls, "ssl_shutdown_timeout": 0.1} if self.tls else {}
        server = await asyncio.start_server(met, "127.0.0.1", self.port, limit=1 << 26, **tls)
        self.port = server.sockets[0].getsockname()[1]
        self._ready.set()
        await self._stop.wait()
        # Accept no more connections, but start handling those that were just accepted: asyncio drops a connection that
        # meets a closed server with its socket open. Count rounds of the loop, because any time limit is too short on a
        # busy machine.
        for listening in server.sockets:
            self._loop.remove_reader(listening.fileno())
        for _ in range(20):
            await asyncio.sleep(0)
        server.close()
        for task in asyncio.all_tasks() - {asyncio.current_task()}:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def _converse(self, connection: Connection) -> None:
        while (request := await connection.read_request()) is not None:
            received = Received(len(self.requests), *request)
            (self.looks if received.method == "GET" else self.requests).append(received)
            try:
                if not await self._answer(connection, received):
                    return
            except (ClientGone, ConnectionError):
                received.gone.set()
                return

    # responses

    async def _answer(self, connection: Connection, received: Received) -> bool:
        """Answer the request; return False if the connection cannot be used again."""
        path = received.path.partition("?")[0]
        if received.method == "GET":
            await connection.send_json(*self._listing(path), {})
            return True
        received.protocol = PATHS.get(path)
        if gemini_rules.model_of(path) is not None:
            received.protocol = "gemini"
        if received.protocol is None:
            await connection.send_json(404, {"error": {"message": f"Invalid URL ({path})"}}, {})
            return True
        try:
            self._check(received)
        except Refused as refused:
            received.refused = refused.message
            return await self._refuse(
                connection, received, Refusal(refused.status, refused.message, refused.code)
            )
        answer = self._next(received)
        if isinstance(answer, Refusal):
            return await self._refuse(connection, received, answer)
        return await self._reply(connection, received, answer)

    def _listing(self, path: str) -> tuple[int, Any]:
        if path == "/v1/models":
            return 200, {
                "object": "list",
                "data": [{"id": name, "object": "model"} for name in self.models],
            }
        if path == "/api/tags":
            return 200, {"models": [{"name": name, "model": name} for name in self.models]}
        return 404, {"error": {"message": f"Invalid URL ({path})"}}

    def _check(self, received: Received) -> None:
        if self.key is not None:
            self._check_key(received)
        received.body = read_body(received.raw)
        if received.protocol == "openai":
            openai_rules.check(received.body, set(self.models))
            return
        if received.protocol == "responses":
            responses_rules.check(received.body, set(self.models))
            return
        if received.protocol == "gemini":
            model = gemini_rules.model_of(received.path.partition("?")[0])
            gemini_rules.check(received.body, str(model), set(self.models))
            return
        if "anthropic-version" not in received.headers:
            raise Refused("anthropic-version: header is required")
        anthropic_rules.check(received.body, set(self.models))

    def _check_key(self, received: Received) -> None:
        if received.protocol == "gemini":
            good = received.headers.get("x-goog-api-key") == self.key
            words = "API key not valid. Please pass a valid API key."
        elif received.protocol != "anthropic":
            azure = received.headers.get("api-key")
            given = f"Bearer {azure}" if azure else received.headers.get("authorization", "")
            words = "Incorrect API key provided" if given else "You didn't provide an API key."
            good = given == f"Bearer {self.key}"
        else:
            good, words = received.headers.get("x-api-key") == self.key, "invalid x-api-key"
        if not good:
            raise Refused(words, status=401, code="invalid_api_key")

    def _next(self, received: Received) -> Answer:
        step = (
            self.script if callable(self.script) else (self.script.pop(0) if self.script else None)
        )
        if step is None:
            received.refused = "the script is over"
            return Refusal(500, "the script is over")
        return step(received) if callable(step) else step

    async def _refuse(self, connection: Connection, received: Received, refusal: Refusal) -> bool:
        shape = WIRES[received.protocol or "openai"]
        body = refusal.body if refusal.body is not None else shape.error_body(refusal)
        await connection.send_json(refusal.status, body, refusal.headers)
        return True

    async def _reply(self, connection: Connection, received: Received, reply: Reply) -> bool:
        model, number, body = str(received.body.get("model")), received.number, received.body
        if reply.usage is not None and reply.usage.input is None:
            counted = max(
                1, len(received.raw) // 4 - reply.usage.cache_read - reply.usage.cache_write
            )
            reply = replace(reply, usage=replace(reply.usage, input=counted))
        shape = WIRES[received.protocol or "openai"]
        is_streamed = body.get("stream") or ":stream" in received.path
        if not is_streamed:
            await connection.send_json(200, shape.whole(reply, model, number), reply.wire.headers)
            return True
        if received.protocol == "openai":
            with_usage = bool((body.get("stream_options") or {}).get("include_usage"))
            events = openai_wire.events(reply, model, number, with_usage)
        else:
            events = shape.events(reply, model, number)
        return await connection.send_stream(events, reply.wire, received)

    def wait_for_request(self, number: int = 0, seconds: float = 10) -> Received:
        """Wait for the request of that number and return it. Raises AssertionError on timeout."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            if len(self.requests) > number:
                return self.requests[number]
            time.sleep(0.005)
        raise AssertionError(f"no request number {number} came")
