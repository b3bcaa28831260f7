"""What a user may want of the demo model: one small dataclass for each kind of request."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

LAST_FILE = ""
"""Stands where a path belongs and the user said "it": the file last spoken of."""


@dataclass(frozen=True, slots=True)
class ListFiles:
    """List a folder; `pattern` is a glob, `depth` counts levels."""

    path: str = "."
    pattern: str | None = None
    depth: int | None = None


@dataclass(frozen=True, slots=True)
class FindFiles:
    """Find files by (a part of) their name."""

    name: str
    path: str = "."


@dataclass(frozen=True, slots=True)
class Search:
    """Search in files. `pattern` is a regular expression, `label` what the user called it."""

    pattern: str
    label: str
    path: str = "."
    glob: str | None = None
    ignore_case: bool = False


@dataclass(frozen=True, slots=True)
class FileRange:
    """A file, or lines `start` to `end` of it, both counted from 1 and inclusive."""

    path: str
    start: int | None = None
    end: int | None = None


@dataclass(frozen=True, slots=True)
class Read:
    """Show files as they are."""

    files: tuple[FileRange, ...]


@dataclass(frozen=True, slots=True)
class Explain:
    """Say what files hold."""

    paths: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Overview:
    """Say what the whole project is."""


@dataclass(frozen=True, slots=True)
class Review:
    """Look for smells; no paths: in the source files found."""

    paths: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Write:
    """Write a whole file. `overwrite`: the user knows that it may exist."""

    path: str
    content: str
    overwrite: bool = False


@dataclass(frozen=True, slots=True)
class Replace:
    """Put `new` for `old`; `every` occurrence, and only whole words with `whole_word`."""

    path: str
    old: str
    new: str
    every: bool = False
    whole_word: bool = False


@dataclass(frozen=True, slots=True)
class Append:
    """Add text at the end of a file."""

    path: str
    text: str


@dataclass(frozen=True, slots=True)
class DeleteLine:
    """Take a line out, by its number (`number` > 0) or by what it holds."""

    path: str
    number: int = 0
    text: str = ""


@dataclass(frozen=True, slots=True)
class Run:
    """Run a command."""

    command: str


@dataclass(frozen=True, slots=True)
class RunAgain:
    """Run the last command once more."""


@dataclass(frozen=True, slots=True)
class RunTests:
    """Run the project's tests, or only `target`."""

    target: str = ""


@dataclass(frozen=True, slots=True)
class Todo:
    """Write down a list of things to do."""

    items: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class More:
    """Read on in the last result that was shown in part."""


@dataclass(frozen=True, slots=True)
class Recall:
    """Tell what was asked, done, changed, run or learned before."""

    focus: Literal["all", "asked", "last", "files", "commands", "learned"] = "all"


@dataclass(frozen=True, slots=True)
class Remember:
    """Keep a note for later."""

    text: str


@dataclass(frozen=True, slots=True)
class Wrong:
    """The last answer was wrong; `correction` is what the user said would be right, or ""."""

    correction: str = ""


@dataclass(frozen=True, slots=True)
class Talk:
    """Something that needs no tool."""

    topic: Literal["hello", "thanks", "help", "who", "model"]


@dataclass(frozen=True, slots=True)
class Unknown:
    """None of the rules fits."""

    text: str


Intent = (
    ListFiles
    | FindFiles
    | Search
    | Read
    | Explain
    | Overview
    | Review
    | Write
    | Replace
    | Append
    | DeleteLine
    | Run
    | RunAgain
    | RunTests
    | Todo
    | More
    | Recall
    | Remember
    | Wrong
    | Talk
    | Unknown
)
