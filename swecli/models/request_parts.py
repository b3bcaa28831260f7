"""The parts of a request of a turn, in the order in which they are sent."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum


class RequestPart(StrEnum):
    """A part of a request, as it is stored with the request's usage."""

    TOOLS = "tools"  # their definitions
    SYSTEM = "system"  # the static prompt, and the project's instructions
    PLAYBOOK = "playbook"  # the strategies in the head
    OUTLINE = "outline"  # what the head has of earlier turns: summary, facts, outline
    WINDOW = "window"  # earlier turns, word for word; pinned ones too
    QUERY = "query"  # what the user typed, with its notes
    BROUGHT_BACK = "brought_back"  # earlier turns that the query quotes
    ANSWERS = "answers"  # the model's own in earlier steps of the turn, with their calls
    RESULTS = "results"  # of these calls


PartSizes = Mapping[RequestPart, int]  # in tokens; what a request lacks is left out


def read_parts(value: object) -> PartSizes:
    """Return stored sizes; {} if none are stored, as of requests of earlier versions."""
    if not isinstance(value, dict):
        return {}
    names = {part.value: part for part in RequestPart}
    sizes: dict[RequestPart, int] = {}
    for name, tokens in value.items():
        if name in names and isinstance(tokens, int) and tokens > 0:
            sizes[names[name]] = tokens
    return sizes
