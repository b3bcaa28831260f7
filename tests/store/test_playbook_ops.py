"""What operations do to bullets."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from swecli.models.errors import BadInput
from swecli.models.playbook import Bullet, Delta, Evidence, Op
from swecli.store.playbook_ops import named_in, work_out

BULLETS = {
    "P-1": Bullet("P-1", "one", helpful=2, harmful=1),
    "P-2": Bullet("P-2", "two", helpful=3, neutral=4),
    "P-3": Bullet("P-3", "three", state="deleted"),
}


def outcome(*ops: Op) -> Any:
    return work_out(Delta("d", ops, "user"), BULLETS)


def test_add_makes_a_bullet_under_a_provisional_name() -> None:
    done = outcome(
        Op("ADD", fields={"content": "x", "kind": "pitfall", "anchors": ["a.py"]}), Op("ADD", fields={"content": "y"})
    )
    assert done.added == ["new-0", "new-1"]
    assert (done.bullets["new-0"].kind, done.bullets["new-0"].anchors) == ("pitfall", ("a.py",))
    assert done.touched == []


def test_tags_add_to_counts() -> None:
    bullet = outcome(Op("TAG", "P-1", "helpful"), Op("TAG", "P-1", "helpful"), Op("TAG", "P-1", "harmful")).bullets[
        "P-1"
    ]
    assert (bullet.helpful, bullet.harmful, bullet.neutral) == (4, 2, 0)


@pytest.mark.parametrize(
    ("op", "state"), [("REMOVE", "deleted"), ("PIN", "pinned"), ("QUARANTINE", "quarantined"), ("RESTORE", "active")]
)
def test_some_operations_set_the_state(op: Any, state: str) -> None:
    assert outcome(Op(op, "P-1")).bullets["P-1"].state == state


def test_update_sets_what_it_names_and_nothing_else() -> None:
    bullet = outcome(Op("UPDATE", "P-1", fields={"content": "new", "state": "disabled"})).bullets["P-1"]
    assert (bullet.content, bullet.state, bullet.helpful, bullet.section) == ("new", "disabled", 2, "general")


def test_merge_moves_counts_and_evidence_and_deletes_the_other() -> None:
    first, second = Evidence("user", "before"), Evidence("user", "with the merge")
    done = outcome(Op("TAG", "P-1", "helpful", evidence=(first,)), Op("MERGE", "P-1", into="P-2", evidence=(second,)))
    gone, stays = done.bullets["P-1"], done.bullets["P-2"]
    assert (gone.state, gone.helpful, gone.harmful) == ("deleted", 0, 0)
    assert (stays.helpful, stays.harmful, stays.neutral) == (6, 1, 4)
    assert done.evidence == [("P-2", first), ("P-2", second)]
    assert done.merges == [("P-1", "P-2")]
    assert done.touched == ["P-1", "P-2"]


def test_a_removed_bullet_can_only_be_restored() -> None:
    assert outcome(Op("RESTORE", "P-3")).bullets["P-3"].state == "active"
    with pytest.raises(BadInput, match="P-3 was removed"):
        outcome(Op("TAG", "P-3", "helpful"))


@pytest.mark.parametrize(
    "op",
    [
        Op("TAG", "P-9", "helpful"),
        Op("TAG", "", "helpful"),
        Op("TAG", "P-1"),
        Op("TAG", "P-1", "great"),  # type: ignore[arg-type]  # what a model may say
        Op("ADD"),
        Op("ADD", fields={"content": "  "}),
        Op("ADD", fields={"content": 5}),
        Op("ADD", "P-1", fields={"content": "x"}),
        Op("ADD", fields={"content": "x", "helpful": 99}),
        Op("ADD", fields={"content": "x", "kind": "gossip"}),
        Op("ADD", fields={"content": "x", "anchors": "a.py"}),
        Op("UPDATE", "P-1"),
        Op("UPDATE", "P-1", fields={"id": "P-7"}),
        Op("UPDATE", "P-1", fields={"state": ["x"]}),
        Op("MERGE", "P-1", into="P-1"),
        Op("MERGE", "P-1", into="P-9"),
        Op("MERGE", "P-1"),
        Op("ERASE", "P-1"),  # type: ignore[arg-type]  # what a model may say
    ],
)
def test_what_cannot_be_carried_out_is_bad_input(op: Op) -> None:
    with pytest.raises(BadInput) as caught:
        outcome(op)
    assert "\n" not in str(caught.value)


def test_the_bullets_given_are_not_changed() -> None:
    before = dict(BULLETS)
    outcome(Op("REMOVE", "P-1"), Op("TAG", "P-2", "neutral"))
    assert before == BULLETS


def test_the_bullets_a_delta_speaks_of_are_known() -> None:
    delta = Delta("d", (Op("ADD", fields={"content": "x"}), Op("MERGE", "P-1", into="P-2"), Op("PIN", "P-4")), "user")
    assert named_in(delta) == {"P-1", "P-2", "P-4"}


MODEL, USER = Evidence("model", "so"), Evidence("teaching", "so", trust="user")
CLAIM = Evidence("model", "so", trust="user")
MINE = Bullet("P-1", "mine", trust="user")


@pytest.mark.parametrize(
    ("op", "said"),
    [
        (Op("ADD", fields={"content": "x"}), "ADD has no evidence"),
        (Op("ADD", fields={"content": "x", "trust": "user"}, evidence=(MODEL,)), "claims the user's trust"),
        (Op("ADD", fields={"content": "x", "trust": "user"}, evidence=(CLAIM,)), "claims the user's trust"),
        (Op("UPDATE", "P-2", fields={"trust": "user"}, evidence=(MODEL,)), "claims the user's trust"),
        (Op("UPDATE", "P-1", fields={"content": "yours"}, evidence=(MODEL,)), "P-1 is in the user's words"),
        (Op("ADD", fields={"content": "x", "trust": "web"}, evidence=(MODEL,)), "has to wait for the user's yes"),
    ],
)
@pytest.mark.parametrize("author", ["rules", "some/model"])
def test_rules_and_models_do_not_speak_for_the_user(op: Op, said: str, author: str) -> None:
    bullets = {"P-1": MINE, "P-2": Bullet("P-2", "theirs")}
    with pytest.raises(BadInput, match=said):
        work_out(Delta("d", (op,), author), bullets)
    work_out(Delta("d", (op,), "user"), bullets)
    if op.fields.get("trust") != "web":
        work_out(Delta("d", (replace(op, evidence=(USER,)),), author), bullets)


def test_what_a_model_says_of_the_users_words_leaves_them_and_their_trust() -> None:
    op = Op("UPDATE", "P-1", fields={"trust": "user", "content": "mine"}, evidence=(MODEL,))
    assert work_out(Delta("d", (op,), "some/model"), {"P-1": MINE}).bullets["P-1"].trust == "user"


@pytest.mark.parametrize(("content", "said"), [("word " * 61, "61 words"), ("x" * 601, "601 characters")])
@pytest.mark.parametrize("author", ["user", "import", "rules"])
def test_nobody_adds_or_rewords_beyond_the_limits(content: str, said: str, author: str) -> None:
    for op in (Op("ADD", fields={"content": content}), Op("UPDATE", "P-2", fields={"content": content})):
        with pytest.raises(BadInput, match=said):
            work_out(Delta("d", (replace(op, evidence=(USER,)),), author), {"P-2": Bullet("P-2", "x")})


def test_what_is_written_by_hand_has_its_author_as_evidence() -> None:
    [(name, item)] = work_out(Delta("d", (Op("ADD", fields={"content": "x"}),), "user", "s"), {}).evidence
    assert (name, item.source, item.quote, item.trust, item.session_id) == ("new-0", "user", "x", "user", "s")
