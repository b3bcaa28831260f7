"""A conversation with the demo model, its calls answered by hand or by the real tools."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from swecli.llm.merge import ReplyBuilder
from swecli.llm.providers.demo import DemoModel
from swecli.models.message import ApiMessage, ChatMessage, Role, ToolCall
from swecli.models.model_io import ModelReply, ModelRequest
from swecli.models.playbook import SessionPlaybook
from swecli.models.tool import AskRequest, Decision, ToolSpec
from swecli.tools.base import ToolContext
from swecli.tools.execute import execute
from swecli.tools.permissions import Permissions
from swecli.tools.registry import ToolRegistry

NAMES = ("edit_file", "list_files", "read_file", "read_result", "run_command", "search_files", "todo", "write_file")
SPECS = [ToolSpec(name, "", {"type": "object"}) for name in NAMES]
MOST_STEPS = 12

Answer = Callable[[ToolCall], str]


@dataclass
class Told:
    """One turn: the last text, and every call with its result, in order."""

    text: str
    calls: list[ToolCall]

    @property
    def made(self) -> list[tuple[str, dict[str, object]]]:
        """Names and parameters of the calls."""
        return [(call.name, call.parameters) for call in self.calls]


@dataclass
class Conversation:
    """Keeps the history as the product does, and asks the model until it makes no more calls."""

    system: str = "You are a test."
    specs: list[ToolSpec] = field(default_factory=lambda: list(SPECS))
    history: list[ApiMessage] = field(default_factory=list)

    def teach(self, *bullets: str) -> None:
        """Put bullets into the system message, numbered from P-1."""
        playbook = SessionPlaybook()
        for bullet in bullets:
            playbook.add(bullet)
        self.system += playbook.as_context()

    async def reply(self) -> ModelReply:
        """One step."""
        builder = ReplyBuilder()
        messages = [{"role": "system", "content": self.system}, *self.history]
        async for chunk in DemoModel().stream(ModelRequest("demo/rules", messages, self.specs)):
            builder.add(chunk)
        return builder.build()

    async def say(self, query: str, *results: str) -> Told:
        """A turn whose calls are answered with these results, in order."""
        waiting = list(results)

        async def answer(call: ToolCall) -> str:
            assert waiting, f"a call nobody expected: {call.name} {json.dumps(call.parameters)}"
            return waiting.pop(0)

        told = await self._turn(query, answer)
        assert not waiting, f"results nobody asked for: {waiting}"
        return told

    async def _turn(self, query, answer) -> Told:  # type: ignore[no-untyped-def]
        self.history.append({"role": "user", "content": query})
        calls: list[ToolCall] = []
        for _ in range(MOST_STEPS):
            reply = await self.reply()
            assert not reply.malformed
            for call in reply.calls:
                call.result = await answer(call)
            calls += reply.calls
            self.history += ChatMessage(Role.ASSISTANT, reply.text, reply.calls).to_api()
            if not reply.calls:
                return Told(reply.text, calls)
        raise AssertionError("the turn does not end")


@dataclass
class Workspace(Conversation):
    """The same with the real tools in a folder. `no` is the reason with which everything that asks is refused."""

    root: Path = Path()
    no: str | None = None

    def __post_init__(self) -> None:
        self.registry = ToolRegistry.discover()
        self.ctx = ToolContext(root=self.root)
        self.specs = self.registry.specs()

    async def do(self, query: str) -> Told:
        """A turn whose calls really run."""

        async def decide(request: AskRequest) -> Decision:
            return Decision(True) if self.no is None else Decision(False, reason=self.no)

        async def run(call: ToolCall) -> str:
            result, _ = await execute(call, self.registry, self.ctx, Permissions("ask"), decide)
            return result.for_model

        return await self._turn(query, run)


@pytest.fixture
def chat() -> Conversation:
    return Conversation()


@pytest.fixture
def shop(tmp_path: Path) -> Workspace:
    """A small project on disk and the real tools in it."""
    files = {
        "README.md": "# Shop\n\nA small shop.\n\n## Use\n",
        "notes.txt": "hello\nworld\nhello\n",
        "src/app.py": '"""A tiny shop."""\n\nTAX = 0.19\n\n\ndef total(prices):\n    return sum(prices)\n',
        "tests/test_app.py": "import unittest\n\n\nclass Test(unittest.TestCase):\n    def test(self):\n        pass\n",
    }
    for name, text in files.items():
        path = tmp_path / "work" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return Workspace(root=tmp_path / "work")
