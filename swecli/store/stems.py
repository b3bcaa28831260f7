"""Words without their endings; needs no SQLModel: strategies are chosen by them before the store is loaded."""

from __future__ import annotations

from functools import cache, lru_cache


@cache
def _stemmer() -> object:
    # late: only what looks for alike texts needs it
    import snowballstemmer  # noqa: PLC0415

    return snowballstemmer.stemmer("english")


@lru_cache(maxsize=32_768)
def stem(word: str) -> str:
    """A word without its endings by the Snowball rules for English; those of other languages mostly stay."""
    return str(_stemmer().stemWord(word))  # type: ignore[attr-defined]
