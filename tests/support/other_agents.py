"""Claude Code and codex themselves, where they are installed, with a service on loopback in place of their model."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.support.shell import environment
from tests.support.strict_provider import anthropic_wire, responses_wire
from tests.support.strict_provider.script import Reply

CLAUDE = shutil.which("claude")
CODEX = shutil.which("codex")
_ANTHROPIC, _RESPONSES = "/v1/messages", "/v1/responses"
# codex knows the tools of a server as one namespace
_TOOL_OF_SERVER = re.compile(rb'"name": ?"(mcp__[a-z]+)__([a-z]+)"')


class ScriptedService(ThreadingHTTPServer):
    """Gives these replies to requests that offer tools, in order, and a word to all others. `requests` are the bodies
    of the former. `waiting` is the reply as long as a request does not offer the tool `first`."""

    daemon_threads = True

    def __init__(self, replies: Sequence[Reply], first: str, waiting: Reply | None) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.replies = list(replies)
        self.first = first
        self.waiting = waiting
        self.requests: list[dict[str, Any]] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def reply_to(self, body: dict[str, Any]) -> Reply:
        if not body.get("tools"):
            return Reply("ok")
        self.requests.append(body)
        offers_it = any(tool.get("name") == self.first for tool in body["tools"])
        if self.waiting is not None and not offers_it:
            return self.waiting
        return self.replies.pop(0) if self.replies else Reply("There is no more.")


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: ScriptedService

    def log_message(self, format: str, *args: object) -> None:
        """Print nothing."""

    def do_HEAD(self) -> None:
        self._send(200, "text/plain", b"")

    def do_GET(self) -> None:
        self._send(404, "text/plain", b"")

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))) or b"{}")
        path = self.path.partition("?")[0]
        if path not in (_ANTHROPIC, _RESPONSES):
            self._send(404, "application/json", b"{}")
            return
        reply = self.server.reply_to(body)
        number = len(self.server.requests)
        if path == _RESPONSES:
            events = b"".join(responses_wire.events(reply, body["model"], number))
            named = _TOOL_OF_SERVER.sub(rb'"namespace": "\1", "name": "\2"', events)
            self._send(200, "text/event-stream", named)
        elif body.get("stream"):
            events = b"".join(anthropic_wire.events(reply, body["model"], number))
            self._send(200, "text/event-stream", events)
        else:
            whole = anthropic_wire.whole(reply, body["model"], number)
            self._send(200, "application/json", json.dumps(whole).encode())

    def _send(self, status: int, kind: str, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


@contextmanager
def scripted(
    *replies: Reply, first: str = "", waiting: Reply | None = None
) -> Iterator[ScriptedService]:
    """Run the service in a thread."""
    with ScriptedService(replies, first, waiting) as service:
        thread = threading.Thread(target=service.serve_forever, daemon=True)
        thread.start()
        try:
            yield service
        finally:
            service.shutdown()
            thread.join()


def claude(service: ScriptedService, *words: str) -> str:
    """Run Claude Code to its end with nothing but the service to talk to, and return what it prints."""
    assert CLAUDE is not None
    return _run(
        [CLAUDE, *words],
        ANTHROPIC_BASE_URL=service.url,
        ANTHROPIC_API_KEY="test-key",
        CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC="1",
        DISABLE_AUTOUPDATER="1",
    )


def codex(service: ScriptedService, *words: str) -> str:
    """Run codex in the same way."""
    assert CODEX is not None
    provider = (
        f'{{name="test", base_url="{service.url}/v1", env_key="TEST_KEY", wire_api="responses"}}'
    )
    settings = ("-c", 'model_provider="test"', "-c", f"model_providers.test={provider}")
    return _run([CODEX, *settings, *words], TEST_KEY="test-key")


def _run(command: Sequence[str], **variables: str) -> str:
    done = subprocess.run(
        command,
        env=environment(variables),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
