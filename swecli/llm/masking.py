"""Mask secrets of ours in text that a service sends: some quote the key that they refuse."""

from __future__ import annotations

from collections.abc import Iterable

MASK = "[API key]"
# placeholders such as `ollama` and `lm-studio`, which are words of answers, are shorter; keys are longer
_SHORTEST = 10


def mask_secrets(text: str, secrets: Iterable[str]) -> str:
    """Return the text with each secret replaced by MASK, also where JSON escapes its slashes."""
    for secret in secrets:
        if len(secret) >= _SHORTEST:
            text = text.replace(secret, MASK).replace(secret.replace("/", "\\/"), MASK)
    return text


class KeyFilter:
    """Masks a key in a text that arrives in pieces: an end that may be the start of the key is kept back."""

    def __init__(self, key: str) -> None:
        self._key = key if len(key) >= _SHORTEST else ""
        self._kept_back = ""

    def feed(self, piece: str, *, is_last: bool) -> str:
        """Return the text that can be shown after this piece."""
        if not self._key:
            return piece
        text = (self._kept_back + piece).replace(self._key, MASK)
        end = len(text) if is_last else len(text) - self._possible_start(text)
        self._kept_back = text[end:]
        return text[:end]

    def _possible_start(self, text: str) -> int:
        """Return how many characters at the end of the text are the start of the key."""
        longest = min(len(self._key) - 1, len(text))
        return next((n for n in range(longest, 0, -1) if text.endswith(self._key[:n])), 0)
