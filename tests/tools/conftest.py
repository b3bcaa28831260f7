"""A workspace, a context, and a way to run one call as the agent does."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from swecli.models.message import AskRequest, Decision, ToolCall, ToolResult
from swecli.tools.base import ToolContext
from swecli.tools.execute import ToolRegistry, execute
from swecli.tools.permissions import Permissions

RunTool = Callable[..., Awaitable[ToolResult]]


class Answers:
    """Somebody who is asked: keeps the questions, gives the same answer to each. `meanwhile` happens before that."""

    def __init__(self) -> None:
        self.asked: list[AskRequest] = []
        self.decision = Decision(True)
        self.meanwhile: Callable[[], object] = lambda: None

    async def __call__(self, request: AskRequest) -> Decision:
        self.asked.append(request)
        self.meanwhile()
        return self.decision


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """An empty workspace."""
    folder = tmp_path / "project"
    folder.mkdir()
    return folder


@pytest.fixture
def reported() -> list[str]:
    """What running calls reported."""
    return []


@pytest.fixture
def ctx(root: Path, reported: list[str]) -> ToolContext:
    """A context as a session has it."""
    return ToolContext(root=root, report=reported.append, environ=dict(os.environ), timeout=20)


@pytest.fixture
def answers() -> Answers:
    """Says yes, once, to everything, unless told otherwise."""
    return Answers()


@pytest.fixture
def permissions() -> Permissions:
    """No rules, mode ask."""
    return Permissions()


@pytest.fixture
def run(ctx: ToolContext, permissions: Permissions, answers: Answers) -> RunTool:
    """Run one call through all of execute."""
    registry = ToolRegistry.discover()

    async def run_one(name: str, /, **parameters: Any) -> ToolResult:
        result, _ = await execute(ToolCall("call-1", name, parameters), registry, ctx, permissions, answers)
        return result

    return run_one
