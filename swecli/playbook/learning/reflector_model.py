"""The model-based reflector: its question about a turn, the parser of its answer, and the budget."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncGenerator, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, cast, get_args

from swecli.llm.base import ChatModel
from swecli.llm.lenient_json import find_json_values
from swecli.llm.price_table import cost_of
from swecli.llm.reply import ReplyBuilder
from swecli.models.errors import SwecliError
from swecli.models.ids import parse_short_id
from swecli.models.message import ModelRequest, Usage
from swecli.models.money import format_dollars
from swecli.models.playbook import Bullet, Kind, Tag
from swecli.playbook.learning.curator import MAX_ADDS, MAX_UPDATES, AddProposal
from swecli.playbook.learning.evidence import CallDigest, TurnEvidence
from swecli.redact import redact, redact_value
from swecli.store.records import UsageTotals
from swecli.text import shorten

_MAX_TOKENS = 2_000
_TIMEOUT = 60.0  # seconds for all attempts of one turn
_ANSWER = 32_000  # characters read of one answer
_OUTPUT = 12_000  # characters of results in one question, shared by its calls
_ATTEMPTS = 2
_LETTERS = 4  # characters per token, if a service reports no usage
REFLECTING: Final = "reflect"  # the purpose in request records
_MIN_UNITS = 20_000  # tokens of input that any session may use: a share of a short one is less than one question
_SMOOTH = 2 / 3  # share of the budget for turns without friction
_CACHED, _WRITTEN, _ANSWERED = (
    0.1,
    1.25,
    5.0,
)  # units per token read from the cache, written to it, and of output
_MIN_LETTERS = 3  # characters per token; most texts have four
_EXPECTED_ANSWER = 400  # tokens


@dataclass(frozen=True, slots=True)
class ReflectorModel:
    """The model that reflects (None: rules only) and its prompt. `missing` is why a model that the settings ask for is
    not available; `every_turn` asks about every turn, not only after friction."""

    template: str
    model: ChatModel | None = None
    missing: str = ""
    every_turn: bool = False

    def blocked_reason(
        self, question: str, totals: UsageTotals, percent: int, *, friction: bool
    ) -> str:
        """Return why the model cannot be asked now, or "". The budget is `percent` (0: none) of the money that the
        session's other requests cost, or of their tokens if a price is unknown; a third of it is reserved for turns
        with `friction`."""
        if self.model is None:
            return self.missing
        if not percent:
            return "the setting reflect_percent is 0"
        reflected = totals.by_purpose.get(REFLECTING, UsageTotals())
        letters = len(question) + len(self.template)
        expected = Usage(input=letters // _MIN_LETTERS, output=_EXPECTED_ANSWER)
        price = self.model.profile.price
        smallest, next_cost = cost_of(Usage(input=_MIN_UNITS), price), cost_of(expected, price)
        part = 1 if friction else _SMOOTH
        kind = "" if friction else " for turns without trouble"
        budget = f"reflect_percent = {percent}"
        if totals.cost is None or reflected.cost is None or smallest is None or next_cost is None:
            used = _units(reflected.usage)
            allowed = part * max(_MIN_UNITS, (_units(totals.usage) - used) * percent / 100)
            if used + _units(expected) <= allowed:
                return ""
            amounts = f"{used:,.0f} of {allowed:,.0f} weighted tokens{kind}, as no price is known"
        else:
            allowed = part * max(smallest, (totals.cost - reflected.cost) * percent / 100)
            if reflected.cost + next_cost <= allowed:
                return ""
            amounts = f"{format_dollars(reflected.cost)} of {format_dollars(allowed)}{kind}"
        return f"one more reflection would exceed this session's budget ({budget}), used: {amounts}"

    @staticmethod
    def build_question(turn: TurnEvidence, bullets: Mapping[str, Bullet]) -> str:
        """Format a turn's digest, without secrets, as one fenced JSON object."""
        digest, observed = turn.digest, turn.observed
        room = max(60, _OUTPUT // (2 * max(1, len(digest.calls))))
        value = {
            "query": redact(digest.query),
            "ended": digest.outcome,
            "outcome": "unknown"
            if observed is None
            else f"{'good' if observed.good else 'bad'}: {observed.why}",
            "said": [redact(words) for words in digest.said],
            "calls": [_call(call, room) for call in digest.calls],
            "shown": [
                {"id": one, "text": redact(bullets[one].content)}
                for one in digest.shown
                if one in bullets
            ],
            "cited": list(digest.cited),
            "user_next": redact(turn.user_next),
        }
        text = json.dumps(value, ensure_ascii=False, default=str)
        # a fence inside a result must not close ours; backticks occur inside strings only
        text = re.sub(r"[\ud800-\udfff]", "�", text).replace("`", "\\u0060")
        return f"```json\n{text}\n```"

    async def ask(self, question: str, shown: Collection[str], call: ReflectorCall) -> None:
        """Ask about a turn, and once more with the problem of an invalid answer. Fills `call`; raises only
        CancelledError."""
        text = question
        try:
            async with asyncio.timeout(_TIMEOUT):
                for _ in range(_ATTEMPTS):
                    answer = await self._request(text, call)
                    problem = Answer.read(answer, shown).problem
                    call.failure = problem or None
                    if not problem:
                        call.answer = answer
                        break
                    again = "Answer with the JSON object only."
                    text = f"{question}\n\nYour last answer could not be used: {problem}. {again}"
        except TimeoutError:
            call.failure = f"the model did not answer within {_TIMEOUT:g} s"
        except SwecliError as error:
            call.failure = str(error)
        except Exception as error:  # noqa: BLE001 - a provider's fault must not end the program
            call.failure = f"{type(error).__name__}: {error}"
        call.failure = redact(shorten(call.failure, 300)) if call.failure else None

    async def _request(self, text: str, call: ReflectorCall) -> str:
        """Send one request and return its answer, truncated to the cap. The stream is always closed and its usage
        added, estimated if the service reports none."""
        assert self.model is not None, "see blocked_reason"
        model, messages = (
            self.model,
            [{"role": "system", "content": self.template}, {"role": "user", "content": text}],
        )
        limit = min(_MAX_TOKENS, model.profile.max_output or _MAX_TOKENS)
        stream = model.stream(
            ModelRequest(model=model.name, messages=messages, max_tokens=limit, purpose="reflect")
        )
        builder, length, begun = ReplyBuilder(), 0, False
        call.attempts += 1
        try:
            async for chunk in stream:
                begun = True
                builder.add(chunk)
                length += len(chunk.text)
                if length > _ANSWER:
                    break
        finally:
            if isinstance(stream, AsyncGenerator):
                await stream.aclose()
            reply = builder.build()
            usage, cost = reply.usage or Usage(), reply.cost
            if not usage.total and begun:
                sent = len(self.template) + len(text)
                usage = Usage(input=sent // _LETTERS, output=min(length, _ANSWER) // _LETTERS)
            elif not usage.total:
                cost = 0.0  # no answer began
            cost = cost_of(usage, model.profile.price) if cost is None else cost
            call.usage += usage
            call.cost = None if call.cost is None or cost is None else call.cost + cost
        return reply.text[:_ANSWER]


@dataclass(slots=True)
class ReflectorCall:
    """The answer of a reflection and its cost in US dollars (None: unknown), updated while it runs so that a cancelled
    one can be recorded. `failure` is why the answer is missing or invalid."""

    model: str
    answer: str = ""
    usage: Usage = field(default_factory=Usage)
    cost: float | None = 0.0
    attempts: int = 0
    failure: str | None = None


def _call(call: CallDigest, room: int) -> dict[str, Any]:
    head, tail = call.head, call.tail
    error = "" if call.head.startswith(call.error) else call.error
    if call.denied:
        error = f"refused by the {call.decision or 'user'}: {call.reason}"
    if len(head) + len(tail) > 2 * room:
        head, tail = head[:room], (tail or head)[-room:]
    return {
        "id": call.id,
        "name": call.name,
        "parameters": redact_value(call.parameters, 2 * room),
        "ok": call.ok,
        "error": error,
        "exit_code": call.exit_code,
        "head": head,
        "tail": tail,
    }


_MAX_LOSSES = 5  # dropped items that are listed
_SHOW = 60  # characters of a dropped item that are shown
_KEYS = ("tags", "add", "update")


@dataclass(slots=True)
class Answer:
    """A parsed answer: the `tags` of shown bullets by id, each with its reason, and proposals; with a line for each
    dropped item in `losses`. `problem` is why it is unusable, or ""."""

    tags: dict[str, tuple[Tag, str]] = field(default_factory=dict)
    adds: list[AddProposal] = field(default_factory=list)
    updates: list[AddProposal] = field(default_factory=list)
    losses: list[str] = field(default_factory=list)
    problem: str = ""

    @classmethod
    def read(cls, text: str, shown: Collection[str]) -> Answer:
        """Parse the last complete JSON object that has one of the expected keys. Only the `shown` ids may be tagged and
        changed."""
        whole = (
            one.value
            for one in find_json_values(text)
            if isinstance(one.value, dict) and not one.cut
        )
        fitting = [value for value in whole if not set(_KEYS).isdisjoint(value)]
        if not fitting:
            return cls(
                problem='the answer has no complete JSON object with "tags", "add" or "update"'
            )
        items = {key: fitting[-1].get(key) or [] for key in _KEYS}
        if wrong := [key for key in _KEYS if not isinstance(items[key], list)]:
            return cls(problem=f'"{wrong[0]}" is not a list')
        answer = cls()
        for item in items["tags"]:
            _parse_tag(item, shown, answer)
        for item in items["add"]:
            _parse_add(item, answer, "", answer.adds, MAX_ADDS)
        for item in items["update"]:
            name = _item_id(item)
            if name not in shown:
                answer.losses.append(f"not a change of a strategy that was shown: {_preview(item)}")
            else:
                _parse_add(item, answer, name, answer.updates, MAX_UPDATES)
        if (items["add"] or items["update"]) and not (answer.tags or answer.adds or answer.updates):
            answer.problem = "none of its items has the right form"
        if (more := len(answer.losses) - _MAX_LOSSES) > 0:
            answer.losses[_MAX_LOSSES:] = [f"{more} more items were dropped"]
        return answer


def _item_id(item: Any) -> str:
    """Return the id of an item as `P-7`, or ""."""
    return (
        parse_short_id("P", str(item.get("id", "")).strip().strip("[]")) or ""
        if isinstance(item, dict)
        else ""
    )


def _parse_tag(item: Any, shown: Collection[str], answer: Answer) -> None:
    name, tag = _item_id(item), str(item.get("tag")).lower() if isinstance(item, dict) else ""
    if name not in shown or tag not in get_args(Tag):
        answer.losses.append(f"not a tag of a strategy that was shown: {_preview(item)}")
    else:
        why = item.get("why")
        answer.tags.setdefault(name, (cast(Tag, tag), why if isinstance(why, str) else ""))


def _parse_add(
    item: Any, answer: Answer, bullet_id: str, taken: list[AddProposal], most: int
) -> None:
    words = item if isinstance(item, dict) else {}
    text, when, kind, quote, call_id = (
        value if isinstance(value := words.get(key), str) else ""
        for key in ("text", "when", "kind", "quote", "call_id")
    )
    if not text.strip():
        answer.losses.append(f"not an addition: {_preview(item)}")
    elif len(taken) >= most:
        answer.losses.append(f"more than {most}: {_preview(text)}")
    else:
        known = cast(Kind, kind if kind in get_args(Kind) else "strategy")
        taken.append(AddProposal(text, when, known, quote, call_id, bullet_id))


def _preview(item: Any) -> str:
    return shorten(
        item if isinstance(item, str) else json.dumps(item, default=str, ensure_ascii=False), _SHOW
    )


def _units(usage: Usage) -> float:
    """Weigh tokens by usual prices: one uncached input token is 1 unit."""
    return (
        usage.input
        + usage.cache_read * _CACHED
        + usage.cache_write * _WRITTEN
        + usage.output * _ANSWERED
    )
