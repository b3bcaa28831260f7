"""Check whether a simple command is read-only, or covered by a rule, by the options and operands known of its
program."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from swecli.tools.base import ToolError
from swecli.tools.commands import reasons
from swecli.tools.commands.programs import CommandScope, Program, known_programs
from swecli.tools.commands.shell_words import SimpleCommand, Word
from swecli.tools.git import find_program_risk, names_content, shown_paths

_BRANCH = re.compile(r"[\w.@{}^][\w./@{}~^-]*")
_NUMBER = re.compile(r"-\d+")
_ENDING = re.compile(r"\*\.\w+")
_LISTS = frozenset({"--files", "--type-list", "--version", "-V"})  # ripgrep then reads no file
_BY_PATH = re.compile(r":(?![/!^(])[^{]*|[^:{][^:{]*:[^{]*", re.DOTALL)  # revision:path
_SIGNATURE = re.compile(r"%[-+ ]?G|%\(signature")  # in a format
# Options with which every git command shows differences line by line, and those without which some do.
_PATCHES = frozenset(
    {
        *("-p", "-u", "-U", "-c", "-m", "-W", "--cc", "--patch", "--unified", "--binary", "--diff-merges"),
        *("--color-words", "--word-diff", "--word-diff-regex", "--function-context"),
    }
)  # fmt: skip
_SUMMARIES = frozenset(
    {
        *("-s", "-q", "--no-patch", "--quiet", "--raw", "--stat", "--numstat", "--shortstat", "--dirstat", "--summary"),
        *("--compact-summary", "--name-only", "--name-status"),
    }
)  # fmt: skip


def check_read_only(part: SimpleCommand, scope: CommandScope) -> None:
    """Raise ToolError if the command may do more than read inside the workspace."""
    name = part.words[0].text
    program = known_programs().get(name)
    if name == "cd":
        raise ToolError(reasons.CD)
    if program is None:
        raise ToolError(_describe(name, known_programs(named=True).get(name)))
    scope.check_program(name)
    _Check(program, name, part.words[1:], scope, piped=part.operator == "|").run()


def check_covered(part: SimpleCommand, named: int, scope: CommandScope) -> None:
    """Raise ToolError if a rule's wildcard covers words that are not known to be harmless. The first `named` words are
    named by the rule itself and not checked."""
    name = part.words[0].text.rsplit("/", 1)[-1]
    program = known_programs(named=named > 0).get(name)
    if program is None and name in known_programs(named=True):
        raise ToolError(reasons.no_rule(name))
    if program is not None:
        piped = part.operator == "|"
        _Check(program, name, part.words[1:], scope, named - 1, piped).run()


def _describe(name: str, known: Program | None) -> str:
    """Return why a program or subcommand asks that is not in the table of those that only read; `known` is its entry
    among those that a rule may name."""
    if known is None:
        return reasons.about(reasons.MAY_DO_MORE, name)
    return reasons.about(known.refused.get("*") or known.does or reasons.DOES_MORE, name)


@dataclass(slots=True)
class _Check:
    """A pass over a program's words, of which the first `named` are not checked. `piped`: the output of another
    command is its input. `seen` maps options to their values. `has_unknown`: a rule names an unknown option."""

    program: Program
    name: str
    words: Sequence[Word]
    scope: CommandScope
    named: int = 0
    piped: bool = False
    operands: list[tuple[Word, bool]] = field(
        default_factory=list
    )  # the word, and whether it is checked
    seen: dict[str, list[str]] = field(default_factory=dict)
    index: int = 0
    has_unknown: bool = False

    def run(self) -> None:
        program = self.program
        if why := program.refused.get("*"):
            raise ToolError(reasons.about(why, self.name))
        ended = False
        while self.index < len(self.words):
            word = self.words[self.index]
            self.index += 1
            self._check_wildcard(word, strict=program.strict)
            # python3 -- --version runs a file of that name
            option = not ended and self._is_option(word.text)
            may_be_sub = not ended and self._may_be_subcommand(word.text, option=option)
            if may_be_sub and self._check_subcommand(word):
                return
            if self.operands:
                self._check_behind_operand(word)
            if not option:
                self.operands.append((word, self._is_checked))
                if program.operands == "first":
                    break
            elif word.text == "--":
                ended = True
                self.seen["--"] = []
            elif self._check_option(word.text):
                return
        self._finish()

    def _is_option(self, text: str) -> bool:
        if text == "-":
            return False
        return text.startswith("-") or text in self.program.options

    def _may_be_subcommand(self, text: str, *, option: bool) -> bool:
        subs = self.program.subs
        if not subs or self.operands:
            return False
        return not option or text in subs

    @property
    def _is_checked(self) -> bool:
        return self.index > self.named

    def _check_behind_operand(self, word: Word) -> None:
        """Refuse a word that some versions of a program take for an option and others for a file."""
        if self.program.one_operand:
            raise ToolError(reasons.about(reasons.WRITES_SECOND, self.name))
        if word.text.startswith("-") and self.scope.exists(word.text) and self._is_checked:
            raise ToolError(reasons.about(reasons.OPTION_OR_FILE, word.text))

    def _check_wildcard(self, word: Word, *, strict: bool) -> None:
        if word.has_wildcard and self._is_checked:
            self.scope.check_expansion(word, strict=strict)

    def _check_subcommand(self, word: Word) -> bool:
        """Check the rest by the subcommand's entry. Return False if the word is not a subcommand."""
        # subcommands that change things count only if the rule names them
        owner = self.program
        if self._is_checked:
            owner = known_programs().get(self.name, self.program)
        program = owner.subs.get(word.text)
        name = f"{self.name} {word.text}"
        if program is None:
            if self.program.operands == "none" and self._is_checked:
                if why := self.program.refused.get(""):
                    raise ToolError(reasons.about(why, self.name))
                named = known_programs(named=True).get(self.name, self.program).subs
                raise ToolError(_describe(name, named.get(word.text)))
            return not self._is_checked
        scope = self.scope
        for folder in self.seen.get("-C", []):
            scope = replace(scope, base=scope.resolve(folder))
        _Check(program, name, self.words[self.index :], scope, self.named - self.index).run()
        return True

    def _check_option(self, text: str) -> bool:
        """Check an option and its value. Return True if all further words belong to another program."""
        options = self.program.options
        if _NUMBER.fullmatch(text) and "-#" in options:
            return False
        if self.program.dashed:
            return self._check_dashed_option(text)
        if text.startswith("--") or text in options:
            return self._check_long_option(text)
        return self._check_letters(text)

    def _check_dashed_option(self, text: str) -> bool:
        """Check an option of a program that takes values only as the next word."""
        name = text.partition("=")[0]
        kind = self.program.options.get(text)
        if kind is None:
            return self._reject_unknown(name)
        return self._check_value(name, kind, None)

    def _check_long_option(self, text: str) -> bool:
        """Check `--name`, `--name=value`, or a short option that is listed as it stands."""
        name, sign, value = text.partition("=")
        kind = self.program.options.get(name)
        takes_no_value = kind == ""
        if kind is None or (sign and takes_no_value):
            return self._reject_unknown(name)
        return self._check_value(name, kind, value if sign else None)

    def _check_letters(self, text: str) -> bool:
        """Check short options in one word: `-la`, `-n5`."""
        for index, letter in enumerate(text[1:], 2):
            kind = self.program.options.get(f"-{letter}")
            if kind is None:
                return self._reject_unknown(f"-{letter}")
            if kind:
                return self._check_value(f"-{letter}", kind, text[index:] or None)
            self.seen.setdefault(f"-{letter}", [])
        return False

    def _check_value(self, name: str, kind: str, value: str | None) -> bool:
        values = self.seen.setdefault(name, [])
        if kind in ("", "?"):
            return False
        if kind == "$":
            return True
        if value is None:
            if self.index == len(self.words):
                return False
            word = self.words[self.index]
            self.index += 1
            value = word.text
            self._check_wildcard(word, strict=True)
            if value.startswith("-") and not _NUMBER.fullmatch(value):
                raise ToolError(reasons.about(reasons.MAY_BE_OPTION, value))
        values.append(value)
        if not self._is_checked:
            return False
        if kind == "@":
            self.scope.check_read(value)
        if kind == "~" and not (self.program.text and self.program.text.fullmatch(value)):
            raise self._unknown(self.program.otherwise, name, value)
        return False

    def _reject_unknown(self, name: str) -> bool:
        if self._is_checked:
            if why := self.program.refused.get(name):
                raise ToolError(reasons.about(why, self.name, name))
            raise self._unknown(self.program.refused.get(""), name)
        self.has_unknown = True
        return False

    def _unknown(self, why: str | None, *words: str) -> ToolError:
        """Return the error for words that the program's entry does not list; `why` is what it says of such words."""
        if why:
            return ToolError(reasons.about(why, self.name))
        return ToolError(reasons.about(reasons.MAY_DO_MORE, self.name, *words))

    def _finish(self) -> None:
        """Check the operands, and what they and the options read."""
        program = self.program
        if why := program.refused.get(""):
            raise ToolError(reasons.about(why, self.name))
        if program.one_operand and any(word.has_wildcard for word, _ in self.operands):
            raise ToolError(reasons.about(reasons.WRITES_SECOND, self.name))
        if program.operands == "first" and self.piped and not self.operands:
            raise ToolError(reasons.about(reasons.RUNS_INPUT, self.name))
        paths: list[str] = []
        for (word, checked), kind in zip(self.operands, self._operand_kinds(), strict=True):
            if checked:
                self._check_operand(word, kind)
            # of a wildcard in place of the text to look for, the second match and all further ones are paths
            paths += self.scope.expand(word)[0 if kind == "paths" else 1 :]
        self._check_reach(paths)

    def _check_reach(self, paths: list[str]) -> None:
        """Check what the program reads beyond the files that are named."""
        recurses = self.program.recurses
        if recurses & {"always", *self.seen}:
            self._check_folders(paths)
        if "asked" in recurses and not self.seen.keys() & _LISTS:
            self._check_search(paths)
        if self.name.startswith("git "):
            command = self.name.split(" ")[1]
            self._check_git(known_programs()["git"].subs.get(command))

    def _operand_kinds(self) -> list[str]:
        first, plus, others = self.program.operands.partition("+")
        given = bool(self.program.pattern_options & self.seen.keys())
        if plus:
            return [others if given or index else first for index in range(len(self.operands))]
        if first == "listed":
            first = "text" if given else "none"
        if self.has_unknown and first in ("none", "match"):
            first = "refs" if self.name.startswith("git ") else "paths"
        return [first] * len(self.operands)

    def _check_operand(self, word: Word, kind: str) -> None:
        text = word.text
        if kind == "text":
            return
        if kind == "paths":
            if text[:1] in ("+", "@"):  # tail +5f, strings @file-with-options
                raise ToolError(reasons.about(reasons.MAY_BE_OPTION, text))
            self.scope.check_read(text)
        elif kind == "refs":
            self.scope.check_revision(text)
        elif kind == "write":
            self.scope.check_write(text)
        else:
            self._check_literal(word, kind)

    def _check_literal(self, word: Word, kind: str) -> None:
        """Check an operand that must be known as it stands, so no wildcard may change it."""
        text = word.text
        if word.has_wildcard:
            raise self._unknown(self.program.otherwise, text)
        if kind == "branch":
            self._check_branch(text)
        elif kind == "match":
            if not (self.program.text and self.program.text.fullmatch(text)):
                raise self._unknown(self.program.otherwise, text)
        elif kind == "first":
            if text == "-":
                raise ToolError(reasons.about(reasons.RUNS_INPUT, self.name))
            self.scope.check_read(text)
        else:
            raise self._unknown(self.program.refused.get(""), text)

    def _check_branch(self, text: str) -> None:
        """Check the name of a branch: behind `--`, or if such a file exists, git takes it for a file to overwrite."""
        if "--" in self.seen or not _BRANCH.fullmatch(text):
            raise self._unknown(self.program.otherwise, text)
        if self.scope.resolve(text).exists():
            raise ToolError(reasons.about(reasons.OVERWRITTEN, text))

    def _check_folders(self, paths: list[str]) -> None:
        follows = "follows" in self.program.recurses
        for path in paths or ["."]:
            if path not in ("-", "/dev/null") and self.scope.resolve(path).is_dir():
                self.scope.check_folder(path, endings=self._read_endings(), follows=follows)

    def _read_endings(self) -> list[str]:
        """Return the endings of the only names that a recursive search reads, [] for all."""
        patterns = self.seen.get(self.program.include, [])
        # with --exclude as well, GNU grep reads every other file
        is_plain = all(_ENDING.fullmatch(pattern) for pattern in patterns)
        if not is_plain or self.seen.keys() & {"--exclude", "--exclude-from"}:
            return []
        return [pattern[1:].lower() for pattern in patterns]

    def _check_search(self, paths: list[str]) -> None:
        if self.piped and not paths:
            return  # it searches its input
        operands = {id(word) for word, _ in self.operands}
        options = [w.text for w in self.words if id(w) not in operands and w.text != "--"]
        self.scope.check_search(options, paths)

    def _check_git(self, row: Program | None) -> None:
        """Refuse a git command that may start a program, or shows a file that may not be read without approval."""
        if row is None:
            return
        if any(_SIGNATURE.search(word.text) for word in self.words):
            raise ToolError(reasons.SIGNATURES)
        scope = self.scope
        diffs = row.diffs and not {"--no-ext-diff", "--no-textconv"} <= self.seen.keys()
        if why := find_program_risk(
            scope.base, scope.environ, diffs=diffs, work_tree=row.work_tree
        ):
            raise ToolError(why)
        self._check_ranges()
        if self.program.shows:
            self._check_objects()
        if self._shows_content():
            self._check_shown_files()

    def _check_objects(self) -> None:
        """Refuse the id of a file's content: git show prints it even if it is to summarize."""
        for word in self.words:
            if names_content(self.scope.base, self.scope.environ, word.text):
                raise ToolError(reasons.UNKNOWN_SHOWN)

    def _check_shown_files(self) -> None:
        """Refuse to show a file that may not be read without approval."""
        scope = self.scope
        # `revision:path` was checked as such
        named = {id(word) for word, _ in self.operands if _BY_PATH.fullmatch(word.text)}
        if named and len(named) == len(self.operands):
            return
        kept = [word for word in self.words if id(word) not in named]
        words = [text for word in kept for text in scope.expand(word)]
        names = shown_paths(scope.base, scope.environ, self.name.split(" ")[1:], words)
        if names is None:
            raise ToolError(reasons.UNKNOWN_SHOWN)
        for name in names:
            scope.check_shown(name)

    def _check_ranges(self) -> None:
        """Check the files behind the colons of -L."""
        for value in self.seen.get("-L", []):
            pieces = value.split(":")
            for index in range(1, len(pieces)):
                self.scope.check_read(":".join(pieces[index:]) or ".")

    def _shows_content(self) -> bool:
        """Return whether git shows contents of files, and not only names and counts."""
        if self.program.shows == "always":
            return True
        if self.program.shows == "unless summarized" and not self.seen.keys() & _SUMMARIES:
            return True
        return bool(self.program.shows and self.seen.keys() & _PATCHES)
