"""Which bullets stand in a prompt, and why: never a token too many, and every decision adds up."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from swecli.models.playbook import Bullet, SessionPlaybook, render_bullets
from swecli.playbook.score import Belief, Standings
from swecli.playbook.selection.ablation import AblationPlan
from swecli.playbook.selection.rank import BASE, SelectionRequest, rank
from swecli.playbook.selection.select import BUDGET, Held, Selection, select

WORDS = ["tests", "pytest", "prices", "round", "tabs", "migrations", "never", "redis", "src/api", "Übung"]
BULLETS = st.lists(
    st.builds(
        lambda words, **fields: Bullet("P-0", " ".join(words) or "x", **fields),
        st.lists(st.sampled_from(WORDS), max_size=8),
        section=st.sampled_from(["general", "tests"]),
        kind=st.sampled_from(["strategy", "pitfall", "fact", "preference"]),
        state=st.sampled_from(["active", "active", "active", "pinned", "quarantined", "disabled", "deleted"]),
    ),
    max_size=12,
).map(lambda found: [replace(bullet, id=f"P-{number}") for number, bullet in enumerate(found, 1)])
BELIEFS = st.dictionaries(
    st.integers(1, 12).map(lambda n: f"P-{n}"),
    st.sampled_from([Belief(), Belief(0.9, 0.05, 0.05, 3), Belief(0.05, 0.05, 0.9, 3), Belief(0.5, 0.3, 0.2, 1)]),
).map(lambda beliefs: Standings(beliefs=beliefs))
COUNTS = st.sampled_from(
    [
        len,
        lambda text: len(text.split()),
        lambda text: int(len(text) ** 1.3),  # worse together than alone
        lambda text: int(len(text) ** 0.8),
    ]
)


def words(text: str) -> int:
    return len(text.split())


def book(*contents: str, **fields) -> list[Bullet]:
    made = SessionPlaybook()
    return [made.add(content, **fields) for content in contents]


def chosen(bullets, query: str, *, scores=Standings(), count=words, budget=BUDGET, held=None, **more) -> Selection:  # noqa: B008
    more = {"whole_head": True, **more}
    return select(rank(SelectionRequest(tuple(bullets), query, scores, count, **more)), budget, held)


def why(selection: Selection) -> dict[str, str]:
    return {candidate.bullet.id: candidate.reason for candidate in selection.candidates}


@given(BULLETS, st.text(max_size=30) | st.sampled_from(WORDS), BELIEFS, COUNTS, st.integers(-5, 700))
def test_the_budget_is_never_exceeded_by_one_token(bullets, query, standings, count, budget) -> None:
    found = chosen(bullets, query, scores=standings, count=count, budget=budget)
    assert found.text == render_bullets(found.chosen)
    assert found.tokens == (count(found.text) if found.text else 0)
    assert found.tokens <= max(0, budget)


@given(BULLETS, st.sampled_from(WORDS), BELIEFS, st.randoms())
def test_the_order_the_bullets_come_in_changes_nothing(bullets, query, standings, chance) -> None:
    one = chosen(bullets, query, scores=standings, budget=120)
    shuffled = list(bullets)
    chance.shuffle(shuffled)
    assert chosen(shuffled, query, scores=standings, budget=120) == one


@given(BULLETS, st.sampled_from(WORDS), BELIEFS)
def test_the_parts_add_up_to_the_decision(bullets, query, standings) -> None:
    found = chosen(bullets, query, scores=standings, budget=110, most=4)
    assert {c.bullet.id for c in found.candidates} == {b.id for b in bullets if b.state != "deleted"}
    for candidate in found.candidates:
        assert candidate.base == BASE[candidate.bullet.kind]
        assert candidate.relevance == candidate.base + (1 - candidate.base) * candidate.match
        assert candidate.value == max(0.0, (1 + standings.of(candidate.bullet.id).score) / 2)
        assert candidate.score == candidate.relevance * candidate.value
        assert candidate.reason
        assert candidate.chosen == (candidate.reason in ("it is pinned", "it is among the best"))
    ordinary = [c for c in found.candidates if c.bullet.state != "pinned"]
    assert [c.score for c in ordinary] == sorted((c.score for c in ordinary), reverse=True)
    assert len(found.chosen) <= 4


def test_what_concerns_the_query_comes_first() -> None:
    bullets = book("Use pnpm", "Prices are rounded at the end", "Migrations are append-only")
    assert [b.id for b in chosen(bullets, "why are the prices wrong?").chosen][0] == "P-2"
    assert "[P-2]" in chosen(bullets, "round the prices", most=1).text


def test_of_two_that_match_alike_the_better_one_wins() -> None:
    bullets = book("Run `make prices` for prices", "Read prices.csv for prices")
    helps = Standings(beliefs={"P-2": Belief(0.02, 0.08, 0.9, 4)})
    assert [b.id for b in chosen(bullets, "prices", scores=helps).chosen] == ["P-2", "P-1"]


def test_without_a_query_worth_alone_decides() -> None:
    helps = Standings(beliefs={"P-2": Belief(0.02, 0.08, 0.9, 4)})
    assert [b.id for b in chosen(book("Use pnpm", "Use tabs"), "", scores=helps).chosen] == ["P-2", "P-1"]


def test_pinned_ones_come_first_even_when_they_match_nothing() -> None:
    bullets = [*book("Prices are rounded at the end"), Bullet("P-2", "Use tabs", state="pinned")]
    found = chosen(bullets, "prices", most=1)
    assert ([b.id for b in found.chosen], why(found)) == (["P-2"], {"P-2": "it is pinned", "P-1": "1 are the limit"})


def test_a_preference_holds_for_work_that_does_not_name_it() -> None:
    bullets = [*book("Use pnpm", kind="fact"), Bullet("P-2", "Answer in German", kind="preference")]
    assert [b.id for b in chosen(bullets, "fix the login").chosen] == ["P-2", "P-1"]


def test_what_neither_matches_nor_helps_is_left_out() -> None:
    inert = Standings(beliefs={"P-1": Belief(0.04, 0.92, 0.04, 5)})
    assert "below the floor" in why(chosen(book("The logo is blue", kind="fact"), "prices", scores=inert))["P-1"]
    assert chosen(book("The logo is blue", kind="fact"), "the logo", scores=inert).text
    assert chosen([], "prices").text == ""


def test_what_is_held_to_harm_is_left_out_unless_the_user_pinned_it() -> None:
    harms = Standings(beliefs={"P-1": Belief(0.8, 0.1, 0.1, 4)})
    bullets = book("Round prices early")
    assert "harm rather than to help (80% against 10%)" in why(chosen(bullets, "prices", scores=harms))["P-1"]
    assert chosen([replace(bullets[0], state="pinned")], "prices", scores=harms).chosen


def test_what_is_stale_or_put_aside_says_so() -> None:
    stale = book("Read src/old.py", stale="src/old.py is not here")
    found = chosen([*stale, Bullet("P-2", "Use tabs", state="quarantined")], "read")
    assert why(found) == {"P-1": "it is stale: src/old.py is not here", "P-2": "it is quarantined"}


@pytest.mark.parametrize(
    ("second", "reason"),
    [
        ("Round the prices at the end", "P-1 says nearly the same"),
        ("Never round prices at the end", "it contradicts P-1"),
    ],
)
def test_of_two_that_speak_of_the_same_only_one_is_shown(second: str, reason: str) -> None:
    found = chosen(book("Round prices at the end", second), "prices")
    assert ([b.id for b in found.chosen], why(found)["P-2"]) == (["P-1"], reason)


def test_a_long_one_gives_way_to_a_short_one_that_fits() -> None:
    bullets = book("prices " * 40, "prices have tax")
    frame = words(render_bullets(bullets[1:]))
    found = chosen(bullets, "prices", budget=frame)
    assert (found.tokens, [b.id for b in found.chosen]) == (frame, ["P-2"])
    assert "there is no room" in why(found)["P-1"]


def test_a_playbook_of_thousands_fills_the_budget_and_no_more() -> None:
    bullets = book(*(f"Run `make job{number}` for prices of shop{number}" for number in range(1000)))
    found = chosen(bullets, "prices", count=len, budget=1200)
    assert 1100 < found.tokens <= 1200
    assert len(found.candidates) == 1000


def line(bullet: Bullet) -> str:
    return f"+ {bullet.content}\n"


def test_what_is_held_stays_and_is_decided_once() -> None:
    bullets = book("Use pnpm", "Prices are rounded at the end", "Migrations are append-only")
    found = chosen(bullets, "prices", held=Held(("P-1",), 20, line))
    assert [c.bullet.id for c in found.candidates].count("P-1") == 1
    assert why(found)["P-1"] == "the conversation holds it already"
    assert "Use pnpm" not in found.text
    assert "Prices are rounded" in found.text
    assert found.tokens == 20 + words(found.text)
    assert found.reopen == ""


def test_what_is_held_and_has_gone_stale_leaves_the_selection() -> None:
    bullets = [*book("Read src/old.py", stale="src/old.py is not here"), Bullet("P-2", "Use tabs")]
    found = chosen(bullets, "read src/old.py", held=Held(("P-1",), 20, line))
    assert "P-1" not in {bullet.id for bullet in found.bullets}
    assert found.reopen == ""
    pinned = [replace(bullets[0], state="pinned"), bullets[1]]
    assert "P-1" in {b.id for b in chosen(pinned, "read", held=Held(("P-1",), 20, line)).bullets}


@pytest.mark.parametrize("state", ["disabled", "quarantined", "deleted"])
def test_what_is_held_and_not_to_be_used_any_more_leaves_the_selection(state) -> None:
    bullets = [Bullet("P-1", "Use pnpm", state=state), Bullet("P-2", "Use tabs")]
    found = chosen(bullets, "pnpm", held=Held(("P-1",), 20, line))
    assert [bullet.id for bullet in found.bullets] == ["P-2"]
    assert found.reopen == ("P-1 is not to be used any more" if state == "disabled" else "")


def test_a_new_epoch_is_asked_for_where_what_is_held_cannot_go_on() -> None:
    bullets = book("Use pnpm", "Prices are rounded at the end of each order")
    assert chosen(bullets, "prices", budget=30, held=Held(("P-1",), 31, line)).reopen.endswith("grown too long")
    assert chosen(bullets, "x", off=True, held=Held(("P-1",), 20, line)).reopen == "the playbook is off"
    assert chosen(bullets, "x", off=True, held=Held((), 0, line)).bullets == ()
    crowded = chosen(bullets, "prices", budget=60, held=Held(("P-1",), 58, line))
    assert crowded.reopen == "this query's strategies have no room else"
    assert "Prices are rounded" in crowded.text
    taught = chosen(bullets, "x", budget=60, new_ids={"P-2"}, held=Held(("P-1",), 58, line))
    assert taught.reopen == "P-2 is new and has no room else"


def test_a_head_leaves_a_third_of_the_budget_to_the_turns_to_come() -> None:
    bullets = book(*(f"Run `make job{number}` for prices of shop{number}" for number in range(100)))
    assert chosen(bullets, "prices", count=len, budget=1200, whole_head=False).tokens <= 800
    assert (
        chosen(bullets[:3], "prices", count=len, budget=1200, whole_head=False).text
        == chosen(bullets[:3], "prices").text
    )


def test_nothing_is_chosen_while_the_playbook_is_off() -> None:
    assert (chosen(book("Use pnpm"), "pnpm", off=True).bullets, chosen(book("Use pnpm"), "pnpm").off) == ((), False)


def test_an_ablation_turn_shows_less_and_says_what() -> None:
    plan = AblationPlan.parse("one:2")
    bullets = book("run the tests before a commit", "name tests after what they show")
    whole, less = (chosen(bullets, "run the tests", ablation=plan, turn=turn, seed=3) for turn in (1, 2))
    assert whole.ablation.what == ""
    assert less.ablation.what == "withheld"
    assert {b.id for b in less.bullets} | set(less.ablation.withheld) == {b.id for b in whole.bullets}
    assert less.candidates == whole.candidates
    assert chosen(bullets, "run the tests", ablation=plan, turn=2, seed=3) == less
