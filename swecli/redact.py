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
_IN_NAMES = [
    "pass",
    "pwd",
    "secret",
    "key",
    "token",
    "credential",
    "auth",
]  # each match of `_NAME` has one
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


class _Patterns(NamedTuple):
    """The patterns of redact.toml. `kinds`: (kind, pattern) of tokens; `token`: their union; `in_context`: (kind, word
    lists, pattern) of secrets found by their context, where the text must contain a word of each list."""

    kinds: list[list[str]]
    token: re.Pattern[str]
    in_context: list[tuple[str, list[list[str]], re.Pattern[str]]]


@cache
def _patterns() -> _Patterns:
    data = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
    tokens, in_context = (
        data[name].strip().replace("\n  ", "").split("\n") for name in ("tokens", "in_context")
    )
    kinds = [row.split(": ", 1) for row in tokens]
    others = []
    for row in in_context:
        head, regex = row.split("): ", 1)
        kind, words = head.split(" (")
        needed = [words.split(), *([_IN_NAMES] if "NAME" in regex else [])]
        regex = regex.replace("NAME", _NAME).replace("PASSWORD", _PASSWORD)
        others.append((kind, needed, re.compile(regex, re.IGNORECASE)))
    # without groups, a branch that starts with another character fails at once
    return _Patterns(
        kinds, re.compile(_STARTS + "(?:" + "|".join(regex for _, regex in kinds) + ")"), others
    )


def _secrets(text: str) -> Iterator[tuple[int, int, str]]:
    """Yield (start, end, kind) of every secret; they may overlap."""
    if not re.search(_SUSPECT, text):
        return
    patterns = _patterns()
    done = 0
    for token in patterns.token.finditer(text):
        at = token.start()
        while at >= done and (found := _token_at(text, at)):  # another token may follow immediately
            done, kind = found
            yield at, done, kind
            at = done
    lower = text.lower()
    for kind, needed, pattern in patterns.in_context:
        at = 0 if all(any(word in lower for word in words) for words in needed) else len(text)
        while match := pattern.search(text, at):
            (start, end), at = match.span("v"), match.end()
            if _may_be_secret(text[start:end], match.groupdict()):
                while end - start >= 500 and text[end : end + 1] not in ("", *" \t\r\n\"'`,;&<>"):
                    end += 1  # longer than the pattern matches
                at = max(at, end)
                yield start, end, kind


def _token_at(text: str, at: int) -> tuple[int, str] | None:
    """Return the end and the kind of the token at a position."""
    matches = ((re.compile(regex).match(text, at), kind) for kind, regex in _patterns().kinds)
    return next(((match.end(), kind) for match, kind in matches if match), None)


def _may_be_secret(value: str, groups: dict[str, str | None]) -> bool:
    """Return whether a value may be a secret: not a placeholder, reference, path, sentence or code. `groups` may have
    the name `n` before the value ("" for a password) and its quote `q`."""
    value = value.strip("\\\"'`").rstrip(".,;:!?)")
    if len(value) < 3 or re.match(_NOT_SECRET, value, re.DOTALL):
        return False
    name, quoted = groups.get("n"), groups.get("q") is not None
    if name is None:
        return value.lower() not in _PLACEHOLDERS
    if name == "" or re.match("pass|pwd|kenn", name, re.IGNORECASE):
        if quoted and value.replace(" ", "").isalpha() and value.islower():
            return len(value) >= 6 and value not in _PLACEHOLDERS
        sentence = " " in value and value[0].isupper()
        return not sentence and (_is_mixed(value) or (quoted and value.isdigit()))
    least = 12 if name.lower().strip("_") == "auth" else 6
    odd = _is_random_case(value) or (not re.match(_WORDS, value) and _is_mixed(value))
    return odd and len(value) >= least and " " not in value


def _is_mixed(value: str) -> bool:
    """Return whether letters are mixed with digits, signs or random capitals."""
    letters = any(c.isalpha() for c in value)
    return letters and (
        any(c.isdigit() or c in "!@#$%^&*+=~?" for c in value) or _is_random_case(value)
    )


def _is_random_case(value: str) -> bool:
    """Return whether a value has too many capitals for joined words: `dWbOfHyiLanE`."""
    return len(value) >= 12 and len(value) <= 4 * sum(c.isupper() for c in value) <= 3 * len(value)


def redact(text: str) -> str:
    """Return the text with each recognised secret replaced by `[redacted: KIND]`."""
    return redact_part(text, 0, len(text))


def redact_part(text: str, start: int, end: int) -> str:
    """Redact the part of the text from `start` to `end`, including secrets that begin or end outside of it."""
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
    """Return whether the text contains a secret or a redacted one."""
    return "[redacted" in text or next(_secrets(text), None) is not None


def redact_value(value: Any, limit: int | None = None) -> Any:
    """Return JSON data with every string redacted, and truncated to `limit` characters if one is given."""
    if isinstance(value, str):
        clean = redact(value)
        return (
            clean
            if limit is None or len(clean) <= limit
            else clean[:limit] + f"… ({len(clean)} characters)"
        )
    if isinstance(value, dict):
        return {
            redact(str(key)): _redact_pair(str(key), item, limit) for key, item in value.items()
        }
    if isinstance(value, (list, tuple)):
        return [redact_value(item, limit) for item in value]
    return value


def _redact_pair(key: str, value: Any, limit: int | None) -> Any:
    """Redact a value; any value under a name like `password` is a secret."""
    if (
        isinstance(value, str)
        and value
        and not re.match(_NOT_SECRET, value, re.DOTALL)
        and re.search(_NAME, key, re.IGNORECASE)
    ):
        return "[redacted: secret]"
    return redact_value(value, limit)
