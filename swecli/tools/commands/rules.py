"""Compare commands with permission rules: allow rules cover what was read of a command and nothing else, deny and ask
rules are looked for wherever a command may run another one."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase

from swecli.tools.base import COVERED, Coverage, PermissionKind, ToolContext
from swecli.tools.commands.lasting import rule_words
from swecli.tools.commands.reading import has_plain_form, inert_programs, why_not_reading
from swecli.tools.commands.syntax import (
    MAX_LENGTH,
    CommandLine,
    SimpleCommand,
    Word,
    read_command,
)
from swecli.tools.environment import child_environment
from swecli.tools.guard import Guard
from swecli.tools.limits import one_line

_UNKNOWN = "\0"  # in a text that is matched: what only a wildcard covers
_SPLITTING = re.compile(r"[\s;&|(){}`'\"/\\]+")
_CODE = re.compile(r"[\s;&|()]")  # in a word: it may be a program of its own
_INLINE = re.compile(r"-\w*[ce]")  # POSIX sh -c; python -c; perl, ruby and node -e
_PRINTING = frozenset({"echo", "printf"})  # what they print is in their words
_OF_GIT = "git-"  # begins the names of programs that are subcommands
_MAX_NESTING = 4  # of commands in words of others
_PHRASE = 8  # words of a text that are compared with a rule at a time
_MAX_OPTIONS = 6  # before a subcommand; each may take the next word as its value


class _ByCommand(PermissionKind):
    """Subjects are shell commands, patterns those of fnmatch for the words of one simple command."""

    def coverage(self, patterns: Sequence[str], subject: str, ctx: ToolContext) -> Coverage:
        if any(self.exact(pattern, subject) for pattern in patterns):
            return COVERED
        reason = why_uncovered(
            subject, ctx.guard, child_environment(ctx.commands.environ), patterns
        )
        return Coverage(False, reason) if reason else COVERED

    def touches(self, pattern: str, subject: str) -> bool:
        """Match each simple command of the line: by its name with and without folder, without the options before its
        subcommand, and wherever a program that is not known to run nothing may run it. Of a line that is too long to
        be read, match each word as if it began one."""
        if self.exact(pattern, subject):
            return True
        if len(subject) > MAX_LENGTH:
            first = pattern.split(" ")[0]
            return any(fnmatchcase(word, first) for word in set(_SPLITTING.split(subject)))
        return any(_matches(pattern, text) for text in _readings(subject))

    def unclear(self, patterns: Sequence[str], subject: str) -> str:
        if any(pattern == "*" or self.exact(pattern, subject) for pattern in patterns):
            return ""
        return _why_unclear(read_command(subject), patterns)

    def suggest(self, subject: str, ctx: ToolContext) -> Sequence[str]:
        """Return a pattern for each simple command that needs one, () if a command cannot be read or a rule for one
        would not be for what occurs again."""
        environ = child_environment(ctx.commands.environ)
        patterns: list[str] = []
        for command in read_command(subject).commands:
            alone = CommandLine((replace(command, operator=""),))
            if command.program == "cd" or not why_not_reading(alone, ctx.guard, environ):
                continue
            words: list[str] = []
            # of a plain form, another text or option would do something else
            if not has_plain_form(command) and _inline_code(command) is None and command.program:
                words = rule_words([word.text for word in command.words if word.is_known], ctx.root)
            if not words:
                return ()
            patterns.append(f"{self.escape(' '.join(words))} *")
        offered = tuple(dict.fromkeys(patterns))
        return () if why_uncovered(subject, ctx.guard, environ, offered) else offered


RUN = _ByCommand(
    "run",
    "Run this?",
    "asks before it changes something, with the sandbox only in the mode `ask`",
    exact_label="this exact command",
    unasked_in_sandbox=frozenset({"edits", "auto"}),
    may_change="any file",
)


def why_uncovered(
    command: str, guard: Guard, environ: Mapping[str, str], patterns: Sequence[str] = ()
) -> str:
    """Return why a command needs approval, "" if it does not: each simple command in it is covered by a pattern or
    known to read only, and it writes to no file by a redirection."""
    line = read_command(command)
    if line.problem:
        return line.problem
    if line.outputs:
        return f"writes to {one_line(line.outputs[0])}"
    covered = [command for command in line.commands if _is_covered(command, patterns)]
    return why_not_reading(line, guard, environ, covered)


def _is_covered(command: SimpleCommand, patterns: Sequence[str]) -> bool:
    texts = (_text_for_rules(command.words), command.raw)
    return any(_matches(pattern, text) for pattern in patterns for text in texts)


def _text_for_rules(words: Iterable[Word]) -> str:
    return " ".join(word.text if word.is_known else _UNKNOWN for word in words)


def _matches(pattern: str, command: str) -> bool:
    # "rm *" also matches a bare "rm"
    return fnmatchcase(command, pattern) or (
        pattern.endswith(" *") and fnmatchcase(command, pattern[:-2])
    )


def _readings(command: str, nesting: int = 0) -> Iterator[str]:
    """Yield, as texts, the simple commands that a command line runs."""
    line = read_command(command)
    yield command
    if not line.is_parsed:
        yield from _phrases(command)
    for simple in line.commands:
        texts = [word.text for word in simple.words]
        # a program that is not known may run what its words say: sudo, xargs, flock
        starts = 1 if simple.program in inert_programs() else len(texts)
        for start in range(starts):
            for words in _without_options(texts[start:]):
                yield " ".join(words)
                name = words[0].rsplit("/", 1)[-1]
                command_text = " ".join([name, *words[1:]])
                yield command_text
                if name.startswith(_OF_GIT):
                    yield command_text.replace("-", " ", 1)
        if nesting < _MAX_NESTING and _reaches_shell(simple, line):
            for code in _codes(simple):
                yield from _readings(code, nesting + 1)


def _reaches_shell(command: SimpleCommand, line: CommandLine) -> bool:
    """Return whether a shell gets what a command's words or its input say: it is one, or its output goes to one."""
    return any(
        other is command or other.operator == "|"
        for other in line.commands
        if other.program.endswith("sh") or other.program == "eval"
    )


def _codes(command: SimpleCommand) -> Iterator[str]:
    """Yield the words and the input of a command that may be command lines of their own."""
    for text in (*(word.text for word in command.words), command.input):
        if _CODE.search(text):
            yield text


def _without_options(words: list[str], depth: int = 0) -> Iterator[list[str]]:
    """Yield the words as they are, and without options before the subcommand, each with or without a value."""
    yield words
    if depth < _MAX_OPTIONS and len(words) > 1 and words[1].startswith("-"):
        yield from _without_options([words[0], *words[2:]], depth + 1)
        if len(words) > 2:
            yield from _without_options([words[0], *words[3:]], depth + 1)


def _why_unclear(line: CommandLine, patterns: Sequence[str], nesting: int = 0) -> str:
    """Return why it cannot be told whether a pattern is for something that a command runs, "" if it can."""
    if not line.is_parsed:
        return line.problem
    receivers = [command.program for command in line.commands if command.operator == "|"]
    running = [program for program in receivers if program not in inert_programs()]
    for before, command in zip((None, *line.commands), line.commands, strict=False):
        program = command.program
        if not program:
            return f"{one_line(command.words[0].raw)} is only known to the shell"
        if renamed := _what_renames(command):
            return f"{renamed} gives a command another name"
        is_inert = program in inert_programs()
        if is_inert and not running:
            continue
        if not is_inert and (reason := _why_open(command, before, patterns)):
            return reason
        for code in _codes(command):
            if _reaches_shell(command, line):
                reason = (
                    _why_unclear(read_command(code), patterns, nesting + 1)
                    if nesting < _MAX_NESTING
                    else ""
                )
                if reason:
                    return reason
            elif any(_matches(pattern, text) for text in _phrases(code) for pattern in patterns):
                receiver = running[0] if is_inert else program
                return f"{receiver} is given {one_line(code, 40)!r}"
    return ""


def _why_open(command: SimpleCommand, before: SimpleCommand | None, patterns: Sequence[str]) -> str:
    """Return why it is not known what a program runs that may run others, "" if it is. `before` is the command before
    it on its line."""
    program = command.program
    if program == "eval" and not all(word.is_known for word in command.words):
        return "eval runs what only the shell knows"
    if _is_open_to(command, patterns):
        return f"{program} runs words that only its input knows"
    is_shell = program.endswith("sh")
    if is_shell and command.operator == "|" and not _prints_words(before):
        return f"{program} runs what it is given"
    inline = _inline_code(command)
    if inline is not None and not (inline.is_known and is_shell):
        return f"{program} runs code of its own"
    return ""


def _what_renames(command: SimpleCommand) -> str:
    """Return what of a command lets a later word stand for another command, "" if nothing does."""
    texts = [word.text for word in command.words]
    if command.program == "alias" and len(texts) > 1:
        return "alias"
    if command.program == "git" and any(text.startswith("alias.") for text in texts):
        return "an alias of git"
    return ""


def _is_open_to(command: SimpleCommand, patterns: Sequence[str]) -> bool:
    """Return whether xargs may complete its words to what a pattern names."""
    if command.program != "xargs":
        return False
    texts = [word.text.rsplit("/", 1)[-1] for word in command.words]
    command_starts = [
        " ".join(words)
        for start in range(1, len(texts))
        for words in _without_options(texts[start:])
    ]
    return any(pattern.startswith(f"{text} ") for pattern in patterns for text in command_starts)


def _prints_words(command: SimpleCommand | None) -> bool:
    """Return whether what a command prints is known: the words of `echo`, or a here-document."""
    if command is None:
        return False
    is_plain = command.program in _PRINTING and all(word.is_known for word in command.words)
    return is_plain or bool(command.input)


def _phrases(code: str) -> Iterator[str]:
    """Yield the word sequences in a text of unknown language that may name a command."""
    words = [word for word in _SPLITTING.split(code[:MAX_LENGTH]) if word]
    for start in range(len(words)):
        yield " ".join(words[start : start + _PHRASE])


def _inline_code(command: SimpleCommand) -> Word | None:
    """Return the word that a program is given as code, None if there is none."""
    for option, value in zip(command.words[1:], command.words[2:], strict=False):
        if option.is_known and _INLINE.fullmatch(option.text):
            return value if not value.is_known or _CODE.search(value.text) else None
    return None
