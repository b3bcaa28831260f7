"""The way down: what a 400 refuses, by its words and by what was sent; the request goes out once more without it."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

# what may be left out of a body, as services call it
_FIELDS = (
    "stream_options", "parallel_tool_calls", "temperature", "top_p", "top_k", "cache_control", "prompt_cache_key",
    "reasoning_effort", "thinking", "output_config", "tool_choice", "stream",
)  # fmt: skip
_NO_TOOLS = re.compile(
    r"(does|do) not support (tools|tool use|tool calling|function)|tool choice requires|"
    r"no endpoints found that support tool|(unknown|unrecognized|unsupported|unexpected|extra)\b.{0,60}\btools\b|"
    r"tools?\b.{0,40}\bnot (supported|permitted|allowed)",
    re.IGNORECASE,
)
_NO_SYSTEM = re.compile(
    r"system\W{0,2} ?(role|messages?|prompt|instruction)?.{0,40}(not supported|unsupported|not allowed|not enabled)|"
    r"(does|do) not support.{0,20}\bsystem\b|system message must be|roles must alternate|unexpected role .?system|"
    r"developer instruction is not enabled|only user and assistant roles",
    re.IGNORECASE,
)
_AT_MOST = re.compile(
    r"(?:at most|maximum(?: allowed)?(?: value)?(?: is| of|:)?|less than or equal to|<=|supports up to|>)"
    r"\s*`?(\d{2,8})",
    re.IGNORECASE,
)
_BOUND = re.compile(r"signature|thinking`? blocks?|bound to a different conversation|reasoning_details", re.IGNORECASE)
_MISSING = re.compile(r"missing|required|must be (passed|provided|included)|(?<!un)expected", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Lesson:
    """One field of a model's record that a refusal changes. `notice` is for the user, "" for none. Field `blocks` is
    not of the record: opaque parts are left out of this conversation."""

    field: str
    value: Any
    notice: str = ""


def lesson_of(
    name: str, body: Mapping[str, Any], limit_name: str, param: str, words: str, own: Collection[str] = ()
) -> Lesson | None:
    """What a refusal teaches of the model `name`; None where it names nothing that can be left out.

    `param` is the field that the error object names, `own` are fields that the user's configuration put in.
    """
    lower = words.lower()

    def about(field: str) -> bool:
        return param == field or param.startswith(f"{field}.") or _names(field, lower)

    if limit_name in body and (about("max_tokens") or about("max_completion_tokens")) and "context" not in lower:
        return _length(name, body, limit_name, lower)
    sent = json.dumps(body.get("messages", []))
    if '"reasoning_content"' in sent and about("reasoning_content") and not _MISSING.search(lower):
        return Lesson("think_back", "never")
    if about("reasoning_content") and _MISSING.search(lower) and '"reasoning_content"' not in sent:
        return Lesson("think_back", "with calls")
    opaque = any(f'"{kind}"' in sent for kind in ("signature", "redacted_thinking", "reasoning_details"))
    if opaque and _BOUND.search(words):
        return Lesson("blocks", None, f"{name} did not take back its own thoughts: left out of this request")
    for field in (*_FIELDS, *own):
        there = field in body or (field == "cache_control" and '"cache_control"' in json.dumps(body))
        if there and about(field):
            return Lesson(f"off.{field}", True, f"{name} does not take {field}: left out from now on")
    if "tools" in body and (param == "tools" or _NO_TOOLS.search(words)):
        return Lesson("tools", False, f"{name} takes no tools: it can answer, not act")
    if _has_system(body) and _NO_SYSTEM.search(words):
        return Lesson("system_role", False)
    return None


def _length(name: str, body: Mapping[str, Any], limit_name: str, words: str) -> Lesson | None:
    other = "max_completion_tokens" if limit_name == "max_tokens" else "max_tokens"
    figures = [int(found) for found in _AT_MOST.findall(words.replace(",", "")) if int(found) < body[limit_name]]
    if figures:
        return Lesson("max_output", max(figures))
    return Lesson("limit_name", other)


def _names(field: str, words: str) -> bool:
    return re.search(rf"(?<![\w.]){re.escape(field.lower())}(?![\w])", words) is not None


def _has_system(body: Mapping[str, Any]) -> bool:
    return "system" in body or any(m.get("role") == "system" for m in body.get("messages", ()))
