"""What a user can ask for, declared once for every face: a session's slash line and the command line of a shell."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import field, replace
from enum import Enum, auto
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeVar

from swecli.models.errors import SwecliError, UsageError
from swecli.models.json_value import Json
from swecli.values import dataclass

if TYPE_CHECKING:  # the prompt completes names before events are loaded
    from swecli.models.events import Event

_Value = TypeVar("_Value")


@dataclass(frozen=True, slots=True)
class ActionResult:
    """The result of an action, as data for programs and as text for people; whoever asked prints it."""

    value: Json  # plain JSON, for --json
    lines: tuple[str, ...] = ()  # one that begins with two spaces is a detail of the line above
    head: tuple[str, ...] = ()  # the names of the columns of `rows`
    rows: tuple[tuple[str, ...], ...] = ()
    note: str = ""  # printed below the table and the lines
    exact: str | None = None  # what a pipe gets, unchanged, in place of `lines`
    code: int = 0  # the exit code of the process
    events: tuple[Event, ...] = ()  # what happened, below all of this
    questions: tuple[Question, ...] = ()  # that an interactive caller asks one by one


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer to a question."""

    label: str
    key: str  # the digit that gives it
    line: str  # what follows the name of the action that asked
    letter: str = ""  # another key


@dataclass(frozen=True, slots=True)
class Question:
    """A pending decision, which may stay open."""

    id: str  # the same as long as the same is to be decided
    content: str  # what it is about, one text in each line
    reason: str  # why it needs a decision
    sources: tuple[str, ...] = ()  # where it comes from, one line each
    title: str = ""
    answers: tuple[Answer, ...] = ()


class Need(Enum):
    """What the function of an action works on: its first argument, which the face that was asked opens."""

    NOTHING = auto()  # None
    ANY_CONFIGURATION = auto()  # a `Start`, or the SwecliError for which there is none
    ALL_SESSIONS = auto()  # a `SessionManager`, in a shell without a session
    DATABASE = auto()  # a `SessionManager`; which session is current does not matter
    SESSION = auto()  # a `SessionManager` in the session that is asked about
    NAMED_SESSION = auto()  # the same; a shell names the session in front of the words
    NEW_SESSION = auto()  # the same; a database that does not exist yet is made
    NEW_DATABASE = (
        auto()
    )  # a `SessionManager` as for ALL_SESSIONS; the database is made if there is none
    RECORDING = auto()  # a `Recording` of a session, which a shell names in front of the words
    CONTEXT = auto()  # a `Runtime` in that session, whose model is asked nothing
    ANSWER = auto()  # the same, whose model is asked
    AGENT = auto()  # a `Runtime` in any session, whose agent reads the project
    SETTINGS = auto()  # the configuration of a `Start`
    SETTINGS_FILE = auto()  # the path of the user's settings file, which may be missing or invalid
    TRUST = auto()  # the `TrustLedger`
    LEARNING = auto()  # a `LearningService` in the session that is asked about; no model is asked
    REFLECTING = auto()  # a `LearningService` whose model may be asked


@dataclass(frozen=True, slots=True)
class Words:
    """The words after the name of an action. `usage` shows them: `P-7 [TEXT]`."""

    usage: str = ""
    help: str = ""
    count: Literal["1", "?", "*", "+"] = "*"  # as in a regular expression
    shell_name: str = ""  # what --help calls them, if it is not the usage without brackets
    is_text: bool = False  # whether the rest of a slash line is one text, without flags
    is_quoted: bool = False  # whether quotes join the words of a slash line, as in a shell

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
    choices: tuple[str, ...] = ()  # all that may follow it, in place of `value`
    is_repeated: bool = False  # whether each use adds a value
    takes_words: bool = False  # whether all words up to the next flag are values
    is_required: bool = False  # of a command line
    in_shell: bool = True
    in_session: bool = True

    @property
    def takes_value(self) -> bool:
        return bool(self.value or self.choices)

    @property
    def usage(self) -> str:
        return f"{self.name} {self.value or '|'.join(self.choices)}".rstrip()

    @property
    def about(self) -> str:
        """Return the help as a completion says it, with what follows the flag."""
        return f"{self.value}: {self.help}" if self.value else self.help


SESSION_NAME = "ID|NAME"  # what --help calls a session; completion offers some
SESSION_HELP = "id, unique prefix of one, or title"
# of a command line; a session works on itself
SESSION = Flag(
    "--session", "another session than this directory's last", SESSION_NAME, in_session=False
)


class Face:
    """Who asked for an action, while it runs. This one shows nothing and agrees to nothing."""

    signal_code = 0  # the exit code of the signal that ended `wait`, 0 for none
    can_ask = False  # whether `confirm` asks a person
    how_to_agree = ""  # beforehand, behind a line that says what was not done

    def show(self, event: Event) -> None:
        """Show the progress of the action."""

    def working(self, label: str) -> AbstractContextManager[object]:
        """Show that the action does this, as long as it does."""
        return nullcontext()

    def note(self, text: str) -> None:
        """Show a line that belongs to no event."""

    def warn(self, text: str) -> None:
        """Show a line that must not be missed."""

    def complain(self, error: SwecliError) -> None:
        """Show an error that does not end the action."""

    async def confirm(self, question: str, yes: str = "yes", no: str = "no") -> bool:
        """Return whether the user agrees; where nobody can be asked, whether they did so beforehand by --yes."""
        return False

    def confirm_deletion(self, name: str) -> bool:
        """Return whether the user agrees to lose this for good. Raises UsageError if nobody can be asked."""
        return False

    async def wait(self, work: Coroutine[object, object, _Value]) -> _Value | None:
        """Return the result of work that a signal may stop; None if it did, and the action goes on."""
        return await work


@dataclass(frozen=True, slots=True)
class Invocation:
    """What a user wrote for one action, and where."""

    words: tuple[str, ...] = ()
    flags: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # with what follows each
    name: str = ""  # of the action, "" if it was left out
    prefix: str = "/"  # of commands in hints: "/" in a session, "swecli " in a shell
    folder: Path = Path()  # the user's, where relative files are
    face: Face = field(default_factory=Face)
    wants_value: bool = False  # whether only the value of the result is read, as with --json

    @property
    def text(self) -> str:
        return " ".join(self.words)

    def file(self, name: str) -> Path:
        """Return the path of a file that the user named."""
        return self.folder / Path(name).expanduser()

    def value(self, flag: str, default: str = "") -> str:
        """Return what follows a flag, as one text; the default if it is not given."""
        return " ".join(self.flags[flag]) if flag in self.flags else default


Values = Sequence[tuple[str, str]]  # completions with their descriptions
# of the first word, from the `Runtime`
Complete = Callable[..., Values]  # type: ignore[explicit-any]
# of all words, from the `Runtime` and what was typed of them
CompleteFurther = Callable[..., Values]  # type: ignore[explicit-any]
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
    complete_further: CompleteFurther | None = None
    aliases: tuple[str, ...] = ()  # of the slash command
    in_shell: bool = True
    in_session: bool = True
    is_command: bool = False  # in a session it is a command of its own, also if it has a family
    during_turn: bool = False  # whether it may run beside a turn
    is_former: bool = False  # an earlier name of another one, which answers but is not offered
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
        """Return words and flags of a slash line."""
        flags = [f"[{flag.usage}]" for flag in self.flags if flag.in_session]
        return " ".join([self.words.usage, *flags]).strip()

    def read(self, line: str, name: str = "", folder: Path = Path()) -> Invocation:
        """Return what the rest of a slash line means. The value of a flag are all words up to the next one. Raises
        UsageError for what the action does not take."""
        if self.words.is_text:
            return Invocation((line,) if line else (), {}, name, folder=folder)
        flags_by_name = {flag.name: flag for flag in self.flags if flag.in_session}
        rest = list[str]()
        values = dict[str, list[str]]()
        taking = rest
        for word in self._split(line):
            if word in flags_by_name:
                values_of_flag = values.setdefault(word, [])
                taking = values_of_flag if flags_by_name[word].takes_value else rest
                continue
            if word.startswith("--"):
                taking = rest
            taking.append(word)
        if rest and not self.words.are_taken:
            raise UsageError(
                f"Unexpected argument {rest[0]!r:.40}.", f"{self.name} takes no words."
            )
        flags = dict[str, tuple[str, ...]]()
        for flag, values_of_flag in values.items():
            if not self.words.is_quoted:  # then quotes may still stand around the value
                values_of_flag = " ".join(values_of_flag).strip("\"'").split()
            _require_choice(flags_by_name[flag], " ".join(values_of_flag))
            flags[flag] = tuple(values_of_flag)
        return Invocation(tuple(rest), flags, name, folder=folder)

    def _split(self, line: str) -> list[str]:
        """Return the words of a slash line. Raises UsageError for a quote that is not closed."""
        if not self.words.is_quoted:
            return line.split()
        try:
            return shlex.split(line)
        except ValueError as error:
            raise UsageError(
                f"Cannot parse the arguments of {self.name}: {error}.", "Close the quotes."
            ) from error

    async def perform(self, subject: object, invocation: Invocation) -> ActionResult:
        """Run the action on what it needs. Raises SwecliError."""
        result = self.run(subject, invocation)
        return result if isinstance(result, ActionResult) else await result


def _require_choice(flag: Flag, value: str) -> None:
    if flag.choices and value not in flag.choices:
        raise UsageError(
            f"{flag.name}: unknown value {value!r:.40}.", f"Choose: {', '.join(flag.choices)}."
        )


@dataclass(frozen=True, slots=True)
class Family:
    """Actions on one thing: `swecli NAME ACTION` in a shell and `/NAME ACTION` in a session."""

    name: str
    help: str
    actions: tuple[Action, ...]
    default: str  # the action of a slash line that names none
    default_in_shell: str = ""  # that of a command line; "" if it must name one
    default_takes_words: bool = (
        False  # whether a first word that names no action is one of the default's
    )
    aliases: tuple[str, ...] = ()

    @property
    def in_shell(self) -> bool:
        """Whether a shell has any of its actions."""
        return any(action.in_shell for action in self.actions)

    @property
    def in_session(self) -> tuple[Action, ...]:
        """The actions that the slash command offers."""
        return tuple(
            action
            for action in self.actions
            if action.in_session and not action.is_command and not action.is_former
        )

    def read(self, line: str) -> tuple[Action, str, str]:
        """Return the action of a slash line, the rest of the line, and the name that was typed, "" for none. A line
        that begins with a flag is one of the default action. Raises UsageError for an unknown action."""
        word, _, rest = line.partition(" ")
        name = word.lower()
        names_action = any(action.name == name for action in self.actions)
        is_for_default = not name or name.startswith("-")
        if is_for_default or (self.default_takes_words and not names_action):
            default = next(action for action in self.actions if action.name == self.default)
            return default, line, ""
        return self.find(name), rest.strip(), name

    def find(self, name: str) -> Action:
        """Return an action of the slash command. Raises UsageError."""
        offered = {action.name: action for action in self.in_session}
        former = {action.name: action for action in self.actions if action.is_former}
        if action := {**former, **offered}.get(name):
            return action
        own_commands = {action.name for action in self.actions if action.is_command}
        hint = f"Use /{name}" if name in own_commands else f"Choose: {', '.join(offered)}"
        raise UsageError(f"Unknown {self.name} action {name!r:.40}.", hint)
