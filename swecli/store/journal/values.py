"""Values as they are stored: clean text, clamped numbers, portable JSON, times in UTC."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

from swecli.models.added_folder import AddedFolder
from swecli.models.json_value import JsonObject
from swecli.models.message import MALFORMED
from swecli.text import join_surrogates

LARGEST = 2**63 - 1
# Python refuses to read or write integers of more than 4,300 digits as text; this stays just below that.
_LARGEST_JSON = 10**4299
_REPLACEMENT = "\ufffd"
_DEEPEST_JSON = 100


def clean_text(text: str) -> str:
    """Return the text with NULs and lone surrogates replaced and split surrogate pairs joined, so that it can be stored
    and encoded as UTF-8. Idempotent."""
    return join_surrogates(text.replace("\0", _REPLACEMENT))


def encode_name(name: str) -> str | bytes:
    """Return the name of a file as it is stored, so that `decode_name` returns the same: as text, or as its bytes if
    these are not UTF-8. A name is no prose: a mended one would be that of another file."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return os.fsencode(name)
    return name


def decode_name(value: str | bytes) -> str:
    """Return a stored name as the functions of `os` take it."""
    return os.fsdecode(value)


def folder_key(folder: str) -> str:
    """Return the text under which things of a folder are stored: its path, with bytes that are not UTF-8 as `\\xNN`, so
    that two folders never share a key. Idempotent."""
    try:
        data = folder.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:  # no name of a file
        return clean_text(folder)
    return clean_text(data.decode("utf-8", "backslashreplace"))


def clamp(number: int) -> int:
    """Return the nearest 64-bit integer."""
    return max(-LARGEST - 1, min(LARGEST, int(number)))


def finite(number: float | None) -> float | None:
    """Return a finite number unchanged, anything else as None."""
    return float(number) if number is not None and math.isfinite(number) else None


def clean_json(value: Any, depth: int = 0) -> Any:
    """Return the value as portable JSON: clean text, finite floats (others become null), parseable integers.
    Values nested deeper than 100 levels are replaced by a text that names the limit."""
    if isinstance(value, str):
        return clean_text(value)
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, int):
        return max(-_LARGEST_JSON, min(_LARGEST_JSON, value))
    if isinstance(value, float):
        return finite(value)
    if depth >= _DEEPEST_JSON:
        return f"(nested deeper than {_DEEPEST_JSON} levels)"
    if isinstance(value, dict):
        return {clean_text(str(key)): clean_json(item, depth + 1) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [clean_json(item, depth + 1) for item in value]
    if isinstance(value, datetime):
        return value.isoformat()
    return clean_text(str(value))


def to_json(value: Any) -> str:
    """Return clean JSON as text. Characters are stored as they are, so that searches find them."""
    return json.dumps(value, ensure_ascii=False)


def read_json(value: str | float) -> Any:
    """Parse a stored JSON value; SQLite stores one that is a number as a number. Raises ValueError, TypeError."""
    # most values are none or empty lists, and loading 10,000 strategies reads 30,000 of them
    if value == "null":
        return None
    if value == "[]":
        return []
    return value if isinstance(value, int | float) else json.loads(value)


def read_arguments(text: object) -> JsonObject:
    """Return the stored arguments of a call. What is no JSON object becomes the only field of one, MALFORMED: they are
    sent with each later request of the session, and must not end them all. What is nested deeper than the store writes
    it is shortened: how deep a value can be read and written differs between versions of Python."""
    try:
        value = json.loads(text) if isinstance(text, str) else text
    except (ValueError, RecursionError):
        value = text
    if isinstance(text, str) and text.count("[") + text.count("{") > _DEEPEST_JSON:
        value = clean_json(value)
    return value if isinstance(value, dict) else {MALFORMED: str(text)}


def write_moment(moment: datetime) -> str:
    """Return a time as it is stored: in UTC, to the microsecond, without a zone."""
    return moment.astimezone(UTC).replace(tzinfo=None).isoformat(" ", "microseconds")


def read_moment(text: str) -> datetime:
    """Parse a stored time as UTC. Raises ValueError."""
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def read_rules(folders: Any) -> Mapping[str, Sequence[str]]:
    """Return the permission rules of a session, lists by folder; JSON null for none. Raises TypeError."""
    folders = folders or {}
    if not isinstance(folders, dict):
        raise TypeError("the allowed rules are no table of folders")
    for folder, rules in folders.items():
        if not isinstance(rules, list) or not all(isinstance(rule, str) for rule in rules):
            raise TypeError(f"the rules allowed in {folder!r} are no list of texts")
    return folders


def read_added_folders(stored_folders: Any) -> Mapping[str, Sequence[AddedFolder]]:
    """Return the folders that were added to a session, lists by the folder that they were added in; JSON null for none.
    Raises TypeError, ValueError."""
    stored_folders = stored_folders or {}
    if not isinstance(stored_folders, dict):
        raise TypeError("the added folders are no table of folders")
    folders: dict[str, tuple[AddedFolder, ...]] = {}
    for workspace, rows in stored_folders.items():
        if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
            raise TypeError(f"what was added in {workspace!r} is no list of folders")
        folders[workspace] = tuple(
            AddedFolder(str(row.get("path", "")), row.get("may_change") is True) for row in rows
        )
    return folders


def write_added_folders(folders: Mapping[str, Sequence[AddedFolder]]) -> JsonObject:
    """Return what `read_added_folders` reads."""
    return {workspace: [asdict(folder) for folder in added] for workspace, added in folders.items()}


def read_tuple(items: Sequence[Any] | None) -> tuple[Any, ...]:
    """Return the items of a JSON list; JSON null for none."""
    return tuple(items or ())


def values(source: Any, names: Sequence[str]) -> dict[str, Any]:
    """Return the attributes of an object with these names."""
    return {name: getattr(source, name) for name in names}
