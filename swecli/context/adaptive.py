"""The reflection window's size chosen by the query, for `/window auto`."""

from __future__ import annotations

LARGE_WORK = ("refactor", "implement", "design")
LARGE_SIZE = 7
SMALL_SIZE = 3
FEW_WORDS = 5


def adaptive_window_size(query: str, default: int = 5, min_size: int = 3, max_size: int = 10) -> int:
    """Interactions to keep for `query`: 7 for large work, 3 for a few words, else `default`.

    The key words are looked at before the length, so that "implement OAuth" is not taken for a small task. The
    result lies within `min_size` and `max_size`; the upper one wins when they contradict each other.
    """
    lowered = query.lower()
    if any(word in lowered for word in LARGE_WORK):
        size = LARGE_SIZE
    elif len(lowered.split()) < FEW_WORDS:
        size = SMALL_SIZE
    else:
        size = default
    return min(max(size, min_size), max_size)
