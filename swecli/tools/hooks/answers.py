"""What hooks answer: by their exit code, or in JSON on their standard output."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from enum import IntEnum

from swecli.models.json_value import Json, JsonObject
from swecli.text import one_line
from swecli.tools.hooks.declared import Hook, HookEvent
from swecli.tools.limits import HeadTail
from swecli.values import dataclass

BLOCKED = 2  # the exit code that refuses, with the reason on standard error
# Characters of the head and the tail of what one hook may say: together as many as in Claude Code.
_LONGEST = 4_000, 6_000
_NO_REASON = "no reason is given"

# What such hooks print is for the model, if it is no JSON.
_TEXT_IS_CONTEXT = frozenset(
    {HookEvent.SESSION_START, HookEvent.USER_PROMPT_SUBMIT, HookEvent.PRE_COMPACT}
)


class Verdict(IntEnum):
    """What a hook decides on a call; of several hooks the highest counts."""

    NONE = 0
    ALLOW = 1
    ASK = 2
    DENY = 3


_VERDICTS = {
    "allow": Verdict.ALLOW,
    "approve": Verdict.ALLOW,
    "ask": Verdict.ASK,
    "deny": Verdict.DENY,
    "block": Verdict.DENY,
}


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer of a hook, or of all hooks on an event.

    Attributes:
        verdict: On what it was asked about. Of an event that is over, DENY only says that the model gets the `reason`.
        reason: Why.
        context: What the model is told beside that.
        changed_input: The arguments that a call is to have; None: they stay.
        ends_turn: Whether the turn is to end, with `end_reason`.
        messages: Lines for the user.
        problems: What went wrong, in lines for the user.
    """

    verdict: Verdict = Verdict.NONE
    reason: str = ""
    context: str = ""
    changed_input: JsonObject | None = None
    ends_turn: bool = False
    end_reason: str = ""
    messages: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()

    @property
    def is_refusal(self) -> bool:
        return self.verdict is Verdict.DENY


SILENT = Answer()


def failed(hook: Hook, problem: str) -> Answer:
    """Return the answer of a hook that gave none: what it was asked about goes on, unless it has to answer."""
    line = f"the hook {hook.name} failed: {problem}"
    if hook.must_answer:
        return Answer(Verdict.DENY, reason=line, problems=(line,))
    return Answer(problems=(line,))


def read_answer(hook: Hook, code: int, output: str, errors: str) -> Answer:
    """Return what a hook has answered that ended by itself."""
    if code == BLOCKED:
        return Answer(Verdict.DENY, reason=_limited(errors.strip()) or _NO_REASON)
    text = _without_promise(output.strip())
    value: Json = None
    problem = ""
    if text.startswith("{"):
        try:
            value = json.loads(text)
        except (ValueError, RecursionError) as error:
            problem = f"its answer is not valid JSON: {error}"
    if isinstance(value, dict):
        return _read_object(hook, value)
    if code:
        error_text = one_line(errors) or "it printed no error"
        return failed(hook, f"exit code {code}: {error_text}")
    if problem:
        return failed(hook, problem)
    is_context = hook.event in _TEXT_IS_CONTEXT
    return Answer(context=_limited(text) if is_context else "")


def _without_promise(text: str) -> str:
    """Return an output without a first line by which a hook says that it goes on in the background: here its end is
    waited for."""
    first, _, rest = text.partition("\n")
    return rest.strip() if re.fullmatch(r'\{\s*"async"\s*:\s*true\b.*\}', first.strip()) else text


def _read_object(hook: Hook, value: JsonObject) -> Answer:
    message = _text(value, "systemMessage")
    answer = Answer(
        verdict=_VERDICTS.get(_text(value, "decision"), Verdict.NONE),
        reason=_limited(_text(value, "reason")),
        ends_turn=value.get("continue") is False,
        end_reason=one_line(_text(value, "stopReason")),
        messages=(one_line(message),) if message else (),
    )
    specific = value.get("hookSpecificOutput")
    if isinstance(specific, dict):
        if specific.get("hookEventName") != hook.event:
            event_name = one_line(str(specific.get("hookEventName")), 40)
            return failed(hook, f"its answer is for the event {event_name}")
        answer = _read_specific(answer, specific)
    if answer.is_refusal and not answer.reason:
        answer = replace(answer, reason=message.strip() or _NO_REASON)
    return answer


def _read_specific(answer: Answer, specific: JsonObject) -> Answer:
    """Return an answer with what it says for its event only."""
    decision = specific.get("decision")
    if isinstance(decision, dict):  # on a question to the user
        verdict = _VERDICTS.get(_text(decision, "behavior"), Verdict.NONE)
        answer = replace(
            answer,
            verdict=max(answer.verdict, verdict),
            reason=_limited(_text(decision, "message")) or answer.reason,
            changed_input=_object(decision, "updatedInput"),
            ends_turn=answer.ends_turn or decision.get("interrupt") is True,
        )
    verdict = _VERDICTS.get(_text(specific, "permissionDecision"), Verdict.NONE)
    return replace(
        answer,
        verdict=max(answer.verdict, verdict),
        reason=_limited(_text(specific, "permissionDecisionReason")) or answer.reason,
        context=_limited(_text(specific, "additionalContext")),
        changed_input=_object(specific, "updatedInput") or answer.changed_input,
    )


def merge(answers: Sequence[Answer]) -> Answer:
    """Return the answers of all hooks on an event as one: the strictest verdict counts, with the reasons of those that
    gave it, and of several changes of a call the last."""
    verdict = max((answer.verdict for answer in answers), default=Verdict.NONE)
    deciding = [answer for answer in answers if answer.verdict is verdict]
    changes = [answer.changed_input for answer in answers if answer.changed_input is not None]
    ending = [answer for answer in answers if answer.ends_turn]
    return Answer(
        verdict,
        reason="\n".join(answer.reason for answer in deciding if answer.reason),
        context="\n".join(answer.context for answer in answers if answer.context),
        changed_input=changes[-1] if changes else None,
        ends_turn=bool(ending),
        end_reason=" ".join(answer.end_reason for answer in ending if answer.end_reason),
        messages=tuple(line for answer in answers for line in answer.messages),
        problems=tuple(line for answer in answers for line in answer.problems),
    )


def _text(value: JsonObject, name: str) -> str:
    text = value.get(name)
    return text if isinstance(text, str) else ""


def _object(value: JsonObject, name: str) -> JsonObject | None:
    child = value.get(name)
    return child if isinstance(child, dict) else None


def _limited(text: str) -> str:
    excerpt = HeadTail(*_LONGEST)
    excerpt.add(text)
    return excerpt.text()
