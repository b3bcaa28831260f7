"""The request that opens a turn."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from swecli.context.epochs import OpeningConditions
from swecli.context.prepare import PreparedRequest, RequestInput, build_request, past_request, prepare_messages
from swecli.context.system_message import HeadParts
from swecli.context.tokens import TokenCounter
from swecli.context.validate import _INTERRUPTED_REPLY, strip_keys
from swecli.models.context import RetainedFact, WindowSpec
from swecli.models.message import HEAD_OPENS, ChatMessage, Role, ToolCall
from swecli.models.session import Session
from tests.support.histories import complaint
from tests.support.playbooks import add_bullet

COUNTER = TokenCounter("no table")


def user(text: str, sent: str | None = None) -> ChatMessage:
    return ChatMessage(role=Role.USER, content=text, sent=sent)


def answer(text: str, *call_ids: str) -> ChatMessage:
    calls = [ToolCall(id=name, name="read_file", result="ok") for name in call_ids]
    return ChatMessage(role=Role.ASSISTANT, content=text, tool_calls=calls)


def session_of(count: int, **fields: object) -> Session:
    session = Session(id="s", **fields)  # type: ignore[arg-type]  # each test names fields of Session
    for n in range(1, count + 1):
        session.add_message(user(f"Query {n}"))
        session.add_message(answer(f"Answer {n}", f"c{n}"))
    return session


def prepared(
    session: Session,
    query: str = "Now",
    conditions: OpeningConditions = OpeningConditions(),  # noqa: B008 - frozen
    instructions: str = "",
    notes: tuple[str, ...] = (),
) -> PreparedRequest:
    head = HeadParts("You help.", instructions, tuple(session.playbook.live_bullets()))
    begins = conditions.next_opening(session, query, past_request(session), COUNTER)
    return build_request(RequestInput(session, query, head, notes, begins), COUNTER)


def go_on(session: Session, ready: PreparedRequest, *answers: ChatMessage) -> None:
    """The turn takes place: what it opens and says is kept."""
    if ready.opened is not None:
        session.context.add(ready.opened)
        session.window_start = ready.window[0]
    session.add_message(user(f"Query {session.interactions + 1}", sent=ready.enhanced))
    for one in answers or (answer(f"Answer {session.interactions}", f"c{session.interactions}"),):
        session.add_message(one)


def count_kept(ready: PreparedRequest) -> int:
    first, last = ready.window
    return last - first + 1


def queries(messages: list[dict[str, object]]) -> list[object]:
    return [m["content"] for m in messages if m["role"] == "user"]


def test_ten_interactions_give_system_five_of_them_and_the_query() -> None:
    out = prepare_messages(session_of(10), "You help.", "Now", "Now")
    assert len(out) == 1 + 15 + 1
    assert strip_keys(out)[0] == {"role": "system", "content": "You help."}
    assert queries(out) == [f"Query {n}" for n in range(6, 11)] + ["Now"]


@pytest.mark.parametrize(("size", "count"), [(0, 0), (1, 3), (3, 9), (5, 15), (10, 30), (50, 30)])
def test_the_window_is_exact(size: int, count: int) -> None:
    assert len(prepare_messages(session_of(10), "s", "q", "q", window_size=size)) == count + 2


def test_a_negative_window_is_refused() -> None:
    with pytest.raises(ValueError, match="negative"):
        prepare_messages(session_of(1), "s", "q", "q", window_size=-1)


def test_messages_put_in_by_hand_count_by_their_place() -> None:
    session = Session(id="s", messages=session_of(10).messages)
    assert session.interactions == 0
    assert queries(prepare_messages(session, "s", "q", "q", 2)) == ["Query 9", "Query 10", "q"]


def test_the_running_query_is_sent_once_and_is_none_of_the_window() -> None:
    session = session_of(10)
    session.add_message(user("Now", sent="Now and @file"))
    for enhanced in ("Now and @file", "Now"):
        out = prepare_messages(session, "s", "Now", enhanced)
        assert queries(out) == [f"Query {n}" for n in range(6, 11)] + [enhanced]


def test_another_question_without_an_answer_is_an_interaction() -> None:
    session = session_of(5)
    session.add_message(user("Killed"))
    out = prepare_messages(session, "s", "Now", "Now")
    assert queries(out) == ["Query 2", "Query 3", "Query 4", "Query 5", "Killed", "Now"]
    assert out[-2]["content"] == _INTERRUPTED_REPLY


def test_a_query_repeated_after_its_answer_is_new() -> None:
    out = prepare_messages(session_of(2), "s", "Query 2", "Query 2")
    assert queries(out) == ["Query 1", "Query 2", "Query 2"]


def test_without_a_session_there_is_system_and_query() -> None:
    assert [m["role"] for m in prepare_messages(None, "s", "q", "enhanced")] == ["system", "user"]


def test_the_playbook_stands_in_the_system_message() -> None:
    session = session_of(1)
    add_bullet(session.playbook, "Run make check.")
    add_bullet(session.playbook, "Use tabs.")
    out = prepare_messages(session, "You help.", "q", "q", max_strategies=1)
    assert str(out[0]["content"]).startswith("You help.\n\n## Playbook")
    assert "[P-2] Use tabs." in str(out[0]["content"])
    assert "[P-1]" not in str(out[0]["content"]).split("<playbook>")[1]


def test_prepare_shows_what_the_request_is_made_of() -> None:
    session = session_of(7)
    add_bullet(session.playbook, "Run make check.")
    add_bullet(session.playbook, "Use tabs.")
    ready = prepared(session, instructions="Be kind.", notes=("Date: today",))
    assert [s.name for s in ready.segments] == [
        "system",
        "instructions",
        "playbook",
        *[f"interaction {n}" for n in range(3, 8)],
        "query",
    ]
    assert ready.shown == ("P-1", "P-2")
    assert ready.enhanced == "Now\n\n<turn_notes>\n- Date: today\n</turn_notes>"
    assert ready.messages[-1] == {"role": "user", "content": ready.enhanced}
    assert ready.messages[0]["content"].startswith(f"You help.\n\nBe kind.{HEAD_OPENS}\n\n## Playbook")
    assert (ready.window, ready.removed) == ((3, 7), 2)
    assert ready.tokens == COUNTER.count_messages(ready.messages)
    assert 0 <= ready.tokens - sum(s.tokens for s in ready.segments) < 20
    assert "Answer 3" in ready.segments[3].text


def test_the_first_request_is_system_and_query() -> None:
    ready = prepared(Session(id="s"))
    assert [m["role"] for m in ready.messages] == ["system", "user"]
    assert (ready.window, ready.removed, ready.shown) == ((1, 0), 0, ())
    assert [s.name for s in ready.segments] == ["system", "query"]


def test_old_queries_are_sent_as_they_were_sent_then() -> None:
    session = Session(id="s")
    session.add_message(user("look at @a", sent="look at @a\n\nFile a: ..."))
    session.add_message(answer("ok"))
    assert prepared(session).messages[1]["content"] == "look at @a\n\nFile a: ..."


def test_within_the_slack_the_next_request_only_adds() -> None:
    session = Session("s", window=WindowSpec(5, 3))
    before: list[object] = []
    for n in range(9):
        ready = prepared(session, f"Query {n + 1}")
        assert ready.messages[: len(before)] == before
        assert (ready.window, ready.removed) == ((1, n), 0)
        before = list(ready.messages)
        go_on(session, ready)
    ready = prepared(session)
    assert (ready.window, ready.removed, ready.opened and ready.opened.how) == ((5, 9), 4, "window")


def test_without_slack_every_turn_holds_exactly_the_last_five() -> None:
    session = Session("s", window=WindowSpec(5))
    for n in range(12):
        ready = prepared(session, f"Query {n + 1}")
        assert count_kept(ready) == min(n, 5)
        go_on(session, ready)


def test_what_is_learned_within_an_epoch_travels_as_a_note_and_is_folded_in_with_the_next() -> None:
    session = Session("s", window=WindowSpec(2, 2))
    add_bullet(session.playbook, "Use tabs.")
    first = prepared(session)
    go_on(session, first)
    add_bullet(session.playbook, "Run make check.")
    second = prepared(session)
    assert second.messages[0] == first.messages[0]
    assert "Strategy [P-2] is new: Run make check." in second.enhanced
    assert second.shown == ("P-1", "P-2")
    go_on(session, second)
    session.playbook.bullets["P-2"] = replace(session.playbook.bullets["P-2"], helpful=1)
    third = prepared(session)
    assert third.enhanced == "Now", "counts are never told"
    go_on(session, third)
    session.playbook.bullets["P-1"] = replace(session.playbook.bullets["P-1"], state="deleted")
    fourth = prepared(session)
    assert "Strategy [P-1] no longer applies." in fourth.enhanced
    assert fourth.shown == ("P-2",)
    go_on(session, fourth)
    go_on(session, prepared(session))
    fifth = prepared(session)
    assert fifth.opened is not None
    assert "[P-2] Run make check." in fifth.messages[0]["content"]
    assert "[P-1]" not in fifth.messages[0]["content"].split("<playbook>")[1]


def test_a_cold_cache_and_a_heavy_window_are_cut_early() -> None:
    session = Session("s", window=WindowSpec(2, 9))
    for _ in range(4):
        go_on(session, prepared(session))
    assert prepared(session).opened is None
    assert prepared(session, conditions=OpeningConditions(cold=True)).window == (3, 4)
    assert prepared(session, conditions=OpeningConditions(allowed=60)).window == (3, 4)


def test_a_heavy_window_is_cut_early_only_where_as_much_leaves_as_stays() -> None:
    session, allowed = Session("s", window=WindowSpec(2, 9)), OpeningConditions(allowed=40_000)
    for _ in range(3):
        go_on(session, prepared(session), answer("word " * 8_000))
    assert prepared(session, conditions=allowed).opened is None, "what stays would be billed in full once more"
    go_on(session, prepared(session), answer("word " * 8_000))
    assert prepared(session, conditions=allowed).window == (3, 4)


def test_a_pinned_turn_stays_before_the_window() -> None:
    session = Session("s", window=WindowSpec(2))
    for n in range(6):
        session.context.pins = (2,) if n >= 2 else ()
        go_on(session, prepared(session))
    ready = prepared(session)
    assert [str(q).split("\n", maxsplit=1)[0] for q in queries(ready.messages)] == ["Now"] * 4
    assert [s.name for s in ready.segments] == ["system", "pinned 2", "interaction 5", "interaction 6", "query"]
    session.context.pins = (1, 2)
    assert [s.name for s in prepared(session).segments][1:3] == ["pinned 1", "pinned 2"]


def test_what_left_the_window_is_kept_in_the_head() -> None:
    session = Session("s", window=WindowSpec(1))
    session.context.keep([RetainedFact("constraint", "x", "Never touch setup.py", 1)])
    go_on(session, prepared(session))
    assert "Never touch" not in prepared(session).messages[0]["content"], "turn 1 is still there word for word"
    go_on(session, prepared(session))
    assert '"Never touch setup.py" (T1)' in prepared(session).messages[0]["content"]


def test_a_resumed_session_knows_the_numbers_of_what_it_loaded() -> None:
    session = session_of(20)
    session.messages = session.messages[-14:]
    session.window_start = 15
    ready = prepared(session)
    assert (ready.window, ready.removed) == ((16, 20), 1)
    assert queries(ready.messages)[0] == "Query 16"


def test_a_window_larger_than_what_is_loaded_takes_what_there_is() -> None:
    session = session_of(20, window=WindowSpec(mode="full"))
    session.messages = session.messages[-6:]
    assert prepared(session).window == (18, 20)


def test_the_automatic_window_goes_by_the_query() -> None:
    session = session_of(10, window=WindowSpec(mode="auto"))
    assert count_kept(prepared(session, "implement it")) == 7
    assert count_kept(prepared(session, "go")) == 3


def test_an_interrupted_interaction_makes_a_legal_request() -> None:
    session = session_of(2)
    session.add_message(user("Killed"))
    session.add_message(ChatMessage(Role.ASSISTANT, tool_calls=[ToolCall("c9", "run_command")]))
    assert complaint(prepared(session).messages) == ""


def test_preparing_changes_nothing_in_the_session() -> None:
    session = session_of(9)
    before = [m.to_api() for m in session.messages]
    prepared(session)
    assert [m.to_api() for m in session.messages] == before
    assert (session.window_start, session.interactions) == (1, 9)


class Reading(list[ChatMessage]):
    """A message list that counts how many messages are taken out of it from the back."""

    taken = 0

    def __reversed__(self):  # type: ignore[no-untyped-def]
        for message in list.__reversed__(self):
            self.taken += 1
            yield message

    def __iter__(self):  # type: ignore[no-untyped-def]
        raise AssertionError("the whole history was walked")


def test_a_long_session_costs_what_a_short_one_costs() -> None:
    taken = []
    for count in (10, 2000):
        session = session_of(count)
        session.messages = reading = Reading(session.messages)
        prepared(session)
        taken.append(reading.taken)
    assert taken[0] == taken[1] <= 22


@given(st.integers(0, 15), st.integers(1, 12), st.integers(0, 6), st.integers(0, 20))
@settings(deadline=None)
def test_any_window_is_legal_and_holds_the_newest(count: int, size: int, slack: int, start: int) -> None:
    session = session_of(count, window=WindowSpec(size, slack), window_start=start)
    ready = prepared(session)
    first, last = ready.window
    assert complaint(ready.messages) == ""
    assert last == count
    assert min(size, count) <= count_kept(ready) <= size + slack
    assert queries(ready.messages)[:-1] == [f"Query {n}" for n in range(first, last + 1)]
