"""A session: its messages, its playbook and its window, as plain data."""

from __future__ import annotations

import re
import secrets
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from swecli.models.context import ContextState, add_keys
from swecli.models.message import ApiMessage, ChatMessage
from swecli.models.playbook import SessionPlaybook
from swecli.models.window import WindowSpec


def uuid7(now_ms: int | None = None, random_bits: int | None = None) -> str:
    """A UUID version 7 (RFC 9562, section 5.7): 48 bits of Unix milliseconds, then random bits."""
    ms = time.time_ns() // 1_000_000 if now_ms is None else now_ms
    rand = secrets.randbits(74) if random_bits is None else random_bits
    value = (ms & (1 << 48) - 1) << 80 | 0x7 << 76 | (rand >> 62 & 0xFFF) << 64 | 0b10 << 62 | rand & (1 << 62) - 1
    text = f"{value:032x}"
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


@dataclass(slots=True)
class Session:
    """One conversation in one directory.

    `messages` holds what is loaded: a resumed session starts with its newest interactions only, and
    `interactions` counts all of them, loaded or not. `playbook` holds the bullets that apply here, `context` what
    the next request depends on besides the messages.
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
    parent_id: str | None = None
    window: WindowSpec = field(default_factory=WindowSpec)
    window_start: int = 1
    interactions: int = 0
    cost: float | None = 0.0
    context: ContextState = field(default_factory=ContextState)

    def get_playbook(self) -> SessionPlaybook:
        """The bullets that apply to this session."""
        return self.playbook

    def update_playbook(self, playbook: SessionPlaybook) -> None:
        """Put another playbook in place of this one (the store is the authority; this is its copy)."""
        self.playbook = playbook

    def add_message(self, message: ChatMessage) -> None:
        """Append to what is loaded. A user message opens a new interaction, but for one that has its number already."""
        if not message.interaction:
            message.interaction = self.interactions + message.is_query
        self.interactions = message.interaction
        self.messages.append(message)
        self.updated_at = max(self.updated_at, message.created_at)

    def group_by_interaction(self, newest: int | None = None) -> list[list[ChatMessage]]:
        """The newest so many (None: all) of the loaded interactions, each from its user message on, in their order."""
        groups: list[list[ChatMessage]] = []
        group: list[ChatMessage] = []
        for message in reversed(self.messages):  # a long session costs no more than a short one
            if len(groups) == newest:
                break
            group.append(message)
            if message.is_query:
                groups.append(group[::-1])
                group = []
        return groups[::-1]

    @property
    def completed(self) -> int:
        """How many interactions there are; messages put into the list by hand have no numbers: they count by place."""
        return self.interactions or sum(message.is_query for message in self.messages)

    def to_api_messages(self, window_size: int | None = None, *, keys: bool = False) -> list[ApiMessage]:
        """What a provider would be sent of the last `window_size` interactions (None: of all that is loaded), calls
        followed by results. With `keys` each has its key, `7.0`, which is never sent. Raises ValueError below 0."""
        if window_size is not None and window_size < 0:
            raise ValueError(f"window_size must not be negative, got {window_size}")
        groups = self.group_by_interaction(window_size)
        if window_size is None and (front := self.messages[: len(self.messages) - sum(map(len, groups))]):
            groups.insert(0, front)  # what was loaded from the middle of an interaction on
        out: list[ApiMessage] = []
        for number, group in enumerate(groups, self.completed - len(groups) + 1):
            sent = [api for message in group for api in message.to_api()]
            out += add_keys(sent, number) if keys else sent
        return out


def title_by_rule(query: str) -> str:
    """A title for a session that nobody named: the first sentence of its first question, at most 60 letters."""
    first = next((line for line in query.splitlines() if line.strip()), "")
    sentence = re.split(r"(?<=[.!?])\s", " ".join(first.split()), maxsplit=1)[0].rstrip(".:,; ")
    cut = sentence[:59]
    return sentence if len(sentence) <= 60 else f"{cut.rpartition(' ')[0] or cut}…"


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

    def to_json(self) -> dict[str, Any]:
        """The row as plain JSON values."""
        row = {name: getattr(self, name) for name in self.__slots__}
        return row | {"created_at": self.created_at.isoformat(), "updated_at": self.updated_at.isoformat()}
