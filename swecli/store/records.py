"""Plain records of turns that the store returns and takes, importable without the database."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from datetime import datetime
from typing import Any

from swecli.models.message import Usage
from swecli.models.playbook import Delta, Verdict
from swecli.values import dataclass


@dataclass(frozen=True, slots=True)
class UsageTotals:
    """The usage of some requests. `cost` is in US dollars, None if that of one request is unknown; `by_purpose` splits
    the totals of a session by purpose ("turn", "reflect", "condense" …)."""

    usage: Usage = field(default_factory=Usage)
    cost: float | None = 0.0
    requests: int = 0
    by_purpose: dict[str, UsageTotals] = field(default_factory=dict)
    known_cost: float = 0.0  # of the requests whose price is known
    unpriced: int = 0  # requests whose price is not

    def __add__(self, other: UsageTotals) -> UsageTotals:
        cost = None if self.cost is None or other.cost is None else self.cost + other.cost
        return UsageTotals(
            self.usage + other.usage,
            cost,
            self.requests + other.requests,
            known_cost=self.known_cost + other.known_cost,
            unpriced=self.unpriced + other.unpriced,
        )


@dataclass(frozen=True, slots=True)
class UnfinishedTurn:
    """The state of a running turn. `partial` is the answer so far after the message with the id `after`, None if
    unchanged; `outputs` maps ids of running calls to their output so far: as sent to the model, and in full if it was
    truncated."""

    session_id: str
    interaction: int
    partial: str | None = None
    after: int = 0
    outputs: Mapping[str, tuple[str, str | None]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class StoredTurn:
    """A stored turn, its outcome, and the strategies in it.

    `status` is "running", "interrupted" or its final status; `mark` is "good", "bad" or "" and `why` the user's reason.
    `good` is the outcome (None: unknown), `weight` its weight (0 to 1), `signal` its evidence, `reason` the same in
    words, and `topic` its kind, "" before the first reflection. `shown` strategies were in the prompt, `cited` ones
    were named by the model. `judged` is how a reflector judged its exchange, "" for none, with the reason
    `judged_why`.
    """

    session_id: str
    interaction: int
    status: str = ""
    mark: str = ""
    why: str = ""
    shown: tuple[str, ...] = ()
    cited: tuple[str, ...] = ()
    good: bool | None = None
    weight: float = 0.0
    signal: str = ""
    reason: str = ""
    topic: str = ""
    judged: str = ""
    judged_why: str = ""
    started_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class CheckResult:
    """The result of a check command; `failing` are the output lines that name failures."""

    passed: bool
    failing: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TurnLessons:
    """The results of one reflection on a turn, stored in one transaction.

    `delta` holds the playbook changes (None: no change and no verdict), `verdicts` their evidence; `figures` are named
    values to remember, `known` the fields of the turn's record, `checks` results by command, `shown` the bullets whose
    use is counted. `lines` are for the user. `final`
    ends the turn's reflection, which took `usage` and `cost`; `failure` is why it is incomplete. `mark` is the user's
    good or bad, with `why`, and supersedes the deltas in `replaces`.
    """

    interaction: int
    delta: Delta | None = None
    verdicts: tuple[Verdict, ...] = ()
    lines: tuple[str, ...] = ()
    figures: Mapping[str, Any] = field(default_factory=dict)
    known: Mapping[str, Any] = field(default_factory=dict)
    checks: Mapping[str, CheckResult] = field(default_factory=dict)
    shown: tuple[str, ...] = ()
    final: bool = False
    failure: str | None = None
    usage: Usage = field(default_factory=Usage)
    cost: float | None = 0.0
    mark: str = ""
    why: str = ""
    replaces: tuple[str, ...] = ()
