"""Fixtures for commands: a runtime whose model always answers "ok", and a command context."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from swecli.app import Runtime
from tests.support.command_context import ScriptedContext
from tests.support.runtime import make_runtime


@pytest.fixture
def runtime() -> Iterator[Runtime]:
    made = make_runtime(["ok"] * 20)
    yield made
    made.close()


@pytest.fixture
def ctx(runtime: Runtime) -> ScriptedContext:
    return ScriptedContext(runtime)
