"""The lines of one ignore file, judged entry by entry as git does."""

from __future__ import annotations

import re
from collections.abc import Iterable

_CLASSES = {
    "alnum": "a-zA-Z0-9",
    "alpha": "a-zA-Z",
    "blank": " \\t",
    "digit": "0-9",
    "lower": "a-z",
    "punct": r"!-/:-@\[-`{-~",
    "space": r"\s",
    "upper": "A-Z",
    "xdigit": "0-9a-fA-F",
}
_CLASS = re.compile(r"\[:(\w+):\]")


class IgnoreLines:
    """The lines of one folder's ignore file; the last one that fits an entry decides.

    Each entry is judged by itself, as git does on its way down: whether a folder above it is left out is another
    question. (Matchers of whole paths answer both at once, and differ from git where a line takes an entry back in.)
    """

    def __init__(self, lines: Iterable[str]) -> None:
        """Lines that mean nothing are passed over, as git does."""
        read = [pattern for line in lines if (pattern := _read(line)) is not None]
        self._patterns = [(out, folder, re.compile(text, re.DOTALL)) for out, folder, text in reversed(read)]
        # one look rules most entries out
        self._any = re.compile("|".join(f"(?:{text})" for *_, text in read) if read else "(?!)", re.DOTALL)

    def says(self, name: str) -> bool | None:
        """True: left out; False: taken back in; None: nothing. `name` is relative, a folder's ends with "/"."""
        bare = name.removesuffix("/")
        if self._any.fullmatch(bare) is None:
            return None
        is_folder = bare != name
        fitting = (out for out, folder, p in self._patterns if (is_folder or not folder) and p.fullmatch(bare))
        return next(fitting, None)


def _read(line: str) -> tuple[bool, bool, str] | None:
    """Whether the line leaves out, whether it is about folders only, and an expression for names; None: no pattern."""
    line = _without_trailing_blanks(line)
    if not line or line.startswith("#"):
        return None
    take_out = not line.startswith("!")
    pattern = line if take_out else line[1:]
    folder = pattern.endswith("/")
    pattern = pattern.removesuffix("/")
    if not pattern:
        return None
    anywhere = "/" not in pattern
    text = _translate(pattern.removeprefix("/"))
    if text is None:
        return None
    return take_out, folder, ("(?:.*/)?" if anywhere else "") + text


def _without_trailing_blanks(line: str) -> str:
    bare = line.rstrip(" ")
    quoted = (len(bare) - len(bare.rstrip("\\"))) % 2
    return bare + " " if quoted and len(bare) < len(line) else bare


def _translate(pattern: str) -> str | None:
    """A regular expression for a pattern without its leading and trailing slash; None where it can match nothing."""
    out, at = "", 0
    while at < len(pattern):
        letter = pattern[at]
        if letter == "*":
            end = at + len(pattern[at:]) - len(pattern[at:].lstrip("*"))
            out += _stars(pattern, at, end)
            # "**/" stands for any number of folders, so that its slash belongs to it
            at = end + 1 if out.endswith("(?:.*/)?") else end
            continue
        if letter == "?":
            out += "[^/]"
        elif letter == "[":
            found = _bracket(pattern, at)
            if found is None:
                return None
            out += found[0]
            at = found[1]
            continue
        elif letter == "\\":
            at += 1
            if at == len(pattern):
                return None
            out += re.escape(pattern[at])
        else:
            out += re.escape(letter)
        at += 1
    return out


def _stars(pattern: str, at: int, end: int) -> str:
    """What a run of stars stands for: two between slashes (or ends) reach over folders, others stay within one."""
    opens = at == 0 or pattern[at - 1] == "/"
    if end - at == 2 and opens and end == len(pattern):
        return ".+"
    if end - at == 2 and opens and pattern[end : end + 1] == "/":
        return "(?:.*/)?"
    return "[^/]*"


def _bracket(pattern: str, at: int) -> tuple[str, int] | None:
    """A set of letters `[a-z]`, `[!a]`, and where it ends; None where it does not end."""
    index = at + 1
    negated = pattern[index : index + 1] in ("!", "^")
    index += negated
    inner, low = "", ""
    first = True
    while first or pattern[index : index + 1] != "]":
        first = False
        if named := _CLASS.match(pattern, index):
            inner, low, index = inner + _CLASSES.get(named.group(1), ""), "", named.end()
            continue
        ranged = low and pattern[index : index + 1] == "-" and pattern[index + 1 : index + 2] not in ("", "]")
        index += 1 if ranged else 0
        index += pattern[index : index + 1] == "\\"
        letter = pattern[index : index + 1]
        if not letter:
            return None
        if not ranged:
            inner += re.escape(letter)
        elif low <= letter:
            inner += f"{re.escape(low)}-{re.escape(letter)}"
        low = "" if ranged else letter
        index += 1
    # a set may be empty ("[[:none:]]"): then no letter fits, or every one
    fits = f"[{'^' if negated else ''}{inner}]" if inner else ("." if negated else "(?!)")
    return f"(?!/){fits}", index + 1
