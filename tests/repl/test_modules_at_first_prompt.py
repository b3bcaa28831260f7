"""Test which modules are loaded when the prompt is first drawn."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

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
from swecli.llm.registry import choose_model
from swecli.models.message import ModelChoice
from swecli.repl.repl import REPL
from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.output import DummyOutput
with create_pipe_input() as pipe:
    choice = ModelChoice("demo", choose_model(Settings(model="demo"), {}).why)
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
    }
    assert not heavy & loaded
    assert len(loaded) > 100  # it was drawn
