"""Shell commands and permission rules: allow only what can be checked, and match deny and ask rules generously."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from pathlib import Path

from swecli.tools.base import COVERED, Coverage, PermissionKind, ToolContext, ToolError
from swecli.tools.commands import reasons
from swecli.tools.commands.check import check_covered, check_read_only
from swecli.tools.commands.named_files import named_files
from swecli.tools.commands.programs import CommandScope, GuardedFile, rule_words
from swecli.tools.commands.shell_words import (
    MAX_LENGTH,
    SimpleCommand,
    loose_words,
    parse_command,
)
from swecli.tools.guards import before_reading
from swecli.tools.paths import relative_path
from swecli.tools.processes import child_environment

_OPERATORS = re.compile(r"[;&|\n\r(){}`]|\$\(")
_UNQUOTED_PARTS = re.compile(
    r"""(?:\\.|'[^']*'|"(?:\\.|[^"\\])*"|[^;&|\n\r(){}'"\\])+""", re.DOTALL
)  # between operators outside quotes
_ASSIGNMENT = re.compile(r"^[A-Za-z_]\w*\+?=")
_KEYWORD = re.compile(r"!|if|then|else|elif|while|until|do|time|coproc|\{")
# Programs that run a command given as arguments.
_RUNNERS = re.compile(
    r"sudo|doas|env|command|exec|builtin|nohup|nice|ionice|setsid|stdbuf|timeout|xargs|find|parallel|watch|eval|"
    r"(?:ba|da|z|k)?sh|busybox|su|chroot|unshare|time|strace|ssh|script"
)
_MAX_NESTING = 4


class _ByCommand(PermissionKind):
    """Subjects are shell commands, patterns those of fnmatch."""

    def coverage(self, patterns: Sequence[str], subject: str, ctx: ToolContext) -> Coverage:
        environ = child_environment(ctx.commands.environ)
        why = objection(subject, ctx.root, environ, patterns)
        return Coverage(False, why) if why else COVERED

    def touches(self, pattern: str, subject: str) -> bool:
        """Match the whole command and each simple command in it, also behind quotes, paths, assignments and programs
        that run others. Of a command over MAX_LENGTH, match each word as if it began one."""
        if len(subject) > MAX_LENGTH:
            first = pattern.split(" ")[0]
            return any(
                fnmatchcase(word, first) for word in set(re.split(r"[\s;&|(){}`'\"/\\]+", subject))
            )
        return self.exact(pattern, subject) or any(
            _matches(pattern, one) for one in _readings(subject)
        )

    def suggest(self, subject: str, ctx: ToolContext) -> str:
        """Return "" for a command that cannot be checked, undoes work or runs other programs, and if more than one
        simple command needs a rule."""
        environ = child_environment(ctx.commands.environ)
        try:
            parts = [part for part in parse_command(subject) if part.words[0].text != "cd"]
        except ToolError:
            return ""
        asking = {part.raw: part for part in parts if objection(part.raw, ctx.root, environ)}
        if len(asking) != 1:
            return ""
        words = rule_words([word.text for word in next(iter(asking.values())).words])
        pattern = f"{self.escape(' '.join(words))} *"
        return pattern if words and not objection(subject, ctx.root, environ, [pattern]) else ""


RUN = _ByCommand(
    "run",
    "Run this?",
    "asks before it runs, in the sandbox only in the mode `ask`",
    exact_label="this exact command",
    unasked_in_sandbox=frozenset({"edits", "auto"}),
    may_change="any file",
)


def objection(
    command: str, root: Path, environ: Mapping[str, str], patterns: Sequence[str] = ()
) -> str:
    """Return why the command needs approval, "" if it may run. It may if a pattern of allow rules is exactly this
    command, or if each simple command is read-only inside `root` or covered by a pattern."""
    if any(RUN.exact(pattern, command) for pattern in patterns):
        return ""
    try:
        for part, scope in _scoped_parts(command, root, environ):
            _check(part, scope, patterns)
    except ToolError as error:
        return error.message.rstrip(".")  # its hint is for the model
    except OSError as error:
        return reasons.failed(error)
    return ""


def find_guarded(command: str, root: Path, environ: Mapping[str, str]) -> str:
    """Return why every mode asks before this command: it names, or as far as it can be analysed would read, a file that
    may hold secrets or that an ignore file names. "" if it does not."""
    if not objection(command, root, environ):
        return ""
    try:
        for part, scope in _scoped_parts(command, root, environ):
            try:
                check_read_only(part, scope)
            except GuardedFile as error:
                return error.message
            except (ToolError, OSError):
                continue  # something else asks; another part may name such a file
    except (ToolError, OSError):
        pass  # it cannot be analysed, so its words are all there is
    return _find_guarded_word(command, root)


def _find_guarded_word(command: str, root: Path) -> str:
    """Return why every mode asks about a file that a word names, in the workspace or in a folder that another word
    names."""
    for path in named_files(root, loose_words(command)):
        if why := before_reading(root, relative_path(root, path)):
            return why
    return ""


def _scoped_parts(
    command: str, root: Path, environ: Mapping[str, str]
) -> Iterator[tuple[SimpleCommand, CommandScope]]:
    """Yield the simple commands, each with the scope it would run in, but for a leading cd. Raises ToolError."""
    parts = parse_command(command)
    top = root.resolve()
    scope = CommandScope(top, top, environ)
    for index, part in enumerate(parts):
        if index == 0 and part.words[0].text == "cd" and len(parts) > 1:
            scope = _change_folder(scope, part, parts[1].operator)
        else:
            yield part, scope


def _change_folder(scope: CommandScope, part: SimpleCommand, operator: str) -> CommandScope:
    """Return the scope of the rest of `cd FOLDER && ...`. Raises ToolError."""
    folder = part.words[-1].text
    plain = (
        len(part.words) == 2
        and not part.words[1].has_wildcard
        and not folder.startswith("-")
        and folder
    )
    if not plain or operator != "&&" or ".." in folder.split("/"):
        raise ToolError(reasons.CD)
    base = scope.resolve(folder)
    if not base.is_dir():
        raise ToolError(reasons.about(reasons.NO_FOLDER, folder))
    return replace(scope, base=base)


def _check(part: SimpleCommand, scope: CommandScope, patterns: Sequence[str]) -> None:
    """Raise ToolError if the simple command is neither read-only nor covered by a pattern."""
    matching = [pattern for pattern in patterns if _matches(pattern, part.raw)]
    if any(RUN.exact(pattern, part.raw) for pattern in matching):
        return
    uncovered: Exception | None = None
    for pattern in matching:
        try:
            check_covered(part, _count_named(pattern, part), scope)
        except (ToolError, OSError) as error:
            uncovered = uncovered or error
        else:
            return
    try:
        check_read_only(part, scope)
    except (ToolError, OSError) as error:
        raise uncovered or error from error


def _count_named(pattern: str, part: SimpleCommand) -> int:
    """Return how many of the first words the pattern names in full: of `git push --force`, `git push*` names two."""
    count = 0
    for wanted, word in zip(pattern.split(" "), part.words, strict=False):
        literal = RUN.escape(word.raw)
        count += wanted in (literal, f"{literal}*")
        if wanted != literal:
            break
    return count


def _matches(pattern: str, command: str) -> bool:
    # "rm *" also matches a bare "rm"
    return fnmatchcase(command, pattern) or (
        pattern.endswith(" *") and fnmatchcase(command, pattern[:-2])
    )


def _readings(command: str, nesting: int = 0) -> Iterator[str]:
    """Yield the ways to read a command: as written, and each simple command in it as plain words."""
    yield command
    yield " ".join(command.split())
    for part in _split_command(command):
        yield part
        words = _split_words(part)
        while words and (_KEYWORD.fullmatch(words[0]) or _ASSIGNMENT.match(words[0])):
            words = words[1:]
        if not words:
            continue
        runs = _RUNNERS.fullmatch(_base_name(words[0])) is not None
        for index in range(len(words) if runs else 1):
            yield from (
                " ".join(words[index:]),
                " ".join([_base_name(words[index]), *words[index + 1 :]]),
            )
        if runs and nesting < _MAX_NESTING:
            for word in words:
                if re.search(r"[\s;&|]", word):
                    yield from _readings(word, nesting + 1)


def _base_name(program: str) -> str:
    return program.rsplit("/", 1)[-1]


def _split_command(command: str) -> list[str]:
    """Return the simple commands. Operators in quotes count only if a substitution makes the quoting uncertain."""
    joined = command.replace("\\\n", " ")
    uncertain = "$(" in joined or "`" in joined
    pieces = _OPERATORS.split(joined) if uncertain else _UNQUOTED_PARTS.findall(joined)
    return [piece.strip() for piece in pieces if piece.strip()]


def _split_words(part: str) -> list[str]:
    try:
        return shlex.split(part)
    except ValueError:
        return part.replace('"', "").replace("'", "").split()
