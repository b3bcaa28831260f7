"""What is read out of a model's answer, and what is said of the rest."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from swecli.playbook.answers import MAX_ADDS, read_answer

SHOWN = ["P-1", "P-2"]
GOOD = {
    "tags": [{"id": "P-1", "tag": "helpful", "why": "it passed"}],
    "add": [{"section": "tests", "content": "Run make check", "kind": "strategy", "evidence": "c1: ok"}],
}
TEXT = json.dumps(GOOD)


@pytest.mark.parametrize(
    "text",
    [
        TEXT,
        f"\n  {TEXT}\n",
        json.dumps(GOOD, indent=2),
        f"Here is my answer:\n{TEXT}\nI hope it helps.",
        f"```json\n{TEXT}\n```",
        f"```\n{TEXT}\n```",
        f"Sure!\n\n```json\n{TEXT}\n```\nDone {{really}}.",
        f'First try:\n```json\n{{"tags": [], "add": []}}\n```\nBetter:\n```json\n{TEXT}\n```',
        f'I looked at {{"calls": 3}} and say {TEXT}',
        TEXT.replace("}]", "},]"),
        TEXT.replace('"}], "add"', '",}],\n"add"'),
        f"```json\n{TEXT}",
        "\ufeff" + TEXT,
    ],
    ids=[
        "bare",
        "blank around",
        "indented",
        "in prose",
        "fenced",
        "fenced without a name",
        "fenced in prose",
        "two fences",
        "after another object",
        "comma too many",
        "comma in an object",
        "open fence",
        "byte order mark",
    ],
)
def test_a_whole_answer_is_found_wherever_it_stands(text: str) -> None:
    answer = read_answer(text, SHOWN)
    assert (answer.problem, answer.refused) == ("", "")
    assert [(t.bullet_id, t.tag, t.why) for t in answer.tags] == [("P-1", "helpful", "it passed")]
    assert [a.content for a in answer.adds] == ["Run make check"]


def test_nothing_to_learn_is_a_good_answer() -> None:
    for text in ('{"tags": [], "add": []}', '{"tags": []}', '{"add": null, "tags": null}'):
        answer = read_answer(text, SHOWN)
        assert (answer.kept, answer.problem, answer.refused, answer.losses) == (0, "", "", [])


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "empty"),
        ("   \n", "empty"),
        ("I would tag P-1 as helpful.", "no JSON object"),
        ("[]", "no JSON object"),
        ("null", "no JSON object"),
        ('"tags"', "no JSON object"),
        ("{}", "neither"),
        ('{"answer": 42}', "neither"),
        ('{"tags": "P-1 helpful", "add": []}', '"tags" is not a list'),
        ('{"tags": [], "add": {"content": "x"}}', '"add" is not a list'),
        ('{"tags": ["P-1", 7, null], "add": [3]}', "none of its items"),
        ('{"tags": [{"id": 1, "tag": "helpful"}], "add": []}', "none of its items"),
        ('{"tags": [{"id": "P-1", "tag": "great"}]}', "none of its items"),
        ('{"tags": [], "add": [{"content": ["a"]}]}', "none of its items"),
        ('{"tags": [{"id": "P-1", "ta', "cut off"),
        ("{" * 5000, "cut off"),
        ("[" * 100_000, "no JSON object"),
        ("{" * 9_000, "cut off"),
        ('{"a":' * 3_000 + "1" + "}" * 3_000, "no JSON object"),
    ],
)
def test_an_answer_without_use_names_its_problem(text: str, problem: str) -> None:
    answer = read_answer(text, SHOWN)
    assert problem in answer.problem
    assert answer.kept == 0


@pytest.mark.parametrize(
    ("text", "refused"),
    [
        (json.dumps({"tags": [{"id": "P-1", "tag": "helpful"}] * 500}), "500 operations"),
        (json.dumps({"tags": [], "add": [{"content": f"x{i}"} for i in range(21)]}), "21 operations"),
        (json.dumps({"playbook": [{"id": "P-1", "content": "all new"}]}), "rewrite"),
        (json.dumps({"bullets": {}}), "rewrite"),
        (json.dumps({"operations": [{"op": "REMOVE", "id": "P-1"}]}), "rewrite"),
    ],
)
def test_a_rewrite_or_a_flood_is_refused_whole(text: str, refused: str) -> None:
    answer = read_answer(text, SHOWN)
    assert refused in answer.refused
    assert answer.kept == 0


def test_an_answer_cut_in_the_middle_keeps_its_whole_items() -> None:
    text = json.dumps(GOOD)[: -len(' "evidence": "c1: ok"}]}')]
    answer = read_answer(text, SHOWN, cut=True)
    assert [t.bullet_id for t in answer.tags] == ["P-1"]
    assert answer.adds == []
    assert "cut off" in answer.problem
    assert "1 whole items" in answer.losses[0]


def test_tags_for_bullets_that_were_not_shown_are_dropped_and_counted() -> None:
    tags = [{"id": i, "tag": "helpful"} for i in ("P-1", "P-9", "p-2", "[P-3]", "seven")]
    answer = read_answer(json.dumps({"tags": tags}), SHOWN)
    assert [t.bullet_id for t in answer.tags] == ["P-1", "P-2"]
    assert answer.unknown == 3
    assert "3 tags" in answer.losses[-1]
    assert answer.problem == ""


def test_a_second_tag_for_a_bullet_is_dropped_and_a_contradiction_is_said() -> None:
    tags = [{"id": "P-1", "tag": t} for t in ("helpful", "helpful", "harmful")]
    answer = read_answer(json.dumps({"tags": tags}), SHOWN)
    assert [(t.bullet_id, t.tag) for t in answer.tags] == [("P-1", "helpful")]
    assert len(answer.losses) == 1


def test_more_than_three_additions_are_cut_and_said() -> None:
    answer = read_answer(json.dumps({"add": [{"content": f"Use lib{i}"} for i in range(6)]}), SHOWN)
    assert len(answer.adds) == MAX_ADDS
    assert len(answer.losses) == 3


def test_odd_fields_of_an_addition_fall_back() -> None:
    add = {"content": "Use pnpm", "section": ["x"], "kind": "law", "evidence": {"a": 1}}
    (found,) = read_answer(json.dumps({"add": [add]}), SHOWN).adds
    assert (found.section, found.kind, found.evidence) == ("general", "strategy", "")


def test_extra_keys_are_ignored_and_said() -> None:
    answer = read_answer(json.dumps(GOOD | {"remove": ["P-1"]}), SHOWN)
    assert answer.kept == 2
    assert "remove" in answer.losses[0]


@given(st.text(max_size=400), st.booleans())
def test_no_text_breaks_the_reader(text: str, cut: bool) -> None:
    answer = read_answer(text, SHOWN, cut=cut)
    assert answer.kept == 0 or answer.problem == ""


@given(st.integers(0, len(TEXT)), st.sampled_from(["", "```json\n", "Well: "]))
def test_a_cut_anywhere_invents_nothing(at: int, before: str) -> None:
    answer = read_answer(before + TEXT[:at], SHOWN, cut=True)
    assert all(t.bullet_id == "P-1" for t in answer.tags)
    assert all(a.content == "Run make check" for a in answer.adds)
    assert answer.kept == 2 or answer.problem


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8) | st.sampled_from(["P-1", "helpful"]),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(["tags", "add", "id", "tag", "content", "why", "x"]), inner, max_size=4)
    ),
    max_leaves=20,
)


@given(JSON)
def test_no_json_breaks_the_reader(value: object) -> None:
    answer = read_answer(json.dumps(value), SHOWN)
    assert all(t.bullet_id in SHOWN for t in answer.tags)
    assert len(answer.adds) <= MAX_ADDS
