"""Test the estimate of a review against what it then takes."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from swecli.models.message import ModelRequest
from swecli.models.review_events import Estimate, ReviewFinished
from tests.support.project import make_project
from tests.support.reviews import begin_review, collect, report_call
from tests.support.runtime import make_runtime
from tests.support.scripted import Reply, ScriptedCall

pytestmark = pytest.mark.slow


def make_reviewer(look_ups: int) -> Callable[[ModelRequest], Reply]:
    """Return a reviewer that looks up code so many times in each part, and then reports one problem of each file."""
    count = 0

    def review(request: ModelRequest) -> Reply:
        nonlocal count
        text = str(request.messages[-1]["content"])
        if request.purpose == "verify":
            ids = re.findall(r"^### (F-\d+)", text, re.MULTILINE)
            rows = [{"id": name, "verdict": "cannot_tell", "why": "unclear"} for name in ids]
            return Reply(calls=(ScriptedCall("judge_findings", {"judgements": rows}),), usage=None)
        count += 1
        if count % (look_ups + 1):
            call = ScriptedCall("read_file", {"path": "shop/prices.py"})
            return Reply(calls=(call,), usage=None)
        whole = "\n".join(str(message["content"]) for message in request.messages)
        paths = re.findall(r"^## (\S+)", whole[whole.rindex("Part ") :], re.MULTILINE)
        name, arguments = report_call(*((path, 2, "LOGIC") for path in paths))
        return Reply(calls=(ScriptedCall(name, arguments),), usage=None)

    return review


async def review_files(look_ups: int, files: int, lines: int) -> tuple[Estimate, int]:
    """Review new files; return the estimate and the tokens that it took."""
    folder = Path(f"new_{look_ups}_{files}")
    folder.mkdir()
    for number in range(files):
        text = "".join(f"value_{number}_{line} = work({line}) + 1\n" for line in range(lines))
        (folder / f"part_{number}.py").write_text(text)
    runtime = make_runtime(make_reviewer(look_ups))
    [end] = [
        event
        for event in await collect(await begin_review(runtime, str(folder), verify=True))
        if isinstance(event, ReviewFinished)
    ]
    runtime.close()
    assert end.estimate is not None
    return end.estimate, end.usage.total


@pytest.mark.parametrize("size", [(1, 60), (4, 400), (16, 400)])
async def test_after_three_reviews_of_a_project_an_estimate_is_within_a_factor_of_two(
    size: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(make_project(Path("shop")))
    for look_ups, files, lines in ((1, 2, 100), (2, 12, 400), (1, 5, 300)):
        await review_files(look_ups, files, lines)
    estimate, actual = await review_files(2, *size)
    low, high = estimate.tokens
    assert estimate.basis == "the last 3 reviews"
    assert actual / 2 <= low <= high <= actual * 2
