"""How a review is begun, and gone on with."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from swecli.models.errors import BadInput
from swecli.review.read.job import new_job, old_job
from swecli.review.target.targets import find_target
from tests.support.project import make_project
from tests.support.reviews import store_of
from tests.support.runtime import make_runtime


@pytest.fixture(autouse=True)
def shop(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(make_project(Path("shop")))


async def test_a_review_that_was_not_finished_is_mentioned() -> None:
    runtime = make_runtime()
    agent, store = runtime.agent, store_of(runtime)
    target = find_target(agent.ctx.root, ("shop",))
    first = await new_job(agent, target, store, trusted=True)
    second = await new_job(agent, target, store, trusted=True)
    assert (first.record.id, list(first.first)) == ("R-1", [])
    assert "R-1 of the same target was not finished" in second.first[0]


async def test_one_that_has_had_all_its_loops_is_not_gone_on_with() -> None:
    runtime = make_runtime(review_loops=1)
    agent, store = runtime.agent, store_of(runtime)
    target = find_target(agent.ctx.root, ("shop",))
    job = await new_job(agent, target, store, trusted=True)
    assert old_job(agent, target, job.record).record == job.record
    with pytest.raises(BadInput, match="has had its 1 loops"):
        old_job(agent, target, replace(job.record, loops=1))
