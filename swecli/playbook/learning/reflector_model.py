"""The model-based reflector: asks about a digest of the turn, at most twice, and gives back the raw answer."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncGenerator, Iterable
from dataclasses import dataclass, field
from typing import Any

from swecli.llm.base import ChatModel
from swecli.models.errors import SwecliError
from swecli.models.message import ModelChunk, ModelRequest, Usage
from swecli.models.playbook import Bullet
from swecli.playbook.learning.answers import read_answer
from swecli.playbook.learning.evidence import Observation
from swecli.playbook.similarity import shorten
from swecli.playbook.turn_digest import CallDigest, TurnDigest
from swecli.redact import redact

MAX_TOKENS = 2_000
_TIMEOUT = 60.0  # seconds for all that a model is asked about one turn
_ANSWER = 32_000  # characters read of one answer
_OUTPUT = 12_000  # characters of results in one digest, shared by its calls
_ATTEMPTS = 2
_LETTERS = 4  # characters a token, roughly, where nobody counted


@dataclass(slots=True)
class Asked:
    """What asking took and brought: right at any time while it goes on, so that what was spent can be recorded.

    `model` is its name. `cost` is None where a price is unknown; `failure` is why there is no answer, or no whole one.
    """

    model: str
    answer: str = ""
    usage: Usage = field(default_factory=Usage)
    cost: float | None = 0.0
    attempts: int = 0
    failure: str | None = None


@dataclass(slots=True)
class _Reply:
    text: str = ""
    usage: Usage = field(default_factory=Usage)
    cost: float | None = None
    begun: bool = False
    stopped: bool = False


async def ask(model: ChatModel, template: str, question: str, shown: Iterable[str], asked: Asked) -> None:
    """Ask a model what a turn teaches; the second time with the first answer's fault named. Fills `asked`; raises
    nothing but CancelledError."""
    ids, kept = list(shown), -1
    text = question
    try:
        async with asyncio.timeout(_TIMEOUT):
            for _ in range(_ATTEMPTS):
                reply = await _request(model, template, text, asked)
                read = read_answer(reply.text, ids, cut=not reply.stopped)
                if read.kept > kept:
                    asked.answer, kept = reply.text, read.kept
                asked.failure = read.refused or read.problem or None
                if not read.problem or read.refused:
                    break
                again = f"Your last answer could not be used: {read.problem}. Answer with the JSON object only."
                text = f"{question}\n\n{again}"
    except TimeoutError:
        asked.failure = f"the model did not answer within {_TIMEOUT:g} s"
    except SwecliError as error:
        asked.failure = str(error)
    except Exception as error:  # noqa: BLE001  a model's fault becomes a visible reason
        asked.failure = f"{type(error).__name__}: {error}"
    asked.failure = redact(shorten(asked.failure, 300)) if asked.failure else None


async def _request(model: ChatModel, template: str, text: str, asked: Asked) -> _Reply:
    messages = [{"role": "system", "content": template}, {"role": "user", "content": text}]
    limit = min(MAX_TOKENS, model.profile.max_output or MAX_TOKENS)
    request = ModelRequest(model=model.name, messages=messages, max_tokens=limit, purpose="reflect")
    reply = _Reply()
    asked.attempts += 1
    try:
        await _collect(model, request, reply)
    finally:
        _weigh(reply, len(template) + len(text))
        asked.usage += reply.usage
        asked.cost = None if asked.cost is None or reply.cost is None else asked.cost + reply.cost
    return reply


async def _collect(model: ChatModel, request: ModelRequest, reply: _Reply) -> None:
    """Read a stream. Closes it on every way out; an endless answer is left at the cap."""
    stream = model.stream(request)
    parts: list[str] = []
    length = 0
    try:
        async for chunk in stream:
            _note(reply, chunk)
            parts.append(chunk.text)
            length += len(chunk.text)
            if length > _ANSWER:
                break
    finally:
        reply.text = "".join(parts)[:_ANSWER]
        if isinstance(stream, AsyncGenerator):
            await stream.aclose()


def _weigh(reply: _Reply, asked: int) -> None:
    """What a request took where the service did not say: nothing when no answer began, else our estimate of tokens."""
    if reply.usage.total:
        return
    if reply.begun:
        reply.usage = Usage(input=asked // _LETTERS, output=len(reply.text) // _LETTERS)
    else:
        reply.cost = 0.0


def _note(reply: _Reply, chunk: ModelChunk) -> None:
    reply.begun = True
    reply.usage = chunk.usage or reply.usage
    reply.cost = reply.cost if chunk.cost is None else chunk.cost
    reply.stopped = reply.stopped or chunk.stop in ("stop", "tool_calls")


def question_of(digest: TurnDigest, shown: Iterable[Bullet], observed: Observation | None, user_next: str = "") -> str:
    """The request's user message: the digest as one fenced JSON object, free of secrets and of the bullets' own text.

    A bullet that is found again in a query, a call or a result stands there as its id: what the playbook said
    must not come back as news. `user_next` is the user's next message, where there is one.
    """
    bullets = list(shown)
    room = max(60, _OUTPUT // (2 * max(1, len(digest.calls))))
    value = {
        "query": mask(digest.query, bullets),
        "ended": digest.outcome,
        "outcome": "unknown" if observed is None else f"{'good' if observed.good else 'bad'}: {observed.why}",
        "calls": [_call(call, bullets, room) for call in digest.calls],
        "shown": [{"id": bullet.id, "text": redact(bullet.content)} for bullet in bullets],
        "cited": list(digest.cited),
        "user_next": mask(user_next, bullets),
    }
    text = json.dumps(value, ensure_ascii=False, default=str)
    # A fence inside a result must not close ours; backticks only ever stand inside strings.
    text = re.sub(r"[\ud800-\udfff]", "�", text).replace("`", "\\u0060")
    return f"```json\n{text}\n```"


def _call(call: CallDigest, bullets: list[Bullet], room: int) -> dict[str, Any]:
    head, tail = call.head, call.tail
    if len(head) + len(tail) > 2 * room:
        head, tail = head[:room], (tail or head)[-room:]
    return {
        "id": call.id,
        "name": call.name,
        "parameters": _masked(call.parameters, bullets, room),
        "ok": call.ok,
        "error": mask(call.error or ("refused by the user: " + call.reason if call.denied else ""), bullets),
        "exit_code": call.exit_code,
        "head": mask(head, bullets),
        "tail": mask(tail, bullets),
    }


def _masked(value: Any, bullets: list[Bullet], room: int) -> Any:
    if isinstance(value, str):
        return mask(value, bullets)[: 2 * room]
    if isinstance(value, dict):
        return {key: _masked(item, bullets, room) for key, item in value.items()}
    if isinstance(value, list):
        return [_masked(item, bullets, room) for item in value]
    return value


def mask(text: str, bullets: Iterable[Bullet]) -> str:
    """The text without secrets, and with the words of each bullet replaced by its id."""
    text = redact(text)
    folded = " ".join(text.lower().split())
    for bullet in bullets:
        words = bullet.content.split()
        if len(words) >= 3 and " ".join(words).lower() in folded:
            pattern = r"\s+".join(map(re.escape, words))
            text = re.sub(pattern, f"[{bullet.id}]", text, flags=re.IGNORECASE)
    return text
