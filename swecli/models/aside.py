"""A question beside the conversation, and its answer: they are stored with the request that was made for it."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from swecli.models.json_value import Json, JsonObject
from swecli.values import dataclass

ASIDE: Final = (
    "aside"  # the purpose of such a request, and the name under which its record holds both texts
)


@dataclass(frozen=True, slots=True)
class Aside:
    """What the user asked beside the conversation, and what was answered; "" if that is nothing."""

    question: str
    answer: str
    stored_at: datetime | None = None  # with its answer; None before

    def to_extra(self) -> JsonObject:
        """Return what the record of the request holds of it."""
        return {ASIDE: {"question": self.question, "answer": self.answer}}

    @classmethod
    def from_extra(cls, extra: Json, stored_at: datetime) -> Aside | None:
        """Return what `to_extra` wrote, None if the record of a request holds no such texts."""
        texts = extra.get(ASIDE) if isinstance(extra, dict) else None
        if not isinstance(texts, dict):
            return None
        return cls(str(texts.get("question", "")), str(texts.get("answer", "")), stored_at)
