"""Why a strategy is asked about before a model may rely on it."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum


class Doubt(StrEnum):
    """What speaks against a strategy until the user has decided about it; all but `TAKEN_BACK` keep it out of
    prompts."""

    NONE = ""
    UNQUOTED = "unquoted"  # the words that it comes from are not the user's
    IMPORTED = (
        "imported"  # it comes from another playbook, the memory of another program or commits
    )
    RESTATED = "restated"  # the user's words are beside it, but it is not what he wrote
    REACHING = "reaching"  # what he wrote, but it reaches further than a model may decide
    UNCERTAIN = "uncertain"  # what he wrote, but perhaps with an errand that is not to be kept
    SEEN = "seen"  # a result says it; another exchange may show it again
    TAKEN_BACK = "taken back"  # in prompts, but the user seems to want it no more

    @property
    def is_about_users_words(self) -> bool:
        """Whether it was made of something that the user said, so that he is asked after the turn."""
        return self in (Doubt.RESTATED, Doubt.REACHING, Doubt.UNCERTAIN, Doubt.TAKEN_BACK)

    def describe(self, scope: str = "project", replaces: Sequence[str] = ()) -> str:
        """Return the reason as a clause for the user, "" for none. `scope` is that of the strategy, and `replaces` are
        the ids of those that it is to replace."""
        clauses = [_CLAUSES[self]] if self in _CLAUSES else []
        if self is Doubt.REACHING and scope == "user":
            clauses.append("it would apply in all your projects")
        if replaces and self is not Doubt.NONE:
            clauses.append(f"it would replace {', '.join(replaces)}")
        return "; ".join(clauses)


_CLAUSES = {
    Doubt.UNQUOTED: "the quote is not in your own words",
    Doubt.IMPORTED: "it comes from outside of this playbook",
    Doubt.RESTATED: "it is not what you wrote, word for word",
    Doubt.UNCERTAIN: "it may hold an errand beside what you want to keep",
    Doubt.SEEN: "seen in a result",
    Doubt.TAKEN_BACK: "you seem to take it back",
}
