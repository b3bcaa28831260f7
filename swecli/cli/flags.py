"""The flags of `swecli`, and the argument parser of all commands. Imports little, because --help loads it."""

from __future__ import annotations

import argparse
import os

from swecli.llm import default_models
from swecli.models.errors import UsageError
from swecli.similar_names import similar_names

TYPE_CHECKING = False
if TYPE_CHECKING:  # --help loads nothing it does not need
    from collections.abc import Callable, Sequence
    from typing import Any, NoReturn

    Declare = Callable[["Parser"], None]  # adds the actions or arguments of a subcommand
    Run = Callable[[argparse.Namespace], Any]  # an ActionResult, or an exit code


_PROGRAM = __file__.removesuffix("/cli/flags.py")


def _modules_in(folder: str) -> set[str]:
    """Return the names of the modules in a folder of the program, without importing its package."""
    files = os.listdir(f"{_PROGRAM}/{folder}")  # noqa: PTH208  pathlib takes 4 ms
    return {name.removesuffix(".py") for name in files if name.endswith(".py")} - {"__init__"}


_SUMMARIES = {  # by name, in the order of --help
    "tutorial": "try it in ten minutes, offline",
    "sessions": "list, show, search, rename, fork, delete, export, import, replay",
    "playbook": "list, show, why, add, edit, remove, undo, review, good, bad, reflect",
    "learn": "--from SESSION: learn from stored sessions",
    "review": "changes, a branch, a commit, paths or the whole tree",
    "findings": "list, show, dismiss, fixed, reopen, recheck, export",
    "context": "show, why, log, undo, left, back, pin, window, prompt, compact",
    "diff": "what a turn changed in files, and by whom",
    "config": "get, set, path, edit",
    "trust": "list, show, remove: what you trust of folders",
    "mcp": "list, get, add, approve, remove, login, serve: servers with tools",
    "acp": "sessions in an editor, which starts it",
    "hooks": "list, show, approve, withdraw: programs that are asked in a session",
    "plugin": "list, show, add, remove, memory: folders with skills, commands, hooks, servers",
    "permissions": "show, allow, remove: what runs without asking",
    "db": "path, check, backup",
    "sql": "query the database of sessions, read-only",
    "cost": "what a session cost, by model and cause, and what its next request will",
    "stats": "tokens and cost by day",
    "report": "the statistics as one HTML page",
    "models": "models that can be used, and what each needs; show, test, update",
    "doctor": "check this installation",
    "completion": "bash, zsh, fish: completion in your shell",
}
ACTIONS = _modules_in("actions/builtin")  # subcommands that are declared as actions
SUBCOMMANDS = (*_SUMMARIES, *sorted(ACTIONS - _SUMMARIES.keys()))
# where they are not in a module of their own, which actions have if a shell adds to them
_MODULES = dict.fromkeys(ACTIONS - _modules_in("cli"), "actions")
_MAX_SUGGESTIONS = 3  # subcommands that a hint names
_MAX_QUOTED = 80  # characters of an argument in an error
# flags that are subcommands of other programs
_STANDALONE = ("check-update", "continue", "help", "resume", "version")
_DESCRIPTION = "A coding assistant in the terminal whose memory you can see, tune and trust."
_EPILOG = """\
Each takes --help and --json.

A prompt is one argument: swecli "fix the tests". A single word is read as a subcommand; to send it as a prompt, use -p
or put two dashes before it: swecli -- hello. In your home folder, or above it, swecli needs --allow-home.

exit codes of -p: 0 done · 1 failed · 2 usage · 42 bad input · 53 a limit was reached · 75 the provider failed, a retry
may help · 76 the answer does not follow --json-schema · 129 SIGHUP · 130 SIGINT · 143 SIGTERM"""
_FOREIGN_FLAGS = {  # flags of other assistants -> ours
    "--yolo": "--mode auto",
    "--full-auto": "--mode auto",
    "--dangerously-skip-permissions": "--mode auto",
    "--permission-mode": "--mode",
    "--allowedTools": "`swecli config set allow RULE`",
}


class Parser(argparse.ArgumentParser):
    """An ArgumentParser that raises UsageError and accepts no abbreviated flags."""

    _action_parsers: Any = None

    @classmethod
    def for_run(cls) -> Parser:
        """Return the parser of a run; subcommands have their own."""
        parser = cls(
            prog="swecli",
            description=_DESCRIPTION,
            epilog=_EPILOG,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        add = parser.add_argument
        add("prompt", nargs="?", default="", help="becomes the first message")
        add(
            "-c",
            "--continue",
            action="store_true",
            dest="continue_last",
            help="continue this directory's last session",
        )
        add(
            "-r",
            "--resume",
            nargs="?",
            const="",
            metavar="ID|NAME",
            help="resume a session; alone: choose from a list",
        )
        add(
            "-p",
            "--print",
            action="store_true",
            dest="headless",
            help="answer one prompt without a screen and exit",
        )
        add(
            "-m",
            "--model",
            metavar="PROVIDER/NAME",
            help=default_models.EXAMPLES,
        )
        add(
            "--window",
            metavar="N[+S]|full|auto",
            help="reflection window: how many past turns are sent (default 5+3: five, growing to eight)",
        )
        add("--mode", metavar="MODE", help="ask (default), edits, plan or auto")
        add("--max-turns", metavar="N", help="at most this many requests to the model in one turn")
        add("--max-budget-usd", metavar="X", help="stop the turn when it has cost this much")
        later = "with -p: reflect at the next start in a terminal instead"
        add("--no-reflect", action="store_const", const=False, dest="reflect_at_end", help=later)
        add("--output-format", choices=_format_names(), help="with -p (default text)")
        piped = 'with -p (default text); stream-json: a turn for each piped line {"type": "user", "text": "..."}'
        add("--input-format", choices=("text", "stream-json"), help=piped)
        schema = "with -p: the answer is JSON that follows this JSON schema"
        add("--json-schema", metavar="FILE", help=schema)
        goal = "with -p: take turns until this command exits with 0; the prompt may be left out"
        add("--goal", metavar="COMMAND", help=goal)
        add("--goal-turns", metavar="N", help="turns that a goal may take (default 20)")
        add("--goal-budget-usd", metavar="X", help="what a goal may cost (default 5)")
        add("--goal-minutes", metavar="N", help="minutes that a goal may take (default 60)")
        add("--no-color", action="store_const", const=False, dest="color", help="no colours")
        plain = "for screen readers: only lines of text, nothing is redrawn"
        add("--plain", action="store_const", const=True, help=plain)
        add("--db", metavar="URL", help="database file or sqlite:/// URL")
        add("--config", metavar="FILE", help="use this settings file")
        add("-C", "--cwd", metavar="DIR", help="work in this directory")
        add(
            "--add-dir",
            action="append",
            default=[],
            metavar="PATH[:ro]",
            help="also read and change this folder, with :ro only read it (repeatable)",
        )
        add("--allow-home", action="store_true", help="allow your home folder, its parents and /")
        add(
            "--trust",
            action="store_true",
            help="use the project's own files as they are, for this run",
        )
        add("--version", action="store_true", help="print the version")
        add(
            "--check-update",
            action="store_true",
            help="print the command that updates this installation; nothing is asked over the network",
        )
        return parser

    @classmethod
    def for_subcommand(cls, name: str) -> Parser:
        """Return the parser of `swecli NAME`; its module is imported."""
        # late: a run has no subcommand
        import importlib

        importlib.import_module(f"swecli.cli.{_MODULES.get(name, name)}")
        declare = _declarations[name]
        parser = cls(prog=f"swecli {name}", description=declare.__doc__)
        declare(parser)
        if parser.get_default("run") is not None:  # otherwise its actions have them
            parser.add_common_flags()
        return parser

    def __init__(self, *args: Any, **keywords: Any) -> None:
        super().__init__(*args, **{"allow_abbrev": False} | keywords)

    def format_help(self) -> str:
        """Return the help; that of a run ends with the subcommands."""
        if self.prog == "swecli":
            width = max(map(len, SUBCOMMANDS))
            lines = [f"  swecli {name:{width}}  {summary(name)}" for name in SUBCOMMANDS]
            self.epilog = "\n".join(["subcommands:", *lines, _EPILOG])
        return super().format_help()

    @staticmethod
    def requested_format(argv: Sequence[str]) -> str:
        """Return the output format in the arguments, even if they are invalid otherwise; "text" by default."""
        finder = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
        finder.add_argument("--output-format", nargs="?")
        if argv and argv[0] in SUBCOMMANDS:
            return "text"
        output_format = finder.parse_known_args(argv)[0].output_format
        return output_format if output_format in _format_names() else "text"

    @property
    def action_names(self) -> tuple[str, ...]:
        """The actions of a subcommand."""
        return tuple(self._action_parsers.choices) if self._action_parsers is not None else ()

    def action(self, name: str, run: Run, about: str) -> Parser:
        """Add an action of a subcommand, `swecli NAME ACTION`, run by `run`. Returns its parser."""
        if self._action_parsers is None:
            self._action_parsers = self.add_subparsers(dest="action", required=True)
        parser: Parser = self._action_parsers.add_parser(
            name, help=about, description=f"{about[0].upper()}{about[1:]}."
        )
        self._action_parsers.metavar = "|".join(self._action_parsers.choices)
        parser.set_defaults(run=run)
        parser.add_common_flags()
        return parser

    def add_common_flags(self) -> None:
        """Add the flags of every subcommand and action."""
        add = self.add_argument_group("common options").add_argument
        add("--json", action="store_true", help="print JSON")
        add("--db", metavar="URL", help="database file or sqlite:/// URL")
        add("--config", metavar="FILE", help="use this settings file")
        add("-C", "--cwd", metavar="DIR", help="run in this directory")

    def error(self, message: str) -> NoReturn:
        """Raise UsageError with argparse's message."""
        raise UsageError(f"{message[:1].upper()}{message[1:]}.", f"See `{self.prog} --help`.")

    def parse_known_args(  # type: ignore[override]  # the overloads differ only in the namespace
        self, args: Sequence[str] | None = None, namespace: Any = None
    ) -> tuple[argparse.Namespace, list[str]]:
        """Return the namespace and extra positional arguments. Raises UsageError for an unknown flag."""
        namespace, rest = super().parse_known_args(args, namespace)
        for word in rest:
            if word.startswith("-") and word != "-":
                raise self._unknown_flag(word)
        return namespace, rest

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        """Raise UsageError for a value that is none of an argument's choices."""
        choices = [str(choice) for choice in action.choices or ()]
        if not choices or value in choices:
            return
        hint = f"Choose: {', '.join(choices)}."
        if isinstance(action, argparse._SubParsersAction):
            similar = [f"`{self.prog} {name}`" for name in similar_names(value, choices)]
            if similar:
                hint = f"Did you mean {' or '.join(similar)}?"
            raise UsageError(f"There is no `{self.prog} {value[:_MAX_QUOTED]}`.", hint)
        name = "/".join(action.option_strings) or action.metavar or action.dest
        raise UsageError(f"{name}: unknown value {value[:_MAX_QUOTED]!r}.", hint)

    def _unknown_flag(self, flag: str) -> UsageError:
        """Return the error for an unknown flag, with the closest known one as a hint."""
        name = flag.partition("=")[0]
        options = {option.lstrip("-"): option for option in self._option_string_actions}
        similar = [options[word] for word in similar_names(name.lstrip("-"), options)]
        if "mode" in options and name in _FOREIGN_FLAGS:
            similar = [_FOREIGN_FLAGS[name]]
        hint = f"See `{self.prog} --help`."
        if similar:
            hint = f"Did you mean {' or '.join(similar)}?"
        if any(action.dest == "words" for action in self._actions):
            hint += " Put a text that contains words like it in quotes, or after --."
        return UsageError(f"Unknown option {name[:_MAX_QUOTED]}.", hint)


_declarations: dict[str, Declare] = {}


def summary(name: str) -> str:
    """Return what --help says of a subcommand."""
    if name in _SUMMARIES:
        return _SUMMARIES[name]
    description = Parser.for_subcommand(name).description or ""
    return description[0].lower() + description[1:].removesuffix(".")


def subcommand(declare: Declare) -> Declare:
    """Register a function that adds the actions or arguments of `swecli NAME`, named like it without the leading
    underscore. Its docstring is the description in --help."""
    register(declare.__name__.removeprefix("_"), declare)
    return declare


def register(name: str, declare: Declare) -> None:
    """Let this function declare `swecli NAME`."""
    _declarations[name] = declare


def parse_run(argv: Sequence[str]) -> argparse.Namespace:
    """Parse the flags of a run. Raises UsageError, also for flags that exclude each other."""
    parser = Parser.for_run()
    if argv and not argv[0].startswith("-") and {"-h", "--help"} & set(argv):
        _refuse_words(argv[0], [])  # the help of a subcommand that does not exist
    args, rest = parser.parse_known_args(argv)
    for name in ("model", "window", "mode", "db", "config", "cwd", "json_schema", "goal"):
        if getattr(args, name) == "":
            flag = name.replace("_", "-")
            raise UsageError(f"--{flag} has no value.", "Give one, or leave the flag out.")
    if args.continue_last and args.resume is not None:
        raise UsageError("-c and -r cannot be used together.", "Use one of them.")
    if args.headless and args.resume == "":
        raise UsageError("-r needs a session id or name with -p.", "See `swecli sessions list`.")
    if not args.headless:
        for name in ("output_format", "input_format", "json_schema"):
            if getattr(args, name):
                flag = name.replace("_", "-")
                raise UsageError(f"--{flag} needs -p.", "Add -p, or leave it out.")
        if args.goal:
            raise UsageError("--goal needs -p.", "In a session: /goal COMMAND")
    if args.headless and not args.goal:
        for name in ("goal_turns", "goal_budget_usd", "goal_minutes"):
            if getattr(args, name):
                flag = name.replace("_", "-")
                raise UsageError(f"--{flag} needs --goal.", "Add --goal COMMAND, or leave it out.")
    if args.goal and args.json_schema:
        raise UsageError("--goal and --json-schema cannot be used together.", "Use one of them.")
    if args.goal and args.input_format == "stream-json":
        raise UsageError("--goal takes one prompt, or none.", "Leave out --input-format.")
    if rest or (not args.headless and "--" not in argv):
        _refuse_words(args.prompt, rest)
    return args


def _refuse_words(word: str, rest: Sequence[str]) -> None:
    """Raise UsageError if the words are not one prompt, so that a mistyped subcommand does not become a paid request.
    A slash command or shell line passes, because it is not sent to a model, and so does a word that is not ASCII,
    because some languages have no spaces."""
    # late: most runs have no prompt
    from swecli.models.typed_line import parse_line

    if not rest and (
        not word.isascii() or word.split() != [word] or parse_line(word).kind != "text"
    ):
        return
    words = " ".join(rest)
    if word in SUBCOMMANDS:
        raise UsageError(
            "Put the subcommand first.",
            f"For example: swecli {word} {words[:_MAX_QUOTED] or '--help'}",
        )
    suggestions = []
    for name in _suggest(word.lower()):
        command = f"swecli {name} {words[:_MAX_QUOTED]}".rstrip()
        suggestions.append(name if name.startswith("/") else f"`{command}`")
    prompt = f"{word} {words}"[:_MAX_QUOTED]
    how_to_send = f"To send it as a prompt: swecli -- {word[:_MAX_QUOTED]}"
    if rest:
        how_to_send = f'Put the prompt in quotes: "{prompt}"'
    if rest and not suggestions:
        raise UsageError(f"Unexpected arguments: {words}.", how_to_send)
    hint = "See `swecli --help`, or /help in a session."
    if suggestions:
        hint = f"Did you mean {' or '.join(suggestions)}?"
    raise UsageError(f"Unknown subcommand {word[:_MAX_QUOTED]!r}.", f"{hint} {how_to_send}")


def actions_named(word: str) -> list[str]:
    """Return the subcommands that have an action of this name, with it: `context pin`."""
    parsers = {name: Parser.for_subcommand(name) for name in SUBCOMMANDS}
    return [f"{name} {word}" for name, parser in parsers.items() if word in parser.action_names]


def _suggest(word: str) -> list[str]:
    """Return what a word that is no subcommand may stand for: the action of one or more, else a similar name."""
    standalone = [f"--{name}" for name in _STANDALONE if word in name.split("-")]
    actions = [] if standalone else actions_named(word)
    if actions:
        # late: only for the name of an action
        from swecli.repl.commands.registry import CommandTable

        is_command = CommandTable.discover().find(word) is not None
        in_session = [f"/{word} in a session"] if is_command else []
        return [*in_session, *actions][:_MAX_SUGGESTIONS]
    if standalone:
        return standalone
    names = similar_names(word, (*SUBCOMMANDS, *_STANDALONE), 1)
    return [f"--{name}" if name in _STANDALONE else name for name in names]


def _format_names() -> tuple[str, ...]:
    """Return the values of --output-format, sorted: each is the name of a module in headless/writers."""
    formats = _modules_in("headless/writers") - {"base"}
    return tuple(sorted(name.replace("_", "-") for name in formats))
