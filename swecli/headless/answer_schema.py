"""Answers that follow a JSON schema of the user's: read it, tell the model, and check the answer."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.exceptions import SchemaError, ValidationError, best_match
from jsonschema.validators import validator_for
from referencing.exceptions import Unresolvable
from referencing.jsonschema import DRAFT202012, EMPTY_REGISTRY

from swecli.llm.model_json import parse_json
from swecli.models.errors import BadInput
from swecli.text import truncate
from swecli.values import dataclass

MAX_BYTES = 100_000  # about 25,000 tokens, which every request of the turn carries
_LONGEST_FAULT = 500  # characters: a validator quotes the whole value
_HINT = "Write a JSON schema, as on https://json-schema.org; its root is an object."


@dataclass(frozen=True, slots=True)
class CheckedAnswer:
    """An answer as a value, which means something only without a fault."""

    value: Any = None
    fault: str = ""  # why the answer does not follow the schema; "" if it does


@dataclass(frozen=True, slots=True)
class AnswerSchema:
    """A valid JSON schema for the answers of a run."""

    schema: dict[str, Any]

    @classmethod
    def read(cls, path: Path) -> AnswerSchema:
        """Read the schema of a file. Raises BadInput for one that is missing, too long, no JSON or no schema."""
        try:
            with path.open("rb") as file:
                data = file.read(MAX_BYTES + 1)
        except OSError as error:
            raise BadInput(f"The schema {path} cannot be read: {error.strerror}.", _HINT) from error
        if len(data) > MAX_BYTES:
            raise BadInput(
                f"The schema {path} is longer than {MAX_BYTES:,} bytes.",
                "Every request carries it: leave out what the answer does not need.",
            )
        try:
            schema = json.loads(data)
        except (ValueError, RecursionError) as error:
            raise BadInput(f"The schema {path} is not JSON: {error}.", _HINT) from error
        if not isinstance(schema, dict):
            raise BadInput(f"The schema {path} is not a JSON object.", _HINT)
        answer_schema = cls(schema)
        if fault := answer_schema._find_fault():
            raise BadInput(f"{path} is not a usable JSON schema: {fault}.", _HINT)
        return answer_schema

    def _find_fault(self) -> str:
        """Return why the schema cannot be used, "" if it can."""
        if not isinstance(self.schema.get("$schema", ""), str):
            return "$schema is not text"
        try:
            self._validator_class.check_schema(self.schema)
        except SchemaError as error:
            return truncate(error.message, _LONGEST_FAULT)
        except RecursionError:
            return "it is nested too deeply"
        try:  # references that lead nowhere or to themselves are found before anything is paid
            self._validate(None)
            _resolve_references(self.schema)
        except (Unresolvable, RecursionError) as error:
            return _describe(error)
        return ""

    @property
    def instruction(self) -> str:
        """What the model is told with the prompt."""
        return (
            "<answer_schema>\nYour last message is read by a program. It is JSON alone, without a code fence or "
            f"words around it, and follows this JSON schema:\n{json.dumps(self.schema, ensure_ascii=False)}\n"
            "</answer_schema>"
        )

    def check(self, text: str) -> CheckedAnswer:
        """Parse an answer and compare it with the schema."""
        try:
            value = parse_json(text)
        except (ValueError, RecursionError):
            return CheckedAnswer(fault="it is not JSON")
        try:
            error = self._validate(value)
        except (Unresolvable, RecursionError) as reference_error:
            return CheckedAnswer(fault=_describe(reference_error))
        if error is None:
            return CheckedAnswer(value)
        return CheckedAnswer(fault=f"{error.json_path}: {truncate(error.message, _LONGEST_FAULT)}")

    def _validate(self, value: Any) -> ValidationError | None:
        """Return the error that explains most, None if the value follows the schema. Nothing is fetched: a reference
        to another document raises Unresolvable."""
        return best_match(
            self._validator_class(self.schema, registry=EMPTY_REGISTRY).iter_errors(value)
        )

    @property
    def _validator_class(self) -> Any:
        """The validator of the draft that the schema names, else of the newest."""
        return validator_for(self.schema, default=Draft202012Validator)


def _resolve_references(schema: dict[str, Any]) -> None:
    """Look up the references within a schema. One with an id inside has more than one root, and is left to the
    validator. Raises Unresolvable."""
    objects = [schema]
    references = list[str]()
    while objects:
        current = objects.pop()
        if current is not schema and "$id" in current:
            return
        if isinstance(reference := current.get("$ref"), str):
            references.append(reference)
        for value in current.values():
            items = value if isinstance(value, list) else [value]
            objects += [item for item in items if isinstance(item, dict)]
    resolver = EMPTY_REGISTRY.resolver_with_root(DRAFT202012.create_resource(schema))
    for reference in references:
        resolver.lookup(reference)


def _describe(error: Exception) -> str:
    if isinstance(error, RecursionError):
        return "it refers to itself without end"
    return truncate(
        f"it refers to {getattr(error, 'ref', '')!r}, which is not in it", _LONGEST_FAULT
    )
