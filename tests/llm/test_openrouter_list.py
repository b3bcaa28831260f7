"""Test that OpenRouter's models are known from its own list, and that no list can hold up or damage a start."""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from swecli.config.settings import Settings
from swecli.llm.openrouter_list import read_rows
from swecli.llm.profile import Profile
from swecli.llm.registry import make_model

KIMI = {
    "id": "moonshotai/kimi-k3",
    "context_length": 300_000,
    "architecture": {"input_modalities": ["text", "image"]},
    "pricing": {"prompt": "0.000002", "completion": "0.000008", "input_cache_read": "0.0000002"},
    "top_provider": {"context_length": 262_144, "max_completion_tokens": 65_536},
    "supported_parameters": ["tools", "reasoning", "structured_outputs"],
}
PLAIN = {"id": "acme/writer", "context_length": 8_192, "supported_parameters": ["max_tokens"]}
AUTO = {"id": "openrouter/auto", "context_length": 0, "pricing": {"prompt": "-1"}}
LIST = json.dumps({"data": [KIMI, PLAIN, AUTO, 7, {"id": None}]}).encode()


class Lists:
    """A server of one list; `asked` are the paths and `keys` the keys that it was sent."""

    def __init__(self, body: bytes) -> None:
        self.body = body
        self.stalls = threading.Event()
        self.asked: list[str] = []
        self.keys: list[str | None] = []


@contextmanager
def serving(body: bytes, *, is_silent: bool = False) -> Iterator[tuple[Lists, dict[str, str]]]:
    lists = Lists(body)

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, format: str, *args: Any) -> None:
            pass

        def do_GET(self) -> None:
            lists.asked.append(self.path)
            lists.keys.append(self.headers["authorization"])
            if is_silent:
                lists.stalls.wait(20)
                return
            self.send_response(200)
            self.end_headers()
            with suppress(OSError):  # the reader has had enough
                self.wfile.write(lists.body)

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        address = f"http://127.0.0.1:{server.server_port}/api/v1"
        yield (
            lists,
            {**os.environ, "OPENROUTER_API_KEY": "secret-key", "OPENROUTER_BASE_URL": address},
        )
        lists.stalls.set()
        server.shutdown()


def profile_of(name: str, environ: dict[str, str]) -> Profile:
    return make_model(f"openrouter/{name}", Settings(), environ).profile


def test_a_listed_model_has_its_window_prices_and_parameters() -> None:
    with serving(LIST) as (lists, environ):
        known = profile_of("moonshotai/kimi-k3", environ)
    assert (known.window, known.max_output) == (262_144, 65_536)
    assert (known.tools, known.images, known.schemas, known.thinking) == (
        True,
        True,
        True,
        "effort",
    )
    assert known.dollars_per_million("input") == 2.0
    assert known.dollars_per_million("cache_read") == 0.2
    assert known.origins["window"] == "OpenRouter's list"
    assert (lists.asked, lists.keys) == (["/api/v1/models"], [None])


def test_a_model_that_is_listed_without_tools_has_none() -> None:
    with serving(LIST) as (_, environ):
        known = profile_of("acme/writer", environ)
    assert (known.tools, known.origins["tools"]) == (False, "OpenRouter's list")
    assert known.thinking == "none"


def test_a_window_of_0_and_a_price_that_varies_are_unknown() -> None:
    with serving(LIST) as (_, environ):
        known = profile_of("openrouter/auto", environ)
    assert (known.window, known.dollars_per_million("input")) == (None, None)
    assert known.reserve() > 0
    assert known.is_priced(), "the service reports what each request cost"


def test_a_variant_is_known_as_its_model() -> None:
    with serving(LIST) as (_, environ):
        assert profile_of("moonshotai/kimi-k3:nitro", environ).window == 262_144
        assert profile_of("moonshotai/kimi", environ).window is None, "the start of a name"


def test_the_list_is_fetched_once_a_day_and_the_old_one_serves_without_an_answer() -> None:
    with serving(LIST) as (lists, environ):
        for _ in range(2):
            profile_of("moonshotai/kimi-k3", environ)
        assert len(lists.asked) == 1
        (stored,) = Path(os.environ["SWECLI_HOME"]).glob("openrouter.json")
        yesterday = time.time() - 90_000
        os.utime(stored, (yesterday, yesterday))
        lists.body = b"no list"
        assert profile_of("moonshotai/kimi-k3", environ).window == 262_144
        assert len(lists.asked) == 2


@pytest.mark.parametrize(
    "body",
    [
        b'{"data": [' + b'{"id": "a/b", "context_length": 1},' * 1_500_000 + b"{}]}",
        b"[1, 2]",
        b'{"data": {"a": 1}}',
        b'{"models": ["a"]}',
        b"<html>log in</html>",
        b"",
        b"[" * 100_000,
        b'{"data": [{"id": "moonshotai/kimi-k3", "context_length": "many", "pricing": [], "architecture": 1}]}',
    ],
    ids=["50 MB", "array", "object", "other", "page", "empty", "deep", "kinds"],
)
def test_a_list_of_another_shape_teaches_nothing(body: bytes) -> None:
    with serving(body) as (_, environ):
        known = profile_of("moonshotai/kimi-k3", environ)
    assert (known.window, known.tools) == (None, True)
    assert known.dollars_per_million("input") is None


def test_a_service_that_never_answers_holds_nothing_up() -> None:
    with serving(LIST, is_silent=True) as (lists, environ):
        assert profile_of("moonshotai/kimi-k3", environ).window is None
        assert profile_of("moonshotai/kimi-k3", environ).window is None
        assert len(lists.asked) == 1, "the next start does not wait again"
        (stored,) = Path(os.environ["SWECLI_HOME"]).glob("openrouter.json")
        later = time.time() + 3_601
        assert later - stored.stat().st_mtime > 86_400, "an hour later it does"


@pytest.mark.parametrize(
    "stored", ["", "{", "[]", '{"version": 99}', '{"version": 1, "address": "x", "models": 7}']
)
def test_a_damaged_stored_list_is_fetched_again(own_home: Path, stored: str) -> None:
    path = own_home / "swecli" / "openrouter.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(stored)
    with serving(LIST) as (_, environ):
        assert profile_of("moonshotai/kimi-k3", environ).window == 262_144


def test_prices_that_are_no_prices_are_left_out() -> None:
    odd = {"id": "a", "pricing": {"prompt": "inf", "completion": "free", "input_cache_read": None}}
    assert read_rows({"data": [odd]})["a"] == {"litellm_provider": "openrouter", "mode": "chat"}
