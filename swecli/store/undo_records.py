"""States and changes of files and the undo of turns, importable without the database."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class FileState:
    """The state of a path: the digest of its content (of a link: of its target) and its mode, 0 if it does not
    exist."""

    digest: str = ""
    mode: int = 0


@dataclass(frozen=True, slots=True)
class FileChange:
    """The state of an absolute path before and after; `interaction` is the turn that changed it, `key` its row's
    key."""

    path: str
    before: FileState
    after: FileState
    interaction: int = 0
    key: int = 0


UNDO_PARTS = ("files", "conversation", "window", "playbook")


@dataclass(frozen=True, slots=True)
class UndoStep:
    """An undo of turns `first` to `last`, with some of `UNDO_PARTS`. `strategies` are the reverted bullets, `refused`
    the reasons why others were not."""

    id: int
    first: int
    last: int
    parts: tuple[str, ...]
    strategies: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()
