"""Test loading the runtime behind the prompt."""

from __future__ import annotations

import threading

import pytest

from swecli.app import Runtime, build_runtime
from swecli.config.settings import Start
from swecli.llm.price_table import tokenizer_folder
from swecli.models.errors import DamagedDatabase
from swecli.models.message import Ask
from swecli.repl.dispatch import Build, Startup
from tests.support.runtime import make_start
from tests.support.scripted import ScriptedModel


def build(start: Start, ask: Ask) -> Runtime:
    return build_runtime(start, ask, model=ScriptedModel([]))


def make_startup(build: Build = build) -> Startup:
    return Startup(make_start(), build)


async def test_the_runtime_is_built_in_a_thread_of_its_own() -> None:
    threads: list[str] = []

    def building(start: Start, ask: Ask) -> Runtime:
        threads.append(threading.current_thread().name)
        return build(start, ask)

    it = make_startup(building)
    runtime = await it.load()
    assert threads == ["swecli-load"]
    runtime.close()


async def test_the_commands_are_known_before_the_runtime() -> None:
    go = threading.Event()

    def slowly(start: Start, ask: Ask) -> Runtime:
        go.wait(10)
        return build(start, ask)

    it = make_startup(slowly)
    assert "help" in [name for name, _, _ in await it.commands()]
    assert await it.values("model") == ()
    go.set()
    runtime = await it.load()
    assert ("scripted/test", "in use") in await it.values("models")
    runtime.close()


async def test_a_failure_is_raised_and_offers_no_values() -> None:
    def broken(start: Start, ask: Ask) -> Runtime:
        raise DamagedDatabase("no")

    it = make_startup(broken)
    with pytest.raises(DamagedDatabase):
        await it.load()
    assert await it.values("model") == ()


async def test_the_token_table_is_loaded_for_who_asks_for_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tokenizer_folder()))
    it = make_startup()
    runtime = await it.load()
    await it.warm(runtime.agent)
    runtime.new_session()
    assert runtime.context_control.meter(exact=False).estimated
    assert not runtime.context_control.meter().estimated
    runtime.close()
