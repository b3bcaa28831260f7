"""What every action on the playbook works with, and what it answers: both faces show the same, each in its way."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from swecli.models.errors import UsageError
from swecli.models.playbook import Bullet
from swecli.models.session import Session
from swecli.playbook.score import Standings
from swecli.playbook.selection.rank import Count
from swecli.playbook.selection.select import BUDGET
from swecli.playbook.standing import believed

if TYPE_CHECKING:  # the prompt completes the actions' names before the database is loaded
    from swecli.store.session_manager import SessionManager


@dataclass(frozen=True, slots=True)
class Said:
    """An answer: `value` for programs (plain JSON values), `lines` or a table of `rows` under `head` for people.

    `paired` says that the first two columns are a name and its value. `exact` is a text that a pipe gets
    letter by letter in the place of lines. `code` is the exit code of a shell's command.
    """

    value: Any
    lines: tuple[str, ...] = ()
    head: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    note: str = ""
    paired: bool = False
    exact: str | None = None
    code: int = 0


@dataclass(slots=True)
class PlaybookDesk:
    """One session's playbook with the store behind it.

    `command` is how the user writes an action: `/playbook`. `count` counts the tokens of a text; a prompt gets at most
    `tokens` of strategies, and at most `most` of them.
    """

    sessions: SessionManager
    session: Session
    command: str = "/playbook"
    count: Count = field(default=lambda text: len(text) // 4)
    tokens: int = BUDGET
    most: int | None = None

    def find(self, ref: str, *, gone_too: bool = False) -> Bullet:
        """The strategy that is meant. Raises BadInput."""
        return self.sessions.playbook.find(ref, self.session, gone_too=gone_too)

    def bullets(self) -> list[Bullet]:
        """All that apply here and are not removed, in order of minting."""
        return sorted(self.session.playbook.bullets.values(), key=lambda b: b.number)

    def standings(self) -> Standings:
        """What each is worth by all the turns of this project."""
        return believed(self.sessions.playbook, self.session)


MEANT = {"P-7": "the id of a strategy", "TEXT": "the words of a strategy", "FILE": "a file"}
"""What stands for it in a usage, in words."""
Run = Callable[[PlaybookDesk, Sequence[str]], Said]


@dataclass(frozen=True, slots=True)
class Action:
    """Something the user can do with the playbook. `usage` shows its arguments; `run` raises SwecliError.

    It takes at least `need` arguments and at most `most` (None: as many as there are). `leading` of them come before
    free text (None: there is none). `flags` are words such as `--trust` that may stand among them, with a meaning.
    """

    name: str
    usage: str
    help: str
    run: Run
    need: int = 0
    most: int | None = 0
    leading: int | None = None
    flags: tuple[tuple[str, str], ...] = ()

    def perform(self, desk: PlaybookDesk, args: Sequence[str]) -> Said:
        """Do it. Raises UsageError for arguments that are missing or too many, SwecliError as `run`."""
        known = {name for name, _ in self.flags}
        words = [word for word in args if word not in known]
        usage = f"{self.name} {self.usage}".strip()
        if len(words) < self.need:
            missing = self.usage.split()[len(words)]
            raise wrong(desk, f"{self.name} needs {MEANT.get(missing, missing)}.", usage)
        if self.most is not None and len(words) > self.most:
            raise wrong(desk, f"{self.name} takes no {' '.join(words[self.most :])!r:.60}.", usage)
        return self.run(desk, args)


def wrong(desk: PlaybookDesk, problem: str, usage: str) -> UsageError:
    """The error for arguments that are missing or cannot be meant."""
    return UsageError(problem, f"Use {desk.command} {usage}")
