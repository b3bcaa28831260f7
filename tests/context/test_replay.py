"""A replay sends a stored session once more, to nobody: sums that a hand can check, and what must always hold."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from swecli.context.replay import Cache, Replayed, replay
from swecli.context.replay_history import read_history
from swecli.context.replay_policies import POLICIES, Limits
from swecli.context.replay_prices import prices_of, relative_prices
from swecli.context.tokens import TokenCounter
from swecli.models.errors import BadInput
from swecli.models.message import ChatMessage, Role, ToolCall
from swecli.models.session import Session
from swecli.models.window import WindowSpec

BEGAN = datetime(2026, 1, 5, 9, tzinfo=UTC)
COUNTER = TokenCounter()


def session(turns: int, *, pause: float = 30, calls: int = 1, words: int = 20) -> Session:
    """Turns of query, `calls` steps with a call each, and an answer; `pause` seconds between turns."""
    whole = Session("s", created_at=BEGAN)
    now = BEGAN
    for turn in range(turns):
        now += timedelta(seconds=pause)
        whole.add_message(ChatMessage(Role.USER, f"query {turn} " + "word " * words, created_at=now))
        for step in range(calls):
            now += timedelta(seconds=1)
            call = ToolCall(f"c{turn}-{step}", "read_file", {"path": "a"}, result=f"line {turn} {step} " * words)
            whole.add_message(ChatMessage(Role.ASSISTANT, "", [call], created_at=now))
        now += timedelta(seconds=1)
        whole.add_message(ChatMessage(Role.ASSISTANT, f"answer {turn}", created_at=now))
    return whole


def run(whole: Session, *names: str, limits: Limits | None = None, cache: Cache | None = None) -> dict[str, Replayed]:
    history = read_history(whole, COUNTER, system_prompt="be good " * 600, condense_prompt="sum up")
    return {r.policy: r for r in replay(history, names or POLICIES, relative_prices(), limits, cache)}


def test_every_step_of_a_turn_is_a_request() -> None:
    assert run(session(4, calls=2), "full")["full"].totals().requests == 4 * 3


def test_the_windows_hold_what_they_say() -> None:
    replays = run(session(12), limits=Limits(window=WindowSpec(5, 3)))
    assert [turn.visible for turn in replays["full"].turns] == list(range(12))
    assert [turn.visible for turn in replays["exact"].turns] == [0, 1, 2, 3, 4, 5, 5, 5, 5, 5, 5, 5]
    assert [turn.visible for turn in replays["slack"].turns] == [0, 1, 2, 3, 4, 5, 6, 7, 8, 5, 6, 7]
    assert replays["slack"].totals().reductions == 1


def test_a_warm_prefix_is_read_from_the_cache_and_a_cold_one_is_not() -> None:
    warm = run(session(2, calls=0, pause=30), "full")["full"].turns[1]
    cold = run(session(2, calls=0, pause=301), "full")["full"].turns[1]
    assert (warm.cold, cold.cold) == (False, True)
    assert warm.input == cold.input
    assert cold.cached == 0
    first = run(session(1, calls=0), "full")["full"].turns[0]
    assert warm.cached == first.input, "the second request begins with all of the first"


def test_a_prefix_below_the_providers_minimum_is_not_cached() -> None:
    assert run(session(3), "full", cache=Cache(minimum=10**6))["full"].totals().cached == 0


def test_the_cost_is_the_sum_of_its_parts() -> None:
    totals = run(session(3), "full")["full"].totals()
    new = totals.input - totals.cached
    assert totals.cost == pytest.approx(new * 1.25 + totals.cached * 0.1 + totals.output * 5)


def test_compacting_leaves_a_summary_that_is_smaller_than_what_it_replaces() -> None:
    limits = Limits(context_window=4_000, summary_tokens=100)
    replays = run(session(40, words=60), "full", "compact90", limits=limits)
    compact = replays["compact90"].totals()
    assert compact.reductions > 0
    assert compact.peak < replays["full"].totals().peak
    assert compact.requests == replays["full"].totals().requests + compact.reductions


def test_the_early_trim_waits_for_a_cold_cache() -> None:
    limits = Limits(window=WindowSpec(3, 5))
    assert run(session(8, pause=30), "ours", limits=limits)["ours"].totals().reductions == 0
    assert run(session(8, pause=400), "ours", limits=limits)["ours"].totals().reductions > 0


@settings(max_examples=40, deadline=None)
@given(
    turns=st.integers(1, 14),
    calls=st.integers(0, 3),
    pause=st.sampled_from([5, 299, 400]),
    size=st.integers(1, 6),
    slack=st.integers(0, 4),
)
def test_what_holds_for_every_session(turns: int, calls: int, pause: int, size: int, slack: int) -> None:
    whole = session(turns, calls=calls, pause=pause)
    limits = Limits(window=WindowSpec(size, slack), context_window=9_000)
    replays = run(whole, limits=limits)
    for replayed in replays.values():
        for turn in replayed.turns:
            assert 0 <= turn.cached <= turn.input
            assert 0 <= turn.visible < max(1, turn.turn)
            assert turn.peak <= turn.input
    full, exact = replays["full"].turns, replays["exact"].turns
    assert all(a.input >= b.input for a, b in zip(full, exact, strict=True))
    assert run(whole, limits=limits) == replays, "the same session, the same figures"


def test_an_empty_session_and_an_unknown_policy_are_one_line() -> None:
    with pytest.raises(BadInput, match="no turn"):
        run(Session("s"))
    with pytest.raises(BadInput, match="no policy 'best'"):
        run(session(1), "best")


def test_a_model_without_a_price_is_counted_in_relative_units() -> None:
    assert prices_of("nobody/nothing").unit == "relative units"
    assert prices_of("anthropic/claude-sonnet-4-5").unit == "USD"
