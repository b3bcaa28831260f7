"""The next request of a session: how much of it the last one began with."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from swecli.context.replay_history import Piece
from swecli.context.replay_policies import Prompt

PIECES = [Piece(n) for n in (1, 10, 100, 1_000)]
lists = st.lists(st.sampled_from(PIECES), max_size=6)


def test_what_is_added_leaves_the_prefix_alone() -> None:
    prompt = Prompt()
    prompt.put(PIECES[:2])
    assert (prompt.tokens, prompt.shared) == (11, 0)
    prompt.sent()
    prompt.put(PIECES[2:3])
    assert (prompt.tokens, prompt.shared) == (111, 11)


def test_equal_sizes_are_not_equal_messages() -> None:
    prompt = Prompt()
    prompt.put([Piece(5)])
    prompt.sent()
    prompt.replace([Piece(5)])
    assert prompt.shared == 0


@given(lists, st.lists(st.tuples(lists, lists, st.booleans()), max_size=6))
def test_the_shared_part_is_the_common_prefix_with_what_was_sent_last(
    start: list[Piece], changes: list[tuple[list[Piece], list[Piece], bool]]
) -> None:
    prompt = Prompt()
    prompt.put(start)
    prompt.sent()
    last = list(prompt.pieces)
    for replaced, added, sent in changes:
        prompt.replace(list(replaced))
        prompt.put(added)
        same = 0
        # the prefix is known from the replaced part: a piece added later is new, as it is in a session
        for old, new in zip(last, replaced, strict=False):
            if old is not new:
                break
            same += new.tokens
        assert prompt.shared == same
        assert prompt.tokens == sum(piece.tokens for piece in prompt.pieces)
        if sent:
            prompt.sent()
            last = list(prompt.pieces)
