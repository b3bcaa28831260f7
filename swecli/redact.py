"""Redact keys, passwords and tokens in text, in time linear in its length: each repetition in a pattern is bounded or
possessive, or cannot overlap another one.

Only single characters are repeated possessively, since Python before 3.11.5 ends such a repetition of a group too
early; `(?=(?P<name>...))(?P=name)` does the same for a group."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

_PASSWORD = "passw(?:or)?d|passphrase|passwd|pwd"
# Names of secrets, in any case and style; `tokenizer`, `max_tokens` and `password_file` are none.
_NAME = (
    rf"(?P<n>(?:{_PASSWORD}|secret|(?:api|access|account|private|auth|app|application|license|service|integration"
    r"|signing|encryption|master)[ _-]?key|sharedaccesskey|(?<!publickey)token|credential|(?<![a-z])_?auth)s?"
    r"(?-i:(?![a-z]))(?<!tokens)(?![_-]?(?:file|path|url|uri|name|type|env|count|size|len|limit|expir|ttl))[\w-]{0,40})"
)
# each match of `_NAME` has one of these
_IN_NAMES = ["pass", "pwd", "secret", "key", "token", "credential", "auth"]
_NOT_SECRET = (  # a placeholder, reference, regular expression, path, URL or identifier in code
    r"\[redacted|#[0-9a-fA-F]{3,8}$|[,;)\]}]|.*(?:\\[wdsWDS]|\(\?|\[\^|%[sd])|\$[({]|\$\w+$|<|\{.*\}$|%\w*%?$|%\(|\*+$"
    r"|(?:~|\.{0,2})(?:/[a-z0-9._-]{1,30}){2,12}/?$|https?://|[A-Z]+(?:_[A-Z0-9]+)+$|[a-z_]\w*(?:\.[a-z_]\w*)+$"
    r"|[a-z_]\w*(?:\.[a-z_]\w*)*\.[A-Z][A-Z0-9_]*$"
    r"|(?i:.*(?:x{4}|\*{3}|\.\.\.|…|\{\w*\}|\$\{|(?<![a-z0-9])(?:your|example|placeholder|change.?me|dummy)))"
)
_PLACEHOLDERS = (
    "password",
    "passwd",
    "pass",
    "secret",
    "token",
    "user",
    "none",
    "null",
    "true",
    "false",
    "required",
)
# an identifier: words, perhaps numbered
_WORDS = r"[A-Za-z]+\d{0,2}(?:[ _./:-][A-Za-z]+\d{0,2})*$"
# where a token may start, and its first characters
_STARTS = r"(?:(?<![A-Za-z0-9_])|(?<=\\[nrt]|[0-9;]m))(?=[\w$~.-][\w.:$/~|=-]{15}|-----BEGIN )"
# what every pattern needs at least, so that the others need not be compiled for a text without it
_SUSPECT = (
    r"(?i)\S{12}|[:=]|\s-|pass|pwd|secret|token|key|auth|credential|kennwort|zugang|log-?in"
    r"|contrase|senha|パス|密码"
)


class _InContext(NamedTuple):
    """How secrets of a kind are found by what stands around them: the group `v` of the `pattern` is the secret. The
    text must contain a word of each list of `words`, else the pattern need not be tried."""

    kind: str
    words: list[list[str]]
    pattern: re.Pattern[str]


class _Patterns(NamedTuple):
    """The patterns of redact.toml. `kinds`: (kind, pattern) of tokens; `token`: their union."""

    kinds: list[list[str]]
    token: re.Pattern[str]
    in_context: list[_InContext]


class _Secret(NamedTuple):
    """A secret in a text, from `start` to `end`."""

    start: int
    end: int
    kind: str


@cache
def _patterns() -> _Patterns:
    data = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
    kinds = [line.split(": ", 1) for line in _joined_lines(data["tokens"])]
    # without groups, a branch that starts with another character fails at once
    token = re.compile(_STARTS + "(?:" + "|".join(regex for _, regex in kinds) + ")")
    in_context = []
    for line in _joined_lines(data["in_context"]):  # "KIND (WORD WORD ...): REGEX"
        beginning, regex = line.split("): ", 1)
        kind, listed = beginning.split(" (")
        words = [listed.split()]
        if "NAME" in regex:
            words.append(_IN_NAMES)
        regex = regex.replace("NAME", _NAME).replace("PASSWORD", _PASSWORD)
        in_context.append(_InContext(kind, words, re.compile(regex, re.IGNORECASE)))
    return _Patterns(kinds, token, in_context)


def _joined_lines(text: str) -> list[str]:
    """Return the lines of a text; those that begin with two spaces continue the one before."""
    return text.strip().replace("\n  ", "").split("\n")


def _secrets(text: str) -> Iterator[_Secret]:
    """Yield every secret; they may overlap."""
    if re.search(_SUSPECT, text):
        yield from _tokens(text)
        yield from _secrets_in_context(text)


def _tokens(text: str) -> Iterator[_Secret]:
    reached = 0
    for match in _patterns().token.finditer(text):
        start = match.start()
        while start >= reached:  # another token may follow immediately
            token = _token_at(text, start)
            if token is None:
                break
            yield token
            start = reached = token.end


def _token_at(text: str, start: int) -> _Secret | None:
    """Return the token that begins at a position; None if none does."""
    for kind, regex in _patterns().kinds:
        match = re.compile(regex).match(text, start)
        if match:
            return _Secret(start, match.end(), kind)
    return None


def _secrets_in_context(text: str) -> Iterator[_Secret]:
    lower = text.lower()
    for kind, words, pattern in _patterns().in_context:
        if not all(any(word in lower for word in group) for group in words):
            continue
        position = 0
        while match := pattern.search(text, position):
            start, end = match.span("v")
            position = match.end()
            if _may_be_secret(text[start:end], match.groupdict()):
                while end - start >= 500 and text[end : end + 1] not in ("", *" \t\r\n\"'`,;&<>"):
                    end += 1  # longer than the pattern matches
                position = max(position, end)
                yield _Secret(start, end, kind)


def _may_be_secret(value: str, groups: dict[str, str | None]) -> bool:
    """Return whether a value may be a secret: not a placeholder, reference, path, sentence or code. `groups` may have
    the name `n` before the value ("" for a password) and its quote `q`."""
    value = value.strip("\\\"'`").rstrip(".,;:!?)")
    if len(value) < 3 or re.match(_NOT_SECRET, value, re.DOTALL):
        return False
    name = groups.get("n")
    is_quoted = groups.get("q") is not None
    if name is None:
        return value.lower() not in _PLACEHOLDERS
    if name == "" or re.match("pass|pwd|kenn", name, re.IGNORECASE):
        if is_quoted and value.replace(" ", "").isalpha() and value.islower():
            return len(value) >= 6 and value not in _PLACEHOLDERS
        is_sentence = " " in value and value[0].isupper()
        return not is_sentence and (_is_mixed(value) or (is_quoted and value.isdigit()))
    min_length = 12 if name.lower().strip("_") == "auth" else 6
    if len(value) < min_length or " " in value:
        return False
    return _is_random_case(value) or (not re.match(_WORDS, value) and _is_mixed(value))


def _is_mixed(value: str) -> bool:
    """Return whether letters are mixed with digits, signs or random capitals."""
    if not any(char.isalpha() for char in value):
        return False
    has_signs = any(char.isdigit() or char in "!@#$%^&*+=~?" for char in value)
    return has_signs or _is_random_case(value)


def _is_random_case(value: str) -> bool:
    """Return whether a value has too many capitals for joined words: `dWbOfHyiLanE`."""
    capitals = sum(char.isupper() for char in value)
    return len(value) >= 12 and len(value) <= 4 * capitals <= 3 * len(value)


def redact(text: str) -> str:
    """Return the text with each recognised secret replaced by `[redacted: KIND]`."""
    return redact_part(text, 0, len(text))


def redact_part(text: str, start: int, end: int) -> str:
    """Redact the part of the text from `start` to `end`, including secrets that begin or end outside of it."""
    parts: list[str] = []
    reached = start
    for secret in sorted(_secrets(text), key=lambda secret: (secret.start, -secret.end)):
        if secret.end <= reached or secret.start >= end:
            continue
        if secret.start >= reached:
            parts += [text[reached : secret.start], f"[redacted: {secret.kind}]"]
        elif reached == start:
            parts.append(f"[redacted: {secret.kind}]")
        reached = secret.end
    return "".join([*parts, text[reached:end]])


def has_secret(text: str) -> bool:
    """Return whether the text contains a secret or a redacted one."""
    return "[redacted" in text or next(_secrets(text), None) is not None


def redact_value(value: Any, limit: int | None = None) -> Any:
    """Return JSON data with every string redacted, and truncated to `limit` characters if one is given."""
    if isinstance(value, str):
        clean = redact(value)
        if limit is None or len(clean) <= limit:
            return clean
        return f"{clean[:limit]}… ({len(clean)} characters)"
    if isinstance(value, dict):
        return {
            redact(str(key)): _redact_pair(str(key), item, limit) for key, item in value.items()
        }
    if isinstance(value, (list, tuple)):
        return [redact_value(item, limit) for item in value]
    return value


def _redact_pair(key: str, value: Any, limit: int | None) -> Any:
    """Redact a value; any value under a name like `password` is a secret."""
    if not isinstance(value, str) or not value or re.match(_NOT_SECRET, value, re.DOTALL):
        return redact_value(value, limit)
    if re.search(_NAME, key, re.IGNORECASE):
        return "[redacted: secret]"
    return redact_value(value, limit)
