"""Five pushes of one pull request, with a rebase, against a loopback GitHub that validates each body by the
published description: the requests to the reviewer, and the comments posted, at each push."""

from __future__ import annotations

import asyncio
import os
import subprocess
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import aclosing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from swecli.models.review_events import ReviewFinished
from swecli.review.publish.posting import plan_push

AUTHOR = ("-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false")
BASE = "".join(f"def work_{n}(given):\n    return given * {n}\n\n\n" for n in range(40))
# function → (the reviewer's claim about it, its severity)
PLANTED = {
    2: ("DIVISION_BY_ZERO", "high"), 6: ("SQL_INJECTION", "critical"), 9: ("RESOURCE_LEAK", "medium"),
    14: ("MAGIC_NUMBERS", "low"), 30: ("RACE_CONDITION", "high"),
}  # fmt: skip
SECOND = {6: " % query(given)", 14: " + 8191", 9: " + open(given)", 30: " + shared"}


@dataclass(frozen=True, slots=True)
class PushRow:
    """One push: the author's change, requests to reviewer and verifier, comments posted by kind, and the states."""

    push: str
    reviewer: int
    verifier: int
    posted: dict[str, int]
    states: dict[str, int]
    told: tuple[str, ...]


def pushes() -> Iterator[PushRow]:
    """Run each push on its own runner: a fresh clone, with no ledger except the summary comment."""
    from tests.support.github import FakeGitHub

    with tempfile.TemporaryDirectory() as folder, FakeGitHub({}) as hub, _left_as_it_was():
        origin = Path(folder) / "origin"
        origin.mkdir()
        _git(origin, "init", "-q", "-b", "main")
        _write(origin, BASE)
        _git(origin, "checkout", "-q", "-b", "topic")
        first = _with(BASE, {2: " / (given - 2)", 6: " % query(given)", 14: " + 8191"})
        steps = [
            ("1 three problems", first),
            ("2 unchanged head", ""),
            ("3 one repaired, two new", _with(BASE, SECOND)),
            ("4 rebased onto a longer main", "rebase"),
            (
                "5 all repaired but one",
                _with(BASE, {6: " % query(given)"}, head="# a line of main\n\n"),
            ),
        ]
        for number, (name, text) in enumerate(steps):
            if text == "rebase":
                _git(origin, "checkout", "-q", "main")
                _write(origin, "# a line of main\n\n" + BASE)
                _git(origin, "checkout", "-q", "topic")
                _git(origin, *AUTHOR, "rebase", "-q", "main")
            elif text:
                _write(origin, text)
            hub.head, hub.base = (
                _git(origin, "rev-parse", "topic"),
                _git(origin, "merge-base", "main", "topic"),
            )
            patch = _git(origin, "diff", f"{hub.base}..topic", "--", "work.py", strip=False)
            hub.patches = {"work.py": patch[patch.index("@@") :]}
            yield asyncio.run(_runner(name, Path(folder) / f"runner{number}", origin, hub))


@contextmanager
def _left_as_it_was() -> Iterator[None]:
    """Restore the working directory and the environment afterwards."""
    here, environ = Path.cwd(), dict(os.environ)
    try:
        yield
    finally:
        os.chdir(here)
        os.environ.clear()
        os.environ.update(environ)


async def _runner(name: str, clone: Path, origin: Path, hub: Any) -> PushRow:
    from tests.support.reviews import begin_review
    from tests.support.runtime import make_runtime

    _git(origin.parent, "clone", "-q", "-b", "topic", str(origin), str(clone))
    before = len(hub.posted)
    os.chdir(clone)
    os.environ.update(hub.environ() | {"SWECLI_HOME": str(clone.parent / f"{clone.name}-home")})
    runtime = make_runtime(_reviewer)
    review = await begin_review(runtime, "--pr", "7", verify=True)
    end: ReviewFinished | None = None
    async with aclosing(review.run()) as events:
        async for event in events:
            end = event if isinstance(event, ReviewFinished) else end
    assert end is not None
    told = plan_push(review.job.plan.target, end, review.record.seen).post().lines
    purposes = Counter(request.purpose for request in runtime.agent.model.requests)  # type: ignore[attr-defined]
    kinds = [
        kind if kind != "reviews" else f"review of {len(body['comments'])}"
        for kind, body in hub.posted[before:]
    ]
    states = Counter(finding.state for finding in end.findings)
    runtime.close()
    return PushRow(
        name,
        purposes["review"],
        purposes["verify"],
        dict(Counter(kinds)),
        dict(states),
        tuple(told),
    )


def _reviewer(request: Any) -> Any:
    """Report the planted problems of the lines shown, and judge a claim by whether its code still exists."""
    from tests.support.scripted import Reply, ScriptedCall

    text = str(request.messages[-1]["content"])
    lines = Path("work.py").read_text(encoding="utf-8").split("\n")
    bad = {
        n: line
        for n, line in enumerate(lines, 1)
        if "return given" in line and not line.endswith(f"* {_of(lines, n)}")
    }
    if request.purpose == "verify":
        rows = []
        for part in text.split("### ")[1:]:
            ref, place = part.split(":", 1)[0], part.split(" at work.py:", 1)[1].split("\n", 1)[0]
            line = int(place.split("-")[0])
            broken = line in bad
            row = {
                "id": ref,
                "verdict": "introduced" if broken else "refuted",
                "path": "work.py",
                "line": line,
                "why": "seen",
            }
            rows.append(row | {"quote": lines[line - 1].strip()})
        return Reply("", (ScriptedCall("judge_findings", {"judgements": rows}),), usage=None)
    found = []
    for n, line in bad.items():
        of = _of(lines, n)
        if of in PLANTED and f"+ {line}" in text:
            kind, severity = PLANTED[of]
            row = {
                "path": "work.py",
                "line": n,
                "code_smell_type": kind,
                "severity": severity,
                "evidence": line.strip(),
            }
            found.append(row | {"message": f"work_{of} breaks"})
    return Reply(
        "", (ScriptedCall("report_findings", {"done": True, "findings": found}),), usage=None
    )


def _of(lines: Sequence[str], line: int) -> int:
    return int(lines[line - 2].split("_")[1].split("(")[0])


def _with(text: str, changes: dict[int, str], head: str = "") -> str:
    for number, tail in changes.items():
        text = text.replace(f"return given * {number}\n", f"return given * {number}{tail}\n")
    return head + text


def _write(root: Path, text: str) -> None:
    (root / "work.py").write_text(text, encoding="utf-8")
    _git(root, "add", "-A")
    _git(root, *AUTHOR, "commit", "-q", "-m", "x")


def _git(root: Path, *words: str, strip: bool = True) -> str:
    out = subprocess.run(
        ["git", *words], cwd=root, check=True, capture_output=True, text=True
    ).stdout
    return out.strip() if strip else out


def print_pushes() -> None:
    """Print the table."""
    print(f"\n{'push':30} {'reviewer':>8} {'verifier':>8}  {'posted':60} states")
    for row in pushes():
        posted = ", ".join(f"{count} {kind}" for kind, count in row.posted.items()) or "nothing"
        states = ", ".join(f"{count} {state}" for state, count in row.states.items())
        print(
            f"{row.push:30} {row.reviewer:>8} {row.verifier:>8}  {posted:60} {states}", flush=True
        )
