"""Tell whether a command is one of the plain forms that only read, which reading.toml lists. Where there is a sandbox
the kernel says so; this is for machines without one, and for what stands beside a command that a rule covers."""

from __future__ import annotations

import glob
import os
import re
import tomllib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import field, replace
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any

from swecli.config.paths import project_root
from swecli.folders import walk
from swecli.tools.base import ToolError
from swecli.tools.commands.syntax import CommandLine, SimpleCommand, Word
from swecli.tools.git import find_program_risk, names_content, shown_paths
from swecli.tools.guard import Guard, Reading
from swecli.tools.limits import one_line
from swecli.tools.own_programs import find_program
from swecli.tools.paths import resolve_path
from swecli.values import dataclass

_MAX_MATCHES = 2_000  # of a wildcard
_MAX_SHOWN = 40  # characters shown of a part of the command
_MAX_ENTRIES = 20_000  # of a folder that is read with all that is in it
_SETS = ("recursive", "summaries", "patches")  # fields of an entry that are options
_EXCLUDING = (":!", ":^", ":(exclude)")  # begin a path that git leaves out
_NUMBER = re.compile(r"-\d+")
_SIGNATURE = re.compile(r"%[-+ ]?G|%\(signature")  # in a format: git starts gpg


class _Doubt(Exception):
    """Why a command may do more than read."""


@dataclass(frozen=True, slots=True)
class _Form:
    """An entry of reading.toml, which describes the fields. `options` maps each option to its kind of value."""

    options: Mapping[str, str] = field(default_factory=dict)
    operands: str = ""
    dashed: bool = False
    most: int | None = None
    recursive: frozenset[str] = frozenset()
    summaries: frozenset[str] = frozenset()
    patches: frozenset[str] = frozenset()

    def shows_contents(self, options: set[str]) -> bool:
        """Return whether git shows contents of files with the chosen options."""
        if self.patches:
            return bool(self.patches & options)
        return bool(self.summaries) and not self.summaries & options


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a command would run: the workspace `root` and the working folder `base`, both resolved, and the guard of
    that workspace."""

    root: Path
    base: Path
    environ: Mapping[str, str]
    guard: Guard

    def resolve(self, text: str) -> Path:
        """Return the real path of a word. Raises ToolError if it is outside the workspace."""
        return resolve_path(self.root, os.path.join(self.base, text))  # noqa: PTH118  `text` may be absolute

    def check_read(self, text: str) -> None:
        """Refuse a path that may not be read without approval."""
        if text in ("-", "/dev/null"):
            return
        path = self.resolve(text)
        self.check_name(os.path.join(self.base, text))  # noqa: PTH118  links are not followed yet
        if path.exists() and not path.is_file() and not path.is_dir():
            raise _Doubt(f"{_short(text)} is a pipe, socket or device")

    def check_tree(self, text: str) -> None:
        """Refuse a path like `check_read`, and a folder in which something may not be read without approval, or is
        neither file nor folder. Links in it are not followed."""
        self.check_read(text)
        count = 0
        for folder, entries in walk(str(self.resolve(text))):
            count += len(entries)
            if count > _MAX_ENTRIES:
                raise _Doubt(f"{_short(text)} has too many files to look at each")
            for entry in entries:
                name = os.path.relpath(f"{folder}/{entry.name}", self.root)
                is_special = not (entry.is_symlink() or entry.is_file() or entry.is_dir())
                if is_special:
                    raise _Doubt(f"{_short(name)} is a pipe, socket or device")
                access = self.guard.judge(name)
                if access.read is not Reading.FREE:
                    raise _Doubt(access.read_reason)

    def check_name(self, path: str) -> None:
        """Refuse a path, which need not exist, that may not be read without approval."""
        access = self.guard.access(path)
        if access.read is not Reading.FREE and not access.is_for_place:
            raise _Doubt(access.read_reason)


def why_not_reading(
    line: CommandLine,
    guard: Guard,
    environ: Mapping[str, str],
    covered: Collection[SimpleCommand] = (),
) -> str:
    """Return why a command line may do more than read in the workspace, but for the commands that a rule has covered;
    "" if it does not."""
    real_root = guard.root.resolve()
    place = _Place(real_root, real_root, environ, guard)
    commands = line.commands
    try:
        for index, command in enumerate(commands):
            if command in covered:
                continue
            if command.program == "cd" and index == 0 and len(commands) > 1:
                place = _change_folder(place, command, commands[1].operator)
            else:
                _check(command, place)
        for path in line.inputs:
            place.check_read(path)
    except _Doubt as doubt:
        return str(doubt)
    except ToolError as error:
        return error.message.rstrip(".")  # its hint is for the model
    except OSError as error:
        return f"cannot be looked at: {error.strerror or error}"
    return ""


def _change_folder(place: _Place, command: SimpleCommand, operator: str) -> _Place:
    """Return the place of the rest of `cd FOLDER && ...`."""
    folder = command.words[-1].text
    is_plain = len(command.words) == 2 and _is_plain(command.words[1])
    if not is_plain or operator != "&&" or folder.startswith("-") or ".." in folder.split("/"):
        raise _Doubt("changes the folder, which is followed only at the start: `cd FOLDER && …`")
    base = place.resolve(folder)
    if not base.is_dir():
        raise _Doubt(f"{_short(folder)} is not a folder")
    return replace(place, base=base)


def _check(command: SimpleCommand, place: _Place) -> None:
    """Raise _Doubt or ToolError if a simple command may do more than read in the workspace."""
    name, words = _name_form(command)
    form = _forms().get(name)
    if form is None:
        raise _Doubt(f"{_short(name)} may change files")
    _check_program(command.words[0].text, place)
    options, operands = _split_options(form, name, words)
    is_open = any(operand.has_wildcard for operand in operands)
    if form.most is not None and (is_open or len(operands) > form.most):
        raise _Doubt(f"{name} may write if it has more than one argument")
    if not form.operands and operands:
        raise _Doubt(f"{_short(f'{name} {operands[0].raw}')} may change files")
    if form.operands != "text":
        # a text that is a wildcard becomes the names of files, and all but the first are read
        has_text = form.operands == "text+paths" and not any(
            operand.has_wildcard for operand in operands[:1]
        )
        paths = operands[1 if has_text else 0 :]
        is_recursive = bool(form.recursive & options)
        check = place.check_tree if is_recursive else place.check_read
        for operand in paths:
            _check_operand(operand, check, place, is_revision=form.operands == "revisions")
        if is_recursive and not paths:
            check(".")
    if name.startswith("git "):
        _check_git(name.removeprefix("git "), form, options, words, place)


def _name_form(command: SimpleCommand) -> tuple[str, Sequence[Word]]:
    """Return the name of a command in reading.toml, `git log` for git, and the words behind it."""
    name = command.words[0].raw
    words = command.words[1:]
    if name != "git":
        return name, words
    if words and words[0].text == "--no-pager":
        words = words[1:]
    subcommand = words[0].text if words and words[0].is_known else ""
    return f"git {subcommand}".rstrip(), words[1:]


def has_plain_form(command: SimpleCommand) -> bool:
    """Return whether the program of a command, or its subcommand of git, has a plain form."""
    return _name_form(command)[0] in _forms()


def _split_options(form: _Form, name: str, words: Sequence[Word]) -> tuple[set[str], list[Word]]:
    """Return the options of a command, and its operands. Raises _Doubt for an option that its form does not have."""
    options: set[str] = set()
    operands: list[Word] = []
    remaining = iter(words)
    only_operands = False
    for word in remaining:
        if not word.is_known:
            raise _Doubt(f"{_short(word.raw)} is only known to the shell")
        text = word.text
        is_option = text in form.options or (text.startswith("-") and text != "-")
        if only_operands or not is_option:
            if word.has_wildcard and text.startswith(("*", "?", "[")) and form.dashed:
                raise _Doubt(f"{_short(word.raw)} could expand to an option")
            operands.append(word)
        elif text == "--":
            only_operands = True
            options.add("--")
        else:
            options.update(_read_option(form, name, text, remaining))
    return options, operands


def _read_option(form: _Form, name: str, text: str, following: Iterator[Word]) -> list[str]:
    """Return the options that one word gives; a value in the next word is taken from `following`."""
    if _NUMBER.fullmatch(text) and "-#" in form.options:
        return []
    option, _, value = text.partition("=")
    if text.startswith("--") or form.dashed or text in form.options:
        kind = form.options.get(option)
        if kind is None or (value and kind == ""):
            raise _Doubt(f"{_short(f'{name} {option}')} may change files")
        if kind == ":" and not value:
            next(following, None)
        return [option]
    letters = []
    for index, letter in enumerate(text[1:], 2):
        kind = form.options.get(f"-{letter}")
        if kind is None:
            raise _Doubt(f"{_short(f'{name} -{letter}')} may change files")
        letters.append(f"-{letter}")
        if kind == ":":
            if not text[index:]:
                next(following, None)
            break
    return letters


def _check_program(name: str, place: _Place) -> None:
    """Refuse a program that the PATH may find in the workspace."""
    folders = place.environ.get("PATH", os.defpath).split(os.pathsep)
    if not all(folder.startswith("/") for folder in folders):
        raise _Doubt("finds its programs by a PATH with a relative folder")
    first = next(
        (f"{folder}/{name}" for folder in folders if os.access(f"{folder}/{name}", os.X_OK)), None
    )
    if first is not None and first != find_program(name, place.environ, place.root):
        raise _Doubt(f"{_short(name)} is a program of the workspace")


def _check_operand(
    word: Word, check: Callable[[str], None], place: _Place, *, is_revision: bool
) -> None:
    """Refuse an operand that names, or expands to, what `check` refuses."""
    if word.text[:1] in ("+", "@"):  # tail +5f; a file with options
        raise _Doubt(f"{_short(word.raw)} may be an option")
    if is_revision:
        _check_revision(word.text, place)
    else:
        check(word.text)
    if not word.has_wildcard:
        return
    matches = sorted(islice(glob.iglob(word.text, root_dir=place.base), _MAX_MATCHES + 1))  # noqa: PTH207  as a shell
    if len(matches) > _MAX_MATCHES:
        raise _Doubt(f"{_short(word.raw)} matches too many files")
    for match in matches:
        if match.startswith(("-", "+", "@")):
            raise _Doubt(f"{_short(match)} would be taken for an option")
        check(match)


def _check_revision(text: str, place: _Place) -> None:
    """Refuse a revision, path or `revision:path` of git that may not be read."""
    if text.startswith(_EXCLUDING):
        return
    pieces = text.split(":")
    if not pieces[0]:  # a path with magic: ':/README.md'
        pieces = [piece.lstrip("/") for piece in pieces]
    for index, piece in enumerate(pieces):
        if piece:
            place.check_read(piece)
        if piece and index:  # from the top of the repository
            place.check_name(os.path.normpath(project_root(place.base) / piece))


def _check_git(
    name: str, form: _Form, options: set[str], following: Sequence[Word], place: _Place
) -> None:
    """Refuse a command of git that may start a program, or shows a file that may not be read."""
    words = [word.text for word in following]
    if any(_SIGNATURE.search(word) for word in words):
        raise _Doubt("starts gpg, to look at signatures")
    has_diffs = name in ("diff", "show", "log")
    reads_files = name in ("diff", "status")
    risk = find_program_risk(place.base, place.environ, diffs=has_diffs, work_tree=reads_files)
    if risk:
        raise _Doubt(risk)
    shows_contents = form.shows_contents(options)
    # what an object is a file's contents of, `git show` prints whole, whatever its options
    prints_objects = shows_contents or name == "show"
    if prints_objects and any(names_content(place.base, place.environ, word) for word in words):
        raise _Doubt("shows files that are not known in advance")
    if not shows_contents:
        return
    paths = shown_paths(place.base, place.environ, [name], words)
    if paths is None:
        raise _Doubt("shows files that are not known in advance")
    for path in paths:
        place.check_name(os.path.normpath(project_root(place.base) / path))


def _is_plain(word: Word) -> bool:
    return word.is_known and not word.has_wildcard and bool(word.text)


def _short(text: str) -> str:
    return one_line(text, _MAX_SHOWN)


@cache
def inert_programs() -> frozenset[str]:
    """Return the names of the programs that run nothing that their words or their input say."""
    return frozenset([*_table()["forms"], *_table()["inert"], "git"]) - {"find"}


def may_show_contents(subcommand: str) -> bool:
    """Return whether a subcommand of git may print what its objects hold: each that is not known to do something
    else."""
    return subcommand not in _table()["silent_git"]


@cache
def _forms() -> Mapping[str, _Form]:
    rows = _table()["forms"] | {f"git {name}": row for name, row in _table()["git"].items()}
    return {name: _form(row) for name, row in rows.items()}


@cache
def _table() -> Mapping[str, Any]:
    return tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))


def _form(row: Mapping[str, Any]) -> _Form:
    options = dict(re.findall(r"(\S+?)([:?]?)(?:\s|$)", row.get("options", "")))
    sets = {name: frozenset(row.get(name, "").split()) for name in _SETS}
    return _Form(**{**row, "options": options, **sets})
