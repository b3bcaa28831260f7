"""Fixtures for every test: a home and a working directory of its own, and no network but the loopback."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.support.databases import OPENED

# Tests have no deadline, so that a loaded machine fails none. CI uses the same examples each time: new failing examples
# are found in development.
settings.register_profile(
    "house",
    deadline=None,
    max_examples=60,
    suppress_health_check=[HealthCheck.too_slow],
    derandomize=bool(os.environ.get("CI")),
)
settings.load_profile("house")

LOOPBACK = ("127.", "::1", "localhost", "0.0.0.0")
KEYS = ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY")


def _refuse_network(event: str, args: tuple[object, ...]) -> None:
    """Audit hook that fails a test at the point where it opens a network connection."""
    if event == "socket.connect":
        address = args[1]
        if isinstance(address, tuple) and not str(address[0]).startswith(LOOPBACK):
            raise RuntimeError(f"a test tried to connect to {address}")
    elif event == "socket.getaddrinfo":
        host = args[0]
        name = host.decode() if isinstance(host, bytes) else host
        if name and not str(name).startswith(LOOPBACK):
            raise RuntimeError(f"a test tried to look up {name}")


sys.addaudithook(_refuse_network)


def pytest_collection_finish() -> None:
    """Freeze loaded objects: a full garbage collection would scan them again, a second each time."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)


@pytest.fixture(autouse=True)
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Set up a home, an empty working directory, and an environment without the developer's keys and settings."""
    home, work = tmp_path / "home", tmp_path / "work"
    home.mkdir()
    work.mkdir()
    for name in [
        n for n in os.environ if n.startswith("SWECLI_") or n.endswith(("_BASE_URL", "_API_BASE"))
    ]:
        monkeypatch.delenv(name)
    for name in KEYS:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("SWECLI_HOME", str(home / "swecli"))
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.chdir(work)
    return home


@pytest.fixture(autouse=True)
def closed_databases(own_home: Path) -> Iterator[None]:
    """Close the databases and runtimes that the test opened with `tests/support`, and fail if another one is open."""
    yield
    openers = OPENED.close()
    assert not openers, "a connection to SQLite was not closed; opened by " + "; ".join(openers)
