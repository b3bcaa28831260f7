"""JSON: parsed, whose parts have no type until somebody has looked at them, and written for any reader."""

from __future__ import annotations

import json
from typing import Any

Json = Any  # type: ignore[explicit-any]
JsonObject = dict[str, Any]  # type: ignore[explicit-any]


def dumps(value: Json, indent: int | None = None) -> str:
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
