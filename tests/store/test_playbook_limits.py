"""What one turn may change: enough to learn, never enough to replace the playbook."""

from __future__ import annotations

from typing import Any

import pytest

from swecli.models.errors import BadInput
from swecli.models.playbook import Delta, Evidence, Op
from swecli.store.playbook_limits import check, room

ADD = Op("ADD", fields={"content": "x"})
SAID = Op("ADD", fields={"content": "x", "trust": "user"}, evidence=(Evidence("teaching", "x", trust="user"),))
CLAIMED = Op("ADD", fields={"content": "x", "trust": "user"}, evidence=(Evidence("model", "x", trust="user"),))


def delta(*ops: Op, author: str = "some/model") -> Delta:
    return Delta("d", ops, author)


@pytest.mark.parametrize(
    ("ops", "said"),
    [
        ([ADD] * 4, "4 new strategies in one turn, at most 3"),
        ([Op("UPDATE", "P-1", fields={"content": "x"}), Op("MERGE", "P-1", into="P-2")] * 2, "4 changes"),
        ([Op("REMOVE", "P-1")], "the user's to decide"),
        ([Op("PIN", "P-1")], "the user's to decide"),
        ([Op("QUARANTINE", f"P-{n}") for n in range(6)], "6 strategies set aside"),
        ([Op("TAG", "P-1", "neutral")] * 500, "500 operations on the playbook at once"),
    ],
)
@pytest.mark.parametrize("author", ["some/model", "rules"])
def test_more_than_a_turn_may_change_is_refused_with_the_reason(ops: list[Op], said: str, author: Any) -> None:
    with pytest.raises(BadInput, match="refused whole") as caught:
        check(delta(*ops, author=author))
    assert said in str(caught.value)
    check(delta(*ops, author="user"))


def test_what_the_turn_added_before_counts() -> None:
    check(delta(ADD), [ADD, ADD])
    with pytest.raises(BadInput, match="1 new strategies after 3 before"):
        check(delta(ADD), [ADD, ADD, ADD])
    check(delta(Op("TAG", "P-1", "helpful")), [ADD] * 3)
    with pytest.raises(BadInput, match="1 new strategies after 3 before"):
        check(delta(CLAIMED), [ADD, CLAIMED, CLAIMED])
    assert room([ADD, SAID, Op("MERGE", "P-1", into="P-2")]) == (2, 1)


def test_the_users_own_words_are_never_capped() -> None:
    said = Op("QUARANTINE", "P-1", evidence=(Evidence("teaching", "no", trust="user"),))
    check(delta(*[SAID] * 5, *[said] * 9, ADD, ADD, ADD))
