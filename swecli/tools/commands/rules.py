"""Shell commands against permission rules: careful to allow, generous to refuse, and silent about what only reads."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from pathlib import Path

from swecli.tools.base import ToolError
from swecli.tools.commands.check import check_covered, check_read_only
from swecli.tools.commands.programs import CommandScope, rule_words, shorten
from swecli.tools.commands.shell_words import MAX_LENGTH, SimpleCommand, parse_command

_WILD = re.compile(r"[*?\[]")
_ESCAPED = re.compile(r"\[([*?\[])\]")
_JOINTS = re.compile(r"[;&|\n\r(){}`]|\$\(")
_PIECE = re.compile(
    r"""(?:\\.|'[^']*'|"(?:\\.|[^"\\])*"|[^;&|\n\r(){}'"\\])+""", re.DOTALL
)  # between joints outside quotes
_ASSIGNMENT = re.compile(r"^[A-Za-z_]\w*\+?=")
_LEADING = re.compile(r"!|if|then|else|elif|while|until|do|time|coproc|\{")
# Programs that run what stands among their own words.
_RUNNERS = re.compile(
    r"sudo|doas|env|command|exec|builtin|nohup|nice|ionice|setsid|stdbuf|timeout|xargs|find|parallel|watch|eval|"
    r"(?:ba|da|z|k)?sh|busybox|su|chroot|unshare|time|strace|ssh|script"
)
_MAX_NESTING = 4


def objection(command: str, root: Path, environ: Mapping[str, str], patterns: Sequence[str] = ()) -> str:
    """Why the command may not run unasked; "" if it may. It may if each simple command in read-only inside the
    workspace `root`, or is covered by one of the patterns of the user's allow rules as far as it can be seen through;
    or if a pattern is this command word for word."""
    if any(is_exact(pattern, command) for pattern in patterns):
        return ""
    try:
        parts = parse_command(command)
        top = root.resolve()
        place = CommandScope(top, top, environ)
        for index, part in enumerate(parts):
            if index == 0 and part.words[0].text == "cd" and len(parts) > 1:
                place = _entered(place, part, parts[1].joint)
            else:
                _judge(part, place, patterns)
    except (ToolError, OSError) as error:
        return str(error).rstrip(".")
    return ""


def suggest_pattern(command: str, root: Path, environ: Mapping[str, str]) -> str:
    """A pattern that covers this command and others like it, for "don't ask again"; "" for what cannot be seen through,
    undoes work or starts other programs, and where two simple commands would need a rule."""
    try:
        parts = [part for part in parse_command(command) if part.words[0].text != "cd"]
    except ToolError:
        return ""
    asking = {part.raw: part for part in parts if objection(part.raw, root, environ)}
    if len(asking) != 1:
        return ""
    words = rule_words([word.text for word in next(iter(asking.values())).words])
    pattern = f"{escape_command(' '.join(words))} *"
    return pattern if words and not objection(command, root, environ, [pattern]) else ""


def touches(pattern: str, command: str) -> bool:
    """Whether a deny or ask rule covers the command as a whole or any simple command in it. Spacing, quotes, a path
    before the program's name, assignments and programs that start others are looked through, as far as that can be done
    without running anything. Of a command that is too long for that, each word counts as if it began one."""
    if len(command) > MAX_LENGTH:
        first = pattern.split(" ")[0]
        return any(fnmatchcase(word, first) for word in set(re.split(r"[\s;&|(){}`'\"/\\]+", command)))
    return command == _literal(pattern) or any(_fits(pattern, one) for one in _readings(command))


def is_exact(pattern: str, command: str) -> bool:
    """Whether the rule names this command and no other."""
    return command == _literal(pattern)


def escape_command(command: str) -> str:
    """The pattern that covers this command alone."""
    return _WILD.sub(lambda match: f"[{match.group()}]", command)


def _entered(place: CommandScope, part: SimpleCommand, joint: str) -> CommandScope:
    """Where the rest of `cd FOLDER && ...` stands. Raises ToolError."""
    folder = part.words[-1].text
    plain = len(part.words) == 2 and not part.words[1].glob and not folder.startswith("-") and folder
    if not plain or joint != "&&" or ".." in folder.split("/"):
        raise ToolError("cd is only checked in the form `cd FOLDER && ...`")
    found = place.located(folder)
    if not found.is_dir():
        raise ToolError(f"{shorten(folder)} is not a folder")
    return replace(place, base=found)


def _judge(part: SimpleCommand, place: CommandScope, patterns: Sequence[str]) -> None:
    """Raises ToolError where the simple command neither only reads nor is covered."""
    fitting = [pattern for pattern in patterns if _fits(pattern, part.raw)]
    if any(is_exact(pattern, part.raw) for pattern in fitting):
        return
    uncovered: Exception | None = None
    for pattern in fitting:
        try:
            check_covered(part, _literal_words(pattern, part), place)
        except (ToolError, OSError) as error:
            uncovered = uncovered or error
        else:
            return
    try:
        check_read_only(part, place)
    except (ToolError, OSError) as error:
        raise uncovered or error from error


def _literal_words(pattern: str, part: SimpleCommand) -> int:
    """How many of the command's first words the pattern names in full: of `git push*`, two of `git push --force`."""
    count = 0
    for wanted, word in zip(pattern.split(" "), part.words, strict=False):
        if _literal(wanted) == word.raw or (wanted.endswith("*") and _literal(wanted[:-1]) == word.raw):
            count += 1
        if _literal(wanted) != word.raw:
            break
    return count


def _literal(pattern: str) -> str | None:
    """The one text a pattern without wildcards stands for; None where it has some."""
    if _WILD.search(_ESCAPED.sub("", pattern)):
        return None
    return _ESCAPED.sub(r"\1", pattern)


def _fits(pattern: str, command: str) -> bool:
    # "rm *" is meant to cover a bare "rm" too
    return fnmatchcase(command, pattern) or (pattern.endswith(" *") and fnmatchcase(command, pattern[:-2]))


def _readings(command: str, nesting: int = 0) -> Iterator[str]:
    """The ways a command may be read: as written, and each simple command in it in plain words."""
    yield command
    yield " ".join(command.split())
    for part in _parts(command):
        yield part
        words = _words(part)
        while words and (_LEADING.fullmatch(words[0]) or _ASSIGNMENT.match(words[0])):
            words = words[1:]
        if not words:
            continue
        runs = _RUNNERS.fullmatch(_bare(words[0])) is not None
        for index in range(len(words) if runs else 1):
            yield from (" ".join(words[index:]), " ".join([_bare(words[index]), *words[index + 1 :]]))
        if runs and nesting < _MAX_NESTING:
            for word in words:
                if re.search(r"[\s;&|]", word):
                    yield from _readings(word, nesting + 1)


def _bare(program: str) -> str:
    return program.rsplit("/", 1)[-1]


def _parts(command: str) -> list[str]:
    """The simple commands. Joints in quotes part only where a substitution makes it unsure what the quotes enclose."""
    joined = command.replace("\\\n", " ")
    unsure = "$(" in joined or "`" in joined
    pieces = _JOINTS.split(joined) if unsure else _PIECE.findall(joined)
    return [piece.strip() for piece in pieces if piece.strip()]


def _words(part: str) -> list[str]:
    try:
        return shlex.split(part)
    except ValueError:
        return part.replace('"', "").replace("'", "").split()
