"""What a user can ask for, declared once for every face: a session's slash line and the command line of a shell."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum, auto
from pathlib import Path
from typing import Literal

from swecli.models.errors import UsageError
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


class Need(Enum):
    """What the function of an action works on: its first argument, which the face that was asked opens."""

    DATABASE = auto()  # a `SessionManager`; which session is current does not matter
    SESSION = auto()  # a `SessionManager` in the session that is asked about
    NEW_SESSION = auto()  # the same; a database that does not exist yet is made
    CONTEXT = auto()  # a `Runtime` in that session, whose model is asked nothing
    ANSWER = auto()  # the same, whose model is asked


@dataclass(frozen=True, slots=True)
class Words:
    """The words after the name of an action. `usage` shows them: `P-7 [TEXT]`."""

    usage: str = ""
    help: str = ""
    count: Literal["?", "*", "+"] = "*"  # as in a regular expression
    shell_name: str = ""  # what --help calls them, if it is not the usage without brackets
    is_text: bool = False  # whether the rest of a slash line is one text, without flags

    @property
    def are_taken(self) -> bool:
        return bool(self.usage or self.shell_name)

    @property
    def metavar(self) -> str:
        """Return what --help calls the words, to which it adds brackets of its own."""
        plain = self.usage.replace("[", "").replace("]", "").removesuffix(" ...")
        return self.shell_name or plain


@dataclass(frozen=True, slots=True)
class Flag:
    """A flag of an action; `value` names what follows it, "" for nothing."""

    name: str
    help: str
    value: str = ""

    @property
    def usage(self) -> str:
        return f"{self.name} {self.value}".rstrip()


@dataclass(frozen=True, slots=True)
class Invocation:
    """What a user wrote for one action, and where."""

    words: tuple[str, ...] = ()
    flags: Mapping[str, str] = field(default_factory=dict)  # "" for a flag without a value
    name: str = ""  # of the action, "" if it was left out
    prefix: str = "/"  # of commands in hints: "/" in a session, "swecli " in a shell
    folder: Path = Path()  # the user's, where relative files are

    @property
    def text(self) -> str:
        return " ".join(self.words)


Values = Sequence[tuple[str, str]]  # completions with their descriptions
# of the first word, from the `Runtime`
Complete = Callable[..., Values]  # type: ignore[explicit-any]
# from what the action needs, and an `Invocation`
Perform = Callable[..., "ActionResult | Coroutine[object, object, ActionResult]"]  # type: ignore[explicit-any]


@dataclass(frozen=True, slots=True)
class Action:
    """Something that a user can ask for. An instance is the decorator of the function that does it, which gets what
    the action needs and what the user wrote, and raises SwecliError for problems that the user can fix."""

    needs: Need
    words: Words = Words()
    flags: tuple[Flag, ...] = ()
    complete: Complete | None = None
    aliases: tuple[str, ...] = ()  # of the slash command
    in_shell: bool = True
    in_session: bool = True
    is_command: bool = False  # in a session it is a command of its own, also if it has a family
    during_turn: bool = False  # whether it may run beside a turn
    # from the function: its name without underscores around it, and the first line of its docstring. An action that
    # only one face has, in a form of its own, is declared without a function.
    name: str = ""
    help: str = ""
    run: Perform = ActionResult

    def __call__(self, run: Perform) -> Action:
        """Return the action that this function performs."""
        help = (run.__doc__ or "").strip().partition("\n")[0].rstrip(".")
        return replace(self, name=run.__name__.strip("_"), help=help, run=run)

    @property
    def about(self) -> str:
        """Return the help as one of several in a list."""
        return self.help[0].lower() + self.help[1:]

    @property
    def usage(self) -> str:
        """Return words and flags in one line."""
        return " ".join([self.words.usage, *(f"[{flag.usage}]" for flag in self.flags)]).strip()

    def read(self, line: str, name: str = "", folder: Path = Path()) -> Invocation:
        """Return what the rest of a slash line means. The value of a flag are all words up to the next one. Raises
        UsageError for words that the action does not take."""
        if self.words.is_text:
            return Invocation((line,) if line else (), {}, name, folder=folder)
        known = {flag.name: flag for flag in self.flags}
        rest = list[str]()
        values = dict[str, list[str]]()
        taking = rest
        for word in line.split():
            if word in known:
                values[word] = []
                taking = values[word] if known[word].value else rest
                continue
            if word.startswith("--"):
                taking = rest
            taking.append(word)
        if rest and not self.words.are_taken:
            raise UsageError(
                f"Unexpected argument {rest[0]!r:.40}.", f"{self.name} takes no words."
            )
        flags = {flag: " ".join(taken).strip("\"'") for flag, taken in values.items()}
        return Invocation(tuple(rest), flags, name, folder=folder)

    async def perform(self, subject: object, asked: Invocation) -> ActionResult:
        """Run the action on what it needs. Raises SwecliError."""
        result = self.run(subject, asked)
        return result if isinstance(result, ActionResult) else await result


@dataclass(frozen=True, slots=True)
class Family:
    """Actions on one thing: `swecli NAME ACTION` in a shell and `/NAME ACTION` in a session."""

    name: str
    help: str
    actions: tuple[Action, ...]
    default: str  # the action of a slash line that names none
    default_in_shell: bool = False  # whether also a command line need not name one
    aliases: tuple[str, ...] = ()

    @property
    def in_session(self) -> tuple[Action, ...]:
        """The actions that the slash command has."""
        return tuple(one for one in self.actions if one.in_session and not one.is_command)

    def read(self, line: str) -> tuple[Action, str, str]:
        """Return the action of a slash line, the rest of the line, and the name that was typed, "" for none. A line
        that begins with a flag is one of the default action. Raises UsageError for an unknown action."""
        word, _, rest = line.partition(" ")
        name = word.lower()
        if name and not name.startswith("-"):
            return self.find(name), rest.strip(), name
        default = next(action for action in self.actions if action.name == self.default)
        return default, line, ""

    def find(self, name: str) -> Action:
        """Return an action of the slash command. Raises UsageError."""
        offered = {action.name: action for action in self.in_session}
        if name in offered:
            return offered[name]
        own_commands = {action.name for action in self.actions if action.is_command}
        hint = f"Use /{name}" if name in own_commands else f"Choose: {', '.join(offered)}"
        raise UsageError(f"Unknown {self.name} action {name!r:.40}.", hint)
