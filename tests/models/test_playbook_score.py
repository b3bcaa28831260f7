"""Test what the counts of a strategy decide: its score, and whether it is held back."""

from __future__ import annotations

import pytest

from swecli.models.playbook import Bullet


def test_a_score_is_a_half_without_counts_and_follows_them() -> None:
    unknown = Bullet("P-1", "x")
    proven = Bullet("P-2", "x", helpful=5, harmful=1)
    tried = Bullet("P-3", "x", helpful=1)
    doubtful = Bullet("P-4", "x", harmful=1)
    assert unknown.score == pytest.approx(0.5)
    ordered = sorted((doubtful, unknown, tried, proven), key=lambda bullet: -bullet.score)
    assert ordered == [proven, tried, unknown, doubtful]


@pytest.mark.parametrize(
    ("helped", "hurt", "held_back"),
    [(0, 1, False), (0, 2, True), (3, 2, True), (4, 2, False), (12, 6, False), (11, 6, True)],
)
def test_what_hurt_twice_and_more_than_half_as_often_as_it_helped_is_held_back(
    helped: int, hurt: int, held_back: bool
) -> None:
    assert Bullet("P-1", "x", helpful=helped, harmful=hurt).is_held_back is held_back


def test_what_the_user_wrote_or_pinned_is_never_held_back_but_listed_for_review() -> None:
    written = Bullet("P-1", "x", trust="user", harmful=9)
    pinned = Bullet("P-2", "x", state="pinned", harmful=9)
    assert not written.is_held_back
    assert not pinned.is_held_back
    assert written.seems_harmful
