"""Test simplifying JSON schemas."""

from __future__ import annotations

import pytest
from pydantic import Field, ValidationError

from swecli.tools.params import Params
from swecli.tools.tool_schema import plain_schema


class Inner(Params):
    """A docstring that the schema omits."""

    title: str = Field(description="A parameter may be called title.")


class Outer(Params):
    """A docstring that the schema omits."""

    inner: list[Inner] = Field(description="Some.")
    number: int | None = Field(None, ge=1, description="A number.")
    one: Inner | None = Field(None, description="One.")


def test_schemas_have_no_references_titles_or_nulls() -> None:
    inner = {
        "type": "object",
        "properties": {
            "title": {"type": "string", "description": "A parameter may be called title."}
        },
        "required": ["title"],
        "additionalProperties": False,
    }
    assert plain_schema(Outer) == {
        "type": "object",
        "properties": {
            "inner": {"type": "array", "items": inner, "description": "Some."},
            "number": {"type": "integer", "minimum": 1, "description": "A number."},
            "one": inner | {"description": "One."},
        },
        "required": ["inner"],
        "additionalProperties": False,
    }


def test_a_tool_without_parameters_has_an_empty_object() -> None:
    class Nothing(Params):
        """Nothing."""

    assert plain_schema(Nothing) == {
        "type": "object",
        "properties": {},
        "additionalProperties": False,
    }


def test_unknown_parameters_are_refused() -> None:
    with pytest.raises(ValidationError):
        Inner.model_validate({"title": "x", "other": 1})
