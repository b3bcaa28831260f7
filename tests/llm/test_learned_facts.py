"""What a model taught is known to the next run and to other processes, for a while."""

from __future__ import annotations

import json
import multiprocessing
from pathlib import Path

import pytest

from swecli.llm.profile import LearnedFacts

ORIGIN = "openai http://box/v1 small"
DAY = 86_400


def test_facts_outlive_the_process_with_their_date_and_words(tmp_path: Path) -> None:
    path = tmp_path / "state" / "models.jsonl"
    LearnedFacts(path, today=0).learn(ORIGIN, "off.stream_options", True, "unknown field stream_options")
    LearnedFacts(path, today=0).learn(ORIGIN, "max_output", 4096, "at most 4096")
    assert LearnedFacts(path, today=DAY).of(ORIGIN) == {"off": frozenset({"stream_options"}), "max_output": 4096}
    fact = json.loads(path.read_text().split("\n")[1])
    assert (fact["on"], fact["words"]) == ("1970-01-01", "unknown field stream_options")
    assert path.stat().st_mode & 0o777 == 0o600


def test_what_was_switched_off_is_tried_again_after_a_month_and_a_limit_is_not(tmp_path: Path) -> None:
    path = tmp_path / "models.jsonl"
    for field, value in (("tools", False), ("off.temperature", True), ("max_output", 4096)):
        LearnedFacts(path, today=0).learn(ORIGIN, field, value, "")
    assert LearnedFacts(path, today=31 * DAY).of(ORIGIN) == {"max_output": 4096}


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", "null", "\n\0\n", '{"version": 99, "models": {}}', '{"model": "a"}', '{"model": [], "field": 7}'],
)
def test_lines_that_nobody_can_read_are_left_alone_and_the_others_count(tmp_path: Path, text: str) -> None:
    path = tmp_path / "models.jsonl"
    path.write_text(text)
    facts = LearnedFacts(path)
    assert facts.of(ORIGIN) == {}
    facts.learn(ORIGIN, "max_output", 10, "")
    assert facts.of(ORIGIN) == {"max_output": 10}
    assert path.read_text().startswith(text)


@pytest.mark.parametrize(
    "fact", [{"max_output": "many"}, {"window": "8k"}, {"off": ["a"]}, {"origins": {}}, {"price": [1]}, {"tools": "no"}]
)
def test_a_fact_that_no_refusal_teaches_is_left_out(tmp_path: Path, fact: dict[str, object]) -> None:
    path = tmp_path / "models.jsonl"
    [(name, value)] = fact.items()
    path.write_text(json.dumps({"model": ORIGIN, "field": name, "value": value, "on": "2999-01-01"}))
    assert LearnedFacts(path).of(ORIGIN) == {}


def _learn(path: Path, number: int) -> None:
    LearnedFacts(path).learn(f"{ORIGIN}-{number}", "max_output", number, "")


def test_two_processes_that_learn_at_once_lose_nothing(tmp_path: Path) -> None:
    path = tmp_path / "models.jsonl"
    made = [multiprocessing.get_context("fork").Process(target=_learn, args=(path, n)) for n in range(1, 9)]
    for process in made:
        process.start()
    for process in made:
        process.join()
    assert [LearnedFacts(path).of(f"{ORIGIN}-{n}") for n in range(1, 9)] == [{"max_output": n} for n in range(1, 9)]


def test_a_model_is_forgotten_by_its_name(tmp_path: Path) -> None:
    facts = LearnedFacts(tmp_path / "models.jsonl")
    facts.learn(ORIGIN, "tools", False, "")
    assert facts.forget("other") == 0
    assert facts.forget("small") == 1
    assert facts.of(ORIGIN) == {}
    facts.learn(ORIGIN, "max_output", 10, "")
    assert facts.of(ORIGIN) == {"max_output": 10}, "and may be learned anew"
