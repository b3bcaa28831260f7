"""Test starting and continuing a review."""

from __future__ import annotations

from pathlib import Path

import pytest
from sqlmodel import update

from swecli.models.errors import BadInput
from swecli.review.read.job import ReviewOptions, begin_job
from swecli.store.tables.sessions import InteractionRow
from tests.support.project import make_project
from tests.support.reviews import review_store
from tests.support.runtime import make_runtime


@pytest.fixture(autouse=True)
def shop(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(make_project(Path("shop")))


async def test_an_unfinished_review_is_reported_and_can_be_continued() -> None:
    runtime = make_runtime()
    agent, store = runtime.agent, review_store(runtime)
    with pytest.raises(BadInput, match="no unfinished review"):
        await begin_job(agent, store, None, ReviewOptions())
    first = await begin_job(agent, store, ("shop",), ReviewOptions())
    second = await begin_job(agent, store, ("shop",), ReviewOptions())
    assert (first.record.id, list(first.notices)) == ("R-1", [])
    assert "R-1 of the same target was not finished" in second.notices[0]
    assert (await begin_job(agent, store, None, ReviewOptions())).record.id == second.record.id


async def test_a_review_running_in_another_process_does_not_count_as_unfinished() -> None:
    runtime = make_runtime()
    job = await begin_job(runtime.agent, review_store(runtime), ("shop",), ReviewOptions())
    job.sessions.begin_interaction("review", "part 1")
    assert review_store(runtime).unfinished() is not None
    with review_store(runtime).database.transaction() as db:
        db.exec(update(InteractionRow).values(pid=1))
    assert review_store(runtime).unfinished() is None


@pytest.mark.slow
async def test_a_review_that_has_used_all_its_loops_is_not_continued() -> None:
    runtime = make_runtime(review_loops=1)
    agent, store = runtime.agent, review_store(runtime)
    job = await begin_job(agent, store, ("shop",), ReviewOptions())
    store.record(
        type(job.record)(
            **{**{n: getattr(job.record, n) for n in job.record.__slots__}, "loops": 1}
        ),
        [],
    )
    with pytest.raises(BadInput, match="has used its 1 request "):
        await begin_job(agent, store, None, ReviewOptions())
