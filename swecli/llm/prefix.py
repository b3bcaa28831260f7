"""A hash of a request's beginning: some services take signed thoughts back only behind the same beginning."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from typing import Any

from swecli.llm.native import without_fields


class PrefixHash:
    """The hash of what precedes a message: system text and tools (`beginning`), and the messages added so far. Cache
    marks do not count."""

    def __init__(self, *beginning: Any) -> None:
        self._hash = hashlib.sha256(_to_bytes(list(beginning)))

    def add(self, messages: Iterable[Mapping[str, Any]]) -> None:
        """Add messages to what is hashed."""
        for message in messages:
            self._hash.update(_to_bytes(message))

    @property
    def digest(self) -> str:
        """The hash so far, in hexadecimal digits."""
        return self._hash.hexdigest()


def _to_bytes(value: Any) -> bytes:
    unmarked = without_fields(value, ("cache_control",))
    return json.dumps(unmarked, ensure_ascii=False, sort_keys=True).encode("utf-8", "replace")
