"""Test shortening single messages."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from swecli.context.budget import _count_characters
from swecli.context.fit import (
    _clear_old_pictures,
    _clear_old_results,
    _cut_text,
    _shrink_texts,
)
from swecli.context.repair import normalize
from swecli.models.api_message import (
    Image,
    UserMessage,
    calls_of,
    images_of,
    notes_of,
    text_of,
)
from swecli.models.notes import Label, SituationNote
from tests.support.histories import Message, call, complaint, legal_histories, result

LONG = "".join(f"line {n}\n" for n in range(1000))


def turn_with_results(*sizes: int) -> list[Message]:
    out: list[Message] = [{"role": "user", "content": "go"}]
    for n, size in enumerate(sizes):
        out += [
            {"role": "assistant", "content": None, "tool_calls": [call(f"c{n}")]},
            result(f"c{n}", "x" * size),
        ]
    return out


def test_all_results_but_the_newest_five_become_stubs_with_their_id() -> None:
    history = turn_with_results(*[1000] * 7)
    out, count = _clear_old_results(history)
    texts = [m["content"] for m in out if m["role"] == "tool"]
    assert count == 2
    assert all("1000 characters" in text and "read_result c" in text for text in texts[:2])
    assert texts[2:] == ["x" * 1000] * 5
    assert complaint(out) == ""


def test_short_results_and_stubs_are_not_cleared() -> None:
    history = turn_with_results(10, 300, *[1000] * 6)
    once, count = _clear_old_results(history)
    assert count == 1
    assert _clear_old_results(once) == (once, 0)


def test_a_result_that_quotes_a_stub_is_cleared_like_any_other() -> None:
    history = turn_with_results(*[1000] * 6)
    history[2]["content"] = "[Cleared to save room: see the manual]" + "x" * 1000
    assert _clear_old_results(history)[1] == 1


def test_a_query_is_cut_with_its_notes_and_what_they_told_is_told_again() -> None:
    note = SituationNote(Label.DATE, "2026-01-02")
    long: UserMessage = {"role": "user", "content": LONG, "notes": [note]}
    short: UserMessage = {"role": "user", "content": "go", "notes": [note]}
    cut, kept, *_ = _shrink_texts([long, short, {"role": "user", "content": "now"}], "user", 500)
    assert len(text_of(cut)) <= 500
    assert text_of(cut).endswith("2026-01-02\n</turn_notes>")
    assert (notes_of(cut), kept) == ([], short)


def test_a_query_without_its_pictures_keeps_its_notes() -> None:
    note = SituationNote(Label.DATE, "2026-01-02")
    picture: Image = {"name": "a", "label": "[image]", "media_type": "image/png", "data": ""}
    query: UserMessage = {"role": "user", "content": "see", "notes": [note], "images": [picture]}
    [cleared, _], count = _clear_old_pictures([query, {"role": "user", "content": "now"}])
    assert (count, notes_of(cleared), images_of(cleared)) == (1, [note], [])


def test_a_cut_text_names_its_call_id_and_length_and_keeps_head_and_tail() -> None:
    short = _cut_text(LONG, 500, "c7")
    assert len(short) <= 500
    assert "read_result c7" in short.splitlines()[0]
    assert f"{len(LONG)} characters" in short.splitlines()[0]
    assert short.splitlines()[1] == "line 0"
    assert short.endswith("line 999\n")


def test_cutting_a_cut_text_does_not_stack_notices() -> None:
    twice = _cut_text(_cut_text(LONG, 2000, "c7"), 500, "c7")
    assert len(twice) <= 500
    assert twice.count("Cut to save room") == 1
    assert f"{len(LONG)} characters" in twice


@given(st.text(max_size=3000), st.integers(0, 3000), st.sampled_from(["", "c7", "i" * 4000]))
@settings(deadline=None)
def test_a_cut_never_makes_a_text_longer(text: str, cap: int, name: str) -> None:
    assert len(_cut_text(text, cap, name)) <= len(text)


def test_only_results_over_the_cap_are_cut() -> None:
    out = _shrink_texts(turn_with_results(400, 5000), "tool", 500)
    assert [len(m["content"]) for m in out if m["role"] == "tool"] == [400, 500]


def test_the_notice_does_not_contain_the_signature_in_a_call_id() -> None:
    history = [*turn_with_results(1)[:2], result("call_1__thought__" + "A" * 3000, "x" * 5000)]
    assert "AAAA" not in str(_shrink_texts(history, "tool", 500)[-1]["content"])


def test_long_texts_in_arguments_are_cut_and_the_arguments_remain_a_json_object() -> None:
    arguments = json.dumps({"path": "a.py", "content": LONG, "edits": [{"new_text": LONG}], "n": 3})
    history: list[Message] = [
        {"role": "user", "content": LONG},
        {
            "role": "assistant",
            "content": LONG,
            "tool_calls": [call("a", "write_file", arguments), call("b")],
        },
    ]
    out = _shrink_texts(history, "assistant", 500)
    value = json.loads(calls_of(out[1])[0]["function"]["arguments"])
    assert (value["path"], value["n"]) == ("a.py", 3)
    assert len(value["content"]) <= 500
    assert len(value["edits"][0]["new_text"]) <= 500
    assert len(str(out[1]["content"])) <= 500
    assert calls_of(out[1])[1] == call("b")
    assert out[0]["content"] == LONG


@given(legal_histories(longest=900), st.sampled_from([200, 500]))
@settings(deadline=None)
@pytest.mark.slow
def test_shrinking_keeps_a_history_valid_and_does_not_enlarge_it(
    history: list[Message], cap: int
) -> None:
    out = _shrink_texts(_shrink_texts(history, "tool", cap), "assistant", cap)
    assert complaint(out) == ""
    assert _count_characters(out) <= _count_characters(history)


def test_deeply_nested_arguments_can_be_normalized_and_shrunk() -> None:
    arguments = '{"a": ' + "[" * 900 + "]" * 900 + "}"
    message: Message = {
        "role": "assistant",
        "content": None,
        "tool_calls": [call("a", arguments=arguments)],
    }
    assert complaint([{"role": "user", "content": "go"}, *normalize([message])[1:]]) == ""
    assert len(_shrink_texts([message], "assistant", 500)) == 1
