"""Known programs and their options, from programs.toml, and checks of the files that a command would access."""

from __future__ import annotations

import glob
import os
import re
import subprocess
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any

from swecli.config.paths import project_root
from swecli.folders import walk
from swecli.tools.base import ToolError
from swecli.tools.commands import reasons
from swecli.tools.commands.shell_words import Word
from swecli.tools.git import read_only_environment
from swecli.tools.guards import before_reading, before_writing
from swecli.tools.own_programs import find_program, find_ripgrep
from swecli.tools.paths import relative_path, resolve_path
from swecli.tools.sensitive import read_guard

_WORD = re.compile(r"[A-Za-z][\w:./-]*")  # a subcommand, a module, a script


@dataclass(frozen=True, slots=True)
class Program:
    """An entry of programs.toml, which describes the fields. `options` maps each option to its kind of value."""

    options: Mapping[str, str] = field(default_factory=dict)
    operands: str = "none"
    text: re.Pattern[str] | None = None
    pattern_options: frozenset[str] = frozenset()
    recurses: frozenset[str] = frozenset()
    one_operand: bool = False
    include: str = ""
    shows: str = ""
    dashed: bool = False
    strict: bool = False
    work_tree: bool = False
    diffs: bool = False
    subs: Mapping[str, Program] = field(default_factory=dict)
    refused: Mapping[str, str] = field(default_factory=dict)
    otherwise: str = ""
    does: str = ""


@cache
def known_programs(*, named: bool = False) -> dict[str, Program]:
    """Return the programs that run without approval, by name; `named`: with what the wildcard of a rule may cover if
    the rule names the program."""
    data = _data()
    kind = "named" if named else "reads"
    tables: dict[str, Any] = {}
    for shared in data["many"]:
        if kind in shared:
            names = str(shared["programs"]).split()
            tables |= dict.fromkeys(names, shared[kind])
    if named:
        git = data["reads"]["git"]
        tables["git"] = git | {"subs": git["subs"] | data["named"]["git"]["subs"]}
        return known_programs() | {name: _program(table) for name, table in tables.items()}
    return {name: _program(table) for name, table in (data["reads"] | tables).items()}


@cache
def _data() -> dict[str, Any]:
    return tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))


def _program(table: Mapping[str, Any]) -> Program:
    refused = table.get("refused", {})
    strict = {"strict": table.get("strict", False)}
    inherited = {option: why for option, why in refused.items() if option}
    subs = table.get("subs", {}).items()
    parsed: dict[str, Any] = {
        "options": dict(re.findall(r"(\S+?)([:@~?$]?)(?:\s|$)", table.get("options", ""))),
        "text": re.compile(table["text"], re.DOTALL) if "text" in table else None,
        "pattern_options": frozenset(table.get("pattern_options", "").split()),
        "recurses": frozenset(table.get("recurses", "").split()),
        "subs": {
            name: _program(strict | sub | {"refused": inherited | sub.get("refused", {})})
            for name, sub in subs
        },
    }
    return Program(**{**table, **parsed})


def rule_words(words: list[str]) -> list[str]:
    """Return the first words of a command, for a lasting rule; none if no rule should be offered."""
    lasting = _data()["lasting"]
    name = words[0].rsplit("/", 1)[-1]
    starts = [" ".join([name, *words[1:count]]) for count in range(1, 4)]
    if set(starts) & set(lasting["never"]):
        return []
    program = known_programs(named=True).get(name)
    if program is not None and "*" in program.refused:
        return []

    count = 2
    if starts[1] in lasting["three"]:
        count = 3
    elif name in lasting["one"]:
        count = 1

    first = words[:count]
    is_plain = all(word == "-m" or _WORD.fullmatch(word) for word in first[1:])
    is_whole = count < 3 or len(first) == 3
    if is_plain and is_whole:
        return first
    if count == 3 or name in lasting["two"]:
        return []
    return words[:1]


def recipe_names(program: str) -> list[str]:
    """Return the names of the files that a program looks for in its folder, and whose commands it runs."""
    return str(_data()["recipes"].get(program, "")).split()


_MAX_MATCHES = 2_000
_MAX_ENTRIES = 20_000
_SECONDS = 5.0  # for a program that names the files it would read
_SET = re.compile(r"\[[!^]?\w[\w-]*\]")


class GuardedFile(ToolError):
    """The command would read or change a file that every mode asks about."""


@dataclass(frozen=True, slots=True)
class CommandScope:
    """Where a command would run: the workspace `root` and the working folder `base`, both resolved. The checks raise
    ToolError."""

    root: Path
    base: Path
    environ: Mapping[str, str]

    def resolve(self, text: str) -> Path:
        """Return the real path of a word. Raises ToolError if it is outside the workspace."""
        below = relative_path(self.root, self.base)
        return resolve_path(
            self.root, text if text.startswith("/") or below == "." else f"{below}/{text}"
        )

    def exists(self, text: str) -> bool:
        """Return whether the working folder has an entry with this name."""
        return os.path.lexists(self.base / text)

    def check_program(self, name: str) -> None:
        """Refuse a program that the PATH finds in the workspace."""
        for folder in self.environ.get("PATH", os.defpath).split(os.pathsep):
            if not folder.startswith("/"):
                raise ToolError(reasons.RELATIVE_PATH)
            path = Path(folder, name)
            if os.access(path, os.X_OK) and path.is_file():
                if path.is_relative_to(self.root) or path.resolve().is_relative_to(self.root):
                    raise ToolError(reasons.about(reasons.OF_WORKSPACE, name))
                return

    def check_read(self, word: str) -> None:
        """Refuse a path that may not be read without approval."""
        if word in ("-", "/dev/null"):
            return
        path = self.resolve(word)
        if why := before_reading(self.root, relative_path(self.root, path)):
            raise GuardedFile(why)
        if path.exists() and not path.is_file() and not path.is_dir():
            raise ToolError(reasons.about(reasons.NO_FILE, word))

    def check_write(self, word: str) -> None:
        """Refuse a path that may not be changed without approval, even if a rule names the program."""
        path = relative_path(self.root, self.resolve(word))
        if path == ".":
            raise ToolError(reasons.WHOLE_FOLDER)
        if why := before_writing(self.root, path):
            raise GuardedFile(why)

    def check_revision(self, word: str) -> None:
        """Refuse a revision, path or `revision:path` that git may not read without approval."""
        pieces = word.split(":")
        if word.startswith(":"):  # pathspec magic
            pieces = [
                piece.lstrip("/!^") if index < 2 else piece for index, piece in enumerate(pieces)
            ]
        for index, piece in enumerate(pieces):
            if piece:
                self.check_read(piece)
            if piece and index:
                self.check_shown(piece)

    def check_shown(self, name: str) -> None:
        """Refuse a path as git names it, from the top of the repository."""
        path = Path(os.path.normpath(project_root(self.base) / name))
        if not path.is_relative_to(self.root):
            why = read_guard(name)
        else:
            why = before_reading(self.root, relative_path(self.root, path))
        if why:
            raise GuardedFile(why)

    def expand(self, word: Word) -> list[str]:
        """Return the words that the shell makes of this one, which was checked before."""
        found = sorted(glob.iglob(word.text, root_dir=self.base)) if word.has_wildcard else []  # noqa: PTH207  as above
        return found or [word.text]

    def check_expansion(self, word: Word, *, strict: bool) -> None:
        """Refuse wildcards that may expand to an option or to a path that may not be read. A character set is checked
        as `?`. `strict`: refuse a leading wildcard, whatever it matches now."""
        text = _SET.sub("?", word.text)
        if "[" in text:
            raise ToolError(reasons.WILDCARD)
        if strict and text[0] in "*?":
            raise ToolError(reasons.about(reasons.EXPANDS_TO_OPTION, word.raw))
        self.check_read(word.text)  # before listing: no folder on the way may be outside
        found = sorted(islice(glob.iglob(text, root_dir=self.base), _MAX_MATCHES + 1))  # noqa: PTH207  as a shell, without dots
        if len(found) > _MAX_MATCHES:
            raise ToolError(reasons.about(reasons.TOO_MANY_MATCHES, word.raw))
        for match in found:
            if match.startswith(("-", "+", "@")):
                raise ToolError(reasons.about(reasons.BECOMES_OPTION, match))
            self.check_read(match)

    def check_folder(self, word: str, *, endings: Sequence[str], follows: bool) -> None:
        """Refuse a folder if a file below it may not be read without approval. `endings`: only names that end so are
        read; all, if there is none. `follows`: links below it are followed."""
        count = 0
        for folder, entries in walk(str(self.resolve(word))):
            count += len(entries)
            if count > _MAX_ENTRIES:
                raise ToolError(reasons.TOO_MANY_FILES)
            below = relative_path(self.root, Path(folder))
            for entry in entries:
                path = entry.name if below == "." else f"{below}/{entry.name}"
                is_read = not endings or entry.name.lower().endswith(tuple(endings))
                if is_read and not entry.is_dir():
                    self._check_found(word, path)
                if follows and entry.is_symlink():
                    self._check_link(path)

    def _check_found(self, word: str, path: str) -> None:
        """Refuse a workspace-relative path that a search of the folder `word` would read."""
        if why := before_reading(self.root, path):
            raise GuardedFile(reasons.searched(word, why))

    def _check_link(self, path: str) -> None:
        target = resolve_path(self.root, path)
        if target.is_dir():
            raise ToolError(reasons.about(reasons.LINKED_FOLDER, path))
        self._check_found(path, relative_path(self.root, target))

    def check_search(self, options: Sequence[str], paths: Sequence[str]) -> None:
        """Refuse a search with ripgrep if it would read a file that may not be read without approval. Hidden names,
        globs and ignore files decide which ones it reads, so it is asked itself."""
        program = find_program("rg", self.environ, self.root)
        program = program or find_ripgrep(self.environ, self.root)
        if program is None:
            return  # nothing will run
        argv = [program, *options, "--files", "--null", "--color=never", "--", *paths]
        try:
            done = subprocess.run(
                argv,
                cwd=self.base,
                env=read_only_environment(self.environ),
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=_SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired as error:
            raise ToolError(reasons.TOO_MANY_FILES) from error
        if done.returncode not in (0, 1):  # 1: no files
            raise ToolError(reasons.UNKNOWN_SEARCH)
        names = done.stdout.split(b"\0")
        if len(names) > _MAX_ENTRIES:
            raise ToolError(reasons.TOO_MANY_FILES)
        below = str(self.base.relative_to(self.root))
        for name in filter(None, names):
            path = os.path.normpath(f"{below}/{os.fsdecode(name)}")
            self._check_found(" ".join(paths) or ".", path)
