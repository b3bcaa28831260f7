"""Test loading the runtime behind the prompt, and what is not loaded before it is drawn."""

from __future__ import annotations

import asyncio
import gc
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from swecli.app import Runtime, build_runtime
from swecli.config.settings import Start
from swecli.llm.price_table import tokenizer_folder
from swecli.models.approval import Ask
from swecli.models.errors import DamagedDatabase, StoreError
from swecli.repl.startup import Build, Startup
from tests.support.runtime import make_start
from tests.support.scripted import ScriptedModel


def build(start: Start, ask: Ask) -> Runtime:
    return build_runtime(start, ask, model=ScriptedModel([]))


def make_startup(build: Build = build) -> Startup:
    return Startup(make_start(), build)


async def test_the_runtime_is_built_in_its_own_thread() -> None:
    threads: list[str] = []

    def building(start: Start, ask: Ask) -> Runtime:
        threads.append(threading.current_thread().name)
        return build(start, ask)

    startup = make_startup(building)
    runtime = await startup.load()
    assert threads == ["swecli-load"]
    runtime.close()


async def test_commands_are_completed_before_the_runtime_is_built() -> None:
    go = threading.Event()

    def slowly(start: Start, ask: Ask) -> Runtime:
        go.wait(10)
        return build(start, ask)

    startup = make_startup(slowly)
    assert "help" in [name for name, _, _ in await startup.commands()]
    assert await startup.values("model") == ()
    go.set()
    runtime = await startup.load()
    assert ("scripted/test", "current") in await startup.values("model")
    runtime.close()


async def test_a_failed_start_is_raised_and_completes_no_values() -> None:
    def broken(start: Start, ask: Ask) -> Runtime:
        raise DamagedDatabase("no")

    startup = make_startup(broken)
    with pytest.raises(DamagedDatabase):
        await startup.load()
    assert await startup.values("model") == ()


async def test_warming_up_loads_the_token_table_for_exact_counts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tokenizer_folder()))
    startup = make_startup()
    runtime = await startup.load()
    await startup.warm(runtime.agent)
    runtime.new_session()
    assert runtime.agent.counter.estimated
    assert not runtime.context_control.meter().estimated
    runtime.close()


async def test_garbage_is_collected_as_usual_once_the_program_is_warm() -> None:
    thresholds = gc.get_threshold()
    gc.set_threshold(250_000, 20, 50)
    try:
        startup = make_startup()
        runtime = await startup.load()
        await startup.warm(runtime.agent)
        assert gc.get_threshold() == thresholds
        left = len(gc.get_objects())
        assert left < gc.get_freeze_count() / 10, "collecting all that is loaded holds up a key"
    finally:
        gc.set_threshold(*thresholds)
    runtime.close()


async def test_a_runtime_that_is_built_after_the_end_is_closed() -> None:
    go = threading.Event()
    built: list[Runtime] = []

    def slowly(start: Start, ask: Ask) -> Runtime:
        go.wait(10)
        built.append(build(start, ask))
        return built[0]

    startup = make_startup(slowly)
    loading = asyncio.ensure_future(startup.load())
    await startup.commands()
    await asyncio.sleep(0)  # `load` starts its thread
    startup.close()
    go.set()
    await loading
    with pytest.raises(StoreError, match="closed"):
        built[0].sessions.database.check()


ROOT = Path(__file__).parents[2]


@pytest.mark.slow
def test_no_slow_module_is_imported_before_the_first_drawing() -> None:
    """No slow module is imported before the first drawing."""
    code = """
import asyncio, sys
import os
from pathlib import Path
from swecli.config.paths import Paths
from swecli.config.settings import Settings
from swecli.config.settings import Start
from swecli.llm.choosing import choose_model
from swecli.models.model_choice import ModelChoice
from swecli.repl.repl import REPL
from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.output import DummyOutput
with create_pipe_input() as pipe:
    choice = ModelChoice("demo", choose_model(Settings(model="demo"), {}).reason)
    start = Start(Settings(), Paths.find(os.environ), Path.cwd(), dict(os.environ), choice)
    repl = REPL(start, pipe, DummyOutput())
    seen = []
    repl.prompt.app.after_render += lambda _: seen or (seen.extend(sys.modules), pipe.send_text("\\x04"))
    asyncio.run(repl.run())
print("\\n".join(seen))
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT
    )
    loaded = set(done.stdout.split())
    heavy = {
        "litellm",
        "openai",
        "httpx",
        "pydantic",
        "sqlalchemy",
        "sqlmodel",
        "tiktoken",
        "rich",
        "typer",
        "mcp",
        "acp",
    }
    assert not heavy & loaded
    # of a conversation, which begins later
    later = {"models.message", "models.playbook", "models.context", "models.action", "llm.profile"}
    assert not {f"swecli.{name}" for name in later} & loaded
    assert len(loaded) > 100  # it was drawn
