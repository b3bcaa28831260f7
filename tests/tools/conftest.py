"""Fixtures for tools: a workspace, a context, and a function that runs one call as the agent does."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from swecli.models.approval import AskRequest, Decision
from swecli.models.message import ToolCall, ToolResult
from swecli.tools.base import CommandAccess, Progress, ToolContext
from swecli.tools.execute import execute
from swecli.tools.permissions import Permissions
from swecli.tools.registry import ToolRegistry

RunTool = Callable[..., Awaitable[ToolResult]]


class Answers:
    """Gives the same decision to each approval request and records the requests. `meanwhile` is called before each
    answer."""

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
    """Create an empty workspace."""
    folder = tmp_path / "project"
    folder.mkdir()
    return folder


@pytest.fixture
def reported() -> list[str]:
    """Return the list of the output that running calls report."""
    return []


@pytest.fixture
def ctx(root: Path, reported: list[str]) -> ToolContext:
    """Return a context like a session's."""
    return ToolContext(
        root,
        commands=CommandAccess(timeout=20, environ=dict(os.environ)),
        progress=Progress(report=reported.append),
    )


@pytest.fixture
def answers() -> Answers:
    """Return a user who approves everything once; a test may change the decision."""
    return Answers()


@pytest.fixture
def permissions() -> Permissions:
    """Return permissions in mode `ask` without rules."""
    return Permissions()


@pytest.fixture
def run(ctx: ToolContext, permissions: Permissions, answers: Answers) -> RunTool:
    """Return a function that runs one call through `execute`."""
    return make_run(ctx, permissions, answers)


def make_run(ctx: ToolContext, permissions: Permissions, answers: Answers) -> RunTool:
    """Return a function that runs one call in this context."""
    registry = ToolRegistry.discover()

    async def run_one(name: str, /, **parameters: Any) -> ToolResult:
        result, _ = await execute(
            ToolCall("call-1", name, parameters), registry, ctx, permissions, answers
        )
        return result

    return run_one
