"""Shell commands against permission rules: careful to allow, generous to refuse."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from fnmatch import fnmatchcase

from swecli.tools.visible import hidden

# What joins commands, redirects, or runs something inside a word: a pattern never covers these.
_COMPOUND = re.compile(r"[;&|<>`\n\r]|\$[({\[]")
_WILD = re.compile(r"[*?\[]")
_ESCAPED = re.compile(r"\[([*?\[])\]")
_JOINTS = re.compile(r"[;&|\n\r(){}`]|\$\(")
_ASSIGNMENT = re.compile(r"^[A-Za-z_]\w*\+?=")
_LEADING = re.compile(r"!|if|then|else|elif|while|until|do|time|coproc|\{")
# Programs that run what stands among their own words.
_RUNNERS = re.compile(
    r"sudo|doas|env|command|exec|builtin|nohup|nice|ionice|setsid|stdbuf|timeout|xargs|find|parallel|watch|eval|"
    r"(?:ba|da|z|k)?sh|busybox|su|chroot|unshare|time|strace|ssh|script"
)
_MAX_NESTING = 4


def allows(pattern: str, command: str) -> bool:
    """Whether an allow rule covers the command: word for word, or by its wildcards if it is one plain command."""
    if command in (pattern, _literal(pattern)):
        return True
    if _COMPOUND.search(command) or any(hidden(letter) for letter in command if letter != "\t"):
        return False
    return _fits(pattern, command)


def touches(pattern: str, command: str) -> bool:
    """Whether a deny or ask rule covers the command as a whole or any simple command in it.

    Spacing, quotes, a path before the program's name, assignments and programs that start others are looked
    through, as far as that can be done without running anything.
    """
    return command == _literal(pattern) or any(_fits(pattern, one) for one in _readings(command))


def exactly(pattern: str, command: str) -> bool:
    """Whether the rule names this command and no other."""
    return command == _literal(pattern)


def escaped(command: str) -> str:
    """The pattern that covers this command alone."""
    return _WILD.sub(lambda match: f"[{match.group()}]", command)


def _literal(pattern: str) -> str | None:
    """The one text a pattern without wildcards stands for; None where it has some."""
    if _WILD.search(_ESCAPED.sub("", pattern)):
        return None
    return _ESCAPED.sub(r"\1", pattern)


def _fits(pattern: str, command: str) -> bool:
    # "rm *" is meant to cover a bare "rm" too
    return fnmatchcase(command, pattern) or (pattern.endswith(" *") and command == pattern[:-2])


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
        program = words[0].rsplit("/", 1)[-1]
        yield from (" ".join(words), " ".join([program, *words[1:]]))
        if _RUNNERS.fullmatch(program) and nesting < _MAX_NESTING:
            for index in range(1, len(words)):
                yield from _readings(" ".join(words[index:]), nesting + 1)


def _parts(command: str) -> list[str]:
    """The simple commands. Joints in quotes part only where a substitution makes it unsure what the quotes enclose."""
    joined = command.replace("\\\n", " ")
    unsure = "$(" in joined or "`" in joined
    pieces = _JOINTS.split(joined) if unsure else _unquoted_pieces(joined)
    return [piece.strip() for piece in pieces if piece.strip()]


def _unquoted_pieces(command: str) -> list[str]:
    pieces, quote, escape = [""], "", False
    for letter in command:
        if escape:
            escape = False
        elif letter == "\\" and quote != "'":
            escape = True
        elif quote:
            quote = "" if letter == quote else quote
        elif letter in "'\"":
            quote = letter
        elif letter in ";&|\n\r(){}":
            pieces.append("")
            continue
        pieces[-1] += letter
    return pieces if not quote else _JOINTS.split(command)


def _words(part: str) -> list[str]:
    try:
        return shlex.split(part)
    except ValueError:
        return part.replace('"', "").replace("'", "").split()
