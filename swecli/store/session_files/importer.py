"""What an installed package declares to read the sessions of another tool."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from swecli.values import dataclass

Line = tuple[int, str]  # number from 1, text


@dataclass(frozen=True, slots=True)
class ReadTranscript:
    """A session of another tool. `session` is a value as `swecli sessions export` writes it, {} if no turn could be
    read; `lines` are the lines that were read, which are stored too; `skipped` describes the broken ones."""

    session: dict[str, Any]
    lines: tuple[Line, ...] = ()
    skipped: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Importer:
    """Reads the files of one tool. `recognises` gets the beginning of a file (65,536 characters); `read` its numbered
    lines and the folder it lies in."""

    tool: str
    recognises: Callable[[str], bool]
    read: Callable[[Iterable[Line], str], ReadTranscript]
