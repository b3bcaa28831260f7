"""What the store tells of sessions besides their messages: plain data, importable without the database."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

from swecli.models.model_io import Usage


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
class Place:
    """Where a text stands in one session: `where` is query, answer or `result of call_7`."""

    interaction: int
    where: str
    excerpt: str


@dataclass(frozen=True, slots=True)
class Spent:
    """What some requests took. `cost` in US dollars, None as soon as one of them is unknown."""

    usage: Usage = field(default_factory=Usage)
    cost: float | None = 0.0
    requests: int = 0

    def __add__(self, other: Spent) -> Spent:
        cost = None if self.cost is None or other.cost is None else self.cost + other.cost
        return Spent(self.usage + other.usage, cost, self.requests + other.requests)


@dataclass(frozen=True, slots=True)
class SessionTotals:
    """What a session took: in all, and by purpose ("turn", "reflect", "condense")."""

    usage: Usage = field(default_factory=Usage)
    cost: float | None = 0.0
    requests: int = 0
    by_purpose: dict[str, Spent] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class InteractionInfo:
    """A turn's record. `status` is "running", "interrupted" or what it was finished with; `mark` is "good", "bad"
    or "" and `why` the user's words; `pending` while its reflection is still to be made."""

    session_id: str
    number: int
    status: str
    started_at: datetime
    finished_at: datetime | None = None
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
