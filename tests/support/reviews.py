"""Reviews in tests: begun on a runtime, run to their end."""

from __future__ import annotations

import json
from contextlib import aclosing
from typing import Any

from swecli.app import Runtime
from swecli.models.events import Event
from swecli.review.read.job import collaborators, new_job, old_job
from swecli.review.read.run import Review
from swecli.review.target.targets import find_target
from swecli.store.reviews import ReviewStore


def store_of(runtime: Runtime) -> ReviewStore:
    return ReviewStore(runtime.agent.sessions.database, str(runtime.cwd))


async def begin(runtime: Runtime, *spec: str, trusted: bool = True) -> Review:
    store, agent = store_of(runtime), runtime.agent
    job = await new_job(agent, find_target(agent.ctx.root, spec), store, trusted=trusted)
    return Review(job, collaborators(agent, job, store))


def go_on(runtime: Runtime) -> Review:
    store, agent = store_of(runtime), runtime.agent
    record = store.unfinished()
    assert record is not None
    job = old_job(agent, find_target(agent.ctx.root, record.spec), record)
    return Review(job, collaborators(agent, job, store))


async def collect(review: Review) -> list[Event]:
    async with aclosing(review.run()) as events:
        return [event async for event in events]


def reported(*rows: tuple[str, int, str], **fields: Any) -> str:
    """Findings as a JSON block in prose."""
    issues = [{"path": p, "line": n, "codeSmellType": t, "message": f"{t} there"} | fields for p, n, t in rows]
    return f"I found this:\n```json\n{json.dumps({'issues': issues})}\n```\n"
