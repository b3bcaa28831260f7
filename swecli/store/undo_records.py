"""States and changes of files and the undo of turns, importable without the database."""

from __future__ import annotations

from typing import Literal

from swecli.models.changed_files import Changer
from swecli.models.session import UndonePiece
from swecli.values import dataclass


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
    changed_by: Changer | None = None  # None: an undo, or not known, as of older versions
    job: int = 0  # the number of the background command that made it, 0 for none
    made_by: int = 0  # the undo that made it, 0 for a turn


# What no undo takes back. Of git: the commit of HEAD and the branch, whose changes have no name, and by name the commit
# of a reference and the index's entry of a file. And by name: a file that is ignored, and one that was written while a
# background command ran, whose number is the value after. In a copy of a session also the path of each file that a
# copied turn changed; the value before is the session that has its contents.
LastingKind = Literal["head", "branch", "ref", "index", "ignored", "job", "copied"]


@dataclass(frozen=True, slots=True)
class LastingChange:
    """A change by a turn that no undo takes back: what was there before, and after, "" for nothing."""

    kind: LastingKind
    name: str
    before: str
    after: str
    interaction: int = 0


UNDO_PARTS = ("files", "conversation", "window", "playbook")


# What is being done to the files of an undo: they are restored, or a redo restores those of the undone turns.
UndoStage = Literal["done", "undoing", "redoing"]


@dataclass(frozen=True, slots=True)
class OpenStep:
    """An undo or redo whose files may not all be restored yet; `pid` is the process that does it. The files of a piece
    are restored all or not at all."""

    id: int
    session_id: str
    stage: UndoStage
    pid: int
    is_piece: bool = False


@dataclass(frozen=True, slots=True)
class UndoStep:
    """An undo of turns `first` to `last` of a session, with some of `UNDO_PARTS`. `strategies` are the reverted
    bullets, `refusals` the reasons why others were not. One of a `piece` of a turn leaves the turn where it is."""

    id: int
    session_id: str
    first: int
    last: int
    parts: tuple[str, ...]
    strategies: tuple[str, ...] = ()
    refusals: tuple[str, ...] = ()
    piece: UndonePiece | None = None

    @property
    def is_piece(self) -> bool:
        return self.piece is not None


@dataclass(frozen=True, slots=True)
class PieceChange:
    """A change of a file that the undo of a piece made, and which is not reverted."""

    change: FileChange
    piece: UndonePiece
