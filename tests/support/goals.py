"""Goals in a runtime without a screen."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Mapping
from contextlib import AbstractContextManager, closing, nullcontext
from dataclasses import replace
from typing import Any

from swecli.actions.goal import Goal, GoalFace, GoalRun
from swecli.app import Runtime
from swecli.models.errors import BusyElsewhere
from swecli.models.events import Event, Notice
from swecli.models.goal_events import GoalChecked, GoalEnded
from swecli.models.message import ModelRequest
from tests.support.runtime import calls, make_runtime
from tests.support.scripted import Reply, ScriptedModel

FAILS = "echo app.py is wrong; test -f done"


class RecordingFace(GoalFace):
    """Keeps the events and learns nothing."""

    def __init__(self, runtime: Runtime) -> None:
        self.events: list[Event] = []
        self.ended_turns: list[int] = []
        self._runtime = runtime

    def show(self, event: Event) -> None:
        self.events.append(event)

    def working(self, label: str) -> AbstractContextManager[None]:
        return nullcontext()

    async def store_query(self, query: str, fields: Mapping[str, str]) -> None:
        async def wait(_: BusyElsewhere) -> None:
            await asyncio.sleep(0.01)

        async def load() -> None:
            self._runtime.load_again()

        await self._runtime.store_query(query, wait, load, **fields)

    async def end_turn(self, interaction: int) -> None:
        self.ended_turns.append(interaction)

    @property
    def checks(self) -> list[GoalChecked]:
        return [event for event in self.events if isinstance(event, GoalChecked)]

    @property
    def lines(self) -> list[str]:
        shown = [
            event for event in self.events if isinstance(event, GoalChecked | GoalEnded | Notice)
        ]
        return [event.describe() for event in shown]


def run_of(command: str) -> Reply:
    return calls(("run_command", {"command": command, "access": "write"}))


def make_goal(runtime: Runtime, command: str = FAILS, **fields: Any) -> GoalRun:
    goal = replace(Goal.of(command, f"/goal {command}", runtime.settings), **fields)
    return GoalRun(runtime, goal, RecordingFace(runtime))


async def pursue(
    replies: Any, command: str = FAILS, *, mode: str = "edits", **fields: Any
) -> tuple[GoalEnded, RecordingFace, Runtime]:
    """Run a goal to its end."""
    runtime = make_runtime(replies, mode=mode)
    run = make_goal(runtime, command, **fields)
    ended = await run.run()
    assert isinstance(run.face, RecordingFace)
    return ended, run.face, runtime


def requests(runtime: Runtime) -> list[ModelRequest]:
    model = runtime.agent.model
    assert isinstance(model, ScriptedModel)
    return model.requests


def stored(runtime: Runtime, question: str) -> list[tuple[Any, ...]]:
    path = runtime.sessions.database.path
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as connection:
        return connection.execute(question).fetchall()
