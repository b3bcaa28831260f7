"""The digest of a finished turn: its calls in brief, check commands, shown and cited bullets."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from swecli.models.ids import NUMBER
from swecli.models.message import ChatMessage, Role, ToolCall
from swecli.redact import redact, redact_value

_EDGE = 400  # characters of each end of a result
_ARGUMENT = 400  # characters of one argument
_TEXT = 4_000  # characters of each end of a query
_CITATION = re.compile(rf"\[\s*(P-?{NUMBER}(?:\s*[,;&]\s*P-?{NUMBER})*)\s*\]", re.IGNORECASE)
_NUMBER = re.compile(rf"P-?({NUMBER})", re.IGNORECASE)
_QUOTED = re.compile(r"^[ \t]*(`{3,}|~{3,})[^`\n]*$.*?(?:^[ \t]*\1|\Z)|^[ \t]*>[^\n]*", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class CallDigest:
    """One call, truncated and without secrets. `head` and `tail` are the ends of the result (`tail` is empty if `head`
    contains all of it); `denied` is a refusal with who decided and why; an interrupted call is not `finished`."""

    id: str
    name: str
    parameters: dict[str, Any] = field(default_factory=dict)
    ok: bool = True
    error: str = ""
    exit_code: int | None = None
    head: str = ""
    tail: str = ""
    denied: bool = False
    reason: str = ""
    decision: str = ""
    finished: bool = True

    @property
    def command(self) -> str:
        """The command line of a `run_command` call, or ""."""
        command = self.parameters.get("command") if self.name == "run_command" else ""
        return command if isinstance(command, str) else ""

    @property
    def output(self) -> str:
        """Both ends of the result and the error."""
        return "\n".join(part for part in (self.head, self.tail, self.error) if part)


@dataclass(frozen=True, slots=True)
class TurnDigest:
    """One turn. `outcome` is "done", "failed", "cancelled" or a cap's name ("loop", "max_turns", ...); `shown` are the
    bullets of the prompt, `cited` those that an answer names."""

    session_id: str
    interaction: int
    query: str
    outcome: str = "done"
    calls: tuple[CallDigest, ...] = ()
    shown: tuple[str, ...] = ()
    cited: tuple[str, ...] = ()

    @property
    def own_words(self) -> str:
        """The query without fenced blocks and `>` lines, which quote others."""
        return _QUOTED.sub(" … ", self.query)


def digest_turn(
    messages: Sequence[ChatMessage], shown: Iterable[str] = (), *, session_id: str = "", outcome: str = "done"
) -> TurnDigest:
    """Digest the stored messages of one interaction; `shown` are the bullets of its prompt. The query is the text as
    typed, not as sent."""
    queries = [m.content for m in messages if m.role is Role.USER]
    texts = [m.content for m in messages if m.role is Role.ASSISTANT and m.content]
    allowed, query = tuple(dict.fromkeys(shown)), redact("\n".join(queries))
    named = [f"P-{int(n)}" for group in _CITATION.findall("\n".join(texts)) for n in _NUMBER.findall(group)]
    return TurnDigest(
        session_id=session_id,
        interaction=max((m.interaction for m in messages), default=0),
        query=query if len(query) <= 2 * _TEXT else f"{query[:_TEXT]}\n{query[-_TEXT:]}",
        outcome=outcome,
        calls=tuple(_digest_call(call) for m in messages for call in m.tool_calls),
        shown=allowed,
        cited=tuple(name for name in dict.fromkeys(named) if name in allowed),
    )


def _digest_call(call: ToolCall) -> CallDigest:
    text = redact(call.result or "")
    denied = call.approved is False
    ok = call.result is not None and not denied and call.error is None and call.exit_code in (None, 0)
    return CallDigest(
        id=call.id,
        name=call.name,
        parameters=redact_value(call.parameters, _ARGUMENT),
        ok=ok,
        error=redact(call.error or "")[:_EDGE],
        exit_code=call.exit_code,
        head=text if len(text) <= 2 * _EDGE else text[:_EDGE],
        tail="" if len(text) <= 2 * _EDGE else text[-_EDGE:],
        denied=denied,
        reason=redact(call.reason),
        decision=call.decision,
        finished=call.result is not None,
    )


_SPLIT = re.compile(r"\s*(?:&&|\|\||[;|\n])\s*")
_ASSIGNMENT = re.compile(r"^(?:[A-Za-z_]\w*=(?:\"[^\"]*\"|'[^']*'|\S*)\s+)+")
_WRAPPER = re.compile(
    r"^(?:(?:time|nice|sudo|command|exec|env|npx|bunx|stdbuf\s+-\S+|timeout\s+\S+|(?:uv|poetry|pdm|hatch|pipenv)\s+run|"
    r"bundle\s+exec|pnpm\s+exec|yarn\s+exec)\s+)+"
)
_CD = re.compile(r"^(?:cd|pushd)\s+\S+$")
# Words that name a check, and programs that only check.
_CHECK = re.compile(
    r"(?:^|[\s/.:_-])(?:py)?(?:tests?|checks?|lint|specs?|verify|build|compile|typecheck|pytest|unittest|tox|nox|jest|"
    r"vitest|mocha|mypy|pyright|ruff|flake8|eslint|tsc|clippy|vet|ctest|rspec|phpunit)(?:$|[\s/.:_\d-])"
)
_NO_CHECK = re.compile(
    r"^(?:\S*/)?(?:cat|ls|grep|rg|find|sed|echo|git|cd|rm|mv|cp|mkdir|head|tail|less|test|which|touch)\b"
)
_FAILING = re.compile(r"fail|error|✗|✕|not ok|panicked", re.IGNORECASE)
_VARYING = re.compile(r"\b\d+(?:\.\d+)?\s*(?:ms|s|sec|seconds)\b|0x[0-9a-f]+|\b\d\d:\d\d(?::\d\d)?\b")
_MOST_LINES = 50


def _normalize_command(command: str) -> str:
    """Remove assignments, wrappers, `cd` and `bin/` folders, so that equal checks have equal keys."""
    kept = []
    for part in _SPLIT.split(command.strip()):
        part = part.strip().strip("()")
        while (shorter := _WRAPPER.sub("", _ASSIGNMENT.sub("", part + " ")).strip()) != part:
            part = shorter
        if part and not _CD.match(part):
            kept.append(re.sub(r"^\S*/bin/(?=\S)", "", part))
    return " ".join(" && ".join(kept).split())


def check_key(call: CallDigest) -> str:
    """Return the key of the check that a call runs; "" if it runs none, or its exit code may be another command's."""
    if not call.command or re.search(r"(?<!\|)\|(?!\|)|\|\||;|\n", call.command):
        return ""
    key = _normalize_command(call.command)
    parts = key.split(" && ")
    return key if not _NO_CHECK.match(parts[-1]) and _CHECK.search(parts[-1].lower()) else ""


def has_passed(call: CallDigest) -> bool | None:
    """Return True for a successful command; None if it was interrupted or refused, and for other tools."""
    if not call.finished or call.denied or not call.command:
        return None
    return call.ok


def failing_lines(output: str) -> tuple[str, ...]:
    """Return the lines of an output that name a failure, without times and addresses."""
    lines = (" ".join(_VARYING.sub("#", line).split()) for line in output.splitlines() if _FAILING.search(line))
    return tuple(dict.fromkeys(lines))[:_MOST_LINES]
