"""Words without their endings; needs no SQLModel: strategies are chosen by them before the store is loaded."""

from __future__ import annotations

import sys
from functools import cache, lru_cache
from importlib.util import find_spec, module_from_spec
from typing import Any


@cache
def _stemmer() -> Any:
    """The stemmer for English. The package itself is not run: it would load those of 30 other languages."""
    if (package := find_spec("snowballstemmer")) is None:
        raise ModuleNotFoundError("snowballstemmer is not installed")
    sys.modules[package.name] = module_from_spec(package)
    try:
        # late: only what looks for alike texts needs it
        from snowballstemmer.english_stemmer import EnglishStemmer  # noqa: PLC0415
    finally:
        del sys.modules[package.name]
    return EnglishStemmer()


@lru_cache(maxsize=32_768)
def stem(word: str) -> str:
    """A word without its endings by the Snowball rules for English; those of other languages mostly stay."""
    return str(_stemmer().stemWord(word))
