"""The model-based reflector: sends a digest of the turn, reads the answer, and says everything it had to drop."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncGenerator, Iterable
from dataclasses import dataclass, field
from typing import Any, cast

from swecli.llm.base import ChatModel
from swecli.models.message import ModelChunk, ModelRequest, Usage
from swecli.models.playbook import Bullet, Evidence, SessionPlaybook
from swecli.playbook.answers import Answer, ModelAdd, ModelTag, read_answer
from swecli.playbook.digest import CallDigest, TurnDigest
from swecli.playbook.learning.proposals import AddProposal, Reflection, TagProposal
from swecli.playbook.provenance import trust_of
from swecli.playbook.signals import WEIGHTS
from swecli.playbook.words import shorten
from swecli.redact import redact

ANSWER = 32_000  # characters read of one answer
OUTPUT = 24_000  # characters of results in one digest, shared by its calls
MAX_TOKENS = 2_000
ATTEMPTS = 2
LETTERS = 4  # characters a token, roughly, where nobody counted


@dataclass(slots=True)
class Collected:
    """What one request brought."""

    text: str = ""
    usage: Usage = field(default_factory=Usage)
    cost: float | None = None
    begun: bool = False
    called: bool = False
    stopped: bool = False


@dataclass(slots=True)
class ModelReflection:
    """A model's proposals with what they took. `failure` is set when the answer could not be used whole.

    `usage` and `cost` count all attempts; `cost` is None where a price is unknown and 0 when nothing was asked.
    `losses` are lines on what was dropped, `unknown` how many tags named a bullet that was not shown.
    """

    reflection: Reflection = field(default_factory=Reflection)
    usage: Usage = field(default_factory=Usage)
    cost: float | None = 0.0
    attempts: int = 0
    losses: tuple[str, ...] = ()
    unknown: int = 0
    failure: str | None = None


class ModelReflector:
    """Asks a model what a turn teaches; at most twice, the second time with the first answer's fault named.

    Args:
        model: the door to the model.
        template: the system text of the request.
    """

    def __init__(self, model: ChatModel, template: str) -> None:
        self.model = model
        self.template = template
        self.spent = ModelReflection()  # stays right while a request is under way, so that a failure can be billed

    async def reflect(self, digest: TurnDigest, playbook: SessionPlaybook, user_said: str = "") -> ModelReflection:
        """Ask and read.

        Raises:
            ProviderError: when the service fails; `self.spent` then holds what was spent so far.
        """
        shown = [playbook.bullets[i] for i in digest.shown if i in playbook.bullets]
        body = digest_text(digest, shown, user_said)
        ids = [bullet.id for bullet in shown]
        answer = Answer()
        for attempt in range(ATTEMPTS):
            got = await self._ask(body if not attempt else f"{body}\n\n{_again(answer.problem)}")
            read = _read(got, ids)
            answer = read if read.kept >= answer.kept or read.refused else answer
            if not read.problem or read.refused:
                break
        result = self.spent
        result.losses, result.unknown = tuple(answer.losses), answer.unknown
        result.failure = answer.refused or answer.problem or None
        result.reflection = proposals(answer, digest)
        return result

    async def _ask(self, text: str) -> Collected:
        messages = [{"role": "system", "content": self.template}, {"role": "user", "content": text}]
        limit = min(MAX_TOKENS, self.model.profile.max_output or MAX_TOKENS)
        request = ModelRequest(model=self.model.name, messages=messages, max_tokens=limit, purpose="reflect")
        got = Collected()
        self.spent.attempts += 1
        try:
            await _collect(self.model, request, got)
        finally:
            _weigh(got, len(self.template) + len(text))
            self.spent.usage += got.usage
            known = self.spent.cost is not None and got.cost is not None
            self.spent.cost = cast(float, self.spent.cost) + cast(float, got.cost) if known else None
        return got


async def _collect(model: ChatModel, request: ModelRequest, got: Collected) -> None:
    """Read a stream into `got`. Closes it on every way out; an endless answer is left at the cap."""
    stream = model.stream(request)
    parts: list[str] = []
    length = 0
    try:
        async for chunk in stream:
            _note(got, chunk)
            parts.append(chunk.text)
            length += len(chunk.text)
            if length > ANSWER:
                break
    finally:
        got.text = "".join(parts)[:ANSWER]
        if isinstance(stream, AsyncGenerator):
            await stream.aclose()


def _weigh(got: Collected, asked: int) -> None:
    """What a request took where the service did not say: nothing when no answer began, else our estimate of tokens."""
    if got.usage.total:
        return
    if got.begun:
        got.usage = Usage(input=asked // LETTERS, output=len(got.text) // LETTERS)
    else:
        got.cost = 0.0


def _note(got: Collected, chunk: ModelChunk) -> None:
    got.begun = True
    got.usage = chunk.usage or got.usage
    got.cost = got.cost if chunk.cost is None else chunk.cost
    got.called = got.called or chunk.call is not None
    got.stopped = got.stopped or chunk.stop in ("stop", "tool_calls")


def _read(got: Collected, ids: list[str]) -> Answer:
    if got.called and not got.text.strip():
        return Answer(problem="the answer was a tool call, not a JSON object")
    return read_answer(got.text, ids, cut=not got.stopped)


def _again(problem: str) -> str:
    return f"Your last answer could not be used: {problem}. Answer with the JSON object only."


def digest_text(digest: TurnDigest, shown: Iterable[Bullet], user_said: str = "") -> str:
    """The request's user message: the digest as one fenced JSON object, free of secrets and of the bullets' own text.

    A bullet that is found again in a query, a call or a result stands there as its id: what the playbook said
    must not come back as news.
    """
    bullets = list(shown)
    room = max(60, OUTPUT // (2 * max(1, len(digest.calls))))
    value = {
        "query": mask(digest.query, bullets),
        "outcome": digest.outcome,
        "calls": [_call(call, bullets, room) for call in digest.calls],
        "shown": [{"id": bullet.id, "content": redact(bullet.content)} for bullet in bullets],
        "cited": list(digest.cited),
        "user_said": mask(user_said, bullets),
    }
    text = json.dumps(value, ensure_ascii=False, default=str)
    # A fence inside a result must not close ours; backticks only ever stand inside strings.
    text = re.sub(r"[\ud800-\udfff]", "�", text).replace("`", "\\u0060")
    return f"```json\n{text}\n```"


def _call(call: CallDigest, bullets: list[Bullet], room: int) -> dict[str, Any]:
    head, tail = (call.head, call.tail) if len(call.head) + len(call.tail) <= 2 * room else _ends(call, room)
    return {
        "id": call.id,
        "name": call.name,
        "parameters": _masked(call.parameters, bullets, room),
        "ok": call.ok,
        "error": mask(call.error or ("refused by the user: " + call.reason if call.denied else ""), bullets),
        "exit_code": call.exit_code,
        "duration_ms": call.duration_ms,
        "head": mask(head, bullets),
        "tail": mask(tail, bullets),
    }


def _ends(call: CallDigest, room: int) -> tuple[str, str]:
    return call.head[:room], (call.tail or call.head)[-room:]


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
    for bullet in bullets:
        words = bullet.content.split()
        if len(words) >= 3:
            pattern = r"\s+".join(map(re.escape, words))
            text = re.sub(pattern, f"[{bullet.id}]", text, flags=re.IGNORECASE)
    return text


def proposals(answer: Answer, digest: TurnDigest) -> Reflection:
    """What a read answer proposes, with the weight of a model's view and the trust of where it comes from."""
    return Reflection(
        tags=tuple(_tag(tag, digest) for tag in answer.tags),
        adds=tuple(_add(add, digest) for add in answer.adds),
    )


def _tag(tag: ModelTag, digest: TurnDigest) -> TagProposal:
    why = redact(shorten(tag.why, 200)) or "no reason given"
    evidence = Evidence("model", why, digest.session_id, digest.interaction)
    return TagProposal(tag.bullet_id, tag.tag, why, WEIGHTS["model"], "model", "turn", (evidence,))


def _add(add: ModelAdd, digest: TurnDigest) -> AddProposal:
    """An addition with where it comes from. It stays in its session until the user makes more of it."""
    named, _, words = add.evidence.partition(":")
    call_id = next((c.id for c in digest.calls if c.id == named.strip()), "")
    quote = words.strip() if call_id or named.strip().lower() == "user" else add.evidence.strip()
    trust = trust_of(add.content, digest, quote or add.evidence, call_id)
    evidence = Evidence("model", quote or "no quote given", digest.session_id, digest.interaction, call_id, trust)
    return AddProposal(
        content=add.content,
        section=add.section,
        kind=add.kind,
        scope="session",
        trust=trust,
        evidence=(evidence,),
        why="the model's view",
    )
