"""A finished turn as the reflectors see it: every call in brief, what was shown and cited, and the turn before it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from swecli.models.ids import NUMBER
from swecli.models.message import ChatMessage, Role, ToolCall
from swecli.models.playbook import Tag
from swecli.playbook.words import content_words
from swecli.redact import redact, redact_value

Mark = Literal["good", "bad"]
Tagged = frozenset[tuple[str, Tag]]
Taken = frozenset[tuple[str, str]]

EDGE = 400  # characters kept of each end of a result
ARGUMENT = 400  # characters kept of one argument
TEXT = 8_000  # characters kept of a query or an answer
_CITATION = re.compile(rf"\[\s*(P-?{NUMBER}(?:\s*[,;&]\s*P-?{NUMBER})*)\s*\]", re.IGNORECASE)
_WRONG = re.compile(
    r"\b(?:(?:is|was|turned out(?: to be)?|looks|seems) (?:wrong|incorrect|outdated|out of date|stale|obsolete|"
    r"not true|"
    r"not right|misleading)|no longer (?:true|holds|applies|works|right)|(?:does|did|do) not (?:hold|apply|work)|"
    r"(?:doesn|didn|don)['’]t (?:hold|apply|work)|contradicts?)\b",
    re.IGNORECASE,
)
_NUMBER = re.compile(rf"P-?({NUMBER})", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class CallDigest:
    """One call in brief, without secrets.

    `head` and `tail` are the ends of the result (`tail` empty when the head holds all of it). `finished` is False
    for a call that was interrupted; `denied` says that it was refused, `decision` by whom and `reason` with which
    words. `vocabulary` holds the content words of the whole stored result: it tells where a text came from.
    """

    id: str
    name: str
    parameters: dict[str, Any] = field(default_factory=dict)
    ok: bool = True
    error: str = ""
    exit_code: int | None = None
    head: str = ""
    tail: str = ""
    duration_ms: int | None = None
    denied: bool = False
    reason: str = ""
    decision: str = ""
    finished: bool = True
    vocabulary: frozenset[str] = frozenset()

    @property
    def command(self) -> str:
        """The command line of a `run_command` call, "" for all others."""
        command = self.parameters.get("command") if self.name == "run_command" else ""
        return command if isinstance(command, str) else ""

    @property
    def output(self) -> str:
        """Both ends of the result and the error, as one text to look for marks in."""
        return "\n".join(part for part in (self.head, self.tail, self.error) if part)


@dataclass(frozen=True, slots=True)
class PreviousTurn:
    """What is known of the turn before: a correction or a praise concerns it. `tagged` as in `TurnDigest`."""

    query: str = ""
    answer: str = ""
    shown: tuple[str, ...] = ()
    cited: tuple[str, ...] = ()
    calls: tuple[CallDigest, ...] = ()
    interaction: int | None = None
    tagged: Tagged = frozenset()


@dataclass(frozen=True, slots=True)
class TurnDigest:
    """One turn. `outcome` is "done", "failed", "cancelled" or a cap's name ("loop", "max_turns", ...).

    `shown` are the bullets that stood in the prompt, `cited` those of them the answers named; `unknown` are cited
    ids that were not shown, `contradicted` those of the cited that an answer called wrong. `mark` is the user's own
    verdict, `why` the words given with it. `tagged` lists what was counted for this turn already and `taken` the
    evidence (source, quote) of what it taught already: a turn that is looked at twice counts and teaches once. `told`
    are words of both turns' actions that a result before them had brought up (see `provenance.told_earlier`).
    """

    session_id: str
    interaction: int
    query: str
    answer: str = ""
    outcome: str = "done"
    calls: tuple[CallDigest, ...] = ()
    shown: tuple[str, ...] = ()
    cited: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    contradicted: tuple[str, ...] = ()
    previous: PreviousTurn | None = None
    mark: Mark | None = None
    why: str = ""
    tagged: Tagged = frozenset()
    taken: Taken = frozenset()
    told: frozenset[str] = frozenset()

    def as_previous(self) -> PreviousTurn:
        """This turn as the one before the next."""
        return PreviousTurn(
            query=self.query,
            answer=self.answer,
            shown=self.shown,
            cited=self.cited,
            calls=self.calls,
            interaction=self.interaction,
            tagged=self.tagged,
        )


def digest_turn(
    messages: Sequence[ChatMessage],
    shown: Iterable[str] = (),
    previous: PreviousTurn | None = None,
    *,
    session_id: str = "",
    outcome: str = "done",
    mark: Mark | None = None,
    why: str = "",
    tagged: Iterable[tuple[str, Tag]] = (),
    taken: Iterable[tuple[str, str]] = (),
) -> TurnDigest:
    """Digest the stored messages of one interaction.

    Args:
        messages: the interaction: its user message first, then the assistant's with their calls.
        shown: ids of the bullets that stood in its prompt.
        previous: the turn before, from its own digest's `as_previous()`.
        session_id: the session it belongs to.
        outcome: how it ended.
        mark: the user's verdict, when this digest is made for one; `why` are the words given with it.
        tagged: (bullet, tag) pairs that were counted for this interaction before, from `counted.tags_of`.
        taken: evidence of what it taught before, from `counted.taken_of`.

    What users typed counts as the query, not what was sent in its place: text of @files is not the user's words.
    """
    queries = [m.content for m in messages if m.role is Role.USER]
    texts = [m.content for m in messages if m.role is Role.ASSISTANT and m.content]
    allowed = tuple(dict.fromkeys(shown))
    cited, unknown = _citations(texts, allowed)
    return TurnDigest(
        session_id=session_id,
        interaction=max((m.interaction for m in messages), default=0),
        query=redact("\n".join(queries))[:TEXT],
        answer=redact("\n".join(texts))[-TEXT:],
        outcome=outcome,
        calls=tuple(digest_call(call) for m in messages for call in m.tool_calls),
        shown=allowed,
        cited=cited,
        unknown=unknown,
        contradicted=tuple(i for i in cited if _contradicts(texts, i)),
        previous=previous,
        mark=mark,
        why=redact(why),
        tagged=frozenset(tagged),
        taken=frozenset(taken),
    )


def digest_call(call: ToolCall) -> CallDigest:
    """One stored call in brief."""
    text = redact(call.result or "")
    denied = call.approved is False
    ok = call.result is not None and not denied and call.error is None and call.exit_code in (None, 0)
    return CallDigest(
        id=call.id,
        name=call.name,
        parameters=redact_value(call.parameters, ARGUMENT),
        ok=ok,
        error=redact(call.error or "")[:EDGE],
        exit_code=call.exit_code,
        head=text if len(text) <= 2 * EDGE else text[:EDGE],
        tail="" if len(text) <= 2 * EDGE else text[-EDGE:],
        duration_ms=call.duration_ms,
        denied=denied,
        reason=redact(call.reason),
        decision=call.decision,
        finished=call.result is not None,
        vocabulary=content_words(text),
    )


def ids_in(text: str) -> list[str]:
    """Bullet ids named in brackets, `[P-7]` or `[P-7, P-9]`, in order of first mention."""
    found = [f"P-{int(n)}" for group in _CITATION.findall(text) for n in _NUMBER.findall(group)]
    return list(dict.fromkeys(found))


def _citations(texts: Iterable[str], shown: tuple[str, ...]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    named = list(dict.fromkeys(id_ for text in texts for id_ in ids_in(text)))
    return tuple(i for i in named if i in shown), tuple(i for i in named if i not in shown)


def _contradicts(texts: Iterable[str], bullet_id: str) -> bool:
    """Whether a sentence that names the bullet calls it wrong."""
    sentences = (s for text in texts for s in re.split(r"(?<=[.!?])\s+|\n", text))
    return any(bullet_id in ids_in(sentence) and _WRONG.search(sentence) for sentence in sentences)
