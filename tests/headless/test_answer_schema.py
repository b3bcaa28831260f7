"""Test answers that follow a JSON schema: which schemas are refused, and what a run prints and returns."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from swecli.headless.answer_schema import MAX_BYTES, AnswerSchema
from swecli.models.errors import BadInput
from tests.support.runtime import calls, make_runtime
from tests.support.scripted import ScriptedModel
from tests.support.shell import CompletedRun, script, swecli

PRICE: dict[str, Any] = {
    "type": "object",
    "properties": {"price": {"type": "number"}},
    "required": ["price"],
    "additionalProperties": False,
}


def written(schema: object) -> Path:
    path = Path("schema.json")
    path.write_text(json.dumps(schema))
    return path


def run(*answers: str, schema: object = PRICE, style: str = "text") -> CompletedRun:
    arguments = ("--json-schema", str(written(schema)), "--output-format", style, "--no-reflect")
    return swecli("-p", "what is it?", "-m", script("s.json", *answers), *arguments)


@pytest.mark.parametrize(
    ("schema", "problem"),
    [
        ([1], "is not a JSON object"),
        ({"type": "numbr"}, "'numbr' is not valid"),
        ({"$schema": 5}, r"\$schema is not text"),
        ({"properties": {"a": {"pattern": "("}}}, "is not a 'regex'"),
        ({"$ref": "#"}, "refers to itself without end"),
        ({"$ref": "https://example.org/x"}, "refers to 'https://example.org/x', which is not in"),
        ({"properties": {"a": {"$ref": "#/$defs/no"}}}, "refers to '/\\$defs/no', which is not"),
        ({"title": "x" * MAX_BYTES}, "longer than 100,000 bytes"),
    ],
)
def test_what_is_no_usable_schema_is_refused(schema: object, problem: str) -> None:
    with pytest.raises(BadInput, match=problem):
        AnswerSchema.read(written(schema))


def test_a_schema_that_is_missing_or_no_json_is_refused() -> None:
    with pytest.raises(BadInput, match=r"gone\.json cannot be read: No such file"):
        AnswerSchema.read(Path("gone.json"))
    Path("bad.json").write_text("{")
    with pytest.raises(BadInput, match=r"bad\.json is not JSON"):
        AnswerSchema.read(Path("bad.json"))


def test_references_within_a_schema_are_followed() -> None:
    schema = AnswerSchema({"$defs": {"n": {"type": "number"}}, "items": {"$ref": "#/$defs/n"}})
    assert schema.check("[1, 2]").value == [1, 2]
    assert schema.check('[1, "x"]').fault == "$[1]: 'x' is not of type 'number'"


def test_an_answer_that_follows_the_schema_is_printed_as_json() -> None:
    outcome = run('```json\n{"price": 7}\n```')
    assert (outcome.code, outcome.out) == (0, '{"price": 7}\n')


def test_the_result_object_has_the_answer_as_a_value() -> None:
    outcome = run('{"price": 7}', style="json")
    assert (outcome.code, outcome.json["structured_output"]) == (0, {"price": 7})


def test_an_answer_that_does_not_follow_it_is_asked_for_once_more() -> None:
    outcome = run('{"price": "seven"}', '{"price": 7}')
    assert (outcome.code, outcome.out) == (0, '{"price": 7}\n')
    shown = swecli("sessions", "show", swecli("sessions", "list", "--json").json[0]["id"]).out
    assert "does not follow the schema: $.price: 'seven' is not of type 'number'" in shown


@pytest.mark.parametrize("style", ["text", "json"])
def test_a_second_answer_that_does_not_follow_it_fails_with_a_code_of_its_own(style: str) -> None:
    outcome = run("seven", "It is seven.", "not reached", style=style)
    assert outcome.code == 76
    assert "The answer does not follow the schema: it is not JSON." in outcome.err
    if style == "text":
        assert outcome.out == ""
    else:
        assert (outcome.json["is_error"], "structured_output" in outcome.json) == (True, False)


def test_a_schema_that_nothing_satisfies_ends_after_the_second_answer() -> None:
    assert run("{}", "{}", "{}", schema={"not": {}}).code == 76


def test_every_line_of_a_stream_is_answered_by_the_schema() -> None:
    lines = "\n".join(json.dumps({"type": "user", "text": text}) for text in ("one", "two"))
    outcome = swecli(
        "-p",
        "--input-format",
        "stream-json",
        "--json-schema",
        str(written(PRICE)),
        "-m",
        script("s.json", '{"price": 1}', '{"price": 2}'),
        stdin=lines,
    )
    assert (outcome.code, outcome.out) == (0, '{"price": 1}\n{"price": 2}\n')


def test_the_schema_needs_a_run_without_a_screen() -> None:
    outcome = swecli("--json-schema", "x.json")
    assert (outcome.code, "--json-schema needs -p" in outcome.err) == (2, True)


async def test_every_request_of_the_turn_carries_the_schema_for_services_that_keep_one() -> None:
    model = ScriptedModel([calls(("list_files", {})), '{"price": 7}'])
    runtime = make_runtime(model)
    async for _ in runtime.agent.run(runtime.agent.prepare("what is it?"), PRICE):
        pass
    assert [request.schema for request in model.requests] == [PRICE, PRICE]
