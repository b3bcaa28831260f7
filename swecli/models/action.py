"""What an action returns to the face that asked for it: the REPL, a run without a screen or the command line."""

from __future__ import annotations

from dataclasses import dataclass

from swecli.models.json_value import Json


@dataclass(frozen=True, slots=True)
class ActionResult:
    """The result of an action, as data for programs and as text for people; whoever asked prints it."""

    value: Json  # plain JSON, for --json
    lines: tuple[str, ...] = ()  # one that begins with two spaces is a detail of the line above
    head: tuple[str, ...] = ()  # the names of the columns of `rows`
    rows: tuple[tuple[str, ...], ...] = ()
    note: str = ""  # printed below the table
    exact: str | None = None  # what a pipe gets, unchanged, in place of `lines`
    code: int = 0  # the exit code of the process
    questions: tuple[Question, ...] = ()  # that an interactive caller asks one by one


@dataclass(frozen=True, slots=True)
class Question:
    """A pending decision on the strategy `id`."""

    id: str
    content: str
    reason: str  # why it needs a decision
    sources: tuple[str, ...] = ()  # where it comes from, one line each
