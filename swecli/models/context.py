"""What a session sends besides its messages: epochs, and the reductions that changed bytes already sent."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from swecli.models.message import ApiMessage, ChatMessage, RequestRecord

# How it began; what ends an epoch: see `context/epochs.py` and `context/fit.py`.
BEGIN, UNDO = "begin", "undo"
KEY = "_key"  # in a message: never sent


@dataclass(frozen=True, slots=True)
class Epoch:
    """The span between two reductions: within it every request is the one before it and more.

    `first` is the oldest interaction of the window; `system` the whole system message, head included, as it was
    composed when the epoch began; `strategies` maps the bullets in it to their contents; `pins` are the pinned
    interactions older than `first`; nothing before `floor` comes back by itself (a summary stands for it); `spec`
    is the window's setting then; messages of interactions before `began` are sent without what they told of
    strategies: the head tells it.
    """

    first: int
    system: str
    strategies: dict[str, str] = field(default_factory=dict)
    pins: tuple[int, ...] = ()
    floor: int = 1
    summary: str = ""
    spec: str = ""
    began: int = 0

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Epoch:
        """The epoch out of its fields as JSON."""
        return cls(**(value | {"pins": tuple(value.get("pins", ()))}))


@dataclass(frozen=True, slots=True)
class Edits:
    """Changes of single messages of a request. Messages are named by a key: `7.0` is the user message of
    interaction 7, `7.1` what follows it, a stub without a row has the key of the one before it and a `+`.

    What is in `drop` goes; what is in `replace` gets other fields; each `(key, message)` of `insert` is put before that
    key, in their order: these messages carry keys of their own.
    """

    drop: tuple[str, ...] = ()
    replace: dict[str, ApiMessage] = field(default_factory=dict)
    insert: tuple[tuple[str, ApiMessage], ...] = ()

    def __bool__(self) -> bool:
        return bool(self.drop or self.replace or self.insert)

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Edits:
        """The edits out of their fields as JSON."""
        inserted = tuple((str(key), message) for key, message in value.get("insert", ()))
        return cls(tuple(value.get("drop", ())), dict(value.get("replace", {})), inserted)


@dataclass(frozen=True, slots=True)
class Reduction:
    """The only event that changes bytes already sent, as a row: `R-4`.

    `how` names the rung: begin (nothing was sent before), window, clear, condense, truncate, shrink, or undo;
    `before` and `after` are tokens of the whole request; `detail` says why, for the eye. With `epoch` a new one
    begins. `edits` are what this row adds to those before it; where it begins an epoch, they are all that hold on.
    An undo row holds optional reductions back until so many interactions are complete (`hold_turns`) and so many
    tokens are reached (`hold_tokens`).
    """

    how: str
    interaction: int
    step: int = 0
    before: int = 0
    after: int = 0
    detail: str = ""
    epoch: Epoch | None = None
    edits: Edits = field(default_factory=Edits)
    hold_turns: int = 0
    hold_tokens: int = 0
    number: int = 0
    undone: bool = False
    created_at: datetime | None = None

    @property
    def id(self) -> str:
        return f"R-{self.number}"


@dataclass(frozen=True, slots=True)
class RetainedFact:
    """Something that outlives every reduction: `kind` is request, constraint, read, changed, todo or finding; there
    is one of each kind and key."""

    kind: str
    key: str
    text: str
    interaction: int = 0


@dataclass(slots=True)
class ContextState:
    """What the next request of a session depends on besides its messages.

    `reductions` holds, oldest first, the row that began the present epoch and all after it that were not undone.
    `pinned` holds the messages of pinned interactions that the session has not loaded. `asked_*` are of the newest
    request: when, to which model, its tokens as the provider and as we counted them (0: not both are known).
    """

    reductions: list[Reduction] = field(default_factory=list)
    pins: tuple[int, ...] = ()
    pinned: dict[int, list[ChatMessage]] = field(default_factory=dict)
    facts: dict[tuple[str, str], RetainedFact] = field(default_factory=dict)
    asked_at: datetime | None = None
    asked_model: str = ""
    asked_prompt: int = 0
    asked_counted: int = 0

    @property
    def epoch(self) -> Epoch | None:
        """The present one; None before the first turn."""
        return next((row.epoch for row in reversed(self.reductions) if row.epoch is not None), None)

    @property
    def edits(self) -> list[Edits]:
        """Those that hold in the present epoch, in their order."""
        return [row.edits for row in self.reductions if row.edits]

    @property
    def hold_turns(self) -> int:
        """Completed interactions before which no optional reduction begins an epoch."""
        return max((row.hold_turns for row in self.reductions), default=0)

    @property
    def hold_tokens(self) -> int:
        """Tokens below which a request is not reduced unless it must be."""
        return max((row.hold_tokens for row in self.reductions), default=0)

    def is_edited(self, interaction: int) -> bool:
        """Whether an interaction is not sent as it was said."""
        return any(interaction_of(key) == interaction for one in self.edits for key in (*one.drop, *one.replace))

    def is_cut(self, interaction: int) -> bool:
        """Whether messages of an interaction are left out."""
        return any(interaction_of(key) == interaction for one in self.edits for key in one.drop)

    def record_request(self, record: RequestRecord, at: datetime) -> None:
        """Note the newest request of a turn."""
        both = record.extra.get("counted", 0), record.usage.prompt
        self.asked_at, self.asked_model = at, record.model
        self.asked_counted, self.asked_prompt = both if all(both) else (0, 0)

    def add(self, row: Reduction) -> None:
        """Take a new row in; one that begins an epoch makes the older ones history."""
        self.reductions = [row] if row.epoch is not None else [*self.reductions, row]

    def keep(self, facts: Iterable[RetainedFact]) -> None:
        """Take facts in; a later one takes the place of one with its kind and key, an empty text removes it."""
        for fact in facts:
            at = (fact.kind, fact.key)
            self.facts.pop(at, None)
            if fact.text:
                self.facts[at] = fact


def merge_edits(edits: Iterable[Edits], first: int, pins: Iterable[int] = ()) -> Edits:
    """Edits one after another as one, as far as they concern interactions from `first` on that are not pinned: what
    is pinned is sent as it was."""
    pinned = set(pins)

    def kept(key: str) -> bool:
        number = interaction_of(key)
        return number >= first and number not in pinned

    merged = Edits()
    for one in edits:
        gone = set(one.drop)
        replaced = {key: value for key, value in merged.replace.items() if key not in gone}
        fresh = {key: replaced.get(key, {}) | value for key, value in one.replace.items() if kept(key)}
        before = tuple(pair for pair in merged.insert if pair[1].get(KEY) not in gone)
        added = tuple(pair for pair in one.insert if kept(pair[0]))
        dropped = tuple(key for key in one.drop if kept(key) and not _is_note(key) and key not in merged.drop)
        merged = Edits(merged.drop + dropped, replaced | fresh, before + added)
    return merged


def add_keys(messages: Iterable[ApiMessage], interaction: int, start: int = 0) -> list[ApiMessage]:
    """The messages of one interaction with their keys; `start` where its count goes on."""
    return [message | {KEY: f"{interaction}.{place}"} for place, message in enumerate(messages, start)]


def note_key(key: str) -> str:
    """The key of a message that was inserted before that one."""
    return f"<{key}"


def _is_note(key: str) -> bool:
    """Whether a message was inserted, and stands in no row."""
    return key.startswith("<")


def interaction_of(key: str) -> int:
    """The interaction that a key belongs to; 0 for the system message."""
    number = key.lstrip("<").split(".", 1)[0]
    return int(number) if number.isdecimal() else 0
