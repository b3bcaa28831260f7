"""A session: its messages, its playbook and its window, as plain data."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from swecli.models.context import ContextState
from swecli.models.finding import Finding
from swecli.models.message import ApiMessage, ChatMessage, Role
from swecli.models.playbook import SessionPlaybook
from swecli.models.window import WindowSpec


def _now() -> datetime:
    return datetime.now(UTC)


@dataclass(slots=True)
class Session:
    """One conversation in one directory.

    `messages` holds what is loaded: a resumed session starts with its newest interactions only, and
    `interactions` counts all of them, loaded or not. `playbook` holds the bullets that apply here, `context` what
    the next request depends on besides the messages.
    """

    id: str
    working_directory: str = ""
    created_at: datetime = field(default_factory=_now)
    updated_at: datetime = field(default_factory=_now)
    title: str = ""
    model: str = ""
    messages: list[ChatMessage] = field(default_factory=list)
    playbook: SessionPlaybook = field(default_factory=SessionPlaybook)
    findings: list[Finding] = field(default_factory=list)
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
        """Append to what is loaded. A user message opens a new interaction."""
        if message.role is Role.USER:
            self.interactions += 1
        message.interaction = self.interactions
        self.messages.append(message)
        self.updated_at = message.created_at

    def by_interaction(self) -> Iterator[list[ChatMessage]]:
        """The loaded messages, grouped: each group opens with a user message. A headless front is left out."""
        group: list[ChatMessage] = []
        for message in self.messages:
            if message.role is Role.USER and group:
                yield group
                group = []
            if group or message.role is Role.USER:
                group.append(message)
        if group:
            yield group

    def to_api_messages(self, window_size: int | None = None) -> list[ApiMessage]:
        """What a provider would be sent of this session, calls followed by their results.

        Args:
            window_size: only the last that many interactions; None for all that is loaded. Exact: ten
                interactions of user + assistant-with-one-call give 30 messages, 15 for 5, 9 for 3, 3 for 1.

        Raises:
            ValueError: for a negative window_size.
        """
        if window_size is None:
            kept = [self.messages]
        elif window_size < 0:
            raise ValueError(f"window_size must not be negative, got {window_size}")
        else:
            groups = list(self.by_interaction())
            kept = groups[len(groups) - window_size :] if 0 < window_size < len(groups) else groups
            kept = kept if window_size else []
        return [api for group in kept for message in group for api in message.to_api()]

    def since(self, interaction: int) -> list[ApiMessage]:
        """The loaded interactions from that number on, as a provider is sent them."""
        return [
            api
            for group in self.by_interaction()
            if group[0].interaction >= interaction
            for message in group
            for api in message.to_api()
        ]


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
