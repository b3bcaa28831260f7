"""The files that differ at the end of a turn, and by whom, as data and as a line for people."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from swecli.models.counts import pluralize
from swecli.values import dataclass

ChangeKind = Literal["created", "changed", "removed"]
Changer = Literal["tool", "command", "background command"]

_MAX_NAMES = 6  # of files in a line; more are only counted
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
        f"by {' and '.join(f'{changer}s' for changer in changers)}: {name_changes(group)}"
        for changers, group in groups.items()
    ]
    ignored_count = sum(file.is_ignored for file in files)
    if ignored_count:
        parts.append(f"ignored: {ignored_count:,}")
    count = pluralize(len(files), "file")
    return f"{count} changed · {' · '.join(parts)}" if parts else ""


def name_changes(files: Sequence[ChangedFile]) -> str:
    """Return the names of changed files with what happened to them, the first of many; "" for none."""
    return join_names([f"{file.name}{_KIND_NOTES[file.kind]}" for file in files])


@dataclass(frozen=True, slots=True)
class LineCounts:
    """A file that differs from what it was before some turns, with its numbers of lines then and now. None: there is no
    such file; a file that is no text has 0 lines."""

    name: str
    before: int | None
    after: int | None

    @property
    def is_smaller(self) -> bool:
        """Whether it is gone, or has fewer lines."""
        if self.before is None:
            return False
        return self.after is None or self.after < self.before

    def describe_loss(self) -> str:
        """Return the name of a file that is smaller, and what it lost."""
        if self.after is None:
            return f"{self.name} (deleted)"
        lost_lines = (self.before or 0) - self.after
        return f"{self.name} ({pluralize(lost_lines, 'line')} fewer)"


def join_names(names: Sequence[str]) -> str:
    """Return the first of these names, and how many there are besides."""
    listed = ", ".join(names[:_MAX_NAMES])
    more = len(names) - _MAX_NAMES
    return f"{listed} and {more:,} more" if more > 0 else listed
