"""Test scripts that show on both sides of a change whether a claim is true, in real sandboxes."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest

from swecli.models.errors import BadInput
from swecli.models.finding import Finding
from swecli.models.proof import Outcome, Proof
from swecli.review.judge import prove as prove_module
from tests.support.project import make_project
from tests.support.reviews import begin_review, collect, report_call, review_store, verdict_call
from tests.support.runtime import calls, make_runtime

pytestmark = pytest.mark.slow

BEFORE = "def mean(prices):\n    if not prices:\n        return 0\n    return sum(prices) / len(prices)\n"
AFTER = "def mean(prices):\n    return sum(prices) / len(prices)\n"
LINE = "return sum(prices) / len(prices)"
SHOWS = """import os
from shop.mean import mean
try:
    said = "holds" if mean([]) == 0 else "broken"
except ZeroDivisionError:
    said = "broken"
print(os.environ["SWECLI_MARKER"], said)
"""
SAYS = 'import os, sys\nprint(os.environ["SWECLI_MARKER"], "{}")\n'


def commit(text: str | None, message: str, path: str = "shop/mean.py") -> None:
    who = ("git", "-c", "user.name=A", "-c", "user.email=a@example.org")
    if text is not None:
        Path(path).write_text(text)
    for words in (("add", "-A"), ("commit", "-qm", message)):
        subprocess.run([*who, *words], check=True)


@pytest.fixture(autouse=True)
def change(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(make_project(Path("shop")))
    commit(BEFORE, "before")
    commit(AFTER, "Drop the check for no prices")


async def prove(
    script: str,
    verdict: str = "cannot_tell",
    *later: Any,
    line: int = 2,
    language: str = "python",
    path: str = "shop/mean.py",
) -> tuple[Finding, Any]:
    """Review the change with one finding, whose script is given; return the finding and the model."""
    told = report_call((path, line, "ZERO"), severity="high")
    replies = [
        calls(told),
        calls(verdict_call(("F-1", verdict, LINE), path="shop/mean.py")),
        calls(("write_script", {"language": language, "script": script})),
        *later,
    ]
    runtime = make_runtime(replies)
    review = await begin_review(runtime, "--base", "HEAD~1", verify=True, prove=True)
    await collect(review)
    return review_store(runtime).findings()[0], runtime.agent.model


async def test_a_claim_that_shows_after_the_change_only_is_introduced_by_it() -> None:
    asked = calls(verdict_call(("F-1", "introduced", LINE), path="shop/mean.py"))
    finding, model = await prove(SHOWS, "cannot_tell", asked)
    assert (finding.verdict, finding.state) == ("introduced", "open")
    assert finding.proof == Proof("python", SHOWS, Outcome.HOLDS, Outcome.BROKEN)
    again = str(model.requests[-1].messages[1]["content"])
    assert "before the change: holds, after it: broken" in again


async def test_a_difference_that_is_intended_is_no_finding() -> None:
    row = {"id": "F-1", "verdict": "intended", "quote": "Drop the check for no prices"}
    asked = calls(("judge_findings", {"judgements": [row]}))
    finding, _ = await prove(SHOWS, "cannot_tell", asked)
    assert (finding.verdict, finding.state) == ("intended", "refuted")


@pytest.mark.parametrize(
    ("script", "verdict", "base", "head"),
    [
        (SAYS.format("broken"), "pre_existing", "broken", "broken"),
        (SAYS.format("holds"), "cannot_tell", "holds", "holds"),
        ("print('broken')\n", "introduced", "cannot run", "cannot run"),
        ("import nowhere\n", "introduced", "cannot run", "cannot run"),
        (SAYS.format("broken") + SAYS.format("holds"), "introduced", "cannot run", "cannot run"),
        (
            "import os, random\nprint(os.environ['SWECLI_MARKER'], random.choice(['holds', 'broken']))\n" * 40,
            "introduced",
            "cannot run",
            "cannot run",
        ),
    ],
)  # fmt: skip
async def test_what_a_script_says_of_both_sides_decides_the_verdict(
    script: str, verdict: str, base: str, head: str
) -> None:
    finding, _ = await prove(script, "introduced")
    assert finding.proof is not None
    assert (finding.proof.base, finding.proof.head) == (base, head)
    assert finding.verdict == verdict


async def test_a_script_that_is_not_the_same_in_each_run_decides_nothing() -> None:
    script = """import os
from pathlib import Path
seen = Path("seen")
print(os.environ["SWECLI_MARKER"], "holds" if seen.exists() else "broken")
seen.touch()
"""
    finding, _ = await prove(script, "introduced")
    assert finding.proof is not None
    assert (finding.proof.head, finding.verdict) == (Outcome.VARIES, "introduced")


async def test_a_script_that_hangs_says_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prove_module, "_SECONDS", 0.5)
    finding, _ = await prove("import time\ntime.sleep(60)\n", "introduced")
    assert finding.proof is not None
    assert (finding.proof.base, finding.proof.head) == (Outcome.CANNOT_RUN, Outcome.CANNOT_RUN)
    assert finding.verdict == "introduced"


@pytest.mark.parametrize(
    ("path", "line", "verdict"),
    [("shop/mean.py", 2, "introduced"), ("shop/prices.py", 3, "cannot_tell")],
)
async def test_where_the_base_does_not_build_only_added_lines_are_introduced(
    path: str, line: int, verdict: str
) -> None:
    commit("def mean(prices:\n", "Break it")
    commit(AFTER, "Write it anew")
    finding, _ = await prove(SHOWS, "cannot_tell", line=line, path=path)
    assert finding.proof is not None
    assert (finding.proof.base, finding.proof.head) == (Outcome.CANNOT_RUN, Outcome.BROKEN)
    assert finding.verdict == verdict


async def test_a_script_runs_in_the_sandbox_and_changes_nothing(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    script = f"""import os, socket
from contextlib import suppress
from pathlib import Path
with suppress(OSError):
    Path({str(outside)!r}).write_text("x")
Path("shop/mean.py").write_text("changed")
print("x" * 20_000_000)
try:
    socket.create_connection(("1.1.1.1", 80), 2)
    said = "broken"
except OSError:
    said = "holds"
print(os.environ["SWECLI_MARKER"], said)
"""
    finding, _ = await prove(script, "introduced")
    assert finding.proof is not None
    assert (finding.proof.base, finding.proof.head) == (Outcome.HOLDS, Outcome.HOLDS)
    assert (outside.exists(), Path("shop/mean.py").read_text()) == (False, AFTER)
    assert (
        subprocess.run(["git", "status", "--short"], capture_output=True, check=True).stdout == b""
    )


async def test_a_module_of_the_project_from_elsewhere_is_not_taken_for_the_copy() -> None:
    Path(".git/info/exclude").write_text(".venv\n")
    other = Path(".venv/lib/shop").resolve()
    other.mkdir(parents=True)
    (other / "mean.py").write_text(AFTER)
    (other / "__init__.py").write_text("")
    script = f"import sys\nsys.path.insert(0, {str(other.parent)!r})\n{SHOWS}"
    finding, _ = await prove(script, "introduced")
    assert finding.proof is not None
    assert finding.proof.head is Outcome.CANNOT_RUN


async def test_the_script_of_a_finding_shows_that_it_is_repaired() -> None:
    finding, _ = await prove(SHOWS, "introduced")
    assert finding.verdict == "introduced"
    commit(BEFORE.replace("return 0", "return 0.0"), "Repair it")
    replies = [calls(report_call()), calls(verdict_call(("F-1", "introduced", LINE), path="shop/mean.py"))]  # fmt: skip
    runtime = make_runtime(replies)
    await collect(await begin_review(runtime, "--base", "HEAD~2", verify=True, prove=True))
    [repaired] = review_store(runtime).findings()
    assert (repaired.state, repaired.reason) == ("fixed", "its script shows it no longer")


async def test_what_has_one_side_cannot_be_proved() -> None:
    with pytest.raises(BadInput, match="--prove compares two sides"):
        await begin_review(make_runtime([]), "shop", verify=True, prove=True)
