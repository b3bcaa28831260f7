"""Known programs and their options, from programs.toml, and checks of the files that a command would access."""

from __future__ import annotations

import glob
import os
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any

from swecli.tools.base import ToolError
from swecli.tools.commands.shell_words import Word
from swecli.tools.files import is_sensitive, read_guard, relative_path, resolve_path, write_guard
from swecli.tools.limits import one_line

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
    dashed: bool = False
    strict: bool = False
    work_tree: bool = False
    diffs: bool = False
    subs: Mapping[str, Program] = field(default_factory=dict)
    refused: Mapping[str, str] = field(default_factory=dict)


@cache
def known_programs(*, named: bool = False) -> dict[str, Program]:
    """Return the programs that run without approval, by name; `named`: with what the wildcard of a rule may cover if
    the rule names the program."""
    data, kind = _data(), "named" if named else "reads"
    tables = {
        name: one[kind]
        for one in data["many"]
        if kind in one
        for name in str(one["programs"]).split()
    }
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
    known, name = _data()["lasting"], words[0].rsplit("/", 1)[-1]
    starts = [" ".join([name, *words[1:count]]) for count in range(1, 4)]
    program = known_programs(named=True).get(name)
    if set(starts) & set(known["never"]) or (program is not None and "*" in program.refused):
        return []
    count = 3 if starts[1] in known["three"] else 1 if name in known["one"] else 2
    first = words[:count]
    is_plain = all(_WORD.fullmatch(word) for word in first[1:] if word != "-m")
    if is_plain and (count < 3 or len(first) == 3):
        return first
    return [] if count == 3 or name in known["two"] else words[:1]


_MAX_MATCHES = 2_000
_MAX_ENTRIES = 20_000
_SET = re.compile(r"\[[!^]?\w[\w-]*\]")


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
                raise ToolError("the PATH contains a relative folder")
            path = Path(folder, name)
            if os.access(path, os.X_OK) and path.is_file():
                if path.is_relative_to(self.root) or path.resolve().is_relative_to(self.root):
                    raise ToolError(f"{name} is a program of the workspace")
                return

    def check_read(self, word: str) -> None:
        """Refuse a path that may not be read without approval."""
        if word not in ("-", "/dev/null") and (
            why := read_guard(relative_path(self.root, self.resolve(word)))
        ):
            raise ToolError(why)

    def check_write(self, word: str) -> None:
        """Refuse a path that may not be changed without approval, even if a rule names the program."""
        path = relative_path(self.root, self.resolve(word))
        if why := "it changes the whole workspace" if path == "." else write_guard(path):
            raise ToolError(why)

    def check_revision(self, word: str) -> None:
        """Refuse a revision, path or `revision:path` that git may not read without approval."""
        pieces = word.split(":")
        if word.startswith(":"):  # pathspec magic
            pieces = [
                piece.lstrip("/!^") if index < 2 else piece for index, piece in enumerate(pieces)
            ]
        for piece in filter(None, pieces):
            self.check_read(piece)

    def check_expansion(self, word: Word, *, strict: bool) -> None:
        """Refuse wildcards that may expand to an option or to a path that may not be read. A character set is checked
        as `?`. `strict`: refuse a leading wildcard, whatever it matches now."""
        text = _SET.sub("?", word.text)
        if "[" in text:
            raise ToolError("it contains a wildcard that cannot be checked")
        if strict and text[0] in "*?":
            raise ToolError(f"{one_line(word.raw, 40)} could expand to an option")
        self.check_read(word.text)  # before listing: no folder on the way may be outside
        found = sorted(islice(glob.iglob(text, root_dir=self.base), _MAX_MATCHES + 1))  # noqa: PTH207  as a shell, without dots
        if len(found) > _MAX_MATCHES:
            raise ToolError(f"{one_line(word.raw, 40)} matches too many files")
        for match in found:
            if match.startswith(("-", "+", "@")):
                raise ToolError(f"{one_line(match, 40)} would be taken for an option")
            self.check_read(match)

    def check_folder(self, word: str, *, hidden: bool, include: list[str]) -> None:
        """Refuse a folder if a file below it may not be read without approval. `hidden`: the command reads dot files
        too. `include`: it reads only names that match one of these, if any."""
        top, count = self.resolve(word), 0
        for folder, folders, files in os.walk(top):
            if not hidden:
                folders[:] = [name for name in folders if not name.startswith(".")]
            count += len(folders) + len(files)
            if count > _MAX_ENTRIES:
                raise ToolError(f"{one_line(word, 40)} contains too many files to check")
            parent = Path(folder).name if folder != str(top) else ""
            for name in files:
                if not hidden and name.startswith("."):
                    continue
                if include and not any(fnmatchcase(name, pattern) for pattern in include):
                    continue
                if is_sensitive(f"{parent}/{name}" if parent else name):
                    raise ToolError(
                        f"{one_line(word, 40)} contains {one_line(name, 40)}, which may be secret"
                    )
