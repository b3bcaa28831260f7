"""An editor that drives `swecli acp` as a process, on the official library's side of editors."""

from __future__ import annotations

import asyncio
from asyncio.subprocess import Process
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from acp import PROTOCOL_VERSION, spawn_agent_process, text_block
from acp.client.connection import ClientSideConnection
from acp.schema import (
    AgentMessageChunk,
    AllowedOutcome,
    DeniedOutcome,
    PermissionOption,
    RequestPermissionResponse,
    ToolCallUpdate,
)

from tests.support.shell import COMMAND, environment

_PATIENCE = 60.0  # seconds, of a loaded machine
_LIMIT = 64 * 2**20  # bytes of a line


@dataclass
class Editor:
    """The client of the protocol. `answers` are the kinds of option that it chooses, in order, the last one again;
    "cancelled" cancels the question, "never" leaves it open. `updates` are those of all sessions, each with the
    session's id before it."""

    answers: list[str] = field(default_factory=lambda: ["allow_once"])
    updates: list[tuple[str, Any]] = field(default_factory=list)
    questions: list[tuple[ToolCallUpdate, list[PermissionOption]]] = field(default_factory=list)
    asked: asyncio.Event = field(default_factory=asyncio.Event)
    changed: asyncio.Condition = field(default_factory=asyncio.Condition)

    async def session_update(self, session_id: str, update: Any, **_: Any) -> None:
        async with self.changed:
            self.updates.append((session_id, update))
            self.changed.notify_all()

    async def request_permission(
        self,
        session_id: str,
        tool_call: ToolCallUpdate,
        options: list[PermissionOption],
        **_: Any,
    ) -> RequestPermissionResponse:
        self.questions.append((tool_call, options))
        self.asked.set()
        kind = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if kind == "never":
            await asyncio.Event().wait()
        if kind == "cancelled":
            return RequestPermissionResponse(outcome=DeniedOutcome(outcome="cancelled"))
        chosen = next(option for option in options if option.kind == kind)
        return RequestPermissionResponse(
            outcome=AllowedOutcome(outcome="selected", option_id=chosen.option_id)
        )

    def of_kind(self, kind: str, session_id: str = "") -> list[Any]:
        """Return the updates of a kind, of one session or of all."""
        return [
            update
            for session, update in self.updates
            if update.session_update == kind and session_id in ("", session)
        ]

    def text(self, session_id: str = "") -> str:
        """Return what the agent said."""
        chunks: list[AgentMessageChunk] = self.of_kind("agent_message_chunk", session_id)
        return "".join(getattr(chunk.content, "text", "") for chunk in chunks)

    def calls(self, session_id: str = "") -> dict[str, dict[str, Any]]:
        """Return the tool calls as they stand after all updates, by id: what was set last counts."""
        found: dict[str, dict[str, Any]] = {}
        for update in self.of_kind("tool_call", session_id) + self.of_kind(
            "tool_call_update", session_id
        ):
            fields = update.model_dump(exclude_none=True, exclude={"session_update"})
            found.setdefault(update.tool_call_id, {}).update(fields)
        return found

    async def wait_for(self, is_reached: Callable[[], bool]) -> None:
        """Wait until the updates so far satisfy a condition."""
        async with self.changed, asyncio.timeout(_PATIENCE):
            await self.changed.wait_for(is_reached)


@dataclass
class OpenEditor:
    """An editor whose agent runs."""

    editor: Editor
    agent: ClientSideConnection
    process: Process

    async def new_session(self, folder: Path | None = None) -> str:
        """Start a session in a folder, the working folder by default, and return its id."""
        session = await self.agent.new_session(cwd=str(folder or Path.cwd()), mcp_servers=[])
        return session.session_id

    async def prompt(self, session_id: str, text: str) -> str:
        """Send a prompt and return why the turn ended."""
        return (
            await self.agent.prompt(session_id=session_id, prompt=[text_block(text)])
        ).stop_reason


@asynccontextmanager
async def open_editor(
    *flags: str, answers: Sequence[str] = ("allow_once",), environ: Mapping[str, str] | None = None
) -> AsyncIterator[OpenEditor]:
    """Start `swecli acp` with these flags and greet it. At the end its stdin is closed, and it has to exit."""
    editor = Editor([*answers])
    async with spawn_agent_process(
        editor,  # type: ignore[arg-type]  # it has no files and terminals
        *COMMAND,
        "acp",
        *flags,
        env=environment(environ),
        transport_kwargs={"limit": _LIMIT, "stderr": None},
        use_unstable_protocol=True,
    ) as (agent, process):
        await agent.initialize(protocol_version=PROTOCOL_VERSION)
        yield OpenEditor(editor, agent, process)
        assert process.stdin is not None
        process.stdin.close()
        async with asyncio.timeout(_PATIENCE):
            code = await process.wait()
        assert code == 0, code
        # its pipe would be closed a moment later, when the loop of this test has ended
        process._transport.close()  # type: ignore[attr-defined]
        await asyncio.sleep(0)


def find_processes(words: str) -> list[str]:
    """Return the command lines of running processes that contain these words."""
    found: list[str] = []
    for file in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            line = file.read_bytes().replace(b"\0", b" ").decode(errors="replace")
            if words in line:
                found.append(line)
    return found
