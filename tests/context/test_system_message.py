"""Test the built-in prompts."""

from __future__ import annotations

import json
import re
from typing import get_args

import pytest

from swecli.context.system_message import PromptName, load_prompt
from swecli.playbook.learning.answer import answer_schema
from swecli.playbook.learning.evidence import TurnDigest
from swecli.playbook.learning.question import build_question

TOOLS = (
    "list_files",
    "read_file",
    "write_file",
    "edit_file",
    "search_files",
    "run_command",
    "todo",
    "read_result",
    "search_session",
)


@pytest.mark.parametrize("name", get_args(PromptName))
def test_a_prompt_contains_no_placeholders(name: PromptName) -> None:
    text = load_prompt(name)
    assert text == text.strip() == load_prompt(name)
    assert len(text) > 1000
    assert not re.search(r"\{\w*\}|TODO|\bXXX\b", text)


def test_the_system_prompt_names_every_tool_and_no_path_or_date() -> None:
    text = load_prompt("system")
    assert all(tool in text for tool in TOOLS)
    assert not re.search(r"\b20\d\d\b|/home|/work", text)


def test_the_example_in_the_reflector_prompt_is_an_answer_of_the_schema() -> None:
    text = load_prompt("reflect")
    example, schema = json.loads(text[text.rindex('\n{"turn"') :]), answer_schema(1)
    assert set(example) == set(schema["properties"])
    for key in ("strategies", "lessons"):
        assert set(example[key][0]) == set(schema["properties"][key]["items"]["properties"])
    given = build_question([TurnDigest.of([]).observe({})], {})
    value = json.loads(given.removeprefix("```json").removesuffix("```"))
    assert all(f"`{key}`" in text for key in (*value, *value["exchanges"][0]))


def test_the_condense_prompt_asks_for_fixed_headings() -> None:
    headings = re.findall(r"^## (\w+)", load_prompt("condense"), re.MULTILINE)
    assert headings == ["Request", "Done", "Known", "Open"]
