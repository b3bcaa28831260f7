"""What the store returns of sessions besides their messages: plain data, importable without the database."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from swecli.models.message import Usage
from swecli.models.playbook import Delta, Verdict


@dataclass(frozen=True, slots=True)
class SearchHit:
    """A place where words were found. A hit in a title has the role "title" and interaction 0."""

    session_id: str
    title: str
    interaction: int
    role: str
    snippet: str
    created_at: datetime


@dataclass(frozen=True, slots=True)
class TextMatch:
    """Where a text stands in one session: `where` is query, answer or `result of call_7`."""

    interaction: int
    where: str
    excerpt: str

    @property
    def quotation(self) -> str:
        """The excerpt in quotes, with its turn."""
        return f'T{self.interaction}, {self.where}: "{self.excerpt}"'


@dataclass(frozen=True, slots=True)
class FoundInteraction:
    """An interaction that a query refers to. `score` is from 0 to 1; `excerpts` are at most two quotations of about
    400 characters, the better one first."""

    interaction: int
    score: float
    excerpts: tuple[TextMatch, ...]


@dataclass(frozen=True, slots=True)
class UsageTotals:
    """What some requests took. `cost` in US dollars, None as soon as one of them is unknown; `by_purpose` its parts
    ("turn", "reflect", "condense" …) where it is of a session."""

    usage: Usage = field(default_factory=Usage)
    cost: float | None = 0.0
    requests: int = 0
    by_purpose: dict[str, UsageTotals] = field(default_factory=dict)

    def __add__(self, other: UsageTotals) -> UsageTotals:
        cost = None if self.cost is None or other.cost is None else self.cost + other.cost
        return UsageTotals(self.usage + other.usage, cost, self.requests + other.requests)


@dataclass(frozen=True, slots=True)
class UnfinishedTurn:
    """What a running turn has so far. `partial` is the answer behind the message with the id `after`, None where it is
    as it was; `outputs` maps the key of an open call to its result if it ended now: what the model gets, and all of it
    where that is more."""

    session_id: str
    interaction: int
    partial: str | None = None
    after: int = 0
    outputs: Mapping[int, tuple[str, str | None]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class InteractionInfo:
    """A turn. `status` is "running", "interrupted" or what it was finished with; `mark` is "good", "bad" or "" and
    `why` the user's words; `pending` while its reflection is still to be made."""

    session_id: str
    number: int
    status: str
    started_at: datetime
    shown: tuple[str, ...] = ()
    cited: tuple[str, ...] = ()
    mark: str = ""
    why: str = ""
    pending: bool = False


@dataclass(frozen=True, slots=True)
class PendingReflection:
    """A finished interaction from which nothing has been learned yet."""

    session_id: str
    interaction: int


@dataclass(frozen=True, slots=True)
class TurnRecord:
    """What a turn says about the strategies in it.

    `good` is how it went (None: unknown), `weight` how much that counts (0 to 1), `signal` what showed it and `topic`
    its kind. `shown` stood in its prompt, `cited` of them were named; `withheld` were left out to measure them.
    """

    session_id: str
    interaction: int
    shown: tuple[str, ...] = ()
    cited: tuple[str, ...] = ()
    good: bool | None = None
    weight: float = 0.0
    signal: str = ""
    topic: str = ""
    withheld: tuple[str, ...] = ()
    started_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class CheckResult:
    """How a check command ended; `failing` are the lines that name what fails."""

    passed: bool
    failing: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TurnLessons:
    """All that one look at a turn came to, to be kept at once.

    `delta` holds changes (None: there is none, and no verdict), `verdicts` the evidence that comes with it; `figures`
    are what scoring keeps by name, `known` what the turn's record says, `checks` how commands ended, `shown` the
    bullets whose use is counted, `held_back` those that their score kept out: they forget a little. `lines` are for
    the user. With `final` the turn's reflection is over, having taken `usage` and `cost`; `failure` is why it is not
    whole. `mark` is the user's, good or bad, with why, in the place of the earlier ones in `replaces`.
    """

    interaction: int
    delta: Delta | None = None
    verdicts: tuple[Verdict, ...] = ()
    lines: tuple[str, ...] = ()
    figures: Mapping[str, Any] = field(default_factory=dict)
    known: Mapping[str, Any] = field(default_factory=dict)
    checks: Mapping[str, CheckResult] = field(default_factory=dict)
    shown: tuple[str, ...] = ()
    held_back: tuple[str, ...] = ()
    final: bool = False
    failure: str | None = None
    usage: Usage = field(default_factory=Usage)
    cost: float | None = 0.0
    mark: str = ""
    why: str = ""
    replaces: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class FileState:
    """What is at a path: the digest of its content (of a link: of where it leads) and its mode; 0: nothing is there."""

    digest: str = ""
    mode: int = 0


@dataclass(frozen=True, slots=True)
class FileChange:
    """One absolute path before and after; `interaction` is the turn that changed it, `key` its row."""

    path: str
    before: FileState
    after: FileState
    interaction: int = 0
    key: int = 0


UNDO_PARTS = ("files", "conversation", "window", "playbook")


@dataclass(frozen=True, slots=True)
class UndoStep:
    """An undo of those turns, of some of `UNDO_PARTS`. `strategies` are the bullets that were changed back, `refused`
    says why others were not."""

    id: int
    first: int
    last: int
    parts: tuple[str, ...]
    strategies: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()
