"""What searches of sessions find, importable without the database."""

from __future__ import annotations

from datetime import datetime

from swecli.values import dataclass


@dataclass(frozen=True, slots=True)
class SearchHit:
    """One match of a search over sessions. A match in a title has the role "title" and interaction 0."""

    session_id: str
    title: str
    interaction: int
    role: str
    snippet: str
    created_at: datetime


@dataclass(frozen=True, slots=True)
class TextMatch:
    """One occurrence of a text in a session: `place` is query, answer or `result of call_7`."""

    interaction: int
    place: str
    excerpt: str

    @property
    def quotation(self) -> str:
        """Return the excerpt in quotes, with its turn."""
        return f'T{self.interaction}, {self.place}: "{self.excerpt}"'


@dataclass(frozen=True, slots=True)
class FoundInteraction:
    """An interaction that a query refers to. `score` is from 0 to 1; `excerpts` are at most two, of about 400
    characters each, the better one first."""

    interaction: int
    score: float
    excerpts: tuple[TextMatch, ...]
