"""The model-based reflector: asks about a digest of the turn, at most twice, and gives back the raw answer; and what
reflecting may take."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncGenerator, Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final

from swecli.llm.base import ChatModel
from swecli.llm.price_table import Row, cost_of
from swecli.llm.reply import ReplyBuilder
from swecli.models.errors import SwecliError
from swecli.models.message import ModelRequest, Usage
from swecli.models.playbook import Bullet, shorten
from swecli.playbook.learning.answers import read_answer
from swecli.playbook.learning.evidence import Observation
from swecli.playbook.turn_digest import CallDigest, TurnDigest
from swecli.redact import redact
from swecli.store.records import SessionTotals, Spent

MAX_TOKENS = 2_000
_TIMEOUT = 60.0  # seconds for all that a model is asked about one turn
_ANSWER = 32_000  # characters read of one answer
_OUTPUT = 12_000  # characters of results in one digest, shared by its calls
_ATTEMPTS = 2
_LETTERS = 4  # characters a token, roughly, where nobody counted


@dataclass(frozen=True, slots=True)
class ReflectorModel:
    """Who reflects besides the rules, asked with `template`; None leaves it at the rules, `missing` says why though the
    settings want one. `every_turn`: a cheap one, asked about each turn and not about those with friction only."""

    template: str
    model: ChatModel | None = None
    missing: str = ""
    every_turn: bool = False


@dataclass(slots=True)
class Asked:
    """What asking took and brought: right at any time while it goes on, so that what was spent can be recorded. `model`
    is its name. `cost` is None where a price is unknown; `failure` is why there is no answer, or no whole one."""

    model: str
    answer: str = ""
    usage: Usage = field(default_factory=Usage)
    cost: float | None = 0.0
    attempts: int = 0
    failure: str | None = None


async def ask(model: ChatModel, template: str, question: str, shown: Iterable[str], asked: Asked) -> None:
    """Ask a model what a turn teaches; the second time with the first answer's fault named. Fills `asked`; raises
    nothing but CancelledError."""
    ids, kept = list(shown), -1
    text = question
    try:
        async with asyncio.timeout(_TIMEOUT):
            for _ in range(_ATTEMPTS):
                answer, whole = await _request(model, template, text, asked)
                read = read_answer(answer, ids, cut=not whole)
                if read.kept > kept:
                    asked.answer, kept = answer, read.kept
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


async def _request(model: ChatModel, template: str, text: str, asked: Asked) -> tuple[str, bool]:
    """The answer to one request, and whether it is whole; an endless one is left at the cap. The stream is closed, and
    what it took is added, on every way out; where the service did not report that, by our estimate."""
    messages = [{"role": "system", "content": template}, {"role": "user", "content": text}]
    limit = min(MAX_TOKENS, model.profile.max_output or MAX_TOKENS)
    stream = model.stream(ModelRequest(model=model.name, messages=messages, max_tokens=limit, purpose="reflect"))
    builder, length, begun, whole = ReplyBuilder(), 0, False, False
    asked.attempts += 1
    try:
        async for chunk in stream:
            begun = True
            builder.add(chunk)
            length += len(chunk.text)
            whole = whole or chunk.stop in ("stop", "tool_calls")
            if length > _ANSWER:
                break
    finally:
        if isinstance(stream, AsyncGenerator):
            await stream.aclose()
        reply = builder.build()
        usage, cost = reply.usage or Usage(), reply.cost
        if not usage.total and begun:
            usage = Usage(input=(len(template) + len(text)) // _LETTERS, output=min(length, _ANSWER) // _LETTERS)
        elif not usage.total:
            cost = 0.0  # no answer began
        cost = cost_of(usage, model.profile.price) if cost is None else cost
        asked.usage += usage
        asked.cost = None if asked.cost is None or cost is None else asked.cost + cost
    return reply.text[:_ANSWER], whole


def question_of(digest: TurnDigest, shown: Iterable[Bullet], observed: Observation | None, user_next: str = "") -> str:
    """The request's user message: the digest as one fenced JSON object, free of secrets. The words of a bullet that
    come back in it stand there as its id: what the playbook said is no news."""
    bullets = list(shown)
    room = max(60, _OUTPUT // (2 * max(1, len(digest.calls))))
    value = {
        "query": _mask(digest.query, bullets),
        "ended": digest.outcome,
        "outcome": "unknown" if observed is None else f"{'good' if observed.good else 'bad'}: {observed.why}",
        "calls": [_call(call, bullets, room) for call in digest.calls],
        "shown": [{"id": bullet.id, "text": redact(bullet.content)} for bullet in bullets],
        "cited": list(digest.cited),
        "user_next": _mask(user_next, bullets),
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
        "error": _mask(call.error or ("refused by the user: " + call.reason if call.denied else ""), bullets),
        "exit_code": call.exit_code,
        "head": _mask(head, bullets),
        "tail": _mask(tail, bullets),
    }


def _masked(value: Any, bullets: list[Bullet], room: int) -> Any:
    if isinstance(value, str):
        return _mask(value, bullets)[: 2 * room]
    if isinstance(value, dict):
        return {key: _masked(item, bullets, room) for key, item in value.items()}
    if isinstance(value, list):
        return [_masked(item, bullets, room) for item in value]
    return value


def _mask(text: str, bullets: Iterable[Bullet]) -> str:
    """The text without secrets, and with the words of each bullet replaced by its id."""
    text = redact(text)
    folded = " ".join(text.lower().split())
    for bullet in bullets:
        words = bullet.content.split()
        if len(words) >= 3 and " ".join(words).lower() in folded:
            pattern = r"\s+".join(map(re.escape, words))
            text = re.sub(pattern, f"[{bullet.id}]", text, flags=re.IGNORECASE)
    return text


REFLECTING: Final = "reflect"  # the purpose that reflections are recorded with
_LEAST = 20_000  # units that any session may reflect with: a share of a short one would never do for a question
_SMOOTH = 2 / 3  # of the budget, for turns without friction: what is left is kept for those with it
_CACHED, _WRITTEN, _ANSWERED = 0.1, 1.25, 5.0  # units of a token that was read from a cache, written to it, or answered
_FEWEST_LETTERS = 3  # characters a token, at least: most texts have four
_EXPECTED_ANSWER = 400  # tokens


@dataclass(frozen=True, slots=True)
class ReflectionBudget:
    """What the user allows: `percent` of the session's units (0: no model is asked), US dollars a day (None: any)."""

    percent: int = 15
    usd_per_day: float | None = None


def units(usage: Usage) -> float:
    """What tokens weigh by the usual prices: one uncached input token is 1."""
    return usage.input + usage.cache_read * _CACHED + usage.cache_write * _WRITTEN + usage.output * _ANSWERED


def refusal(
    limits: ReflectionBudget, totals: SessionTotals, today: Spent, question: tuple[int, Row], *, friction: bool
) -> str:
    """Why a model is not asked now; "" when it may be. `today` is of all sessions, `question` its length in characters
    with the model's prices; turns with `friction` come first when the budget is short."""
    length, price = question
    tokens = length // _FEWEST_LETTERS
    used = units(totals.by_purpose.get(REFLECTING, Spent()).usage)
    allowed = max(_LEAST if limits.percent else 0, (units(totals.usage) - used) * limits.percent / 100)
    wanted = used + tokens + _EXPECTED_ANSWER * _ANSWERED
    if wanted > allowed * (1 if friction else _SMOOTH):
        return f"this session's reflection budget is used up: {used:,.0f} of {allowed:,.0f} units"
    if limits.usd_per_day is None:
        return ""
    worst = cost_of(Usage(input=tokens, output=MAX_TOKENS), price)
    if today.cost is None or worst is None:
        return f"${limits.usd_per_day:g} a day are allowed for reflecting, and what it costs is not known"
    if today.cost + 2 * worst > limits.usd_per_day:
        return f"${limits.usd_per_day:g} a day are allowed for reflecting, and ${today.cost:.4f} are spent today"
    return ""


def day_began() -> datetime:
    return datetime.now().astimezone().replace(hour=0, minute=0, second=0, microsecond=0).astimezone(UTC)
