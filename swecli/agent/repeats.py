"""A read-only call that was made before and came out the same: the model is pointed at the result it has."""

from __future__ import annotations

import json
from collections.abc import Callable

from swecli.models.message import UNCHANGED, ApiMessage, ToolCall

READS = ("read_file", "list_files", "search_files")
WORTH_IT = 400  # characters; a shorter result is no longer than the line that would stand for it


class Repeats:
    """Looks for the result of the same call in the request that asked for it. `sent` gives that request.

    The call is made all the same, which costs little: so what is said to be unchanged is unchanged.
    """

    def __init__(self, sent: Callable[[], list[ApiMessage]]) -> None:
        self._sent = sent

    def shortened(self, call: ToolCall, result: str) -> str:
        """The line to send in place of a result that the model has in full already; "" when it has not."""
        if call.name not in READS or len(result) < WORTH_IT:
            return ""
        wanted, made = canonical(call.parameters), dict[str, str]()
        for message in self._sent():
            for one in message.get("tool_calls") or ():
                if one["function"]["name"] == call.name:
                    made[one["id"]] = one["function"]["arguments"]
            known = str(message.get("tool_call_id") or "")
            if known in made and message.get("content") == result and _same(made[known], wanted):
                return f"{UNCHANGED}this is exactly the result of call {known}, which you have above.]"
        return ""


def canonical(parameters: object) -> str:
    """Arguments as one text, whatever their order."""
    return json.dumps(parameters, ensure_ascii=False, sort_keys=True, default=str)


def _same(arguments: str, wanted: str) -> bool:
    try:
        return canonical(json.loads(arguments)) == wanted
    except ValueError:
        return False
