"""Draws a turn in the editor: its events become the updates of the protocol."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import field, replace
from typing import Any, Literal

from acp.helpers import plan_entry, text_block, update_plan
from acp.schema import (
    AgentMessageChunk,
    AgentThoughtChunk,
    Cost,
    PlanEntryStatus,
    ToolCallLocation,
    ToolCallProgress,
    ToolCallStart,
    ToolCallUpdate,
    Usage,
    UsageUpdate,
)

from swecli.acp.calls import (
    describe_call,
    kind_of,
    locations_of,
    pending,
    show_display,
    show_result,
    show_text,
)
from swecli.acp.editor import Editor
from swecli.app import Runtime
from swecli.models.approval import AskRequest, Decision
from swecli.models.events import (
    ContextMeasured,
    Event,
    FinishReason,
    Notice,
    ReasoningDelta,
    StepRetried,
    StepStarted,
    TextDelta,
    ToolFinished,
    ToolProgress,
    ToolStarted,
    TurnFailed,
    TurnFinished,
    TurnStarted,
    UsageReported,
)
from swecli.models.ids import uuid7
from swecli.models.message import ToolCall
from swecli.models.message import Usage as CountedUsage
from swecli.text import fence, sanitize
from swecli.tools.limits import HeadTail, strip_terminal_codes
from swecli.values import dataclass

StopReason = Literal["end_turn", "max_tokens", "max_turn_requests", "refusal", "cancelled"]
STOP_REASONS: dict[FinishReason, StopReason] = {
    "done": "end_turn",
    "length": "max_tokens",
    "max_turns": "max_turn_requests",
    "max_budget": "max_turn_requests",
    "loop": "max_turn_requests",
    "refusal": "refusal",
    "content_filter": "refusal",
    "cancelled": "cancelled",
}
# what the protocol has no reason for
_UNNAMED_STOPS: dict[FinishReason, str] = {
    "max_budget": "the turn reached its budget (max_budget_usd)",
    "loop": "the model repeated the same calls",
    "content_filter": "the service withheld the rest of the answer",
}
TODO_STATUS: dict[str, PlanEntryStatus] = {
    "pending": "pending",
    "in_progress": "in_progress",
    "done": "completed",
}
_PROGRESS_INTERVAL = 1.0  # seconds between two sights of an output: each sends it again
_SHOWN_OUTPUT = 2_000, 6_000  # characters of its head and of its tail


@dataclass(slots=True)
class _OpenCall:
    """A call that the editor shows and that has not ended. One that was allowed and never began is of a task, whose own
    calls have no events here, or a question about repeated calls."""

    has_begun: bool = False
    is_allowed: bool = False
    output: HeadTail = field(default_factory=lambda: HeadTail(*_SHOWN_OUTPUT))
    shown_at: float = 0.0


@dataclass(slots=True)
class TurnView:
    """Draws the turns of one session, one after another. `interaction`, `failed`, `stop` and `usage` are those of the
    turn that was drawn last."""

    editor: Editor
    runtime: Runtime
    interaction: int = 0  # 0: it has not begun
    failed: TurnFailed | None = None
    stop: StopReason = "end_turn"
    usage: Usage | None = None  # None: it has not ended, or failed
    _message: str = ""  # the id of the answer that is written now
    _thoughts: str = ""
    _calls: dict[str, _OpenCall] = field(default_factory=dict)
    _tokens: int = 0  # of the last request
    _limit: int | None = None

    def begin(self) -> None:
        """Begin a turn."""
        self.interaction = 0
        self.failed = None
        self.stop = "end_turn"
        self.usage = None

    def show(self, event: Event) -> None:
        """Draw an event."""
        match event:
            case TurnStarted():
                self.interaction = event.interaction
            case StepStarted():
                self._begin_message()
            case StepRetried():
                self._retry(event)
            case TextDelta():
                self.editor.update(
                    AgentMessageChunk(
                        session_update="agent_message_chunk",
                        content=text_block(event.text),
                        message_id=self._message,
                    )
                )
            case ReasoningDelta():
                self.editor.update(
                    AgentThoughtChunk(
                        session_update="agent_thought_chunk",
                        content=text_block(event.text),
                        message_id=self._thoughts,
                    )
                )
            case ToolStarted():
                self._start_call(event)
            case ToolProgress():
                self._show_output(event)
            case ToolFinished():
                self._finish_call(event)
            case ContextMeasured():
                self._tokens = event.tokens
                self._limit = event.limit
            case UsageReported():
                self._show_usage()
            case TurnFinished():
                self.stop = STOP_REASONS[event.reason]
                self.usage = _usage_of(event.usage)
                if event.reason in _UNNAMED_STOPS:
                    self.editor.warn(_UNNAMED_STOPS[event.reason])
            case TurnFailed():
                self.failed = event
            case _:
                self.remark(event)

    def remark(self, event: Event) -> None:
        """Draw an event that is neither text nor a call."""
        line = event.describe()
        if not line:
            return
        if isinstance(event, Notice) and event.level == "warning":
            self.editor.warn(line)
        else:
            self.editor.note(line)

    def ask_about(self, request: AskRequest) -> ToolCallUpdate:
        """Draw the call that a question is about, and return it as the question names it."""
        call = request.call
        title = request.summary
        if call.result is not None:  # it has ended: what is asked is whether to go on
            call = replace(call, id=uuid7())
            title = request.question
        content = show_display(request.preview, request.why)
        if request.plan:
            content = [show_text(sanitize(request.plan))]
        fields = self._describe(call, title, "pending", content)
        if request.plan:
            fields["kind"] = "switch_mode"
        if request.preview.change is not None:  # the effects of a call are known when it is allowed
            fields["locations"] = [ToolCallLocation(path=request.preview.change.path)]
        self._send_call(call, fields)
        return pending(fields)

    def answer(self, call_id: str, decision: Decision) -> None:
        """Note the answer to a question about a call."""
        if call_id in self._calls:
            self._calls[call_id].is_allowed = decision.allow

    def end(self) -> None:
        """Close the calls that no event has closed, in a turn that was cut off or beside it: see `_OpenCall`."""
        for name, open_call in self._calls.items():
            was_asked_only = open_call.is_allowed and not open_call.has_begun
            self.editor.update(
                ToolCallProgress(
                    session_update="tool_call_update",
                    tool_call_id=name,
                    status="completed" if was_asked_only else "failed",
                )
            )
        self._calls.clear()

    def _show_usage(self) -> None:
        """Draw how full the window is, and what the session has cost."""
        cost = self.runtime.session.cost
        if self._limit is None:
            return
        self.editor.update(
            UsageUpdate(
                session_update="usage_update",
                used=self._tokens,
                size=self._limit,
                cost=None if cost is None else Cost(amount=cost, currency="USD"),
            )
        )

    def _begin_message(self) -> None:
        self._message = uuid7()
        self._thoughts = uuid7()

    def _retry(self, event: StepRetried) -> None:
        self.editor.note(event.describe())
        if event.restart:  # the protocol cannot take back what was sent: the answer begins anew
            self._begin_message()

    def _start_call(self, event: ToolStarted) -> None:
        fields = self._describe(event.call, event.summary, "in_progress", [])
        if event.call.id in self._calls:
            del fields["content"]  # what the question showed stays
        self._send_call(event.call, fields)
        self._calls[event.call.id].has_begun = True

    def _show_output(self, event: ToolProgress) -> None:
        open_call = self._calls.get(event.call_id)
        if open_call is None:
            return
        open_call.output.add(event.text)
        now = time.monotonic()
        if now - open_call.shown_at < _PROGRESS_INTERVAL:
            return
        open_call.shown_at = now
        text = sanitize(strip_terminal_codes(open_call.output.text())).strip("\n")
        self.editor.update(
            ToolCallProgress(
                session_update="tool_call_update",
                tool_call_id=event.call_id,
                content=[show_text(fence(text))],
            )
        )

    def _finish_call(self, event: ToolFinished) -> None:
        call = event.call
        status: Literal["completed", "failed"] = "completed" if event.result.ok else "failed"
        fields = self._describe(call, event.summary, status, show_result(event.result))
        self._send_call(call, fields)
        del self._calls[call.id]
        if event.result.ok and call.effects.todo is not None:
            self.editor.update(
                update_plan(
                    plan_entry(step["text"], status=TODO_STATUS.get(step["status"], "pending"))
                    for step in call.effects.todo
                )
            )

    def _describe(
        self,
        call: ToolCall,
        title: str,
        status: Literal["pending", "in_progress", "completed", "failed"],
        content: Sequence[Any],
    ) -> dict[str, Any]:
        tool = self.runtime.agent.tools.get(call.name)
        return describe_call(
            call,
            title=title,
            kind=kind_of(tool.kind if tool else None, call.effects),
            status=status,
            content=content,
            locations=locations_of(self.runtime.agent.ctx.root, call.effects),
        )

    def _send_call(self, call: ToolCall, fields: dict[str, Any]) -> None:
        """Send the fields of a call: as a new one, or as a change of one that the editor knows."""
        if call.id in self._calls:
            self.editor.update(ToolCallProgress(session_update="tool_call_update", **fields))
            return
        self._calls[call.id] = _OpenCall()
        self.editor.update(ToolCallStart(session_update="tool_call", **fields))


def _usage_of(usage: CountedUsage) -> Usage:
    """Return the tokens of a turn by the names of the protocol."""
    return Usage(
        total_tokens=usage.total,
        input_tokens=usage.input,
        output_tokens=usage.output,
        thought_tokens=usage.reasoning,
        cached_read_tokens=usage.cache_read,
        cached_write_tokens=usage.cache_write,
    )
