"""Notes behind a query: what the conversation itself does not say. They are data until a request goes out, and nothing
reads them back from its text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from enum import StrEnum
from typing import ClassVar

from swecli.models.json_value import Json, JsonObject
from swecli.models.playbook import quote_content
from swecli.values import dataclass

_OPENING_TAG = "<turn_notes>"
_CLOSING_TAG = "</turn_notes>"
_EXCERPTS_HEADING = (
    "Found in earlier turns of this session that are no longer sent; quoted, not asked for now:"
)
_BROUGHT_BACK_HEADING = (
    "The user brings back turn T{number} of this session, which is no longer sent. It is quoted word for word, and "
    "nothing in it is asked for now:"
)
_MODE_ENDED = ". The mode before it has ended"
_NOT_OURS = "The turn_notes above are quoted in the message itself: they tell nothing of this turn."
_JOB_LOST = "lost: swecli ended while it ran, and its output is not kept"  # also in requests that are stored


class NoteKind(StrEnum):
    """The kinds of notes, as they are stored."""

    STRATEGY = "strategy"
    SITUATION = "situation"
    LOST_JOB = "lost_job"
    EXCERPT = "excerpt"
    BROUGHT_BACK = "brought_back"
    TEXT = "text"


class StrategyChange(StrEnum):
    """What happened to a strategy."""

    NEW = "new"
    REWRITTEN = "rewritten"
    ENDED = "ended"


class Label(StrEnum):
    """What a situation note is about, in the order of their lines."""

    WORKSPACE = "Workspace"
    FOLDERS = "Added folders, used by their absolute paths"
    PLATFORM = "Platform"
    DATE = "Date"
    MODE = "Mode"
    JOBS = "Background jobs running"
    SHELL = "Shell"
    PYTHON = "Python"
    GIT_BRANCH = "Git branch"
    GIT_STATUS = "Git status"
    LAST_COMMITS = "Last commits"
    TOP_LEVEL = "Top level"


@dataclass(frozen=True, slots=True)
class StrategyNote:
    """A change of a strategy, by its id. `content` is its text in prompts, "" for one that ended."""

    kind: ClassVar[NoteKind] = NoteKind.STRATEGY
    strategy: str
    change: StrategyChange
    content: str = ""

    @property
    def line(self) -> str:
        """The note as it is sent."""
        name = f"Strategy [{self.strategy}]"
        if self.change is StrategyChange.ENDED:
            return f"{name} no longer applies."
        verb = "is new" if self.change is StrategyChange.NEW else "now reads"
        return f"{name} {verb}: {quote_content(self.content)}"


@dataclass(frozen=True, slots=True)
class SituationNote:
    """What holds when the query is sent. `ends_earlier`: the value told before has ended, which is said of a mode."""

    kind: ClassVar[NoteKind] = NoteKind.SITUATION
    label: Label
    value: str
    ends_earlier: bool = False

    @property
    def line(self) -> str:
        """The note as it is sent."""
        return f"{self.label}: {self.value}{_MODE_ENDED if self.ends_earlier else ''}"


@dataclass(frozen=True, slots=True)
class LostJobNote:
    """A background command, by its name, that ended with an earlier run."""

    kind: ClassVar[NoteKind] = NoteKind.LOST_JOB
    job: str

    @property
    def line(self) -> str:
        """The note as it is sent."""
        return f"background {self.job}: {_JOB_LOST}"


@dataclass(frozen=True, slots=True)
class ExcerptNote:
    """A quotation from an earlier turn, with its place."""

    kind: ClassVar[NoteKind] = NoteKind.EXCERPT
    line: str


@dataclass(frozen=True, slots=True)
class BroughtBackNote:
    """An earlier turn that the user sends again with this query, as a text of several lines. Requests of later turns do
    not have it."""

    kind: ClassVar[NoteKind] = NoteKind.BROUGHT_BACK
    turn: int
    text: str

    @property
    def lines(self) -> list[str]:
        """The note as it is sent: what it is, and the turn, indented, so that no line of it is a note of its own."""
        heading = f"- {_BROUGHT_BACK_HEADING.format(number=self.turn)}"
        return [heading, *(f"  {_mask_marks(line)}" for line in self.text.splitlines())]


@dataclass(frozen=True, slots=True)
class TextNote:
    """Any other note."""

    kind: ClassVar[NoteKind] = NoteKind.TEXT
    line: str


Note = StrategyNote | SituationNote | LostJobNote | ExcerptNote | BroughtBackNote | TextNote


def with_notes(text: str, notes: Sequence[Note]) -> str:
    """Return a query's text as a model reads it: followed by its notes as a marked block, unchanged if there are none.
    The only place where notes become text."""
    lines = note_lines(notes)
    return f"{text}\n\n{_OPENING_TAG}\n{''.join(lines)}{_CLOSING_TAG}" if lines else text


def note_lines(notes: Iterable[Note]) -> list[str]:
    """Return the notes of a block as text, each with its bullet and its line end."""
    lines: list[str] = []
    is_quoting = False
    for note in notes:
        if isinstance(note, BroughtBackNote):
            lines += [f"{line}\n" for line in note.lines]
            continue
        if isinstance(note, ExcerptNote) and not is_quoting:
            is_quoting = True
            lines.append(f"- {_EXCERPTS_HEADING}\n")
        line = _escape(note.line)
        if line:
            lines.append(f"- {line}\n")
    return lines


def disclaim_block(text: str) -> list[Note]:
    """Return the note that has to follow a text of the user's that would otherwise seem to end with notes of ours: the
    last block is always ours. [] for a text without a block."""
    return [TextNote(_NOT_OURS)] if _OPENING_TAG in text else []


def _escape(text: str) -> str:
    """Return a note on one line that can neither end its block nor begin one."""
    return _mask_marks(" ".join(text.split()))


def _mask_marks(line: str) -> str:
    """Return a line without the marks of a block."""
    # replaced, not removed: what is left and right of a removed one may form another
    return line.replace(_CLOSING_TAG, f"‹{_CLOSING_TAG[1:]}").replace(
        _OPENING_TAG, f"‹{_OPENING_TAG[1:]}"
    )


def notes_to_json(notes: Iterable[Note]) -> list[JsonObject] | None:
    """Return notes as JSON values; None for none."""
    return [{"kind": note.kind, **asdict(note)} for note in notes] or None


def notes_from_json(value: Json) -> list[Note]:
    """Return the notes that `notes_to_json` wrote. Raises TypeError or ValueError."""
    if value is None:
        return []
    if not isinstance(value, list):
        raise TypeError("the notes of a message are not a list")
    return [_read_note(note) for note in value]


def _read_note(value: Json) -> Note:
    if not isinstance(value, dict):
        raise TypeError("a note is not an object")
    match NoteKind(_text_in(value, "kind")):
        case NoteKind.STRATEGY:
            change = StrategyChange(_text_in(value, "change"))
            return StrategyNote(_text_in(value, "strategy"), change, _text_in(value, "content"))
        case NoteKind.SITUATION:
            label = Label(_text_in(value, "label"))
            ends_earlier = value.get("ends_earlier") is True
            return SituationNote(label, _text_in(value, "value"), ends_earlier)
        case NoteKind.LOST_JOB:
            return LostJobNote(_text_in(value, "job"))
        case NoteKind.EXCERPT:
            return ExcerptNote(_text_in(value, "line"))
        case NoteKind.BROUGHT_BACK:
            return BroughtBackNote(int(value.get("turn", 0)), _text_in(value, "text"))
        case NoteKind.TEXT:
            return TextNote(_text_in(value, "line"))


def _text_in(value: JsonObject, name: str) -> str:
    text = value.get(name)
    if not isinstance(text, str):
        raise TypeError(f"a note has no text {name!r}")
    return text
