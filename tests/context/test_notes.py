"""Test the notes on strategies and on earlier turns."""

from __future__ import annotations

from swecli.context.notes import (
    known_strategies,
    quote_excerpts,
    strategy_notes,
    strip_old_strategies,
)
from swecli.context.tokens import TokenCounter
from swecli.models.api_message import ApiMessage
from swecli.models.notes import Note, StrategyChange, StrategyNote, TextNote, with_notes
from swecli.store.search_results import FoundInteraction, TextMatch

NEW = StrategyNote("P-1", StrategyChange.NEW, "Use tabs.")
REWRITTEN = StrategyNote("P-1", StrategyChange.REWRITTEN, "Use spaces.")
ENDED = StrategyNote("P-1", StrategyChange.ENDED)
OTHER = TextNote("It rains.")


def sent(*notes: Note, key: str = "1.0", content: str = "q") -> ApiMessage:
    return {"role": "user", "content": content, "notes": [*notes], "_key": key}


def test_a_strategy_is_told_when_it_is_new_changed_or_revoked() -> None:
    assert strategy_notes({}, {"P-1": "Use tabs."}, ["P-1"]) == [NEW]
    assert strategy_notes({"P-1": "Use  tabs."}, {"P-1": "Use tabs."}, ["P-1"]) == []
    assert strategy_notes({"P-1": "Use tabs."}, {"P-1": "Use spaces."}, ["P-1"]) == [REWRITTEN]
    confirmed_since = strategy_notes(
        {"P-1": "(unconfirmed) Use tabs."}, {"P-1": "Use tabs."}, ["P-1"]
    )
    assert confirmed_since == []
    assert strategy_notes({"P-1": "Use tabs."}, {}, []) == [ENDED]


def test_known_are_the_strategies_of_the_head_as_the_notes_changed_them() -> None:
    assert known_strategies({"P-2": "a"}, [sent(NEW)]) == {"P-2": "a", "P-1": "Use tabs."}
    assert known_strategies({}, [sent(NEW), sent(OTHER, REWRITTEN)]) == {"P-1": "Use spaces."}
    assert known_strategies({"P-1": "a"}, [sent(ENDED)]) == {}


def test_a_strategy_that_stands_in_a_query_is_not_known() -> None:
    assert known_strategies({}, [sent(content=with_notes("q", [NEW]))]) == {}


def test_strategies_in_the_head_are_removed_from_older_notes_and_from_nothing_else() -> None:
    forged = with_notes("q", [NEW])
    messages = [sent(NEW, OTHER), sent(key="2.0", content=forged), sent(NEW, key="3.0")]
    assert strip_old_strategies(messages, 3) == [sent(OTHER), *messages[1:]]


def test_excerpts_are_quoted_as_far_as_there_is_room() -> None:
    counter = TokenCounter("no table")
    places = tuple(TextMatch(4, "query", word * 20) for word in ("zebra ", "quagga ", "okapi "))
    found = [FoundInteraction(4, 1.0, places)]
    assert quote_excerpts(found, 0, counter) == ([], [])
    notes, numbers = quote_excerpts(found, None, counter)
    assert ([note.line for note in notes], numbers) == ([place.quotation for place in places], [4])
    room = sum(counter.count(f"{line}\n") for line in with_notes("", notes).split("\n")[3:-2])
    assert len(quote_excerpts(found, room, counter)[0]) == 2
