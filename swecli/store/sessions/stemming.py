"""Stems of words: the forms of an English word have one in common."""

from __future__ import annotations

import sys
from functools import cache, lru_cache
from importlib.util import find_spec, module_from_spec
from typing import Any


@cache
def _stemmer() -> Any:
    """Return the stemmer for English. The package itself is not run: it would load those of 30 other languages."""
    package = find_spec("snowballstemmer")
    if package is None:
        raise ModuleNotFoundError("snowballstemmer is not installed")
    sys.modules[package.name] = module_from_spec(package)
    try:
        # late: only what looks for alike texts needs it
        from snowballstemmer.english_stemmer import EnglishStemmer
    finally:
        del sys.modules[package.name]
    return EnglishStemmer()


@lru_cache(maxsize=32_768)
def stem(word: str) -> str:
    """Return a word without its endings by the Snowball rules for English; those of other languages mostly stay."""
    return str(_stemmer().stemWord(word))
