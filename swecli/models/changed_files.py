"""The files that differ at the end of a turn, and by whom, as data and as a line for people."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from swecli.models.counts import pluralize

ChangeKind = Literal["created", "changed", "removed"]
Changer = Literal["tool", "command", "background command"]

_MAX_NAMES = 6  # of one group in the line; more are only counted
_KIND_NOTES: dict[ChangeKind, str] = {"created": " (new)", "changed": "", "removed": " (removed)"}


@dataclass(frozen=True, slots=True)
class ChangedFile:
    """A file that differs from what it was before a turn. Its name is the path in the workspace, or an absolute one
    outside it, with control characters and bytes that are not UTF-8 escaped. Of what is ignored (`is_ignored`) it is
    only known that something changed, and a folder stands for all that lies in it."""

    name: str
    kind: ChangeKind
    changed_by: tuple[Changer, ...]
    is_ignored: bool = False


def describe_changes(files: Sequence[ChangedFile]) -> str:
    """Return the line on the files that a turn has changed: the names by who changed them, the first of many; what is
    ignored is only counted. "" if the result of one call has said it all."""
    groups: dict[tuple[Changer, ...], list[ChangedFile]] = {}
    for file in files:
        if not file.is_ignored:
            groups.setdefault(file.changed_by, []).append(file)
    if [*groups] == [("tool",)] and len(files) == 1:
        return ""
    parts = [
        f"by {' and '.join(f'{changer}s' for changer in changers)}: {_join_names(group)}"
        for changers, group in groups.items()
    ]
    ignored_count = sum(file.is_ignored for file in files)
    if ignored_count:
        parts.append(f"ignored: {ignored_count:,}")
    count = pluralize(len(files), "file")
    return f"{count} changed · {' · '.join(parts)}" if parts else ""


def _join_names(files: Sequence[ChangedFile]) -> str:
    names = [f"{file.name}{_KIND_NOTES[file.kind]}" for file in files[:_MAX_NAMES]]
    more = len(files) - len(names)
    listed = ", ".join(names)
    return f"{listed} and {more:,} more" if more else listed
