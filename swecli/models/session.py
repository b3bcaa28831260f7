"""A session: its messages, playbook and window."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import field
from datetime import UTC, datetime

from swecli.models.added_folder import AddedFolder
from swecli.models.context import ContextState, add_keys
from swecli.models.errors import BadInput
from swecli.models.ids import parse_turn
from swecli.models.json_value import JsonObject
from swecli.models.message import ApiMessage, ChatMessage
from swecli.models.playbook import SessionPlaybook
from swecli.models.window_spec import WindowSpec
from swecli.values import dataclass


@dataclass(frozen=True, slots=True)
class UndoneTurns:
    """Turns that the user took back, `first` to `last`, and a line for each thing of them that was `standing` then."""

    first: int
    last: int
    standing: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class UndonePiece:
    """A piece of a turn that the user took back: a file, or one hunk of it."""

    turn: int
    name: str  # of the file, as it is shown
    hunk: int = 0  # its number among those of the file, 0 for the whole file
    line: int = 0  # of the file in which the hunk began, 0 for the whole file
    standing: tuple[str, ...] = ()  # a line for each thing of it that was still there

    @property
    def description(self) -> str:
        """The piece, for people."""
        return f"hunk {self.hunk} of {self.name} (line {self.line})" if self.hunk else self.name


@dataclass(slots=True)
class Session:
    """A conversation in one directory, which is the `subfolder` of the root of its `project`; None if it is not known,
    or works in no folder.

    `messages` are the loaded ones: a resumed session first loads only its newest interactions. `interactions` counts
    all of them. `playbook` has the bullets that apply to the session, `context` the state of the context, `allowed` the
    permission rules that the user allowed for it, and `folders` the folders that he added to it, by the workspace that
    they are about. `undone` are the undos since its newest turn, newest first, and `undone_pieces` those of pieces of
    its turns; `newest_undo` is the key of the newest one that was not redone, 0 for none.
    """

    id: str
    working_directory: str = ""
    created_at: datetime = field(default_factory=lambda: datetime.now(UTC))
    updated_at: datetime = field(default_factory=lambda: datetime.now(UTC))
    title: str = ""
    model: str = ""
    messages: list[ChatMessage] = field(default_factory=list)
    playbook: SessionPlaybook = field(default_factory=SessionPlaybook)
    project: str = ""
    subfolder: str | None = None
    parent_id: str | None = None
    window: WindowSpec = field(default_factory=WindowSpec)
    window_start: int = 1
    interactions: int = 0
    cost: float | None = 0.0
    context: ContextState = field(default_factory=ContextState)
    allowed: Mapping[str, Sequence[str]] = field(default_factory=dict)
    folders: Mapping[str, Sequence[AddedFolder]] = field(default_factory=dict)
    undone: Sequence[UndoneTurns] = ()
    undone_pieces: Sequence[UndonePiece] = ()
    newest_undo: int = 0

    @property
    def newest_message(self) -> int:
        """The key of the newest message, 0 if there is none or it is not stored."""
        return (self.messages[-1].id or 0) if self.messages else 0

    def get_playbook(self) -> SessionPlaybook:
        return self.playbook

    def update_playbook(self, playbook: SessionPlaybook) -> None:
        """Replace the playbook, which is a copy of the store's."""
        self.playbook = playbook

    @property
    def name(self) -> str:
        """The title, or the beginning of the id."""
        return self.title or self.id[:13]

    def resolve_turn(self, text: str) -> int:
        """Parse the number of a turn of this session; "" is the last one. Raises BadInput if it does not exist."""
        number = parse_turn(text) if text else self.interactions
        if not self.interactions:
            raise BadInput("There is no turn yet.", "Ask something first.")
        if not 1 <= number <= self.interactions:
            raise BadInput(
                f"There is no turn T{number} in this session.",
                f"Its newest is T{self.interactions}.",
            )
        return number

    def add_message(self, message: ChatMessage) -> None:
        """Append a message. A query begins a new interaction, unless the message already has an interaction number."""
        if not message.interaction:
            message.interaction = self.interactions + message.is_query
        if message.is_query:
            self.undone = ()
            self.undone_pieces = ()
        self.interactions = message.interaction
        self.messages.append(message)
        self.updated_at = max(self.updated_at, message.created_at)

    def group_by_interaction(self, newest: int | None = None) -> list[list[ChatMessage]]:
        """Return the `newest` loaded interactions (None: all), oldest first, each as its list of messages."""
        groups: list[list[ChatMessage]] = []
        group: list[ChatMessage] = []
        # from the end, so that a long session takes no longer than a short one
        for message in reversed(self.messages):
            if len(groups) == newest:
                break
            group.append(message)
            if message.is_query:
                groups.append(group[::-1])
                group = []
        return groups[::-1]

    @property
    def completed(self) -> int:
        """The number of interactions; messages appended to the list directly have no numbers and are counted."""
        return self.interactions or sum(message.is_query for message in self.messages)

    def to_api_messages(
        self, window_size: int | None = None, *, keys: bool = False
    ) -> list[ApiMessage]:
        """Return the last `window_size` interactions (None: all loaded messages) in the OpenAI format, calls followed
        by their results. With `keys`, each message has its key, such as `7.0`. Raises ValueError if the size is
        negative."""
        if window_size is not None and window_size < 0:
            raise ValueError(f"window_size must not be negative, got {window_size}")
        groups = self.group_by_interaction(window_size)
        if window_size is None:
            grouped = sum(len(group) for group in groups)
            without_query = self.messages[: len(self.messages) - grouped]
            if without_query:  # of an interaction whose query is not loaded
                groups.insert(0, without_query)
        messages: list[ApiMessage] = []
        for number, group in enumerate(groups, self.completed - len(groups) + 1):
            api_messages = [api_message for message in group for api_message in message.to_api()]
            messages += add_keys(api_messages, number) if keys else api_messages
        return messages


@dataclass(frozen=True, slots=True)
class SessionInfo:
    """One row of a session list."""

    id: str
    title: str
    directory: str
    model: str
    created_at: datetime
    updated_at: datetime
    interactions: int
    messages: int
    cost: float | None
    first_query: str = ""

    @property
    def shown_title(self) -> str:
        """The title, by default the first sentence of the first query, at most 60 characters."""
        if self.title:
            return self.title
        first_line = next((line for line in self.first_query.splitlines() if line.strip()), "")
        sentences = re.split(r"(?<=[.!?])\s", " ".join(first_line.split()), maxsplit=1)
        title = sentences[0].rstrip(".:,; ")
        if len(title) <= 60:
            return title
        beginning = title[:59]
        whole_words = beginning.rpartition(" ")[0]
        return f"{whole_words or beginning}…"

    def to_json(self) -> JsonObject:
        row = {name: getattr(self, name) for name in self.__slots__}
        return row | {
            "created_at": self.created_at.isoformat(),
            "updated_at": self.updated_at.isoformat(),
        }


@dataclass(frozen=True, slots=True)
class EarlierTurn:
    """One completed turn: how its query begins, and what became of it."""

    number: int
    query: str  # its beginning, as typed
    changed: tuple[str, ...] = ()  # the files that it wrote or removed, each once
    outcome: str = ""  # how it ended, such as "pytest passes"; "" if that is not known
