"""The digest of a finished turn, and its outcome (good, bad or unknown) from its check commands and the user's
decisions."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from swecli.models.ids import NUMBER
from swecli.models.message import ChatMessage, Role, ToolCall
from swecli.models.playbook import Bullet, shorten
from swecli.redact import redact, redact_value
from swecli.store.records import CheckResult

_EDGE = 400  # characters of each end of a result, and of one argument
_TEXT = 4_000  # characters of each end of a query
_CITATION = re.compile(rf"\[\s*(P-?{NUMBER}(?:\s*[,;&]\s*P-?{NUMBER})*)\s*\]", re.IGNORECASE)
_NUMBER = re.compile(rf"P-?({NUMBER})", re.IGNORECASE)
_QUOTED = re.compile(
    r"^[ \t]*(`{3,}|~{3,})[^`\n]*$.*?(?:^[ \t]*\1|\Z)|^[ \t]*>[^\n]*", re.MULTILINE | re.DOTALL
)
_EDITS = frozenset({"edit_file", "write_file"})
_STILL_GREEN, _STILL_RED = 0.5, 0.3
_ONLY_SHOWN = {True: 0.3, False: 0.1}  # role of an unlinked bullet after a good and a bad outcome
_SPAN = re.compile(r"`([^`\n]{3,})`")
_ASSIGNMENT = re.compile(r"^(?:[A-Za-z_]\w*=(?:\"[^\"]*\"|'[^']*'|\S*)\s+)+")
_WRAPPER = re.compile(
    r"^(?:(?:time|nice|sudo|command|exec|env|npx|bunx|stdbuf\s+-\S+|timeout\s+\S+|(?:uv|poetry|pdm|hatch|pipenv)\s+run|"
    r"bundle\s+exec|pnpm\s+exec|yarn\s+exec)\s+)+"
)
# Words that name a check, and programs that only check.
_CHECK = re.compile(
    r"(?:^|[\s/.:_-])(?:py)?(?:tests?|checks?|lint|specs?|verify|build|compile|typecheck|pytest|unittest|tox|nox|jest|"
    r"vitest|mocha|mypy|pyright|ruff|flake8|eslint|tsc|clippy|vet|ctest|rspec|phpunit)(?:$|[\s/.:_\d-])"
)
_NO_CHECK = re.compile(
    r"^(?:\S*/)?(?:cat|ls|grep|rg|find|sed|echo|git|cd|rm|mv|cp|mkdir|head|tail|less|test|which|touch)\b"
)
_FAILING = re.compile(r"fail|error|✗|✕|not ok|panicked", re.IGNORECASE)
_VARYING = re.compile(
    r"\b\d+(?:\.\d+)?\s*(?:ms|s|sec|seconds)\b|0x[0-9a-f]+|\b\d\d:\d\d(?::\d\d)?\b"
)


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

    @property
    def passed(self) -> bool | None:
        """Whether a command succeeded; None if it was interrupted or refused, and for other tools."""
        return self.ok if self.finished and not self.denied and self.command else None

    @property
    def check(self) -> str:
        """The key of the check that the call runs; "" if it runs none, or its exit code may be another command's."""
        if not self.command or re.search(r"(?<!\|)\|(?!\|)|\|\||;|\n", self.command):
            return ""
        key = _normalize_command(self.command)
        parts = key.split(" && ")
        return key if not _NO_CHECK.match(parts[-1]) and _CHECK.search(parts[-1].lower()) else ""


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

    @classmethod
    def of(
        cls,
        messages: Sequence[ChatMessage],
        shown: Iterable[str] = (),
        *,
        session_id: str = "",
        outcome: str = "done",
    ) -> TurnDigest:
        """Digest the stored messages of one interaction; `shown` are the bullets of its prompt. The query is the text
        as typed, not as sent."""
        queries = [m.content for m in messages if m.role is Role.USER]
        texts = [m.content for m in messages if m.role is Role.ASSISTANT and m.content]
        allowed, query = tuple(dict.fromkeys(shown)), redact("\n".join(queries))
        named = [
            f"P-{int(n)}"
            for group in _CITATION.findall("\n".join(texts))
            for n in _NUMBER.findall(group)
        ]
        return cls(
            session_id=session_id,
            interaction=max((m.interaction for m in messages), default=0),
            query=query if len(query) <= 2 * _TEXT else f"{query[:_TEXT]}\n{query[-_TEXT:]}",
            outcome=outcome,
            calls=tuple(_digest_call(call) for m in messages for call in m.tool_calls),
            shown=allowed,
            cited=tuple(name for name in dict.fromkeys(named) if name in allowed),
        )

    @property
    def own_words(self) -> str:
        """The query without fenced blocks and `>` lines, which quote others."""
        return _QUOTED.sub(" … ", self.query)

    @property
    def corrects_previous(self) -> bool:
        """Whether the query begins with "no,", which judges the turn before."""
        return (
            self.interaction > 1 and re.match(r"\s*no\s*,", self.query, re.IGNORECASE) is not None
        )

    @property
    def checks(self) -> list[str]:
        """The keys of the checks that the turn ran."""
        return [*_check_runs(self.calls)]

    def observe(self, last: Mapping[str, CheckResult]) -> TurnEvidence:
        """Observe the turn; `last` contains the previous results of its checks in this project."""
        runs = _check_runs(self.calls)
        found = [
            one
            for name, own in runs.items()
            if (one := _state_change(name, own, last.get(name))) is not None
        ]
        found += [
            _refusal(call) for call in self.calls if call.denied and call.decision in ("user", "")
        ]
        checks = {name: own[-1].result for name, own in runs.items()}
        observed = _select_strongest(found)
        friction = _has_friction(self) or (observed is not None and not observed.good)
        first_success = any(check.passed and name not in last for name, check in checks.items())
        return TurnEvidence(self, observed, checks, friction, first_success)

    def find_roles(
        self, observed: Observation, bullets: Mapping[str, Bullet]
    ) -> list[tuple[Bullet, float, str]]:
        """Return the bullets of the prompt with their roles (see `_assign_role`)."""
        return [
            (bullets[n], *_assign_role(bullets[n], observed, self))
            for n in self.shown
            if n in bullets
        ]


def _digest_call(call: ToolCall) -> CallDigest:
    text = redact(call.result or "")
    finished, denied = call.result is not None, call.approved is False
    return CallDigest(
        id=call.id,
        name=call.name,
        parameters=redact_value(call.parameters, _EDGE),
        ok=finished and not denied and call.error is None and call.exit_code in (None, 0),
        error=redact(call.error or "")[:_EDGE],
        exit_code=call.exit_code,
        head=text if len(text) <= 2 * _EDGE else text[:_EDGE],
        tail="" if len(text) <= 2 * _EDGE else text[-_EDGE:],
        denied=denied,
        reason=redact(call.reason),
        decision=call.decision,
        finished=finished,
    )


@dataclass(frozen=True, slots=True)
class Observation:
    """The observed outcome of a turn: `weight` 0 to 1, `source` ("check", "mark", "refusal"), `why` as a line for
    people, the kind of turn whose base odds it changes ("turn" without a deciding check), and
    the deciding `call`."""

    good: bool
    weight: float
    source: str
    why: str
    kind: str = "turn"
    call: CallDigest | None = None


@dataclass(frozen=True, slots=True)
class TurnEvidence:
    """A turn's outcome (None: unknown), the last result of each check command, whether anything failed on the way
    (`friction`), and whether a check passed for the first time. `is_processed`: rules' lessons are stored; `user_next`:
    the user's next message; `remembered`: the model called `remember`."""

    digest: TurnDigest
    observed: Observation | None
    checks: Mapping[str, CheckResult]
    friction: bool
    first_success: bool
    is_processed: bool = False
    user_next: str = ""
    remembered: bool = False


@dataclass(frozen=True, slots=True)
class _Run:
    call: CallDigest
    edited: bool  # the turn edited a file before this run

    @property
    def result(self) -> CheckResult:
        return CheckResult(self.call.ok, () if self.call.ok else _failing_lines(self.call.output))


def _check_runs(calls: Sequence[CallDigest]) -> dict[str, list[_Run]]:
    runs: dict[str, list[_Run]] = {}
    edited = False
    for call in calls:
        edited = edited or (call.name in _EDITS and call.ok)
        if call.passed is not None and (key := call.check):
            runs.setdefault(key, []).append(_Run(call, edited))
    return runs


def _state_change(name: str, runs: Sequence[_Run], last: CheckResult | None) -> Observation | None:
    """Compare a check's last run with its state before the turn's edits."""
    call, edited, after = runs[-1].call, runs[-1].edited, runs[-1].result
    before = last if runs[0].edited or len(runs) == 1 else runs[0].result
    if before is None:
        return None
    label = shorten(call.command, 60)
    if before.passed != after.passed:
        how = "failing to passing" if after.passed else "passing to failing"
        return Observation(after.passed, 1.0, "check", f"{label} went from {how}", name, call)
    if not edited or (not after.passed and after.failing == before.failing):
        return None  # nothing was changed, or the same tests failed before the turn
    if after.passed:
        return Observation(True, _STILL_GREEN, "check", f"{label} still passes", name, call)
    return Observation(
        False, _STILL_RED, "check", f"{label} still fails, in another way", name, call
    )


def _refusal(call: CallDigest) -> Observation:
    label = shorten(call.command or str(call.parameters.get("path", call.name)), 60)
    why = f"you refused {label}" + (f": {shorten(call.reason, 60)}" if call.reason else "")
    return Observation(False, 1.0, "refusal", why, call=call)


def _select_strongest(found: Sequence[Observation]) -> Observation | None:
    """Return the observation with the largest weight; None if there is none, or if two of that weight disagree."""
    best = max(found, key=lambda one: one.weight, default=None)
    if best is None or any(one.weight == best.weight and one.good != best.good for one in found):
        return None
    return best


def _has_friction(digest: TurnDigest) -> bool:
    """Return True after a refused call, a repeated failing call, a failing command or a loop stop."""
    asked: set[str] = set()
    for call in digest.calls:
        same = call.name + json.dumps(call.parameters, sort_keys=True, default=str)
        if call.denied or (same in asked and not call.ok) or call.passed is False:
            return True
        if not call.ok:
            asked.add(same)
    return digest.outcome == "loop"


def _assign_role(bullet: Bullet, observed: Observation, digest: TurnDigest) -> tuple[float, str]:
    """Return a bullet's share of the outcome's weight and the id of the call that links it: 1 if the deciding call
    contains one of its anchors, or if it was cited and a call or a mark followed; 0 if stale or quarantined."""
    if not bullet.is_live or bullet.stale:
        return 0.0, ""
    if (call := observed.call) is not None:
        text = json.dumps(call.parameters, ensure_ascii=False, default=str)
        if _contains_anchor(bullet, text if observed.good else f"{text} {call.output}"):
            return 1.0, call.id
    if bullet.id in digest.cited and (observed.source == "mark" or digest.calls):
        return 1.0, call.id if call else ""
    return _ONLY_SHOWN[observed.good], ""


def _contains_anchor(bullet: Bullet, text: str) -> bool:
    named = (anchor.partition(":")[2] or anchor for anchor in bullet.anchors)  # `kind:value`
    names = {*named, *_SPAN.findall(bullet.content)}
    return any(
        re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", text)
        for name in names
        if len(name) >= 3
    )


def _normalize_command(command: str) -> str:
    """Remove assignments, wrappers, `cd` and `bin/` folders, so that equal checks have equal keys."""
    kept = []
    for part in command.split("&&"):
        part = part.strip().strip("()")
        while (shorter := _WRAPPER.sub("", _ASSIGNMENT.sub("", part + " ")).strip()) != part:
            part = shorter
        if part and not re.match(r"(?:cd|pushd)\s+\S+$", part):
            kept.append(re.sub(r"^\S*/bin/(?=\S)", "", part))
    return " ".join(" && ".join(kept).split())


def _failing_lines(output: str) -> tuple[str, ...]:
    """Return the lines of an output that name a failure, without times and addresses."""
    lines = (
        " ".join(_VARYING.sub("#", line).split())
        for line in output.splitlines()
        if _FAILING.search(line)
    )
    return tuple(dict.fromkeys(lines))[:50]
