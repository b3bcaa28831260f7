"""Sanitize text for terminals and serialize JSON for any reader. Standard library only: errors at start need it too."""

from __future__ import annotations

import json
import re
from typing import Any

# Whole control sequences first, so that none leaves its printable part ("[31m") in the text; each has a maximum length.
_SEQUENCES = re.compile(
    "\x1b\\[[0-?]{0,64}[ -/]{0,8}[@-~]|\x1b[\\]PX^_][^\x1b\x07\n]{0,2000}(?:\x07|\x1b\\\\)|\x1b[ -/]{0,4}[0-Z\\\\^-~]"
)
# C0 but tab and newline, DEL, C1; bidi controls; tag letters
_STEERING = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\U000e0000-\U000e007f]+"
)
_LINE_ENDS = re.compile("\r\n?|[\u2028\u2029]")
_LONE = re.compile("[\ud800-\udfff]")
LONGEST_LINE = 2000


def plain(text: str) -> str:
    """Remove control sequences and invisible characters from a text, and replace lone surrogates by U+FFFD."""
    return _LONE.sub("\ufffd", _STEERING.sub("", _LINE_ENDS.sub("\n", _SEQUENCES.sub("", text))))


def one_line(text: str) -> str:
    """Sanitize a text as `plain` does, on one line of at most 2,000 characters."""
    line = " ".join(plain(text[: LONGEST_LINE * 2]).split())
    return line if len(line) <= LONGEST_LINE else line[: LONGEST_LINE - 1] + "…"


def complaint(message: str, hint: str) -> str:
    """Format an error as one line: what is wrong and what to do."""
    return f"swecli: {one_line(message)}  {one_line(hint)}".rstrip()


def dumps(value: Any, indent: int | None = None) -> str:
    """Serialize a value as ASCII-only JSON, on one line unless `indent` is given. NaN and infinity become null, lone
    surrogates `?`, other objects their `str`."""
    try:
        text = json.dumps(value, allow_nan=False, default=str, indent=indent)
    except ValueError:
        finite = json.loads(json.dumps(value, default=str), parse_constant=lambda _: None)
        text = json.dumps(finite, indent=indent)
    if "\\ud" not in text:
        return text
    # most are pairs for characters beyond U+FFFF; strict readers reject half a pair
    whole = json.dumps(json.loads(text), ensure_ascii=False).encode("utf-8", "replace")
    return json.dumps(json.loads(whole), indent=indent)
