"""Known names that a mistyped word may mean."""

from __future__ import annotations

from collections.abc import Iterable

# Of the mistakes that were tried `cntx` for context (.73) and `hlep` (.75) are still found; `editor` for doctor (.67),
# and `reason` for json (.6), which difflib's own .6 takes, are not.
_LEAST = 0.7


def similar_names(word: str, names: Iterable[str], count: int = 2) -> list[str]:
    """Return up to `count` names like the word, best first."""
    # late: only for mistyped names
    from difflib import get_close_matches

    return get_close_matches(word, list(names), n=count, cutoff=_LEAST)
