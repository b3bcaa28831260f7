"""Reviews in tests: begun on a runtime, run to their end."""

from __future__ import annotations

import json
from contextlib import aclosing
from typing import Any

from swecli.app import Runtime
from swecli.models.events import Event
from swecli.review.read.job import ReviewOptions, begin_job
from swecli.review.read.run import Review
from swecli.store.reviews import ReviewStore


def store_of(runtime: Runtime) -> ReviewStore:
    return ReviewStore(runtime.agent.sessions.database, str(runtime.cwd))


async def begin(runtime: Runtime, *spec: str, trusted: bool = True, verify: bool = False, **options: Any) -> Review:
    store, agent = store_of(runtime), runtime.agent
    chosen = ReviewOptions(trusted=trusted, verify=verify, **options)
    job = await begin_job(agent, store, spec, chosen)
    return Review(job)


async def go_on(runtime: Runtime) -> Review:
    store, agent = store_of(runtime), runtime.agent
    job = await begin_job(agent, store, None, ReviewOptions(trusted=True, verify=False))
    return Review(job)


async def collect(review: Review) -> list[Event]:
    async with aclosing(review.run()) as events:
        return [event async for event in events]


def reported(*rows: tuple[str, int, str], **fields: Any) -> str:
    """Findings as a JSON block in prose."""
    issues = [{"path": p, "line": n, "codeSmellType": t, "message": f"{t} there"} | fields for p, n, t in rows]
    return f"I found this:\n```json\n{json.dumps({'issues': issues})}\n```\n"


def done(*rows: tuple[str, int, str], part: int | None = None, **fields: Any) -> tuple[str, dict[str, Any]]:
    """The call that ends a part."""
    found = [{"path": p, "line": n, "code_smell_type": t, "message": f"{t} there"} | fields for p, n, t in rows]
    named = {"part": part} if part else {}
    return "report_findings", {**named, "done": True, "findings": found}


def script_report(*rows: tuple[str, int, str], part: int | None = None, **fields: Any) -> dict[str, Any]:
    """The same as an entry of a script for a process."""
    name, arguments = done(*rows, part=part, **fields)
    return {"calls": [{"name": name, "arguments": arguments}]}


def verdict(*judgements: tuple[str, str, str], path: str = "shop/prices.py") -> tuple[str, dict[str, Any]]:
    """The call of a verifier: (id, verdict, quote) each."""
    place = {"path": path, "line": 3, "why": "w"}
    rows = [{"id": ref, "verdict": word, "quote": quote, **place} for ref, word, quote in judgements]
    return "judge_findings", {"judgements": rows}


def script_verdict(*judgements: tuple[str, str, str]) -> dict[str, Any]:
    """The same as an entry of a script for a process."""
    name, arguments = verdict(*judgements)
    return {"calls": [{"name": name, "arguments": arguments}]}
