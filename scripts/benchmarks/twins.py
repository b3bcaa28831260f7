"""Each planted problem beside a clean change of the same line, reviewed by a reviewer that reports a problem of both.
A verifier that knows the truth, and one that says "introduced" of everything, decide whether the review fails."""

from __future__ import annotations

import asyncio
import os
import re
import tempfile
from collections.abc import Iterator
from contextlib import aclosing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scripts.benchmarks.planting import commit, git
from scripts.benchmarks.truth import Case, load_cases
from swecli.models.review_events import ReviewFinished
from swecli.review.publish.gate import Gate


@dataclass(frozen=True, slots=True)
class Twin:
    """A change of one line: its file before and after, the line that a reviewer quotes, and whether it is a problem.
    `planted` is the line of the problem, which a clean change does not have."""

    path: str
    before: str
    after: str
    line: str
    planted: str
    is_problem: bool


def make_twins(case: Case) -> tuple[Twin, Twin]:
    """Return a planted problem, and the clean change beside it: the line as it was, with a comment."""
    before, after = (tree[case.row[0]].decode() for tree in case.trees(Path("unused")))
    pairs = zip(before.split("\n"), after.split("\n"), strict=True)
    old, new = next(pair for pair in pairs if pair[0] != pair[1])
    sign = "#" if case.row[0].endswith(".py") else "//"
    kept = f"{old}  {sign} as agreed"
    clean = before.replace(old, kept, 1)
    return (
        Twin(case.row[0], before, after, new, new, is_problem=True),
        Twin(case.row[0], before, clean, kept, new, is_problem=False),
    )


@dataclass(frozen=True, slots=True)
class Reviewers:
    """Reports a problem of a change, whether there is one or not, and judges it. With `is_honest` False it says that
    every problem is introduced, and quotes the line that would show it."""

    twin: Twin
    is_honest: bool

    def __call__(self, request: Any) -> Any:
        from tests.support.scripted import Reply, ScriptedCall

        if request.purpose == "verify":
            judged = self._judge(str(request.messages[-1]["content"]))
            call = ScriptedCall("judge_findings", {"judgements": [judged]})
            return Reply("", (call,), usage=None)
        row = {
            "path": self.twin.path,
            "line": self.twin.after.split("\n").index(self.twin.line) + 1,
            "code_smell_type": "LOGIC",
            "severity": "high",
            "message": "this line is wrong",
            "evidence": self.twin.line.strip(),
        }
        call = ScriptedCall("report_findings", {"done": True, "findings": [row]})
        return Reply("", (call,), usage=None)

    def _judge(self, text: str) -> dict[str, str]:
        is_introduced = self.twin.is_problem or not self.is_honest
        [name] = re.findall(r"^### (F-\d+)", text, re.MULTILINE)
        return {
            "id": name,
            "verdict": "introduced" if is_introduced else "refuted",
            "path": self.twin.path,
            "quote": (self.twin.planted if is_introduced else self.twin.line).strip(),
            "why": "seen",
        }


def review_fails(twin: Twin, *, is_honest: bool) -> bool:
    """Return whether a review of a change in the repository of the working directory fails."""
    for text in (twin.before, twin.after):
        Path(twin.path).write_text(text, encoding="utf-8")
        git("add", "-A")
        git("commit", "-qm", "x", "--allow-empty")
    os.environ["SWECLI_HOME"] = tempfile.mkdtemp(dir=Path.cwd().parent)
    end = asyncio.run(_review(Reviewers(twin, is_honest)))
    assert end.complete, "a change of one line is read"
    return any(map(Gate(fail_on="high").fails, end.findings))


async def _review(reviewers: Reviewers) -> ReviewFinished:
    from tests.support.reviews import begin_review
    from tests.support.runtime import make_runtime

    runtime = make_runtime(reviewers)
    review = await begin_review(runtime, "HEAD", verify=True)
    async with aclosing(review.run()) as events:
        [end] = [event async for event in events if isinstance(event, ReviewFinished)]
    runtime.close()
    return end


def twins(count: int) -> Iterator[tuple[str, str, str, bool]]:
    """Yield each figure of so many pairs: its name, value, goal, and whether the goal is met."""
    cases = [
        case
        for case in load_cases()
        if case.kind == "problem" and case.row[1].count("\n") == case.row[2].count("\n")
    ][:count]
    pairs = [make_twins(case) for case in cases]
    Path("twins").mkdir()
    os.chdir("twins")
    git("init", "-q", "-b", "main")
    Path("README").write_text("x\n")
    commit()
    failing = sum(review_fails(problem, is_honest=True) for problem, _ in pairs)
    yield "planted, failing", f"{failing} of {len(pairs)}", "all", failing == len(pairs)
    failing = sum(review_fails(clean, is_honest=True) for _, clean in pairs)
    yield "clean twins, failing", f"{failing} of {len(pairs)}", "0", failing == 0
    # the planted line of one case is the beginning of the right one, which a quote of it then shows
    failing = sum(review_fails(clean, is_honest=False) for _, clean in pairs)
    yield (
        "clean twins, failing: all called introduced",
        f"{failing} of {len(pairs)}",
        "<= 1",
        failing <= 1,
    )
    os.chdir("..")
