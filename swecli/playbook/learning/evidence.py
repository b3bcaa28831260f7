"""The digest of a finished turn, and its outcome (good, bad or unknown) from its check commands and the user's
decisions."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from datetime import datetime
from typing import Any

from swecli.models.ids import NUMBER
from swecli.models.message import CallStatus, ChatMessage, Origin, Role, ToolCall
from swecli.models.playbook import Bullet
from swecli.playbook.learning.checks import (
    Check,
    covers,
    find_check,
    find_succeeded,
    normalize_command,
)
from swecli.playbook.learning.reactions import Reaction, words_of
from swecli.playbook.wording import FORGET, REMEMBER
from swecli.redact import redact, redact_value
from swecli.store.records import CheckResult
from swecli.text import shorten
from swecli.values import dataclass

_RESULT_END = 400  # characters of each end of a result, and of one argument
_QUERY_END = 4_000  # characters of each end of a query
_ANSWER_END = 1_500  # characters of each end of an answer
_MAX_REACTION = 2_000  # characters of a reaction
# Characters of a message that is short. In 37 labelled exchanges, 9 of 10 messages after a turn that was wrong are.
_SHORT = 90
_CITATION = re.compile(rf"\[\s*(P-?{NUMBER}(?:\s*[,;&]\s*P-?{NUMBER})*)\s*\]", re.IGNORECASE)
_NUMBER = re.compile(rf"P-?({NUMBER})", re.IGNORECASE)
_QUOTED = re.compile(
    r"^[ \t]*(`{3,}|~{3,})[^`\n]*$.*?(?:^[ \t]*\1|\Z)|^[ \t]*>[^\n]*", re.MULTILINE | re.DOTALL
)
# which of several observations is a turn's outcome: a change of state (1.0) before these
_STILL_PASSING, _STILL_FAILING, _PASSING = 0.5, 0.3, 0.1
_SPAN = re.compile(r"`([^`\n]{3,})`")
_FAILING = re.compile(r"fail|error|✗|✕|not ok|panicked", re.IGNORECASE)
_VARYING = re.compile(
    r"\b\d+(?:\.\d+)?\s*(?:ms|s|sec|seconds)\b|0x[0-9a-f]+|\b\d\d:\d\d(?::\d\d)?\b"
)


@dataclass(frozen=True, slots=True)
class CallDigest:
    """One call, truncated and without secrets. `head` and `tail` are the ends of the result (`tail` is empty if `head`
    contains all of it); `denied` is a refusal with who decided and why; an interrupted call is not `finished`.
    `command` is the command line that it runs, or ""; `changes_files` and `origin` as its effects say."""

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
    command: str = ""
    changes_files: bool = False
    origin: Origin = "tool"

    @property
    def is_refused_by_user(self) -> bool:
        """Whether the user, not a mode or a rule, refused the call."""
        return self.denied and self.decision in ("user", "")

    @property
    def is_answered_by_user(self) -> bool:
        """Whether the call asked the user a question and got an answer."""
        return not self.denied and self.decision == "user" and self.reason != ""

    @property
    def output(self) -> str:
        """Both ends of the result and the error."""
        return "\n".join(part for part in (self.head, self.tail, self.error) if part)

    @property
    def passed(self) -> bool | None:
        """Whether a command succeeded; None if it was interrupted or refused, and for other tools."""
        return self.ok if self.finished and not self.denied and self.command else None

    @property
    def succeeded(self) -> list[str]:
        """The commands of a finished command line that succeeded, normalized."""
        if self.passed is None:
            return []
        return find_succeeded(self.command, self.exit_code, self.output)

    @property
    def check(self) -> Check:
        """The check that a finished command ran."""
        if self.passed is None:
            return Check()
        return find_check(self.command, self.exit_code, self.output)


@dataclass(frozen=True, slots=True)
class TurnDigest:
    """One turn and the user's `reactions`. `outcome` is "done", "failed", "cancelled" or a cap's name ("loop",
    "max_turns", ...); `shown_ids` are the bullets of the prompt, `cited` those that an answer names. `answer` is the
    final text, "" if the turn has none. `has_changes`: files are known to have changed, by whatever call."""

    session_id: str
    interaction: int
    query: str
    outcome: str = "done"
    calls: tuple[CallDigest, ...] = ()
    shown_ids: tuple[str, ...] = ()
    cited: tuple[str, ...] = ()
    reactions: tuple[Reaction, ...] = ()
    answer: str = ""
    has_changes: bool = False

    @classmethod
    def of(
        cls,
        messages: Sequence[ChatMessage],
        shown_ids: Iterable[str] = (),
        *,
        session_id: str = "",
        outcome: str = "done",
        reactions: Iterable[Reaction] = (),
        has_changes: bool = False,
    ) -> TurnDigest:
        """Digest the stored messages of one interaction; `shown_ids` are the bullets of its prompt, `reactions` what
        the user did after it. The query is the text as typed, not as sent, and "" if swecli made it."""
        queries = [message.content for message in messages if message.is_own_words]
        answers = [message.content for message in messages if message.is_answer]
        texts = [message.content for message in messages if message.role is Role.ASSISTANT]
        citations = " ".join(_CITATION.findall("\n".join(texts)))
        cited = dict.fromkeys(f"P-{int(number)}" for number in _NUMBER.findall(citations))
        prompt_ids = tuple(dict.fromkeys(shown_ids))
        calls = tuple(_digest_call(call) for message in messages for call in message.tool_calls)
        after = (
            replace(reaction, text=_shorten_reaction(redact(reaction.text)))
            for reaction in reactions
        )
        return cls(
            session_id=session_id,
            interaction=max((message.interaction for message in messages), default=0),
            query=_keep_ends(redact("\n".join(queries)), _QUERY_END),
            outcome=outcome,
            calls=calls,
            shown_ids=prompt_ids,
            cited=tuple(name for name in cited if name in prompt_ids),
            reactions=(*_reactions_during(messages, calls, outcome), *after),
            answer=_keep_ends(redact(answers[-1]), _ANSWER_END) if answers else "",
            has_changes=has_changes,
        )

    @property
    def own_texts(self) -> tuple[str, ...]:
        """What the user wrote himself: the query and the reactions, one text each, with an ellipsis in place of fenced
        blocks and `>` lines, which quote others."""
        return tuple(_QUOTED.sub(" … ", text) for text in (self.query, *words_of(self.reactions)))

    @property
    def checks(self) -> list[str]:
        """The keys of the checks that the turn ran."""
        return [*self._check_runs()]

    def observe(self, last: Mapping[str, CheckResult]) -> TurnEvidence:
        """Observe the turn; `last` contains the last results of the checks in this project."""
        runs = self._check_runs()
        changes = [
            _state_change(name, of_check, _state_before(name, runs, last))
            for name, of_check in runs.items()
        ]
        observations = [change for change in changes if change is not None]
        observations += [_refusal(call) for call in self.calls if call.is_refused_by_user]
        checks = {name: of_check[-1].result for name, of_check in runs.items()}
        observed = _select_strongest(observations)
        friction = _has_friction(self) or (observed is not None and not observed.good)
        covered = _covered_failures(runs, last)
        return TurnEvidence(self, observed, checks | covered, friction)

    def _check_runs(self) -> dict[str, list[_Run]]:
        """Return the runs of each check, oldest first."""
        runs: dict[str, list[_Run]] = {}
        edited = False
        other_command = False
        for index, call in enumerate(self.calls):
            edited = edited or (call.changes_files and call.ok)
            check = call.check
            if check.passed is not None:
                # which call changed files is only known of edits; any command before the run may have
                has_changes = edited or (self.has_changes and other_command)
                run = _Run(
                    call=call,
                    index=index,
                    has_passed=check.passed,
                    edited=edited,
                    has_changes=has_changes,
                )
                runs.setdefault(check.name, []).append(run)
            elif call.command:
                other_command = True
        return runs

    def find_helpful(self, bullets: Mapping[str, Bullet]) -> Iterator[tuple[Bullet, CallDigest]]:
        """Yield each bullet that an answer cites and whose own command succeeded, with the first call that ran it."""
        cited = [bullets[name] for name in self.cited if name in bullets]
        for bullet in cited:
            for call in self.calls:
                if any(_is_own_command(simple, bullet.content) for simple in call.succeeded):
                    yield bullet, call
                    break


def _keep_ends(text: str, limit: int) -> str:
    """Return a text, or both its ends of at most `limit` characters each."""
    return text if len(text) <= 2 * limit else f"{text[:limit]}\n…\n{text[-limit:]}"


def _shorten_reaction(text: str) -> str:
    """Return the beginning of a reaction; the ellipsis tells that its last sentence may not be whole."""
    return text if len(text) <= _MAX_REACTION else f"{text[:_MAX_REACTION]} …"


def _reactions_during(
    messages: Iterable[ChatMessage], calls: Iterable[CallDigest], outcome: str
) -> Iterator[Reaction]:
    for message in messages:
        # what a hook said has no words of the user
        if message.role is Role.USER and not message.is_query and message.content:
            yield Reaction("message", _shorten_reaction(redact(message.content)), "during")
    for call in calls:
        if call.is_refused_by_user:
            yield Reaction("refusal", call.reason, "during", call_id=call.id)
        elif call.is_answered_by_user:
            yield Reaction("answer", _shorten_reaction(call.reason), "during", call_id=call.id)
    if outcome == "cancelled":
        yield Reaction("interrupt", when="during")


def _digest_call(call: ToolCall) -> CallDigest:
    text = redact(call.result or "")
    is_short = len(text) <= 2 * _RESULT_END
    return CallDigest(
        id=call.id,
        name=call.name,
        parameters=redact_value(call.parameters, _RESULT_END),
        ok=call.status is CallStatus.FINISHED and call.exit_code in (None, 0),
        error=redact(call.error or "")[:_RESULT_END],
        exit_code=call.exit_code,
        head=text if is_short else text[:_RESULT_END],
        tail="" if is_short else text[-_RESULT_END:],
        denied=call.approved is False,
        reason=redact(call.reason),
        decision=call.decision,
        finished=call.result is not None,
        command=redact_value(call.effects.ran, _RESULT_END),
        changes_files=bool(call.effects.changed),
        origin=call.effects.origin,
    )


@dataclass(frozen=True, slots=True)
class Observation:
    """The observed outcome of a turn: `weight` 0 to 1, by which the strongest is chosen, `source` ("check", "mark",
    "refusal"), `reason` as a line for people, and the kind of turn (its check, or "turn")."""

    good: bool
    weight: float
    source: str
    reason: str
    kind: str = "turn"


@dataclass(frozen=True, slots=True)
class TurnEvidence:
    """A turn's outcome (None: unknown), the last result of each check command, and whether anything failed on the way
    (`friction`). `is_processed`: rules' lessons are stored; `remembered`: the model called `remember`; `stored_ids` are
    the bullets that the turn's statements became, also as the reaction to the turn before, `stored_next` those of the
    next turn, whose query is the reaction. `before` is the turn before in two lines, `started_at` tells the turn from a
    later one with its number."""

    digest: TurnDigest
    observed: Observation | None
    checks: Mapping[str, CheckResult]
    friction: bool
    is_processed: bool = False
    remembered: bool = False
    stored_ids: tuple[str, ...] = ()
    stored_next: tuple[str, ...] = ()
    before: str = ""
    started_at: datetime | None = None

    @property
    def is_reacted_to(self) -> bool:
        """Whether the user did more than to go on or to answer a question: marked it bad or with words, refused,
        interrupted, added a line or took back."""
        return any(_is_about_the_turn(reaction) for reaction in self.digest.reactions)

    @property
    def is_answered_briefly(self) -> bool:
        """Whether the next message is short: most of those that criticise are, in any language."""
        return any(
            reaction.kind == "message" and reaction.when == "after" and len(reaction.text) <= _SHORT
            for reaction in self.digest.reactions
        )

    @property
    def is_unheard(self) -> bool:
        """Whether the user asked for something to be remembered or forgotten, and nothing came of it."""
        request = REMEMBER.match(self.digest.query) or FORGET.match(self.digest.query)
        return request is not None and not (self.remembered or self.stored_ids)

    @property
    def known_ids(self) -> tuple[str, ...]:
        """The bullets that may be judged: those shown, and those that the turn's statements became."""
        return tuple(dict.fromkeys((*self.digest.shown_ids, *self.stored_ids)))


def _is_about_the_turn(reaction: Reaction) -> bool:
    if reaction.kind == "mark":
        return reaction.value == "bad" or bool(reaction.text)
    if reaction.kind == "message":
        return reaction.when == "during"
    return reaction.kind not in ("answer", "end")


@dataclass(frozen=True, slots=True)
class _Run:
    """One run of a check: its call with its index among the turn's calls, and whether a tool edited a file before it,
    or anything may have changed one (`has_changes`)."""

    call: CallDigest
    index: int
    has_passed: bool
    edited: bool
    has_changes: bool

    @property
    def result(self) -> CheckResult:
        return CheckResult(
            self.has_passed, () if self.has_passed else _failing_lines(self.call.output)
        )


def _state_before(
    name: str, runs: Mapping[str, Sequence[_Run]], last: Mapping[str, CheckResult]
) -> CheckResult | None:
    """Return a check's state before the turn's edits. One that never ran was failing if a narrower one was."""
    first = runs[name][0]
    newest = runs[name][-1]
    before = last.get(name) if first.edited or first is newest else first.result
    if before is not None:
        return before
    narrower = [other for other in {**last, **runs} if covers(name, other)]
    results = [
        run.result for other in narrower for run in runs.get(other, ()) if run.index < newest.index
    ]
    results += [last[other] for other in narrower if other in last]
    return next((result for result in results if not result.passed), None)


def _covered_failures(
    runs: Mapping[str, Sequence[_Run]], last: Mapping[str, CheckResult]
) -> dict[str, CheckResult]:
    """Return the failing checks that pass by now, because a wider one passed after them."""
    newest = {name: of_check[-1] for name, of_check in runs.items()}
    failing = {name: -1 for name, result in last.items() if not result.passed and name not in runs}
    failing |= {name: run.index for name, run in newest.items() if not run.has_passed}
    passing = {name: run.index for name, run in newest.items() if run.has_passed}
    return {
        name: CheckResult(True)
        for name, failed in failing.items()
        if any(passed > failed and covers(wide, name) for wide, passed in passing.items())
    }


def _state_change(
    name: str, runs: Sequence[_Run], before: CheckResult | None
) -> Observation | None:
    """Compare a check's last run with its state before the turn's edits; None if it fails as it did before."""
    run = runs[-1]
    label = shorten(name, 60)  # of a long command line, what it checks
    passes = Observation(run.has_passed, _PASSING, "check", f"{label} passes", name)
    if before is None or (before.passed == run.has_passed and not run.has_changes):
        return passes if run.has_passed else None
    if before.passed != run.has_passed:
        change = "failing to passing" if run.has_passed else "passing to failing"
        return replace(passes, weight=1.0, reason=f"{label} went from {change}")
    if run.has_passed:
        return replace(passes, weight=_STILL_PASSING, reason=f"{label} still passes")
    if run.result.failing == before.failing:
        return None  # the same tests failed before the turn
    return replace(passes, weight=_STILL_FAILING, reason=f"{label} still fails, in another way")


def _refusal(call: CallDigest) -> Observation:
    label = shorten(call.command or str(call.parameters.get("path", call.name)), 60)
    reason = f"you refused {label}" + (f": {shorten(call.reason, 60)}" if call.reason else "")
    return Observation(False, 1.0, "refusal", reason)


def _select_strongest(observations: Sequence[Observation]) -> Observation | None:
    """Return the observation with the largest weight; None if there is none, or if two of that weight disagree."""
    weight = max((observation.weight for observation in observations), default=0.0)
    strongest = [observation for observation in observations if observation.weight == weight]
    outcomes = {observation.good for observation in strongest}
    return strongest[0] if len(outcomes) == 1 else None


def _has_friction(digest: TurnDigest) -> bool:
    """Return True after a refused call, a repeated failing call, a failing command or check, or a loop stop."""
    failed: set[str] = set()
    for call in digest.calls:
        request = call.name + json.dumps(call.parameters, sort_keys=True, default=str)
        if call.denied or (request in failed and not call.ok) or call.passed is False:
            return True
        if call.check.passed is False:  # also where a pipe hides its status
            return True
        if not call.ok:
            failed.add(request)
    return digest.outcome == "loop"


def _is_own_command(simple: str, content: str) -> bool:
    """Return True if a normalized command is the one that a text names: in back-ticks its beginning, else all of it."""
    spans = [normalize_command(span) for span in _SPAN.findall(content)]
    if spans:
        return any(f"{simple} ".startswith(f"{span} ") for span in spans if span)
    return re.search(rf"(?<!\S){re.escape(simple)}(?![\w-])", content) is not None


def _failing_lines(output: str) -> tuple[str, ...]:
    """Return the lines of an output that name a failure, without times and addresses."""
    lines = (
        " ".join(_VARYING.sub("#", line).split())
        for line in output.splitlines()
        if _FAILING.search(line)
    )
    return tuple(dict.fromkeys(lines))[:50]
