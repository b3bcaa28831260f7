"""A read-only call that was made before and came out the same: the model is pointed at the result it has."""

from __future__ import annotations

import json
from collections.abc import Iterable

from swecli.agent.loop_guard import canonical
from swecli.models.message import UNCHANGED, ApiMessage, ToolCall

READS = ("read_file", "list_files", "search_files")
WORTH_IT = 400  # characters; a shorter result is no longer than the line that would stand for it


def repeated(call: ToolCall, result: str, sent: Iterable[ApiMessage]) -> str:
    """The line to send in place of a result that the request `sent` holds in full already; "" when it does not.

    The call is made all the same, which costs little: so what is said to be unchanged is unchanged.
    """
    if call.name not in READS or len(result) < WORTH_IT:
        return ""
    wanted, made = canonical(call.parameters), dict[str, str]()
    for message in sent:
        for one in message.get("tool_calls") or ():
            if one["function"]["name"] == call.name:
                made[one["id"]] = one["function"]["arguments"]
        known = str(message.get("tool_call_id") or "")
        if known in made and message.get("content") == result and _same(made[known], wanted):
            return f"{UNCHANGED}this is exactly the result of call {known}, which you have above.]"
    return ""


def _same(arguments: str, wanted: str) -> bool:
    try:
        return canonical(json.loads(arguments)) == wanted
    except ValueError:
        return False
