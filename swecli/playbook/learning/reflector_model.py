"""The model-based reflector: its requests and their budget."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import field
from typing import Any, Final, Generic, Protocol, TypeVar

from swecli.llm.base import ChatModel
from swecli.llm.model_json import ask_again, require_all
from swecli.llm.price_table import cost_of
from swecli.models.errors import SwecliError
from swecli.models.json_value import JsonObject
from swecli.models.message import ModelReply, ModelRequest, RequestRecord, Usage
from swecli.models.money import format_dollars
from swecli.redact import redact
from swecli.store.records import UsageTotals
from swecli.text import shorten
from swecli.values import dataclass

_MAX_TOKENS = 2_000  # of one answer
_TIMEOUT = 60.0  # seconds for all attempts of one question
_MAX_ANSWER = 32_000  # characters read of one answer
_ATTEMPTS = 2
REFLECTING: Final = "reflect"  # the purpose in request records
_MIN_UNITS = 20_000  # tokens of input that any session may use: a share of a short one is less than one question
_SMOOTH = 2 / 3  # share of the budget for turns without friction
# units per token: read from the cache, written to it, and of output
_CACHE_READ = 0.1
_CACHE_WRITE = 1.25
_OUTPUT = 5.0
_MIN_LETTERS = 3  # characters per token; most texts have four
_EXPECTED_ANSWER = 400  # tokens


class Sender(Protocol):
    """Sends a request and returns its answer."""

    async def __call__(
        self,
        model: ChatModel,
        request: ModelRequest,
        keep: Callable[[RequestRecord], object],
        *,
        attempts: int,
        max_characters: int,
        keeps_broken: bool,
    ) -> ModelReply:
        """Read at most `max_characters` of the answer. `keep` receives what the request took, with `keeps_broken` also
        if the answer was begun and not finished. Raises ProviderError after the last of the `attempts`."""


Answer = TypeVar("Answer")


@dataclass(frozen=True, slots=True)
class Question(Generic[Answer]):
    """What a reflector is asked."""

    template: str
    """The system prompt."""
    text: str
    """The data, as the user message."""
    schema: JsonObject
    """The JSON schema of the answer."""
    read: Callable[[str], tuple[Answer, str]]
    """Parses an answer; returns what it says, and why it cannot be used, or ""."""


@dataclass(frozen=True, slots=True)
class ReflectorModel:
    """The model that reflects (None: rules only) and its prompt about exchanges. `missing_reason` is why a model that
    the settings ask for is not available; `every_turn` asks about every exchange, not only after friction."""

    template: str
    model: ChatModel | None = None
    missing_reason: str = ""
    every_turn: bool = False

    @property
    def reads_reactions(self) -> bool:
        """Whether there is a model that understands what it is asked; the offline one only plays."""
        return self.model is not None and not self.model.profile.offline

    def blocked_reason(
        self, question: Question[Any], totals: UsageTotals, percent: int, *, friction: bool
    ) -> str:
        """Return why the model cannot be asked now, or "". The budget is `percent` (0: none) of the money that the
        session's other requests cost, or of their tokens if a price is unknown; a third of it is reserved for turns
        with `friction`."""
        if self.model is None:
            return self.missing_reason
        if not percent:
            return "the setting reflect_percent is 0"
        reflected = totals.by_purpose.get(REFLECTING, UsageTotals())
        letters = len(question.text) + len(question.template)
        expected = Usage(input=letters // _MIN_LETTERS, output=_EXPECTED_ANSWER)
        price = self.model.profile.price
        smallest = cost_of(Usage(input=_MIN_UNITS), price)
        next_cost = cost_of(expected, price)
        share = 1 if friction else _SMOOTH
        kind = "" if friction else " for turns without trouble"
        budget = f"reflect_percent = {percent}"
        if totals.cost is None or reflected.cost is None or smallest is None or next_cost is None:
            used_units = _units(reflected.usage)
            allowed = share * max(_MIN_UNITS, (_units(totals.usage) - used_units) * percent / 100)
            if used_units + _units(expected) <= allowed:
                return ""
            amounts = (
                f"{used_units:,.0f} of {allowed:,.0f} weighted tokens{kind}, as no price is known"
            )
        else:
            allowed = share * max(smallest, (totals.cost - reflected.cost) * percent / 100)
            if reflected.cost + next_cost <= allowed:
                return ""
            amounts = f"{format_dollars(reflected.cost)} of {format_dollars(allowed)}{kind}"
        return f"one more reflection would exceed this session's budget ({budget}), used: {amounts}"

    async def ask(
        self, question: Question[Answer], call: ReflectorCall[Answer], send: Sender
    ) -> None:
        """Ask, and once more with the problem of an invalid answer. Fills `call`; raises only CancelledError."""
        text = question.text
        try:
            async with asyncio.timeout(_TIMEOUT):
                for _ in range(_ATTEMPTS):
                    answer = await self._request(question, text, call, send)
                    result, problem = question.read(answer)
                    call.failure = problem or None
                    if not problem:
                        call.answer = answer
                        call.result = result
                        break
                    text = f"{question.text}\n\n{ask_again(problem)}"
        except TimeoutError:
            call.failure = f"the model did not answer within {_TIMEOUT:g} s"
        except SwecliError as error:
            call.failure = str(error)
        except Exception as error:  # noqa: BLE001 - a provider's fault must not end the program
            call.failure = f"{type(error).__name__}: {error}"
        call.failure = redact(shorten(call.failure, 300)) if call.failure else None

    async def _request(
        self, question: Question[Answer], text: str, call: ReflectorCall[Answer], send: Sender
    ) -> str:
        """Send one request and return its answer, truncated to the cap. What it took is added, also if it is cancelled
        or fails."""
        assert self.model is not None, "see blocked_reason"
        model = self.model
        request = ModelRequest(
            model=model.name,
            messages=[
                {"role": "system", "content": question.template},
                {"role": "user", "content": text},
            ],
            max_tokens=min(_MAX_TOKENS, model.profile.max_output or _MAX_TOKENS),
            purpose=REFLECTING,
            schema=require_all(question.schema),
        )
        call.attempts += 1
        reply = await send(
            model, request, call.spend, attempts=1, max_characters=_MAX_ANSWER, keeps_broken=True
        )
        return reply.text[:_MAX_ANSWER]


@dataclass(slots=True)
class ReflectorCall(Generic[Answer]):
    """The answer of a reflection and its `result`, what was read from it, None without a usable answer; and its cost in
    US dollars (None: unknown), updated while it runs so that a cancelled one can be recorded. `failure` is why the
    answer is missing or invalid."""

    model: str
    answer: str = ""
    result: Answer | None = None
    usage: Usage = field(default_factory=Usage)
    cost: float | None = 0.0
    attempts: int = 0
    failure: str | None = None

    def spend(self, request: RequestRecord) -> None:
        """Add what a request took."""
        self.usage += request.usage
        self.cost = None if self.cost is None or request.cost is None else self.cost + request.cost


def _units(usage: Usage) -> float:
    """Weigh tokens by usual prices: one uncached input token is 1 unit."""
    return (
        usage.input
        + usage.cache_read * _CACHE_READ
        + usage.cache_write * _CACHE_WRITE
        + usage.output * _OUTPUT
    )
