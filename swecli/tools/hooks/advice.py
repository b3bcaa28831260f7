"""What the answers of hooks mean for a call: for the decision whether it runs, and for its result."""

from __future__ import annotations

import json
from dataclasses import replace

from swecli.models.approval import Decision
from swecli.models.json_value import JsonObject
from swecli.models.message import ToolResult
from swecli.tools.hooks.answers import Answer, Verdict
from swecli.tools.hooks.names import HookedCall
from swecli.tools.permissions import PermissionVerdict
from swecli.values import dataclass


@dataclass(frozen=True, slots=True)
class Advice:
    """The answer of hooks on a call. It is stricter than rules and modes, and never allows what a rule or a guard asks
    about or denies."""

    call: HookedCall
    answer: Answer

    @property
    def changed_parameters(self) -> JsonObject | None:
        """The arguments that the call is to have; None: its own."""
        changed_input = self.answer.changed_input
        return None if changed_input is None else self.call.with_changes(changed_input)

    def judge(self, verdict: PermissionVerdict) -> PermissionVerdict:
        """Return the decision on the call, from that of rules and mode."""
        if verdict.outcome == "deny":
            return verdict
        reason = self.answer.reason
        is_by_rule = verdict.outcome == "ask" and verdict.by == "rule"
        match self.answer.verdict:
            case Verdict.DENY:
                return PermissionVerdict("deny", "hook", f"a hook refuses this call: {reason}")
            case Verdict.ASK if not is_by_rule:
                explanation = f"A hook asks for approval: {reason}".removesuffix(": ")
                return verdict._replace(
                    outcome="ask", by="hook", reason=explanation, exact_only=True
                )
            case Verdict.ALLOW if self._may_allow(verdict):
                return PermissionVerdict("allow", "hook", "a hook allows it")
            case _:
                return verdict

    def answer_question(self, verdict: PermissionVerdict) -> Decision | None:
        """Return the decision in place of the user's; None if he is to be asked."""
        if self.answer.is_refusal:
            return Decision(False, reason=f"a hook refuses it: {self.answer.reason}", by="hook")
        is_allowed = self.answer.verdict is Verdict.ALLOW and self.answer.changed_input is None
        return Decision(True, by="hook") if is_allowed and self._may_allow(verdict) else None

    def _may_allow(self, verdict: PermissionVerdict) -> bool:
        return verdict.outcome == "ask" and verdict.by == "mode"

    def add_to(self, result: ToolResult) -> ToolResult:
        """Return the result of the call with what hooks have changed, and what they add for the model."""
        lines: list[str] = []
        if self.answer.changed_input is not None:
            text = json.dumps(self.answer.changed_input, ensure_ascii=False)
            lines.append(f"[a hook changed the arguments of this call to {text}]")
        if self.answer.context:
            lines.append(from_hook(self.answer.context))
        if not lines:
            return result
        return replace(result, for_model="\n".join([result.for_model, *lines]))


def from_hook(text: str) -> str:
    """Return what hooks say, as the model reads it."""
    return f"[a hook of the user says: {text}]"
