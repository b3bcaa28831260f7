"""The arguments of a tool call, as a model wrote them."""

from __future__ import annotations

import json
import re
from typing import Any

from swecli.llm.model_json import parse_json
from swecli.text import join_surrogates

_NUL = re.compile(r"(?<!\\)(?:\\\\)*\\u0000")  # in JSON
_EXCERPT = 80


def parse_arguments(text: str) -> tuple[dict[str, Any], str]:
    """Parse a call's arguments; return them and the problem ("" for none). An empty text means no arguments."""
    excerpt = text
    if len(text) > _EXCERPT:
        excerpt = f"{text[: _EXCERPT // 2]} … {text[-_EXCERPT // 2 :]}"
    try:
        value = parse_json(text) if text.strip() not in ("", "null") else {}
        if isinstance(value, str):  # some servers encode the object twice
            value = parse_json(value)
        whole = json.dumps(value, ensure_ascii=False, allow_nan=False)
        value = json.loads(join_surrogates(whole))
    except (ValueError, TypeError, RecursionError) as error:
        return {}, f"the arguments are not valid JSON ({error}): {excerpt}"
    if not isinstance(value, dict):
        return {}, f"the arguments are not a JSON object: {excerpt}"
    if _NUL.search(whole):  # the store would replace it
        return {}, "they contain a NUL character, which no path, command or text file can hold"
    return value, ""
