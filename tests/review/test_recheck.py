"""The ledger against the files."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from swecli.models.errors import BadInput
from swecli.models.finding import Finding
from swecli.models.review import ReviewRecord
from swecli.review.grounding import ground
from swecli.review.recheck import recheck, states_of, told
from swecli.review.sources import Sources
from swecli.store.database import open_database
from swecli.store.review_store import ReviewStore


@pytest.fixture
def store() -> Iterator[ReviewStore]:
    database = open_database(":memory:")
    store = ReviewStore(database, "/p")
    Path("a.py").write_text("x = 1\ny = 37\n")
    found = [Finding("a.py", n, "MAGIC_NUMBERS", "m", loop=1) for n in (1, 2)]
    store.note(store.begin(ReviewRecord("/p", (), "x")), ground(found, Sources(Path.cwd())))
    yield store
    database.close()


def test_only_what_changed_is_told_and_kept(store: ReviewStore) -> None:
    assert recheck(store, Path.cwd()) == []
    Path("a.py").write_text("# new\nx = 1\n")
    assert sorted(told(*pair) for pair in recheck(store, Path.cwd())) == [
        "F-1 a.py: line 1 → 2",
        "F-2 a.py:2: open → fixed (the code it spoke of is gone)",
    ]
    assert [(f.line, f.state) for f in store.findings()] == [(2, "open"), (2, "fixed")]
    Path("a.py").write_text("y = 37\n")
    assert "F-2 a.py:1: fixed → regressed" in [told(*pair) for pair in recheck(store, Path.cwd(), ["F-2"])]


def test_states_are_named_or_refused() -> None:
    assert states_of([]) == ["open", "regressed"]
    assert states_of(["all"]) == []
    with pytest.raises(BadInput, match="no state 'odd'"):
        states_of(["odd"])
