"""Test context policies: small sessions with figures computed by hand, and properties that hold for any session."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lab.windows.policies import POLICIES, PolicyUsage, query_message
from lab.windows.prices import RELATIVE, Prices
from swecli.context.replay.history import History
from swecli.context.replay.requests import Assumptions
from swecli.context.system_message import load_prompt
from swecli.context.tokens import PER_MESSAGE
from swecli.models.notes import Label, SituationNote
from swecli.models.window_spec import WindowSpec
from tests.support.past_session import ANSWER, CALL, FIXED, RESULT, SessionBuilder


def compute_usage(
    past: History, policy: str, prices: Prices | None = None, **assumed: Any
) -> PolicyUsage:
    known: dict[str, Any] = {"window": WindowSpec(5, 3), "context_window": 200_000} | assumed
    given_so = Assumptions(**known)
    turns = POLICIES[policy](past, given_so)
    return PolicyUsage.compute(policy, turns, past, given_so, prices or Prices.of(""))


def query_tokens(past: History) -> int:
    """Return the tokens of a query with its notes, which is the same for all queries."""
    return past.counter.count_message(query_message(past, past.turns[0]))


def test_every_step_is_a_request_that_adds_the_previous_call_and_result() -> None:
    past = SessionBuilder().ask(0).reply(10, RESULT).reply(20, RESULT).reply(30).build_history()
    figures, asked = compute_usage(past, "full").turns[0], query_tokens(past)
    first, second, third = (FIXED + asked + n * (CALL + RESULT) for n in range(3))
    assert figures.requests == 3
    assert figures.input == first + second + third
    assert figures.cached == first + second
    assert figures.peak == third
    assert figures.output == CALL + CALL + ANSWER


def test_the_cost_is_the_sum_of_cache_writes_cache_reads_and_output() -> None:
    past = SessionBuilder().turns(0, 10).build_history()
    figures, asked = compute_usage(past, "full").turns, query_tokens(past)
    assert figures[0].cost == pytest.approx((FIXED + asked) * 1.25 + ANSWER * 5)
    assert figures[1].cost == pytest.approx(
        (FIXED + asked) * 0.1 + (ANSWER + asked) * 1.25 + ANSWER * 5
    )


def test_cache_writes_without_a_price_cost_as_much_as_input() -> None:
    row = {key: value for key, value in RELATIVE.items() if "creation" not in key}
    past = SessionBuilder().turns(0).build_history()
    figures = compute_usage(past, "full", Prices("m", "USD", row)).turns[0]
    assert figures.cost == pytest.approx(FIXED + query_tokens(past) + ANSWER * 5)


def test_the_cache_is_cold_after_a_pause_longer_than_its_ttl() -> None:
    past = SessionBuilder().turns(0, 299, 700).build_history()
    assert [turn.cold for turn in compute_usage(past, "full").turns] == [True, False, True]
    assert [turn.cached > 0 for turn in compute_usage(past, "full").turns] == [False, True, False]
    assert [turn.cached > 0 for turn in compute_usage(past, "full", ttl=3_600).turns] == [
        False,
        True,
        True,
    ]


def test_an_exact_window_that_slides_reads_only_the_system_prompt_from_the_cache() -> None:
    past = SessionBuilder().turns(0, 10, 20, 30).build_history()
    turns, each = compute_usage(past, "exact", window=WindowSpec(2)).turns, query_tokens(past)
    assert [turn.visible for turn in turns] == [0, 1, 2, 2]
    assert [turn.input - FIXED - each for turn in turns] == [
        n * (each + ANSWER) for n in (0, 1, 2, 2)
    ]
    assert [turn.cached for turn in turns[:2]] == [0, FIXED + each]
    assert turns[3].cached == FIXED


def test_a_window_with_slack_is_cut_back_to_its_size_in_one_reduction() -> None:
    past = SessionBuilder().turns(*range(0, 60, 10)).build_history()
    turns = compute_usage(past, "slack", window=WindowSpec(2, 2)).turns
    assert [turn.visible for turn in turns] == [0, 1, 2, 3, 4, 2]
    assert [turn.cached for turn in turns][3:] == [turns[2].input, turns[3].input, FIXED]
    assert [turn.reductions for turn in turns] == [0, 0, 0, 0, 0, 1]


def test_a_new_strategy_invalidates_the_cached_turns_of_slack_but_not_of_full() -> None:
    past = SessionBuilder().turns(0, 10, 20).add_bullets(15).build_history()
    assert [turn.cached for turn in compute_usage(past, "slack").turns][2] == FIXED
    assert [turn.cached for turn in compute_usage(past, "full").turns][2] > FIXED


def test_compacting_adds_a_summary_request_that_reads_the_cached_prefix() -> None:
    past = SessionBuilder().turns(0, 10, 20, tokens=1_700).build_history()
    first, second, third = compute_usage(
        past, "compact90", context_window=6_000, summary_tokens=300
    ).turns
    assert (first.requests, second.requests, third.requests) == (1, 1, 2)
    asked_for = past.counter.count_message({"role": "user", "content": load_prompt("condense")})
    asked = second.input + 1_700 + query_tokens(past) + asked_for
    assert third.input > asked > second.input
    assert third.input - asked < FIXED + 300 * 5 // 4 + PER_MESSAGE + query_tokens(past) + 1
    assert third.cached == second.input + FIXED
    assert (third.visible, third.reductions) == (0, 1)


def test_requests_larger_than_the_context_window_are_counted() -> None:
    past = SessionBuilder().turns(0, 10, 20).build_history()
    assert (
        compute_usage(past, "full", context_window=FIXED + query_tokens(past) + 100).totals().over
        == 2
    )


def test_stored_turn_notes_are_replaced_by_notes_with_the_date_of_the_turn() -> None:
    talk = SessionBuilder().turns(0)
    query = talk.session.messages[0]
    query.sent = "q\n\nFile a:\n```\n1\n```"
    query.notes = [SituationNote(Label.DATE, "2020-01-01")]
    turn = talk.build_history().turns[0]
    assert turn.sent_text == "q\n\nFile a:\n```\n1\n```"
    assert "Date: 2025-01-01" in str(query_message(talk.build_history(), turn)["content"])


@st.composite
def sessions(draw: st.DrawFn) -> History:
    """Draw any session without a playbook (full histories do not include one)."""
    talk, now = SessionBuilder(), 0.0
    sizes, gaps = st.integers(10, 3_000), st.sampled_from([1.0, 60.0, 299.0, 300.0, 5_000.0])
    for _ in range(draw(st.integers(1, 12))):
        now += draw(gaps)
        talk.ask(now)
        for _ in range(draw(st.integers(0, 3))):
            now += draw(gaps)
            talk.reply(now, *draw(st.lists(sizes, min_size=1, max_size=3)))
        now += draw(gaps)
        talk.reply(now, tokens=draw(sizes))
    return talk.build_history()


@given(
    sessions(),
    st.builds(WindowSpec, st.integers(1, 6), st.integers(0, 5)),
    st.sampled_from([1, 3_000, 20_000, 200_000]),
)
@settings(deadline=None, max_examples=20)
@pytest.mark.slow
def test_any_session_has_consistent_figures_for_every_policy(
    past: History, window: WindowSpec, size: int
) -> None:
    runs = [compute_usage(past, name, window=window, context_window=size) for name in POLICIES]
    asked = [len(turn.steps) for turn in past.turns]
    for run in runs:
        assert run == compute_usage(past, run.policy, window=window, context_window=size)
        for figures, requests in zip(run.turns, asked, strict=True):
            assert 0 <= figures.cached <= figures.input
            assert figures.peak <= figures.input
            assert figures.requests == requests or (
                run.policy == "compact90" and figures.requests > requests
            )
            assert 0 <= figures.visible < figures.turn
    full, exact, slack = runs[0].turns, runs[1].turns, runs[2].turns
    assert all(a.input >= b.input >= c.input for a, b, c in zip(full, slack, exact, strict=True))
    assert all(turn.visible <= window.size for turn in exact)


@given(sessions(), st.sampled_from(list(POLICIES)))
@settings(deadline=None, max_examples=20)
@pytest.mark.slow
def test_a_longer_cache_ttl_never_costs_more(past: History, policy: str) -> None:
    short, long = (compute_usage(past, policy, ttl=ttl) for ttl in (300, 3_600))
    assert all(a.cached <= b.cached for a, b in zip(short.turns, long.turns, strict=True))
    assert long.totals().cost <= short.totals().cost * (1 + 1e-9)
