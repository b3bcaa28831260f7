"""Read the arguments of a call: they follow the tool's parameters, or each fault is named and nothing runs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from swecli.tools.base import Tool, ToolError
from swecli.tools.limits import one_line

_Parameters = TypeVar("_Parameters", bound=BaseModel)


def read_arguments(tool: Tool, parameters: Mapping[str, Any]) -> BaseModel:
    """Return the validated parameters. Raises ToolError."""
    return read_parameters(tool.name, tool.params, parameters)


def read_parameters(
    tool: str, kind: type[_Parameters], parameters: Mapping[str, Any]
) -> _Parameters:
    """Return the parameters for the tool of this name, validated as this kind of them. Raises ToolError."""
    try:
        return kind.model_validate(dict(parameters))
    except ValidationError as error:
        faults = "\n".join(map(_describe_error, error.errors(include_url=False)))
    raise ToolError(f"The arguments of {tool} are invalid. Nothing was done.\n{faults}")


def _describe_error(item: Mapping[str, Any]) -> str:
    place = one_line(".".join(map(str, item["loc"])) or "arguments", 80)
    if item["type"] == "extra_forbidden":
        return f"- {place}: there is no such parameter"
    input_note = "" if item["type"] == "missing" else f" (got {one_line(repr(item['input']), 60)})"
    return f"- {place}: {item['msg']}{input_note}"
