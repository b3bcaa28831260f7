"""Error lines, and JSON for any reader. Standard library only: errors at start need it too."""

from __future__ import annotations

import json
from typing import Any

from swecli.text import one_line

LONGEST_LINE = 2000  # of an error, in characters


def complaint(message: str, hint: str) -> str:
    """Format an error as one line: what is wrong and what to do."""
    return f"swecli: {one_line(message, LONGEST_LINE)}  {one_line(hint, LONGEST_LINE)}".rstrip()


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
    # most escapes are pairs for characters beyond U+FFFF; strict readers reject half a pair
    repaired = json.dumps(json.loads(text), ensure_ascii=False).encode("utf-8", "replace")
    return json.dumps(json.loads(repaired), indent=indent)
