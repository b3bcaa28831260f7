"""Claude Code itself, where it is installed, with a service on loopback in place of its model."""

from __future__ import annotations

import json
import shutil
import subprocess
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.support.shell import environment
from tests.support.strict_provider import anthropic_wire
from tests.support.strict_provider.script import Reply

PROGRAM = shutil.which("claude")


class ScriptedService(ThreadingHTTPServer):
    """Gives these replies to requests that offer tools, in order, and a word to all others. `requests` are the bodies
    of the former."""

    daemon_threads = True

    def __init__(self, replies: Sequence[Reply]) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.replies = list(replies)
        self.requests: list[dict[str, Any]] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def reply_to(self, body: dict[str, Any]) -> Reply:
        if not body.get("tools"):
            return Reply("ok")
        self.requests.append(body)
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
        if not self.path.startswith("/v1/messages?") and self.path != "/v1/messages":
            self._send(404, "application/json", b"{}")
            return
        reply = self.server.reply_to(body)
        number = len(self.server.requests)
        if body.get("stream"):
            events = anthropic_wire.events(reply, body["model"], number)
            self._send(200, "text/event-stream", b"".join(events))
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
def scripted(*replies: Reply) -> Iterator[ScriptedService]:
    """Run the service in a thread."""
    with ScriptedService(replies) as service:
        thread = threading.Thread(target=service.serve_forever, daemon=True)
        thread.start()
        try:
            yield service
        finally:
            service.shutdown()
            thread.join()


def claude(service: ScriptedService, *words: str) -> subprocess.CompletedProcess[str]:
    """Run Claude Code to its end, with a home of its own and nothing but the service to talk to."""
    assert PROGRAM is not None
    return subprocess.run(
        [PROGRAM, *words],
        env=environment()
        | {
            "ANTHROPIC_BASE_URL": service.url,
            "ANTHROPIC_API_KEY": "test-key",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_AUTOUPDATER": "1",
        },
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
