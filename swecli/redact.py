"""The one redactor: what looks like a key, a password or a token leaves a text before others see it.

Pure, and linear in the text's length: each repetition is bounded, possessive, or begins where no other one can have."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

_PASSWORD = "passw(?:or)?d|passphrase|passwd|pwd"
# What a secret is called, in any case and however joined; `tokenizer`, `max_tokens`, `password_file` are no such names.
_NAME = (
    rf"(?P<n>(?:{_PASSWORD}|secret|(?:api|access|account|private|auth|app|application|license|service|integration"
    r"|signing|encryption|master)[ _-]?key|sharedaccesskey|(?<!publickey)token|credential|(?<![a-z])_?auth)s?"
    r"(?-i:(?![a-z]))(?<!tokens)(?![_-]?(?:file|path|url|uri|name|type|env|count|size|len|limit|expir|ttl))[\w-]{0,40})"
)
_IN_NAMES = ["pass", "pwd", "secret", "key", "token", "credential", "auth"]  # one of these is in each
_HARMLESS = (  # a placeholder, a reference, a pattern, a path, an address, a name in code
    r"\[redacted|#[0-9a-fA-F]{3,8}$|[,;)\]}]|.*(?:\\[wdsWDS]|\(\?|\[\^|%[sd])|\$[({]|\$\w+$|<|\{.*\}$|%\w*%?$|%\(|\*+$"
    r"|(?:~|\.{0,2})(?:/[a-z0-9._-]{1,30}){2,12}/?$|https?://|[A-Z]+(?:_[A-Z0-9]+)+$|[a-z_]\w*(?:\.[a-z_]\w*)+$"
    r"|(?i:.*(?:x{4}|\*{3}|\.\.\.|…|\{\w*\}|\$\{|(?<![a-z0-9])(?:your|example|placeholder|change.?me|dummy)))"
)
_STAND_INS = ("password", "passwd", "pass", "secret", "token", "user", "none", "null", "true", "false", "required")
# words joined, perhaps numbered: an identifier
_WORDS = r"[A-Za-z]+\d{0,2}(?:[ _./:-][A-Za-z]+\d{0,2})*$"
# where a token may begin, and the letters that it may begin with
_STARTS = r"(?:(?<![A-Za-z0-9_])|(?<=\\[nrt]|[0-9;]m))(?=[\w$~.-][\w.:$/~|=-]{15}|-----BEGIN )"
# what one of the shapes needs at least: most titles have none of it, and none of them is compiled for those
_SUSPECT = r"(?i)\S{12}|[:=]|\s-|pass|pwd|secret|token|key|auth|credential|kennwort|zugang|log-?in"


class _Shapes(NamedTuple):
    """Tokens by kind, their union, and (kind, lists of words of each of which one is there, shape) of the others."""

    kinds: list[list[str]]
    token: re.Pattern[str]
    around: list[tuple[str, list[list[str]], re.Pattern[str]]]


@cache
def _shapes() -> _Shapes:
    """What redact.toml says, at first use: a start that has nothing to redact does not pay for it."""
    data = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
    tokens, around = (data[name].strip().replace("\n  ", "").split("\n") for name in ("tokens", "around"))
    kinds = [row.split(": ", 1) for row in tokens]
    others = []
    for row in around:
        head, shape = row.split("): ", 1)
        kind, words = head.split(" (")
        needed = [words.split(), *([_IN_NAMES] if "NAME" in shape else [])]
        pattern = shape.replace("NAME", _NAME).replace("PASSWORD", _PASSWORD)
        others.append((kind, needed, re.compile(pattern, re.IGNORECASE)))
    # without groups, a branch that begins with another letter is passed over at once
    return _Shapes(kinds, re.compile(_STARTS + "(?:" + "|".join(shape for _, shape in kinds) + ")"), others)


def _secrets(text: str) -> Iterator[tuple[int, int, str]]:
    """(start, end, kind) of every secret, as each shape finds it; they may overlap."""
    if not re.search(_SUSPECT, text):
        return
    shapes = _shapes()
    done = 0
    for token in shapes.token.finditer(text):
        at = token.start()
        while at >= done and (found := _token_at(text, at)):  # right behind a token another one may begin
            done, kind = found
            yield at, done, kind
            at = done
    lower = text.lower()
    for kind, needed, pattern in shapes.around:
        at = 0 if all(any(word in lower for word in words) for words in needed) else len(text)
        while match := pattern.search(text, at):
            (start, end), at = match.span("v"), match.end()
            if _plausible(text[start:end], match.groupdict()):
                while end - start >= 500 and text[end : end + 1] not in ("", *" \t\r\n\"'`,;&<>"):
                    end += 1  # longer than the shape looks at a time
                at = max(at, end)
                yield start, end, kind


def _token_at(text: str, at: int) -> tuple[int, str] | None:
    """Where the token that begins there ends, and its kind."""
    matches = ((re.compile(shape).match(text, at), kind) for kind, shape in _shapes().kinds)
    return next(((match.end(), kind) for match, kind in matches if match), None)


def _plausible(value: str, groups: dict[str, str | None]) -> bool:
    """Whether a value is one: no placeholder, reference, path, sentence or piece of code.

    Args:
        groups: `n` the name before it ("" for a password's) and `q` its quote, where the shape has them.
    """
    value = value.strip("\\\"'`").rstrip(".,;:!?)")
    if len(value) < 3 or re.match(_HARMLESS, value, re.DOTALL):
        return False
    name, quoted = groups.get("n"), groups.get("q") is not None
    if name is None:
        return value.lower() not in _STAND_INS
    if name == "" or re.match("pass|pwd|kenn", name, re.IGNORECASE):
        if quoted and value.replace(" ", "").isalpha() and value.islower():
            return len(value) >= 6 and value not in _STAND_INS
        sentence = " " in value and value[0].isupper()
        return not sentence and (_mixed(value) or (quoted and value.isdigit()))
    least = 12 if name.lower().strip("_") == "auth" else 6
    odd = _shuffled(value) or (not re.match(_WORDS, value) and _mixed(value))
    return odd and len(value) >= least and " " not in value


def _mixed(value: str) -> bool:
    """Whether there are letters, and digits or signs or both cases among them, as in no word."""
    letters = any(c.isalpha() for c in value)
    return letters and (any(c.isdigit() or c in "!@#$%^&*+=~?" for c in value) or _shuffled(value))


def _shuffled(value: str) -> bool:
    """Whether there are too many capitals among small letters for words that are joined: `dWbOfHyiLanE`."""
    return len(value) >= 12 and len(value) <= 4 * sum(c.isupper() for c in value) <= 3 * len(value)


def redact(text: str) -> str:
    """The text with `[redacted: KIND]` for every recognised secret; names, user names and all else stay."""
    return redact_part(text, 0, len(text))


def redact_part(text: str, start: int, end: int) -> str:
    """The part of the text from `start` to `end`; a secret that reaches into it is seen whole."""
    parts: list[str] = []
    done = start
    for first, last, kind in sorted(_secrets(text), key=lambda found: (found[0], -found[1])):
        if last <= done or first >= end:
            continue
        if first >= done:
            parts += [text[done:first], f"[redacted: {kind}]"]
        elif done == start:
            parts.append(f"[redacted: {kind}]")
        done = last
    return "".join([*parts, text[done:end]])


def has_secret(text: str) -> bool:
    """Whether a secret is in the text, or was before it was redacted."""
    return "[redacted" in text or next(_secrets(text), None) is not None


def redact_value(value: Any, limit: int | None = None) -> Any:
    """Plain JSON data with every string in it redacted, and cut to `limit` characters where one is given."""
    if isinstance(value, str):
        clean = redact(value)
        return clean if limit is None or len(clean) <= limit else clean[:limit] + f"… ({len(clean)} characters)"
    if isinstance(value, dict):
        return {redact(str(key)): _redact_pair(str(key), item, limit) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [redact_value(item, limit) for item in value]
    return value


def _redact_pair(key: str, value: Any, limit: int | None) -> Any:
    """A value under its name: what stands under `password` and the like is a secret whatever it looks like."""
    if (
        isinstance(value, str)
        and value
        and not re.match(_HARMLESS, value, re.DOTALL)
        and re.search(_NAME, key, re.IGNORECASE)
    ):
        return "[redacted: secret]"
    return redact_value(value, limit)
