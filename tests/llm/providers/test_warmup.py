"""Warming up makes one call to nobody, gives way to typing, and never fails its caller."""

from __future__ import annotations

import gc
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from swecli.llm.providers.warmup import PAUSE, PoliteFinder, never, polite, warm_up
from tests.support.model_requests import ask, model_at, request
from tests.support.strict_provider import Reply, StrictProvider

ROOT = str(Path(__file__).resolve().parents[3])


@pytest.mark.parametrize("provider", ["openai", "anthropic", "gemini", "ollama"])
def test_it_says_that_it_is_warm(provider: str) -> None:
    assert warm_up(provider=provider).startswith("warm after")
    assert gc.isenabled()


def test_it_leaves_the_import_system_as_it_was() -> None:
    before = list(sys.meta_path)
    warm_up()
    assert sys.meta_path == before


def test_it_never_raises() -> None:
    def broken() -> float:
        raise RuntimeError("no clock")

    # modules are asked for under the finder only where one is still missing; so look for one
    with polite(broken), pytest.raises(RuntimeError):
        __import__("a_module_that_is_not_there")

    assert isinstance(warm_up(broken), str)


def test_imports_pause_only_while_somebody_types_and_only_in_their_own_thread() -> None:
    pauses: list[float] = []
    last = [float("-inf")]
    finder = PoliteFinder(lambda: last[0], pauses.append)
    assert finder.find_spec("x", None) is None
    assert pauses == []
    last[0] = time.monotonic() + 60
    finder.find_spec("x", None)
    assert pauses == [PAUSE]
    other = threading.Thread(target=finder.find_spec, args=("x", None))
    other.start()
    other.join()
    assert pauses == [PAUSE]
    assert never() < 0


async def test_a_model_works_while_and_after_another_thread_warms_up() -> None:
    with StrictProvider(lambda _: Reply("hello")) as server:
        for provider in ("anthropic", "openai"):
            thread = threading.Thread(target=warm_up, kwargs={"provider": provider})
            thread.start()
            for name in ("openai/gpt-4.1", "anthropic/claude-haiku-4-5") * 3:
                assert (await ask(model_at(server, name), request())).text == "hello"
            thread.join()


@pytest.mark.slow
def test_a_fresh_process_warms_up_silently_without_the_network_and_imports_little_afterwards() -> None:
    program = """
import os, sys, threading
def guard(event, args):
    if event == "socket.getaddrinfo" and args[0] not in ("127.0.0.1", b"127.0.0.1", None):
        os._exit(9)
    if event == "socket.connect" and isinstance(args[1], tuple) and args[1][0] != "127.0.0.1":
        os._exit(9)
sys.addaudithook(guard)
from swecli.llm.providers.warmup import warm_up
said = []
thread = threading.Thread(target=lambda: said.append(warm_up()))
thread.start(); thread.join()
before = len(sys.modules)
import asyncio
from tests.support.model_requests import READ, ask, model_at, request
from tests.support.strict_provider import Call, Reply, StrictProvider
before = set(sys.modules)
with StrictProvider([Reply("hello", calls=(Call("read_file"),))]) as server:
    reply = asyncio.run(ask(model_at(server, "openai/gpt-4.1"), request(tools=[READ])))
print(said[0].split()[0], reply.text, len(set(sys.modules) - before))
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=120, cwd=ROOT
    )
    assert done.stderr == ""
    assert done.returncode == 0
    warm, text, late = done.stdout.split()
    assert (warm, text) == ("warm", "hello")
    assert int(late) <= 5
