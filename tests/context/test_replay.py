"""A replay: small sessions counted by hand, and what must hold for any session."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from swecli.context.replay import Cache, Replayed, replay
from swecli.context.replay_history import STUB_TOKENS, History, Piece, Playbook, Step, Turn, read_history
from swecli.context.replay_policies import POLICIES, Limits
from swecli.context.replay_prices import RELATIVE, Prices, relative_prices
from swecli.context.tokens import PER_MESSAGE, TokenCounter
from swecli.models.errors import BadInput
from swecli.models.message import ChatMessage, Role, ToolCall
from swecli.models.playbook import Bullet
from swecli.models.session import Session
from swecli.models.window import WindowSpec

BEGAN = datetime(2025, 1, 1, tzinfo=UTC)
UNITS = relative_prices()


def counter() -> TokenCounter:
    """Four characters a token: nothing to load, easy to do by hand."""
    return TokenCounter("none")


def bullets(*seconds: int) -> list[Bullet]:
    return [
        Bullet(f"P-{n}", "use " * 40, created_at=BEGAN + timedelta(seconds=second))
        for n, second in enumerate(seconds, 1)
    ]


def history(*turns: Turn, head: int = 2_000, known: list[Bullet] | None = None) -> History:
    return History(Piece(head), Piece(0), Piece(10), Playbook(known or [], counter(), 30), list(turns))


def plain(number: int, at: float, *, query: int = 100, reply: int = 200, learned: int = 0) -> Turn:
    """A question and its answer, without a call."""
    return Turn(number, Piece(query), (Step(at, Piece(reply), (), reply),), learned)


def working(number: int, at: float, result: int, *, steps: int = 2) -> Turn:
    """A question, calls with one result each, and an answer; ten seconds between the requests."""
    results = [Piece(result, Piece(STUB_TOKENS)) for _ in range(steps - 1)]
    made = [Step(at + 10 * n, Piece(50), (found,), 50) for n, found in enumerate(results)]
    last = Step(at + 10 * len(made), Piece(200), (), 200)
    return Turn(number, Piece(100), (*made, last), 0)


def one(
    past: History, policy: str, *, limits: Limits | None = None, prices: Prices = UNITS, ttl: float = 300
) -> Replayed:
    return replay(past, [policy], prices, limits, Cache(ttl))[0]


def test_every_step_is_a_request_that_grows_by_what_came() -> None:
    figures = one(history(working(1, 0, 1_000, steps=3)), "full").turns[0]
    first, second, third = 2_100, 2_100 + 1_050, 2_100 + 2_100
    assert figures.requests == 3
    assert figures.input == first + second + third
    assert figures.cached == first + second
    assert figures.peak == third
    assert figures.output == 50 + 50 + 200


def test_the_price_is_that_of_writing_reading_and_answering() -> None:
    figures = one(history(plain(1, 0), plain(2, 10)), "full").turns
    assert figures[0].cost == pytest.approx(2_100 * 1.25 + 200 * 5)
    assert figures[1].cost == pytest.approx(2_100 * 0.1 + 300 * 1.25 + 200 * 5)


def test_where_writing_has_no_price_it_is_input() -> None:
    row = {key: value for key, value in RELATIVE.items() if "creation" not in key}
    figures = one(history(plain(1, 0)), "full", prices=Prices("m", "USD", row)).turns[0]
    assert figures.cost == pytest.approx(2_100 + 200 * 5)


def test_a_cache_holds_only_for_its_time() -> None:
    past = history(plain(1, 0), plain(2, 299), plain(3, 599))
    assert [turn.cached for turn in one(past, "full").turns] == [0, 2_100, 0]
    assert [turn.cold for turn in one(past, "full").turns] == [True, False, True]
    assert one(past, "full", ttl=0).totals().cached == 0


def test_a_prefix_below_the_smallest_is_neither_kept_nor_written() -> None:
    past = history(plain(1, 0), plain(2, 10), plain(3, 20), head=500)
    turns = one(past, "full").turns
    assert [turn.input for turn in turns] == [600, 900, 1_200]
    assert [turn.cached for turn in turns] == [0, 0, 0]
    assert [turn.cost - 1_000 for turn in turns] == pytest.approx([600, 900, 1_200 * 1.25])


def test_an_exact_window_slides_and_loses_what_is_behind_the_head() -> None:
    past = history(*(plain(n, n * 10) for n in range(1, 5)))
    turns = one(past, "exact", limits=Limits(WindowSpec(2))).turns
    assert [turn.visible for turn in turns] == [0, 1, 2, 2]
    assert [turn.input for turn in turns] == [2_100, 2_400, 2_700, 2_700]
    assert [turn.cached for turn in turns] == [0, 2_100, 2_400, 2_000]


def test_slack_cuts_back_in_one_go() -> None:
    past = history(*(plain(n, n * 10) for n in range(1, 7)))
    turns = one(past, "slack", limits=Limits(WindowSpec(2, 2))).turns
    assert [turn.visible for turn in turns] == [0, 1, 2, 3, 4, 2]
    assert [turn.cached for turn in turns] == [0, 2_100, 2_400, 2_700, 3_000, 2_000]
    assert [turn.reductions for turn in turns] == [0, 0, 0, 0, 0, 1]


def test_a_new_strategy_costs_the_window_its_cache_but_not_ours() -> None:
    known = bullets(0)
    past = history(*(plain(n, n * 10, learned=int(n > 2)) for n in range(1, 4)), known=known)
    assert [turn.cached for turn in one(past, "slack").turns] == [0, 2_100, 2_000]
    assert [turn.cached for turn in one(past, "ours").turns] == [0, 2_100, 2_400]
    note = past.playbook.notes(0, 1)
    assert one(past, "ours").turns[2].input == 2_700 + note


def test_ours_folds_the_playbook_in_when_an_epoch_begins() -> None:
    past = history(*(plain(n, n * 10, learned=int(n > 1)) for n in range(1, 5)), known=bullets(0))
    turns = one(past, "ours", limits=Limits(WindowSpec(1, 1))).turns
    snapshot = past.playbook.snapshot(1).tokens
    assert [turn.reductions for turn in turns] == [0, 0, 0, 1]
    assert turns[3].input == 2_000 + snapshot + 300 + 100
    assert turns[3].cached == 2_000


def test_ours_is_cut_early_when_the_cache_is_gone() -> None:
    past = history(plain(1, 0), plain(2, 10), plain(3, 20), plain(4, 9_000))
    limits = Limits(WindowSpec(1, 5))
    assert [turn.visible for turn in one(past, "ours", limits=limits).turns] == [0, 1, 2, 1]
    assert [turn.visible for turn in one(past, "slack", limits=limits).turns] == [0, 1, 2, 3]


def test_ours_clears_old_results_in_one_batch() -> None:
    past = history(working(1, 0, 3_000, steps=13))
    limits = Limits(context_window=40_000)
    assert limits.allowed == 27_808
    figures = one(past, "ours", limits=limits).turns[0]
    # nine results are the first that are too many: four of them become stubs, the newest five stay
    before = [2_100 + 3_050 * n for n in range(9)]
    cleared = 2_100 + 3_050 * 9 - 4 * (3_000 - STUB_TOKENS)
    after = [cleared + 3_050 * n for n in range(4)]
    assert figures.input == sum(before) + sum(after)
    assert figures.cached == sum(before[:-1]) + (2_100 + 50) + sum(after[:-1])
    assert (figures.reductions, figures.over) == (1, 0)


def test_ours_leaves_interactions_out_where_clearing_is_not_enough() -> None:
    past = history(*(plain(n, n * 10, reply=9_000) for n in range(1, 5)))
    figures = one(past, "ours", limits=Limits(context_window=40_000)).turns
    assert [turn.visible for turn in figures] == [0, 1, 2, 1]
    assert figures[3].peak == 2_000 + 9_100 + 100


def test_compacting_pays_for_its_summary_on_the_live_prefix() -> None:
    past = history(plain(1, 0, reply=3_000), plain(2, 10, reply=3_000), plain(3, 20))
    limits = Limits(context_window=6_000, summary_tokens=500)
    first, second, third = one(past, "compact90", limits=limits).turns
    assert (first.requests, second.requests, third.requests) == (1, 1, 2)
    assert second.input == 2_000 + 100 + 3_000 + 100
    asked = 2_000 + 100 + 3_000 + 100 + 3_000 + 100 + 10
    after = 2_000 + 500 + 100
    assert third.input == asked + after
    assert third.cached == second.input + 2_000
    assert third.output == 500 + 200
    assert (third.visible, third.reductions) == (0, 1)


def test_requests_beyond_the_models_window_are_counted() -> None:
    past = history(plain(1, 0), plain(2, 10), plain(3, 20))
    assert one(past, "full", limits=Limits(context_window=2_300)).totals().over == 2


def test_a_policy_that_is_none_is_named() -> None:
    with pytest.raises(BadInput, match="no policy 'best'"):
        replay(history(plain(1, 0)), ["best"], UNITS)


def stored() -> Session:
    """A question with one call, a question without an answer."""
    session = Session("s")
    call = ToolCall("c1", "read_file", {"path": "a"}, result="x" * 4_000, duration_ms=20_000)
    for message in (
        ChatMessage(Role.USER, "q" * 40, created_at=BEGAN),
        ChatMessage(Role.ASSISTANT, "", [call], reasoning="r" * 400, created_at=BEGAN + timedelta(seconds=5)),
        ChatMessage(Role.ASSISTANT, "a" * 80, created_at=BEGAN + timedelta(seconds=40)),
        ChatMessage(Role.USER, "q" * 40, created_at=BEGAN + timedelta(seconds=20)),
    ):
        session.add_message(message)
    return session


def read(session: Session) -> History:
    return read_history(session, counter(), system_prompt="s" * 400, condense_prompt="c" * 40)


def test_a_stored_session_is_cut_into_requests() -> None:
    first, second = read(stored()).turns
    assert first.query.tokens == 10 + PER_MESSAGE
    assert [step.at - BEGAN.timestamp() for step in first.steps] == [0, 25]
    assert first.steps[0].results[0].tokens == 1_000 + PER_MESSAGE
    assert first.steps[0].results[0].stub is not None
    assert first.steps[0].output == first.steps[0].reply.tokens + 100  # type: ignore[union-attr]
    assert [step.reply for step in second.steps] == [None]
    assert second.query is first.query


def test_time_never_runs_back() -> None:
    assert read(stored()).turns[1].steps[0].at == BEGAN.timestamp() + 40


def test_a_count_that_is_stored_is_taken() -> None:
    session = stored()
    session.messages[0].tokens = 77
    session.messages[1].tokens = 33
    step = read(session).turns[0].steps[0]
    assert read(session).turns[0].query.tokens == 77
    assert step.reply is not None
    assert (step.reply.tokens, step.results[0].tokens) == (33, 1_000 + PER_MESSAGE)


def test_strategies_count_from_when_they_were_made() -> None:
    session = stored()
    session.playbook.bullets = {bullet.id: bullet for bullet in bullets(10, 900)}
    assert [turn.learned for turn in read(session).turns] == [0, 1]


def test_a_session_without_a_turn_is_refused() -> None:
    with pytest.raises(BadInput, match="no turn in this session"):
        read(Session("empty"))


sizes = st.integers(0, 4_000)
gaps = st.sampled_from([1.0, 60.0, 299.0, 300.0, 5_000.0])


@st.composite
def sessions(draw: st.DrawFn) -> History:
    """Any session, without a playbook (which full histories do not carry)."""
    now, turns = 0.0, []
    for number in range(1, draw(st.integers(1, 14)) + 1):
        steps = []
        for _ in range(draw(st.integers(1, 5))):
            now += draw(gaps)
            results = [
                Piece(size, Piece(STUB_TOKENS) if size > 90 else None) for size in draw(st.lists(sizes, max_size=3))
            ]
            steps.append(Step(now, Piece(draw(sizes)), tuple(results), draw(sizes)))
        turns.append(Turn(number, Piece(draw(sizes)), tuple(steps), 0))
    return history(*turns, head=draw(sizes))


limits = st.builds(
    Limits,
    window=st.builds(WindowSpec, st.integers(1, 6), st.integers(0, 5)),
    context_window=st.sampled_from([1, 3_000, 20_000, 200_000]),
)


@given(sessions(), limits)
@settings(deadline=None)
def test_what_holds_for_every_session_and_policy(past: History, given_limits: Limits) -> None:
    runs = replay(past, POLICIES, UNITS, given_limits)
    assert runs == replay(past, POLICIES, UNITS, given_limits)
    asked = [len(turn.steps) for turn in past.turns]
    for run in runs:
        assert [turn.turn for turn in run.turns] == [turn.number for turn in past.turns]
        for figures, requests in zip(run.turns, asked, strict=True):
            assert 0 <= figures.cached <= figures.input
            assert figures.peak <= figures.input
            assert figures.requests == requests or (run.policy == "compact90" and figures.requests > requests)
            assert 0 <= figures.visible < figures.turn
    full, exact, slack = runs[0].turns, runs[1].turns, runs[2].turns
    assert all(a.input >= b.input >= c.input for a, b, c in zip(full, slack, exact, strict=True))
    assert all(turn.visible <= given_limits.window.size for turn in exact)


@given(sessions(), st.integers(1, 6))
@settings(deadline=None)
def test_a_larger_window_never_sends_less(past: History, size: int) -> None:
    smaller, larger = (one(past, "exact", limits=Limits(WindowSpec(n))) for n in (size, size + 1))
    assert all(a.input <= b.input for a, b in zip(smaller.turns, larger.turns, strict=True))


@given(sessions(), st.sampled_from(["full", "exact", "slack", "compact90"]))
@settings(deadline=None)
def test_a_cache_kept_longer_never_costs_more(past: History, policy: str) -> None:
    short, long = (one(past, policy, ttl=ttl) for ttl in (300, 3_600))
    assert all(a.cached <= b.cached for a, b in zip(short.turns, long.turns, strict=True))
    assert long.totals().cost <= short.totals().cost * (1 + 1e-9)
