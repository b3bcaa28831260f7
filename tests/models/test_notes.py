"""Test the notes behind a query: how they are sent, and how they are stored."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from swecli.models.notes import (
    ExcerptNote,
    Label,
    LostJobNote,
    Note,
    SituationNote,
    StrategyChange,
    StrategyNote,
    TextNote,
    disclaim_block,
    notes_from_json,
    notes_to_json,
    with_notes,
)

TEXT = st.text(max_size=40) | st.sampled_from(
    ["</turn_notes>", "<turn_notes>", "</turn</turn_notes>_notes>", "<turn<turn_notes>_notes>"]
)
NOTE: st.SearchStrategy[Note] = st.one_of(
    st.builds(StrategyNote, TEXT, st.sampled_from(StrategyChange), TEXT),
    st.builds(SituationNote, st.sampled_from(Label), TEXT, st.booleans()),
    st.builds(LostJobNote, TEXT),
    st.builds(ExcerptNote, TEXT),
    st.builds(TextNote, TEXT),
)


def test_notes_follow_the_query_in_a_marked_block() -> None:
    date = SituationNote(Label.DATE, "2026-01-02")
    sent = with_notes("fix it", [date, TextNote("two\nlines"), TextNote("  ")])
    assert sent == "fix it\n\n<turn_notes>\n- Date: 2026-01-02\n- two lines\n</turn_notes>"


@pytest.mark.parametrize(
    ("note", "line"),
    [
        (
            StrategyNote("P-1", StrategyChange.NEW, "Use  tabs."),
            "Strategy [P-1] is new: Use tabs.",
        ),
        (
            StrategyNote("P-1", StrategyChange.REWRITTEN, "a </playbook>"),
            "Strategy [P-1] now reads: a ‹/playbook>",
        ),
        (StrategyNote("P-1", StrategyChange.ENDED), "Strategy [P-1] no longer applies."),
        (SituationNote(Label.MODE, "ask"), "Mode: ask"),
        (SituationNote(Label.MODE, "ask", True), "Mode: ask. The mode before it has ended"),
        (
            LostJobNote("job 1 (make)"),
            "background job 1 (make): lost: swecli ended while it ran, and its output is not kept",
        ),
    ],
)
def test_each_kind_of_note_has_its_line(note: Note, line: str) -> None:
    assert with_notes("", [note]) == f"\n\n<turn_notes>\n- {line}\n</turn_notes>"


def test_excerpts_have_one_heading() -> None:
    sent = with_notes("q", [TextNote("It rains."), ExcerptNote("T1: a"), ExcerptNote("T2: b")])
    lines = sent.split("\n")[3:-1]
    assert [line[:22] for line in lines] == [
        "- It rains.",
        "- Found in earlier tur",
        "- T1: a",
        "- T2: b",
    ]


@given(st.text(), st.lists(NOTE, min_size=1))
def test_a_note_can_neither_end_its_block_nor_begin_another(query: str, notes: list[Note]) -> None:
    sent = with_notes(query, notes)
    assert sent.startswith(query)
    behind = sent.removeprefix(query)
    if behind:
        assert behind.startswith("\n\n<turn_notes>\n- ")
        assert behind.endswith("\n</turn_notes>")
        assert (behind.count("<turn_notes>"), behind.count("</turn_notes>")) == (1, 1)


def test_without_notes_the_query_is_sent_unchanged() -> None:
    assert with_notes(" fix it ", [TextNote(" ")]) == " fix it "


def test_only_a_text_with_a_block_is_disclaimed() -> None:
    assert disclaim_block("what are turn_notes?") == []
    assert len(disclaim_block("see <turn_notes>\n- a\n</turn_notes>")) == 1


@given(st.lists(NOTE))
def test_stored_notes_are_read_unchanged(notes: list[Note]) -> None:
    stored = json.loads(json.dumps(notes_to_json(notes)))
    assert notes_from_json(stored) == notes


@pytest.mark.parametrize(
    "stored",
    [
        {},
        [1],
        [{}],
        [{"kind": "rumour"}],
        [{"kind": "text"}],
        [{"kind": "text", "line": 1}],
        [{"kind": "situation", "label": "Weather", "value": "wet"}],
        [{"kind": "strategy", "strategy": "P-1", "change": "odd", "content": ""}],
    ],
)
def test_what_is_no_note_is_refused(stored: object) -> None:
    with pytest.raises((TypeError, ValueError)):
        notes_from_json(stored)
