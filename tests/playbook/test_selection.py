"""Test selecting strategies for a prompt: all if they fit, else the best matches within the token budget."""

from __future__ import annotations

import gc
import random
import time

import pytest

from swecli.models.playbook import Bullet, render_bullets
from swecli.playbook.ranking import BulletIndex
from swecli.playbook.selection import Selection, SelectionRequest

WORDS = [
    "billing",
    "login",
    "search",
    "shipping",
    "mail",
    "cart",
    "stock",
    "image",
    "report",
    "audit",
    "tax",
    "queue",
    "logs",
    "ports",
    "workers",
    "tables",
]


def count_words(text: str) -> int:
    return len(text.split())


def make_bullets(number: int, *more: Bullet) -> dict[str, Bullet]:
    dice = random.Random(number)
    made = [
        Bullet(f"P-{n}", " ".join(dice.choices(WORDS, k=8)), uses=9) for n in range(1, number + 1)
    ]
    return {bullet.id: bullet for bullet in (*made, *more)}


def chosen_ids(found: Selection) -> set[str]:
    return {bullet.id for bullet in found.bullets}


def make_request(
    have: dict[str, Bullet], query: str, budget: int = 120, **more: object
) -> SelectionRequest:
    return SelectionRequest(have, query, count_words, BulletIndex(), budget, **more)  # type: ignore[arg-type]


def test_all_strategies_that_fit_are_selected_in_order_of_their_ids_for_any_query() -> None:
    have = make_bullets(5)
    one, other = make_request(have, "billing").select(), make_request(have, "哪个端口").select()
    assert one.bullets == other.bullets == tuple(have.values())
    assert not one.more


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.slow
def test_a_selection_stays_within_the_token_budget_and_is_deterministic(seed: int) -> None:
    dice, have = random.Random(seed), make_bullets(200)
    asked = make_request(have, " ".join(dice.choices(WORDS, k=3)), budget=dice.randint(60, 200))
    found = asked.select()
    assert count_words(render_bullets(found.bullets)) == found.tokens <= asked.budget
    assert found.more
    assert asked.select() == found


def test_a_query_without_matches_selects_only_the_preference_of_the_user() -> None:
    own = Bullet("P-201", "Answers are short", kind="preference", trust="user")
    assert chosen_ids(make_request(make_bullets(200, own), "zebra xylophone").select()) == {"P-201"}


@pytest.mark.parametrize(
    ("asked", "written"),
    [
        ("policy", "Policies"), ("hope", "hoping"), ("abilities", "ability"), ("happiness", "happy"), ("skies", "sky"),
        ("don't", "DON'T"), ("run", "`src/run_tests.py`"), ("prüfung", "Prüfung"), ("哪个端口", "哪个端口"),
    ],
)  # fmt: skip
def test_a_search_finds_other_forms_of_a_word(asked: str, written: str) -> None:
    index = BulletIndex()
    index.update(
        {
            "P-1": Bullet("P-1", "lemon"),
            "P-2": Bullet("P-2", f"so {written}", when="x"),
            "P-3": Bullet("P-3", ""),
        }
    )
    assert set(index.search(asked, 0.15)) == {"P-2"}
    index.update({"P-7": Bullet("P-7", written)})
    assert set(index.search(asked, 0.15)) == {"P-7"}


def test_a_bullet_is_found_by_its_when_field_which_is_not_rendered() -> None:
    hidden = Bullet(
        "P-201",
        "Ask the ledger team first",
        when="invoices are wrong, customers were charged twice",
    )
    assert "P-201" in chosen_ids(
        make_request(
            make_bullets(200, hidden), "a customer was charged two times, fix the invoice"
        ).select()
    )
    assert "charged" not in render_bullets(
        make_request(make_bullets(200, hidden), "charged twice customers").select().bullets
    )


def test_stale_and_disabled_bullets_are_left_out_with_the_reason_whatever_the_counts() -> None:
    have = make_bullets(
        1,
        Bullet("P-2", "a", state="disabled"),
        Bullet("P-3", "b", stale="x.py is gone"),
        Bullet("P-4", "c", harmful=2),
        Bullet("P-5", "d", harmful=2, state="pinned"),
    )
    found = make_request(have, "billing").select()
    assert chosen_ids(found) == {"P-1", "P-4", "P-5"}
    reasons = {c.bullet.id: c.reason for c in found.candidates if not c.is_chosen}
    assert reasons["P-2"] == "it is disabled"
    assert reasons["P-3"] == "it is stale: x.py is gone"


def test_recall_returns_only_matching_bullets() -> None:
    hidden = Bullet("P-201", "Print labels on the second printer")
    assert chosen_ids(
        make_request(make_bullets(200, hidden), "which printer for labels").recall()
    ) == {"P-201"}
    assert not make_request(make_bullets(200, hidden), "zebra").recall().bullets


@pytest.mark.slow
def test_the_time_of_a_selection_does_not_grow_quadratically_with_the_playbook() -> None:
    def cost(number: int) -> float:
        asked = make_request(make_bullets(number), "restart the audit queue")
        asked.select()
        taken = []
        gc.disable()  # Do not attribute objects left by other tests to the selection.
        for _ in range(5):
            began = time.process_time()
            asked.select()
            taken.append(time.process_time() - began)
        gc.enable()
        return min(taken)

    few, many = cost(2_000), cost(8_000)
    assert many < 8 * few, "far from square; no wall time is asserted"
    assert len(make_request(make_bullets(8_000), "audit").select().to_json()["chosen"]) < 60
