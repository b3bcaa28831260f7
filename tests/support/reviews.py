"""Helpers that begin, continue and run reviews on a runtime."""

from __future__ import annotations

import json
from contextlib import aclosing
from typing import Any

from swecli.actions.findings import open_store
from swecli.agent.calls import Toolkit
from swecli.app import Runtime
from swecli.context.tokens import TokenCounter
from swecli.llm.base import ChatModel
from swecli.models.events import Event
from swecli.review.judge.look_up import Examiner
from swecli.review.judge.sources import Sources
from swecli.review.judge.verify import Verifier
from swecli.review.read.job import ReviewOptions, begin_job
from swecli.review.read.run import Review
from swecli.store.reviews import ReviewStore
from swecli.store.session_manager import SessionManager


def review_store(runtime: Runtime) -> ReviewStore:
    return open_store(runtime.agent.sessions, runtime.cwd)


async def begin_review(
    runtime: Runtime, *spec: str, trusted: bool = True, verify: bool = False, **options: Any
) -> Review:
    store, agent = review_store(runtime), runtime.agent
    chosen = ReviewOptions(trusted=trusted, verify=verify, **options)
    job = await begin_job(agent, store, spec, chosen)
    return Review(job)


async def continue_review(runtime: Runtime) -> Review:
    store, agent = review_store(runtime), runtime.agent
    job = await begin_job(agent, store, None, ReviewOptions(trusted=True, verify=False))
    return Review(job)


async def collect(review: Review) -> list[Event]:
    async with aclosing(review.run()) as events:
        return [event async for event in events]


def make_verifier(
    model: ChatModel, store: ReviewStore, sources: Sources, **fields: Any
) -> Verifier:
    """Return a verifier with all tools and a session of its own."""
    sessions = SessionManager(store.database)
    sessions.start("checks", model.name)
    counter = TokenCounter(model.profile.encoding)
    toolkit = Toolkit.for_replay(sources.root)
    return Verifier(Examiner(model, toolkit, sessions, counter), store, sources, **fields)


def findings_text(*rows: tuple[str, int, str], **fields: Any) -> str:
    """Return a model's answer with the findings as a JSON block in prose."""
    issues = [
        {"path": p, "line": n, "codeSmellType": t, "message": f"{t} there"} | fields
        for p, n, t in rows
    ]
    return f"I found this:\n```json\n{json.dumps({'issues': issues})}\n```\n"


def report_call(
    *rows: tuple[str, int, str], part: int | None = None, **fields: Any
) -> tuple[str, dict[str, Any]]:
    """Return the call that reports findings and ends a part."""
    found = [
        {"path": p, "line": n, "code_smell_type": t, "message": f"{t} there"} | fields
        for p, n, t in rows
    ]
    named = {"part": part} if part else {}
    return "report_findings", {**named, "done": True, "findings": found}


def script_report(
    *rows: tuple[str, int, str], part: int | None = None, **fields: Any
) -> dict[str, Any]:
    """Return the call that reports findings and ends a part, as an entry of a script file."""
    name, arguments = report_call(*rows, part=part, **fields)
    return {"calls": [{"name": name, "arguments": arguments}]}


def verdict_call(
    *judgements: tuple[str, str, str], path: str = "shop/prices.py"
) -> tuple[str, dict[str, Any]]:
    """Return a verifier's call with a judgement per (id, verdict, quote)."""
    place = {"path": path, "line": 3, "why": "w"}
    rows = [
        {"id": ref, "verdict": word, "quote": quote, **place} for ref, word, quote in judgements
    ]
    return "judge_findings", {"judgements": rows}


def script_verdict(*judgements: tuple[str, str, str]) -> dict[str, Any]:
    """Return a verifier's call as an entry of a script file."""
    name, arguments = verdict_call(*judgements)
    return {"calls": [{"name": name, "arguments": arguments}]}
