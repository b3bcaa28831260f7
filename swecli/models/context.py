"""The context state of a session: its epochs, reductions and the edits they apply to the messages of a request."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import field
from datetime import datetime

from swecli.models.api_message import KEY as KEY
from swecli.models.api_message import NOTES, MessageFields, with_fields
from swecli.models.json_value import JsonObject
from swecli.models.message import ApiMessage, ChatMessage, RequestRecord
from swecli.values import dataclass

BEGIN, UNDO = "begin", "undo"  # values of `Reduction.how` besides the names of the rungs


@dataclass(frozen=True, slots=True)
class Epoch:
    """A span of requests without a reduction, so that each request extends the one before it.

    `first` is the oldest interaction of the window. `system` is the complete system message, including the head, as
    composed at the start of the epoch. `strategies` maps the ids of its bullets to their contents. `pins` are the
    pinned interactions before `first`; `summary` replaces the others. `spec` is the window setting at that time.
    Strategy notes in interactions before `began` are not sent, because the head contains them.
    """

    first: int
    system: str
    strategies: dict[str, str] = field(default_factory=dict)
    pins: tuple[int, ...] = ()
    summary: str = ""
    spec: str = ""
    began: int = 0

    @classmethod
    def from_json(cls, value: JsonObject) -> Epoch:
        """Return a stored epoch. Raises TypeError."""
        fields = dict(value)
        fields.pop("floor", None)  # stored by earlier versions
        fields["pins"] = tuple(value.get("pins", ()))
        return cls(**fields)


@dataclass(frozen=True, slots=True)
class Edits:
    """Changes to single messages of a request, addressed by key: `7.0` is the user message of interaction 7, `7.1` the
    message after it; a stub that is not stored has the key of the message before it and a `+`.

    `drop` are removed, `replace` maps keys to new fields (`notes` only to none), and each `(key, message)` of `insert`
    is inserted before that key, in order; inserted messages have keys of their own.
    """

    drop: tuple[str, ...] = ()
    replace: dict[str, MessageFields] = field(default_factory=dict)
    insert: tuple[tuple[str, ApiMessage], ...] = ()

    def __bool__(self) -> bool:
        return bool(self.drop or self.replace or self.insert)

    def apply(self, messages: Iterable[ApiMessage]) -> list[ApiMessage]:
        """Return keyed messages with these edits."""
        dropped = set(self.drop)
        inserted: dict[str, list[ApiMessage]] = {}
        for key, message in self.insert:
            inserted.setdefault(key, []).append(message)
        edited: list[ApiMessage] = []
        for message in messages:
            key = key_of(message)
            edited += inserted.get(key, ())
            if key in dropped:
                continue
            if key in self.replace:
                message = with_fields(message, self.replace[key])
            edited.append(message)
        return edited

    @classmethod
    def from_json(cls, value: JsonObject) -> Edits:
        """Return stored edits. Raises TypeError or ValueError."""
        inserted = tuple((str(key), message) for key, message in value.get("insert", ()))
        replaced = dict(value.get("replace", {}))
        for fields in (*replaced.values(), *(message for _, message in inserted)):
            if not isinstance(fields, dict):
                raise TypeError("an edit of a message is not an object")
            if fields.get(NOTES):
                raise ValueError("an edit adds notes to a message, and can only remove them")
        return cls(tuple(value.get("drop", ())), replaced, inserted)


@dataclass(frozen=True, slots=True)
class Reduction:
    """A change of bytes that were already sent, stored as a row with an id such as `R-4`.

    `how` is the rung: begin (nothing was sent before), window, clear, condense, truncate, shrink, or undo. `before`
    and `after` are tokens of the whole request, `detail` is the reason for the user. `epoch` is set if a new epoch
    begins; then `edits` are complete, otherwise they add to those of earlier rows. After an undo row, optional
    reductions wait for `hold_turns` completed interactions and `hold_tokens` tokens.
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
    """A fact that every reduction keeps; `kind` (request, read, changed, todo or finding) and `key`
    identify it."""

    kind: str
    key: str
    text: str
    interaction: int = 0


@dataclass(slots=True)
class ContextState:
    """The state, besides the messages, that the next request of a session depends on.

    `reductions` are the row that began the current epoch and the later ones that were not undone, oldest first.
    `brought_back` are earlier interactions that the next turn quotes. `pinned` has the messages of pinned and brought
    back interactions that are not loaded. `asked_*` describe the newest request: its
    time, model, and tokens as counted by the provider and by us (0 if one of them is unknown).
    """

    reductions: list[Reduction] = field(default_factory=list)
    pins: tuple[int, ...] = ()
    brought_back: tuple[int, ...] = ()
    pinned: dict[int, list[ChatMessage]] = field(default_factory=dict)
    facts: dict[tuple[str, str], RetainedFact] = field(default_factory=dict)
    asked_at: datetime | None = None
    asked_model: str = ""
    asked_prompt: int = 0
    asked_counted: int = 0

    @property
    def epoch(self) -> Epoch | None:
        """The current epoch, None before the first turn."""
        return next((row.epoch for row in reversed(self.reductions) if row.epoch is not None), None)

    @property
    def edits(self) -> list[Edits]:
        return [row.edits for row in self.reductions if row.edits]

    @property
    def hold_turns(self) -> int:
        """Completed interactions that an optional reduction waits for."""
        return max((row.hold_turns for row in self.reductions), default=0)

    @property
    def hold_tokens(self) -> int:
        """Tokens that an optional reduction waits for."""
        return max((row.hold_tokens for row in self.reductions), default=0)

    def is_reduced(self, interaction: int, *, or_changed: bool = False) -> bool:
        """Return True if messages of an interaction are dropped, or, if asked for, replaced."""
        keys: list[str] = []
        for edits in self.edits:
            keys += edits.drop
            if or_changed:
                keys += edits.replace
        return any(_number_of(key) == interaction for key in keys)

    def merge_edits(self, first: int, extra: Edits | None = None) -> Edits:
        """Merge all edits, in order, and the `extra` ones into one. Those of interactions before `first` and of pinned
        ones are left out."""

        def applies(key: str) -> bool:
            number = _number_of(key)
            return number >= first and number not in self.pins

        dropped: dict[str, None] = {}  # in order
        replaced: dict[str, MessageFields] = {}
        inserted: list[tuple[str, ApiMessage]] = []
        for edits in [*self.edits, *([extra] if extra else [])]:
            removed = set(edits.drop)
            for key in edits.drop:
                replaced.pop(key, None)
                if applies(key) and not key.startswith("<"):  # an inserted message just goes
                    dropped.setdefault(key)
            inserted = [pair for pair in inserted if key_of(pair[1]) not in removed]
            for key, fields in edits.replace.items():
                if applies(key):
                    replaced[key] = {**replaced.get(key, {}), **fields}
            inserted += [pair for pair in edits.insert if applies(pair[0])]
        return Edits(tuple(dropped), replaced, tuple(inserted))

    def record_request(self, record: RequestRecord, time: datetime) -> None:
        """Store time, model and token counts of the newest request."""
        self.asked_at = time
        self.asked_model = record.model
        self.asked_counted = record.extra.get("counted", 0)
        self.asked_prompt = record.usage.prompt
        if not (self.asked_counted and self.asked_prompt):
            self.asked_counted = 0
            self.asked_prompt = 0

    def add(self, row: Reduction) -> None:
        """Append a reduction; one that begins an epoch replaces the older ones."""
        self.reductions = [row] if row.epoch is not None else [*self.reductions, row]

    def keep(self, facts: Iterable[RetainedFact]) -> None:
        """Store facts; a fact replaces the one with the same kind and key, an empty text removes it."""
        for fact in facts:
            key = (fact.kind, fact.key)
            self.facts.pop(key, None)
            if fact.text:
                self.facts[key] = fact


def add_keys(messages: Iterable[ApiMessage], interaction: int, start: int = 0) -> list[ApiMessage]:
    """Add keys to the messages of an interaction, numbered from `start`."""
    return [
        with_fields(message, {KEY: f"{interaction}.{position}"})
        for position, message in enumerate(messages, start)
    ]


def note_key(key: str) -> str:
    """Return the key of a message inserted before the message with this key."""
    return f"<{key}"


def key_of(message: ApiMessage) -> str:
    """Return the message's key, or "" if it has none."""
    return str(message.get(KEY, ""))


def interaction_of(message: ApiMessage) -> int:
    """Return the number of the interaction a message belongs to; 0 for the system message."""
    return _number_of(key_of(message))


def _number_of(key: str) -> int:
    number = key.lstrip("<").split(".", 1)[0]
    return int(number) if number.isdecimal() else 0
