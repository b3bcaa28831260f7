"""Read the arguments of a call: what a tool does not know is left out where that does no harm, and JSON in a string is
read."""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import BaseModel, ValidationError

from swecli.tools.base import Tool, ToolError
from swecli.tools.limits import one_line

# Errors of pydantic for a string in place of a list, an object, and another model.
_NOT_PARSED = ("list_type", "dict_type", "model_type", "model_attributes_type")
_MAX_ROUNDS = 3  # a list in a string, an object in that, an unknown name in that


def read_arguments(tool: Tool, parameters: Mapping[str, Any]) -> tuple[BaseModel, str]:
    """Return the validated parameters, and a note for the model on what was left out, "" if nothing was. Raises
    ToolError.

    Only a tool that changes nothing is called without an argument that it does not know: elsewhere that could have
    limited what is changed or run."""
    given = dict(parameters)
    unknown: list[str] = []
    for _ in range(_MAX_ROUNDS):
        try:
            return tool.params.model_validate(given), _note(tool, unknown)
        except ValidationError as error:
            problems = error.errors(include_url=False)
        given = copy.deepcopy(given)
        repaired = [_parse_string(given, problem) for problem in problems]
        if tool.kind.may_change == "nothing":
            extra = [problem for problem in problems if problem["type"] == "extra_forbidden"]
            unknown += [_leave_out(given, problem["loc"]) for problem in extra]
            repaired.append(bool(extra))
        if not any(repaired):
            break
    lines = "\n".join(map(_describe_error, problems))
    raise ToolError(f"The arguments of {tool.name} are invalid. Nothing was done.\n{lines}")


def _parse_string(given: dict[str, Any], problem: Mapping[str, Any]) -> bool:
    """Replace a string by the list or object that it holds as JSON. Return whether it does."""
    if problem["type"] not in _NOT_PARSED or not isinstance(problem["input"], str):
        return False
    try:
        value = json.loads(problem["input"])
    except ValueError:
        return False
    if not isinstance(value, list | dict):
        return False
    *above, last = problem["loc"]
    _container(given, above)[last] = value
    return True


def _leave_out(given: dict[str, Any], place: Sequence[str | int]) -> str:
    *above, last = place
    del _container(given, above)[last]
    return str(last)


def _container(given: Any, above: Sequence[str | int]) -> Any:
    for part in above:
        given = given[part]
    return given


def _note(tool: Tool, unknown: Sequence[str]) -> str:
    if not unknown:
        return ""
    names = ", ".join(one_line(name, 40) for name in unknown)
    return f"[{tool.name} has no parameter {names}: left out]"


def _describe_error(item: Mapping[str, Any]) -> str:
    where = one_line(".".join(map(str, item["loc"])) or "arguments", 80)
    if item["type"] == "extra_forbidden":
        return f"- {where}: there is no such parameter"
    sent = "" if item["type"] == "missing" else f" (got {one_line(repr(item['input']), 60)})"
    return f"- {where}: {item['msg']}{sent}"
