"""A complete runtime without a screen: real store, real tools, a scripted model and a scripted user."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from swecli.app import Runtime, build_runtime
from swecli.config.paths import Paths, project_root
from swecli.config.project_files import read_project_files
from swecli.config.settings import Settings, Start
from swecli.config.trust import FolderTrust, TrustLedger
from swecli.llm.base import ChatModel
from swecli.models.approval import AskRequest, Decision
from swecli.models.events import Event
from swecli.models.model_choice import ModelChoice
from tests.support.databases import OPENED
from tests.support.scripted import Reply, ScriptedCall, ScriptedModel


@dataclass
class User:
    """Answers approval requests in order, repeating the last answer, and records the requests in `asked`."""

    answers: list[Decision] = field(default_factory=lambda: [Decision(True)])
    asked: list[AskRequest] = field(default_factory=list)

    async def __call__(self, request: AskRequest) -> Decision:
        self.asked.append(request)
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]


YES, NO = Decision(True), Decision(False, reason="not now")


def make_start(cwd: Path | None = None, *, resume: str | None = None, **settings: Any) -> Start:
    paths = Paths.find(os.environ)
    paths.ensure()
    return Start(
        settings=replace(Settings(), **settings),
        paths=paths,
        cwd=cwd or Path.cwd(),
        environ=dict(os.environ),
        choice=ModelChoice("scripted/test", "for this test"),
        resume=resume,
    )


def trust_everything(start: Start) -> FolderTrust:
    """Trust all files of the project as they are now."""
    root = project_root(start.cwd)
    return TrustLedger.find(start.paths).approve(root, read_project_files(start.cwd))


def make_runtime(
    replies: Iterable[Any] | ChatModel | Callable[..., Any] = (),
    user: User | None = None,
    *,
    cwd: Path | None = None,
    resume: str | None = None,
    **settings: Any,
) -> Runtime:
    """Build a runtime, which is closed when the test ends."""
    model = replies if hasattr(replies, "stream") else ScriptedModel(replies)
    runtime = build_runtime(make_start(cwd, resume=resume, **settings), user or User(), model=model)  # type: ignore[arg-type]
    OPENED.closers.append(runtime.close)
    return runtime


async def run_turn(runtime: Runtime, query: str, *, learn: bool = True) -> list[Event]:
    """Run one turn, with learning unless disabled, and return its events."""
    events: list[Event] = []
    async with aclosing(runtime.agent.run(runtime.agent.prepare(query))) as happening:
        async for event in happening:
            events.append(event)
    if learn:
        events += await runtime.learning.learn()
    return events


async def catch_up(runtime: Runtime) -> list[Event]:
    """Do what the REPL does at its start: check the anchors, and reflect on turns that earlier runs left."""
    pending = runtime.learning.pending_by_session()
    events: list[Event] = [*await runtime.learning.check_anchors()]
    for session_id, numbers in pending:
        events += await runtime.learning.resume(session_id, numbers)
    return events


def event_types(events: Iterable[Event]) -> list[str]:
    """Return the event types in order, consecutive deltas collapsed into one."""
    names: list[str] = []
    for event in events:
        if not (event.type.endswith("_delta") and names and names[-1] == event.type):
            names.append(event.type)
    return names


def calls(*pairs: tuple[str, dict[str, Any] | str], text: str = "") -> Reply:
    """Return a reply that calls tools."""
    return Reply(text, tuple(ScriptedCall(name, arguments) for name, arguments in pairs))
