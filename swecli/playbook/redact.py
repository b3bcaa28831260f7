"""The one redactor: what looks like a key, a password or a token leaves a text before a model or a bullet sees it."""

from __future__ import annotations

import re
from typing import Any

MARK = "[redacted]"

_KEYS = re.compile(
    r"""
      -----BEGIN[ A-Z0-9]*PRIVATE[ ]KEY-----.*?(?:-----END[ A-Z0-9]*PRIVATE[ ]KEY-----|\Z)
    | \bsk-(?:ant-|proj-|or-|svcacct-)?[A-Za-z0-9_-]{16,}
    | \b(?:sk|rk|pk)_(?:live|test)_[A-Za-z0-9]{10,}
    | \b(?:AKIA|ASIA|AGPA|AROA)[A-Z0-9]{16}\b
    | \bgh[pousr]_[A-Za-z0-9]{20,}
    | \bgithub_pat_[A-Za-z0-9_]{20,}
    | \bglpat-[A-Za-z0-9_-]{16,}
    | \bxox[abeoprs]-[A-Za-z0-9-]{10,}
    | \bAIza[A-Za-z0-9_-]{30,}
    | \bya29\.[A-Za-z0-9_-]{20,}
    | \b(?:npm|hf|dop_v1|shpat|gsk|xai|pplx|r8)_[A-Za-z0-9]{20,}
    | \b(?:gsk|xai|pplx)-[A-Za-z0-9]{20,}
    | \bpypi-[A-Za-z0-9_-]{30,}
    | \beyJ[A-Za-z0-9_-]{8,4000}\.[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*)?
    """,
    re.VERBOSE | re.DOTALL,
)
_BEARER = re.compile(r"\b(Bearer|Basic|Token)(\s+)(?=[A-Za-z0-9._~+/=-]*\d)[A-Za-z0-9._~+/=-]{12,}", re.IGNORECASE)
_URL_LOGIN = re.compile(r"\b([a-z][a-z0-9+.-]{0,20}://[^\s:/@]*):[^\s/@]+@", re.IGNORECASE)
_NAME = (
    r"(?:passw(?:or)?d|passphrase|pwd|secret|api[_-]?key|apikey|access[_-]?key|private[_-]?key|auth[_-]?token"
    r"|access[_-]?token|token(?!s)|credentials?)[\w-]{0,40}"
)
# name = value as code, shell, headers, JSON and YAML write it. A bare value needs letters and a digit, else it is
# more likely code or a count.
_NAMED = re.compile(_NAME, re.IGNORECASE)
_QUOTED = re.compile(rf"({_NAME}[\"']?\s*(?:[:=]|=>)\s*)([\"'])(?!\2)[^\"'\n]{{4,}}\2", re.IGNORECASE)
_BARE = re.compile(
    rf"({_NAME}[\"']?\s*(?:[:=]|=>)\s*)(?!\[redacted\])(?=[^\s,;'\"]*\d)(?=[^\s,;'\"]*[A-Za-z])"
    r"[^\s,;'\"()\[\]{}]{6,}+(?![(\[.])",
    re.IGNORECASE,
)
_SPOKEN = re.compile(
    r"\b((?:password|passphrase|pass ?code|secret|token|api[ -]?key|passwort|kennwort)\s+"
    r"(?:(?:of|for|to|von|der|des|für|zur|zum)\s+(?:\w+\s+){1,3}?)?(?:is|was|are|=|ist|lautet|war)\s+)(?:[\"'`])?"
    r"(?!\[redacted\])(?=\S*[\d!@#$%^&*])[^\s\"'`]{4,}",
    re.IGNORECASE,
)


_LOGIN = re.compile(
    r"\b((?:log-?in|credentials?|zugangsdaten)\s+(?:is|are|was|=|lauten|lautet|ist)\s+[\w.@-]+[:/])(?=\S*[A-Za-z])(?=\S*\d)\S{5,}",
    re.IGNORECASE,
)


def redact(text: str) -> str:
    """The text with every recognised secret replaced by `[redacted]`; names and user names stay."""
    text = _KEYS.sub(MARK, text)
    text = _URL_LOGIN.sub(rf"\1:{MARK}@", text)
    text = _BEARER.sub(rf"\1\2{MARK}", text)
    text = _QUOTED.sub(rf"\1\2{MARK}\2", text)
    text = _BARE.sub(rf"\1{MARK}", text)
    text = _LOGIN.sub(rf"\1{MARK}", text)
    return _SPOKEN.sub(rf"\1{MARK}", text)


def has_secret(text: str) -> bool:
    """Whether a secret is in the text, or was before it was redacted."""
    return MARK in text or redact(text) != text


def redact_value(value: Any, limit: int | None = None) -> Any:
    """Plain JSON data with every string in it redacted, and cut to `limit` characters where one is given."""
    if isinstance(value, str):
        clean = redact(value)
        return clean if limit is None or len(clean) <= limit else clean[:limit] + f"… ({len(clean)} characters)"
    if isinstance(value, dict):
        return {str(key): redact_pair(str(key), item, limit) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [redact_value(item, limit) for item in value]
    return value


def redact_pair(key: str, value: Any, limit: int | None = None) -> Any:
    """A value under its name: what stands under `password` and the like is a secret whatever it looks like."""
    if isinstance(value, str) and value and _NAMED.search(key):
        return MARK
    return redact_value(value, limit)
