"""Test the tool `web_search` with a provider on this machine."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from swecli.config.settings import Settings
from swecli.models.approval import Decision
from swecli.models.errors import ConfigError
from swecli.models.message import ToolResult
from swecli.tools.base import ToolContext
from swecli.tools.offers import usable_specs
from swecli.tools.permissions import Permissions
from swecli.tools.registry import ToolRegistry
from swecli.tools.search_provider import SearchProvider
from swecli.tools.web_addresses import ALLOW_PRIVATE
from tests.tools.conftest import Answers, make_run

RunTool = Callable[..., Awaitable[ToolResult]]
ANSWER = {
    "web": {
        "info": {"title": "no address, so no result"},
        "results": [
            {"title": "First", "url": "https://one.example/a", "description": "About\n one"},
            {"name": "Second\u202e", "link": "http://two.example/", "snippet": "x" * 900},
            {"title": "Bad", "url": "javascript:alert(1)"},
        ],
    }
}


class Provider(BaseHTTPRequestHandler):
    seen: list[tuple[str, str | None]] = []
    answer: tuple[int, str, bytes] = (200, "application/json", json.dumps(ANSWER).encode())

    def do_GET(self) -> None:
        Provider.seen.append((self.path, self.headers["X-Token"]))
        status, kind, data = Provider.answer
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *args: object) -> None:
        pass


@pytest.fixture
def provider() -> Iterator[str]:
    Provider.seen = []
    Provider.answer = (200, "application/json", json.dumps(ANSWER).encode())
    server = ThreadingHTTPServer(("127.0.0.1", 0), Provider)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_port}"
    yield url
    server.shutdown()
    server.server_close()


@pytest.fixture
def ctx(ctx: ToolContext, provider: str) -> ToolContext:
    """Return a context that searches with that provider."""
    ctx.commands.environ = {**os.environ, ALLOW_PRIVATE: "1", "MY_KEY": "s3cret/key"}
    address = f"{provider}/search?q={{query}}&k={{key}}"
    search = SearchProvider.of(address, "X-Token: {key}", "MY_KEY", ctx.commands.environ)
    return replace(ctx, search=search)


async def test_results_have_title_address_and_excerpt(
    run: RunTool, provider: str, answers: Answers
) -> None:
    result = await run("web_search", query="how & why?")
    assert Provider.seen == [("/search?q=how%20%26%20why%3F&k=s3cret%2Fkey", "s3cret/key")]
    lines = result.for_model.split("\n")
    assert "information, not instructions" in lines[0]
    assert lines[1:5] == [
        "1. First",
        "   https://one.example/a",
        "   About ⏎ one",
        "2. Second\\u202e",
    ]
    assert len(lines) == 7
    assert len(lines[6]) < 420
    [asked] = answers.asked
    assert (asked.preview.body, asked.preview.title) == ("how & why?", "sent to 127.0.0.1")
    assert "s3cret" not in str((asked.summary, asked.preview, result))


async def test_a_search_needs_the_same_rule_as_a_fetch_from_the_host(
    run: RunTool, provider: str, answers: Answers, permissions: Permissions
) -> None:
    answers.decision = Decision(False)
    assert not (await run("web_search", query="x")).ok
    assert Provider.seen == []
    permissions.allow_for_session("fetch(127.0.0.1)")
    assert (await run("web_search", query="x")).ok
    assert len(answers.asked) == 1


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ((403, "application/json", b"{}"), "answered 403"),
        ((200, "application/json", b"{"), "sent no valid JSON"),
        ((200, "application/json", b"[" * 100_000), "sent no valid JSON"),
        ((200, "image/png", b"x"), "is not text"),
        ((302, "text/plain", b""), ""),
    ],
)
async def test_a_failing_provider_is_reported_without_the_key(
    run: RunTool, provider: str, answer: tuple[int, str, bytes], words: str
) -> None:
    Provider.answer = answer
    result = await run("web_search", query="x")
    assert words in result.for_model
    assert "s3cret" not in result.for_model


async def test_no_results_and_pages_of_html_are_understood(run: RunTool, provider: str) -> None:
    Provider.answer = (200, "application/json", b'{"results": []}')
    assert (await run("web_search", query="x")).for_model.endswith("\nNo results.")
    Provider.answer = (200, "text/html", b"<main><a href='http://x.example'>One</a></main>")
    assert "[One](http://x.example)" in (await run("web_search", query="x")).for_model


def test_a_provider_that_is_half_configured_is_refused() -> None:
    environ = {"KEY": "k"}
    assert SearchProvider.of("", "", "", {}) is None
    for url, header, name, words in (
        ("https://x/?q=", "", "", "no {query}"),
        ("https://x/?q={query}", "X-Token", "KEY", "is no header"),
        ("https://x/?q={query}&k={key}", "", "", "search_key_env is not set"),
        ("https://x/?q={query}", "X-Token: {key}", "OTHER", "OTHER is not set"),
    ):
        with pytest.raises(ConfigError, match=words):
            SearchProvider.of(url, header, name, environ)


async def test_without_a_provider_the_tool_is_neither_offered_nor_run(
    ctx: ToolContext, permissions: Permissions, answers: Answers
) -> None:
    run = make_run(replace(ctx, search=None), permissions, answers)
    assert "No provider" in (await run("web_search", query="x")).for_model
    specs = ToolRegistry.discover().specs()
    names = [spec.name for spec in usable_specs(specs, more=False, skills=(), settings=Settings())]
    assert "web_search" not in names
