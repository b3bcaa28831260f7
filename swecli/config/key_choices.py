"""The table `[keys]` of the settings: actions of the prompt, each with the keys that the user chose for it. Which
actions and keys there are, the prompt knows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from swecli.config.parsers import string


@dataclass(frozen=True, slots=True)
class KeyChoice:
    """The keys that an action shall have, as they are written; () for none."""

    action: str
    keys: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.action} = {', '.join(self.keys)}"


def parse_keys(value: Any) -> tuple[KeyChoice, ...]:
    """Parse a table that maps an action to a key or to a list of keys. Raises ValueError."""
    if value in ((), []):
        return ()
    if not isinstance(value, dict):
        raise ValueError('takes a table, for example { expand = "c-o" }')
    return tuple(KeyChoice(action, _parse_list(action, keys)) for action, keys in value.items())


def _parse_list(action: str, value: Any) -> tuple[str, ...]:
    keys = value if isinstance(value, list) else [value]
    if not all(isinstance(key, str) for key in keys):
        raise ValueError(f'{action} takes a key or a list of keys, for example ["c-o", "f2"]')
    return tuple(string(key) for key in keys)
