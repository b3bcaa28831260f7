"""Test that facts learned about a model are shared with later runs and other processes until they expire."""

from __future__ import annotations

import json
import multiprocessing
import os
from pathlib import Path

import pytest

from swecli.llm.learned_facts import LearnedFacts
from swecli.models.errors import BadInput

ORIGIN = "openai http://box/v1 small"
DAY = 86_400


def test_facts_are_stored_with_date_and_message_in_a_private_file(tmp_path: Path) -> None:
    path = tmp_path / "state" / "models.json"
    LearnedFacts(path, now=0).learn(
        ORIGIN, "limit_name", "max_completion_tokens", "unknown field max_tokens"
    )
    LearnedFacts(path, now=0).learn(ORIGIN, "max_output", 4096, "at most 4096")
    assert LearnedFacts(path, now=DAY).fields_of(ORIGIN) == {
        "limit_name": "max_completion_tokens",
        "max_output": 4096,
    }
    fact = json.loads(path.read_text())["models"][ORIGIN]["limit_name"]
    assert (fact["on"], fact["words"]) == ("1970-01-01", "unknown field max_tokens")
    assert path.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    ("field", "value", "known"),
    [
        ("tools", False, {"tools": False}),
        ("images", False, {"images": False}),
        ("system_role", False, {"system_role": False}),
        ("think_back", "never", {"think_back": "never"}),
        ("wire", "chat", {"wire": "chat"}),
        ("off.stream_options", True, {"off": frozenset({"stream_options"})}),
    ],
)
def test_what_a_model_lacks_is_known_for_the_session_alone(
    tmp_path: Path, field: str, value: object, known: dict[str, object]
) -> None:
    path = tmp_path / "models.json"
    facts = LearnedFacts(path)
    facts.learn(ORIGIN, field, value, "no")
    assert facts.fields_of(ORIGIN) == known
    assert LearnedFacts(path).fields_of(ORIGIN) == {}
    assert not path.exists()


@pytest.mark.parametrize(
    ("field", "value"), [("max_output", 4096), ("wire", "responses"), ("think_back", "with calls")]
)
def test_how_a_model_is_asked_is_known_in_later_sessions(
    tmp_path: Path, field: str, value: object
) -> None:
    path = tmp_path / "models.json"
    LearnedFacts(path, now=0).learn(ORIGIN, field, value, "no")
    assert LearnedFacts(path, now=400 * DAY).fields_of(ORIGIN) == {field: value}


def test_one_process_has_one_set_of_facts(own_home: Path) -> None:
    LearnedFacts.find(os.environ).learn(ORIGIN, "tools", False, "no")
    assert LearnedFacts.find(os.environ).fields_of(ORIGIN) == {"tools": False}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "null",
        '{"version": "x"}',
        '{"version": 1, "models": 7}',
        '{"version": 1, "models": {"a": 1}}',
    ],
)
def test_an_invalid_facts_file_is_ignored_and_overwritten(tmp_path: Path, text: str) -> None:
    path = tmp_path / "models.json"
    path.write_text(text)
    facts = LearnedFacts(path)
    assert facts.fields_of(ORIGIN) == {}
    facts.learn(ORIGIN, "max_output", 10, "")
    assert facts.fields_of(ORIGIN) == {"max_output": 10}


@pytest.mark.parametrize(
    "fact",
    [
        {"max_output": "many"},
        {"window": "8k"},
        {"off": ["a"]},
        {"origins": {}},
        {"price": [1]},
        {"tools": "no"},
        {"tools": False},
        {"off.stream": True},
        {"wire": "chat"},
        {"max_output": 0},
        {"max_output": True},
    ],
)
def test_stored_facts_with_an_invalid_name_or_value_are_ignored(
    tmp_path: Path, fact: dict[str, object]
) -> None:
    path = tmp_path / "models.json"
    facts = {name: {"value": value, "on": "2999-01-01"} for name, value in fact.items()}
    path.write_text(json.dumps({"version": 1, "models": {ORIGIN: facts}}))
    assert LearnedFacts(path).fields_of(ORIGIN) == {}


def test_a_facts_file_of_a_newer_version_is_neither_used_nor_changed(tmp_path: Path) -> None:
    path = tmp_path / "models.json"
    path.write_text('{"version": 99, "models": {}}')
    LearnedFacts(path).learn(ORIGIN, "max_output", 10, "")
    assert path.read_text() == '{"version": 99, "models": {}}'
    assert LearnedFacts(path).fields_of(ORIGIN) == {}
    with pytest.raises(BadInput, match="a newer swecli"):
        LearnedFacts(path).forget("small")


def _learn(path: Path, number: int) -> None:
    LearnedFacts(path).learn(f"{ORIGIN}-{number}", "max_output", number, "")


def test_processes_that_learn_at_the_same_time_lose_no_facts(tmp_path: Path) -> None:
    path = tmp_path / "models.json"
    made = [
        multiprocessing.get_context("fork").Process(target=_learn, args=(path, n))
        for n in range(1, 9)
    ]
    for process in made:
        process.start()
    for process in made:
        process.join()
    assert [LearnedFacts(path).fields_of(f"{ORIGIN}-{n}") for n in range(1, 9)] == [
        {"max_output": n} for n in range(1, 9)
    ]


def test_a_model_is_forgotten_by_its_name(tmp_path: Path) -> None:
    facts = LearnedFacts(tmp_path / "models.json")
    facts.learn(ORIGIN, "max_output", 10, "")
    assert facts.forget("other") == 0
    assert facts.forget("small") == 1
    assert facts.fields_of(ORIGIN) == {}
