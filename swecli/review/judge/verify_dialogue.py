"""The dialogue with a verifier: it may look up code in two steps, and gives its verdicts in the third."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from swecli.agent.sender import Outgoing
from swecli.agent.turn_state import TurnState
from swecli.context.system_message import cache_marks
from swecli.llm.model_json import ask_again, find_fault, read_object
from swecli.models.errors import ContextFull, ContextOverflow
from swecli.models.events import Event
from swecli.models.json_value import JsonObject
from swecli.models.message import (
    ApiMessage,
    ChatMessage,
    ModelReply,
    ModelRequest,
    Role,
    ToolSpec,
    Usage,
)
from swecli.review.judge.sources import normalize_code
from swecli.store.session_manager import SessionManager

TOOL = "judge_findings"
_MAX_STEPS = 3  # requests, of which the last offers nothing to look up
_MAX_REPAIRS = 1  # further requests for verdicts that can be read
_OF_CHANGE = ("introduced", "pre_existing", "intended", "refuted", "cannot_tell")
_OF_CODE = ("confirmed", "refuted", "cannot_tell")
_WORDS = json.loads(Path(__file__).with_name(f"{TOOL}.json").read_text(encoding="utf-8"))
_PROMPT = Path(__file__).with_name("verify.md").read_text(encoding="utf-8").strip()
_PROMPT_OF_CHANGE = Path(__file__).with_name("verify_change.md").read_text(encoding="utf-8").strip()


def system_prompt(*, is_change: bool) -> str:
    """Return the system message of a verifier of a change, or of code without one."""
    return _PROMPT_OF_CHANGE if is_change else _PROMPT


def verdict_spec(*, is_change: bool) -> ToolSpec:
    """Return the tool by which a verifier answers, with the verdicts that there are."""
    spec = json.loads(json.dumps(_WORDS))
    row = spec["parameters"]["properties"]["judgements"]["items"]["properties"]
    row["verdict"]["enum"] = list(_OF_CHANGE if is_change else _OF_CODE)
    if not is_change:
        for name in ("side", "absent"):
            del row[name]
    return ToolSpec(**spec)


@dataclass(slots=True)
class VerifyDialogue:
    """The dialogue about the claims of one request. `answers` maps their ids to what the verifier said of them."""

    model: str
    sessions: SessionManager
    specs: Sequence[ToolSpec]
    """What the verifier may look up with, and last the tool by which it answers."""
    messages: list[ApiMessage]
    max_tokens: int | None = None
    max_cost: float | None = None  # in US dollars, before a request that is not made
    answers: dict[str, JsonObject] = field(default_factory=dict)
    has_looked_up: bool = False
    _repairs: int = 0
    _fault: str = ""

    @property
    def shown(self) -> str:
        """All code that the verifier was shown, without white space."""
        return "".join(normalize_code(str(message.get("content"))) for message in self.messages[1:])

    def is_over(self, state: TurnState) -> bool:
        """Return whether there are answers, or no further request is made."""
        if self.answers or self._repairs > _MAX_REPAIRS:
            return True
        return self.max_cost is not None and state.cost is not None and state.cost >= self.max_cost

    def begin_step(self, state: TurnState) -> None:
        """Say what was wrong with the answer before, if it could not be read."""
        if self._fault:
            text = ask_again(self._fault)
            self.sessions.append(ChatMessage(Role.USER, text))
            self.messages = [*self.messages, {"role": "user", "content": text}]

    async def prepare(self, *, refused: bool) -> Outgoing:
        """Return the request as it is. Raises ContextFull if the provider has refused it as too long."""
        if refused:
            raise ContextFull("The claims and their code are longer than the verifier's window.")
        looked_up = sum(message["role"] == "assistant" for message in self.messages)
        is_last = looked_up >= _MAX_STEPS - 1 or self._repairs > 0
        specs = list(self.specs[-1:] if is_last else self.specs)
        marks = cache_marks(self.messages)
        return Outgoing(
            ModelRequest(self.model, self.messages, specs, self.max_tokens, "verify", marks=marks)
        )

    def record_refusal(self, error: ContextOverflow) -> None:
        """Do nothing: a request that is too long is not sent again."""

    def check(self, reply: ModelReply, usage: Usage | None) -> list[str]:
        """Do nothing: counts are not compared."""
        return []

    async def read_reply(self, state: TurnState, reply: ModelReply) -> list[Event]:
        """Take the first verdict on each claim. An answer without any that follows the schema has a fault."""
        call = next((call for call in reply.calls if call.name == TOOL), None)
        self._fault = ""
        if call is None and reply.calls:
            self.has_looked_up = True
            return []
        schema = self.specs[-1].parameters
        if call is None:
            answer, self._fault = read_object(reply.text, schema)
        else:
            answer = call.parameters
            self._fault = reply.malformed.get(call.id) or find_fault(answer, schema)
        if self._fault:
            self._repairs += 1
            return []
        judgements = reversed(answer["judgements"])
        self.answers = {judgement["id"]: judgement for judgement in judgements}
        self._repairs += not self.answers
        return []

    def take_event(self, event: Event) -> None:
        """Do nothing: what tools show is in their results."""

    async def end_step(
        self, state: TurnState, message: ChatMessage, reply: ModelReply
    ) -> list[Event]:
        """Continue with the reply and the results of its calls."""
        answered = ChatMessage(Role.ASSISTANT, reply.text, message.tool_calls)
        self.messages = [*self.messages, *answered.to_api()]
        return []
