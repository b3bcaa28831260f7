"""The dialogue with whoever checks a claim: code may be looked up in two steps, and the third gives the answer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import aclosing
from dataclasses import field, replace

from pydantic import BaseModel, ConfigDict

from swecli.agent.calls import CallRunner, Toolkit
from swecli.agent.loop import Loop
from swecli.agent.sender import Outgoing
from swecli.agent.turn import TurnRecord
from swecli.agent.turn_state import TurnState
from swecli.context.system_message import cache_marks
from swecli.context.tokens import TokenCounter
from swecli.llm.base import ChatModel
from swecli.llm.model_json import ask_again, find_fault, read_object
from swecli.models.errors import ContextFull, ContextOverflow
from swecli.models.events import Event
from swecli.models.json_value import JsonObject
from swecli.models.message import (
    ApiMessage,
    ChatMessage,
    Display,
    ModelReply,
    ModelRequest,
    Role,
    ToolResult,
    ToolSpec,
    Usage,
)
from swecli.review.judge.side_tools import side_tools
from swecli.review.judge.sources import Sources, normalize_code
from swecli.store.session_manager import SessionManager
from swecli.tools.base import READ, Tool, ToolContext, ToolPlan
from swecli.tools.registry import ToolRegistry
from swecli.values import dataclass

_MAX_STEPS = 3  # requests, of which the last offers nothing to look up
_MAX_RESULT = 12_000  # characters of one result
_MAX_REPAIRS = 1  # further requests for an answer that can be read


@dataclass(slots=True)
class LookUpDialogue:
    """A dialogue that ends with an `answer`: the parameters of the last tool of `specs`, {} without one. With the other
    tools code may be looked up before."""

    model: str
    sessions: SessionManager
    specs: Sequence[ToolSpec]
    messages: list[ApiMessage]
    max_tokens: int | None = None
    max_cost: float | None = None  # in US dollars, before a request that is not made
    answer: JsonObject = field(default_factory=dict)
    has_looked_up: bool = False
    _repairs: int = 0
    _fault: str = ""

    @property
    def shown_text(self) -> str:
        """All code that was shown, without white space."""
        return "".join(normalize_code(str(message.get("content"))) for message in self.messages[1:])

    def is_over(self, state: TurnState) -> bool:
        """Return whether there is an answer, or no further request is made."""
        if self.answer or self._repairs > _MAX_REPAIRS:
            return True
        return self.max_cost is not None and state.cost is not None and state.cost >= self.max_cost

    def begin_step(self, state: TurnState) -> None:
        """Say what was wrong with the answer before, if it could not be read."""
        if self._fault:
            text = ask_again(self._fault)
            self.sessions.append(ChatMessage(Role.USER, text))
            self.messages = [*self.messages, {"role": "user", "content": text}]

    async def prepare(self, *, was_refused: bool) -> Outgoing:
        """Return the request as it is. Raises ContextFull if the provider has refused it as too long."""
        if was_refused:
            raise ContextFull("The claims and their code are longer than the model's window.")
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
        """Take the answer. One that does not follow the schema has a fault, and is asked for once more."""
        spec = self.specs[-1]
        call = next((call for call in reply.calls if call.name == spec.name), None)
        self._fault = ""
        if call is None and reply.calls:
            self.has_looked_up = True
            return []
        if call is None:
            answer, self._fault = read_object(reply.text, spec.parameters)
        else:
            answer = call.parameters
            self._fault = reply.malformed.get(call.id) or find_fault(answer, spec.parameters)
        if self._fault:
            self._repairs += 1
        else:
            self.answer = answer
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


@dataclass(frozen=True, slots=True)
class Examiner:
    """Has such dialogues with a model, each stored as a turn of its own. `toolkit` has what is looked up with."""

    model: ChatModel
    toolkit: Toolkit
    sessions: SessionManager
    counter: TokenCounter
    max_tokens: int | None = None

    async def ask(
        self,
        label: str,
        messages: Sequence[ApiMessage],
        sources: Sources,
        answer: ToolSpec,
        spend: Callable[[TurnState], None],
        max_cost: float | None = None,
    ) -> LookUpDialogue:
        """Have a dialogue that begins with these messages and ends with a call of the tool `answer`. `spend` gets what
        it took, also if it fails. Raises SwecliError."""
        sessions = self.sessions
        tools = [*side_tools(self.toolkit.tools, sources), _answer_tool(answer)]
        text = str(messages[-1].get("content"))
        interaction = sessions.begin_interaction(label, text).interaction
        specs = [tool.spec() for tool in tools]
        dialogue = LookUpDialogue(
            self.model.name, sessions, specs, list(messages), self.max_tokens, max_cost
        )
        toolkit = replace(self.toolkit, tools=ToolRegistry(tools))
        calls = CallRunner(toolkit, sessions, _MAX_RESULT, self.counter, repeats=True)
        state = TurnState(label, interaction)
        turns = TurnRecord(sessions, self.counter)
        try:
            async with aclosing(Loop(self.model, calls, turns).run(dialogue, state)) as events:
                async for _ in events:
                    pass
        finally:
            spend(state)
            turns.settle(state)
            sessions.finish_interaction("done")
            sessions.turns.skip(sessions.session.id, interaction)
        return dialogue


class _Answer(BaseModel):
    """Parameters of the tool that ends a dialogue, which are read before it runs."""

    model_config = ConfigDict(extra="allow")


def _answer_tool(spec: ToolSpec) -> Tool:
    def plan(params: _Answer, ctx: ToolContext) -> ToolPlan:
        return ToolPlan("Answer")

    async def run(params: _Answer, ctx: ToolContext, plan: ToolPlan) -> ToolResult:
        return ToolResult(True, "The answer is taken.", Display(title="Answer"))

    return Tool(spec.name, spec.description, _Answer, READ, run, plan, schema=spec.parameters)
