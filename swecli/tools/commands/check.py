"""Does a simple command do more than read? Its options and operands against what is known of the program."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from swecli.tools.base import ToolError
from swecli.tools.commands.programs import (
    CommandScope,
    Program,
    read_only_programs,
    rule_programs,
    shorten,
)
from swecli.tools.commands.shell_words import SimpleCommand, Word
from swecli.tools.git import find_program_risk

_BRANCH = re.compile(r"[\w.@{}^][\w./@{}~^-]*")
_NUMBER = re.compile(r"-\d+")


def check_read_only(part: SimpleCommand, place: CommandScope) -> None:
    """Raises ToolError where the command may do more than read inside the workspace."""
    name = part.words[0].text
    program = read_only_programs().get(name)
    if program is None:
        known = rule_programs().get(name)
        raise ToolError(f"{shorten(name)} {known and known.refused.get('*') or 'is not known to be read-only'}")
    place.check_program(name)
    _Check(program, name, part.words[1:], place).run()


def check_covered(part: SimpleCommand, literal: int, place: CommandScope) -> None:
    """Raises ToolError where a rule's wildcard covers more than can be seen to be harmless. The first `literal` words
    stand in the rule itself: they are what the user named, and are not judged."""
    name = part.words[0].text.rsplit("/", 1)[-1]
    program = (rule_programs() if literal else read_only_programs()).get(name)
    if program is None and name in rule_programs():
        raise ToolError(f"no rule can allow {shorten(name)}")
    if program is not None:
        _Check(program, name, part.words[1:], place, literal - 1).run()


@dataclass(slots=True)
class _Check:
    """One reading of a program's words, first to last; the first `literal` of them are not judged. `seen` maps each
    option that stood there to its values. `beyond`: a rule names an option nothing is known of."""

    program: Program
    name: str
    words: Sequence[Word]
    place: CommandScope
    literal: int = 0
    operands: list[tuple[Word, bool]] = field(default_factory=list)  # the word, and whether it is judged
    seen: dict[str, list[str]] = field(default_factory=dict)
    at: int = 0
    beyond: bool = False

    def run(self) -> None:
        program = self.program
        if why := program.refused.get("*"):
            raise ToolError(f"{shorten(self.name)} {why}")
        ended = False
        while self.at < len(self.words):
            word = self.words[self.at]
            self.at += 1
            self._wildcards(word, strict=program.strict)
            option = not ended and word.text != "-" and (word.text.startswith("-") or word.text in program.options)
            if program.subs and not self.operands and (not option or word.text in program.subs) and self._sub(word):
                return
            if not option:
                self.operands.append((word, self._judged))
                if program.operands == "first":
                    break
            elif word.text == "--":
                ended = True
                self.seen["--"] = []
            elif self._option(word.text):
                return
        self._finish()

    @property
    def _judged(self) -> bool:
        return self.at > self.literal

    def _wildcards(self, word: Word, *, strict: bool) -> None:
        if word.glob and self._judged:
            self.place.check_expansion(word, strict=strict)

    def _sub(self, word: Word) -> bool:
        """Judge the rest by the subcommand's own entry; False where the word is none."""
        # what changes things counts only where the rule names it
        subs = (read_only_programs().get(self.name, self.program) if self._judged else self.program).subs
        name = f"{self.name} {word.text}"
        if (program := subs.get(word.text)) is None:
            if self.program.operands == "none" and self._judged:
                raise ToolError(f"{shorten(name)} is not known to be read-only")
            return not self._judged
        place = self.place
        for folder in self.seen.get("-C", []):
            place = replace(place, base=place.located(folder))
        _Check(program, name, self.words[self.at :], place, self.literal - self.at).run()
        return True

    def _option(self, text: str) -> bool:
        """Take an option and its value. True where all that follows belongs to another program."""
        options = self.program.options
        if _NUMBER.fullmatch(text) and "-#" in options:
            return False
        name, sign, value = text.partition("=")
        if text.startswith("--") or self.program.dashed or text in options:
            kind = options.get(text if self.program.dashed else name)
            if kind is None or (sign and not kind and not self.program.dashed):
                return self._unknown(name)
            return self._value(name, kind, value if sign and not self.program.dashed else None)
        for index, letter in enumerate(text[1:], 2):
            kind = options.get(f"-{letter}")
            if kind is None:
                return self._unknown(f"-{letter}")
            if kind:
                return self._value(f"-{letter}", kind, text[index:] or None)
            self.seen.setdefault(f"-{letter}", [])
        return False

    def _value(self, name: str, kind: str, value: str | None) -> bool:
        values = self.seen.setdefault(name, [])
        if kind in ("", "?"):
            return False
        if kind == "$":
            return True
        if value is None:
            if self.at == len(self.words):
                return False
            word = self.words[self.at]
            self.at += 1
            value = word.text
            self._wildcards(word, strict=True)
            if value.startswith("-") and not _NUMBER.fullmatch(value):
                raise ToolError(f"{shorten(value)} behind {name} may be an option")
        values.append(value)
        if not self._judged:
            return False
        if kind == "@":
            self.place.check_read(value)
        if kind == "~" and not (self.program.text and self.program.text.fullmatch(value)):
            raise ToolError(f"{shorten(value)} is not known to be read-only")
        return False

    def _unknown(self, name: str) -> bool:
        if self._judged:
            raise ToolError(f"{shorten(name)} {self.program.refused.get(name, 'is not known to be read-only')}")
        self.beyond = True
        return False

    def _finish(self) -> None:
        """The operands, and what goes with the options that were there."""
        program, count = self.program, len(self.operands)
        if why := program.refused.get(""):
            raise ToolError(f"{shorten(self.name)} {why}")
        if program.most is not None and (count > program.most or any(word.glob for word, _ in self.operands)):
            raise ToolError(f"{shorten(self.name)} may write to its last operand")
        paths = []
        for (word, judged), kind in zip(self.operands, self._kinds(), strict=True):
            if judged:
                self._operand(word, kind)
            if kind == "paths":
                paths.append(word.text)
        if program.walks & {"always", "shown", *self.seen}:
            self._folders(paths)
        git = read_only_programs()["git"].subs.get(self.name.split(" ")[1]) if self.name.startswith("git ") else None
        if git is not None:
            diffs = git.diffs and not {"--no-ext-diff", "--no-textconv"} <= self.seen.keys()
            if why := find_program_risk(self.place.base, self.place.environ, diffs=diffs, works=git.works):
                raise ToolError(why)

    def _kinds(self) -> list[str]:
        first, plus, others = self.program.operands.partition("+")
        given = bool(self.program.instead & self.seen.keys())
        if plus:
            return [others if given or index else first for index in range(len(self.operands))]
        if first == "listed":
            first = "text" if given else "none"
        if self.beyond and first in ("none", "match"):
            first = "refs" if self.name.startswith("git ") else "paths"
        return [first] * len(self.operands)

    def _operand(self, word: Word, kind: str) -> None:
        place, text, branch = self.place, word.text, kind == "branch"
        if kind == "paths":
            place.check_read(text)
        elif kind == "refs":
            place.check_revision(text)
        elif kind == "write":
            place.check_write(text)
        elif kind != "text":
            matches = self.program.text and self.program.text.fullmatch(text)
            odd = branch and ("--" in self.seen or not _BRANCH.fullmatch(text))
            if word.glob or odd or (kind == "match" and not matches):
                raise ToolError(f"{shorten(text)} is not known to be read-only")
            if branch and place.located(text).exists():
                raise ToolError(f"{shorten(text)} is a file: it would be overwritten")
            if kind == "first":
                place.check_read(text)
            elif not branch and kind != "match":
                raise ToolError(f"{shorten(self.name)} with {shorten(text)} is not known to be read-only")

    def _folders(self, paths: list[str]) -> None:
        include = [value for name in self.program.include.split() for value in self.seen.get(name, [])]
        hidden = "shown" not in self.program.walks
        for path in paths or ["."]:
            folder = path not in ("-", "/dev/null") and self.place.located(path).is_dir()
            if folder:
                self.place.check_folder(path, hidden=hidden, include=include)
