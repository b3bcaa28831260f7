"""Test `/review` and `--fix` in the REPL: findings as they arrive, approvals, and the recheck after a fix."""

from __future__ import annotations

from pathlib import Path

import pytest

from swecli.models.errors import SwecliError
from tests.support.command_context import ScriptedContext
from tests.support.github import FakeGitHub
from tests.support.project import make_project
from tests.support.reviews import findings_text, report_call, review_store
from tests.support.runtime import NO, User, calls, make_runtime

pytestmark = pytest.mark.slow

PLACE = ("shop/prices.py", 3, "MAGIC_NUMBERS")
READ = calls(("read_file", {"path": "shop/prices.py"}), text=findings_text(PLACE))
END = calls(report_call())
EDIT = {
    "path": "shop/prices.py",
    "edits": [{"old_text": "TAX = 0.19", "new_text": "TAX = RATES['de']"}],
}
REPAIR = [calls(("read_file", {"path": "shop/prices.py"})), calls(("edit_file", EDIT)), "Mended."]


@pytest.fixture(autouse=True)
def shop(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(make_project(Path("shop")))


async def test_a_review_prints_its_findings_and_progress() -> None:
    ctx = ScriptedContext(make_runtime([READ, END]))
    output = await ctx.type("/review shop/prices.py --no-verify")
    assert "Reviewing shop/prices.py (R-1)" in output
    assert "F-1 shop/prices.py:3 MAGIC_NUMBERS (medium)" in output
    assert "request 1 of at most 20 · shop/prices.py · read 0 of 13 lines · 1 finding ·" in output
    assert "1 finding\n" in output


async def test_findings_are_posted_only_after_a_dry_run_and_a_confirmation(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with FakeGitHub({"shop/prices.py": "@@ -1,3 +1,3 @@\n one\n two\n+TAX = 0.19\n"}) as hub:
        hub.follow(Path.cwd())
        for name, value in hub.environ().items():
            monkeypatch.setenv(name, value)
        ctx = ScriptedContext(make_runtime([READ, END] * 3), "3", "1")
        output = await ctx.type("/review --pr 7 --post --no-verify")
        assert "inline F-1 shop/prices.py:3 MAGIC_NUMBERS" in output
        assert "nothing was posted" in output
        assert hub.posted == []
        assert "posted: 1 inline, 0 in the summary, 0 fixed, 0 already posted" in await ctx.type(
            "/review --pr 7 --post --no-verify"
        )
        assert [kind for kind, _ in hub.posted] == ["reviews", "summary"]
        assert "0 inline, 0 in the summary, 0 fixed, 1 already posted" in await ctx.type(
            "/review --pr 7 --post --no-verify"
        )
        assert len(ctx.offered) == 2


async def test_without_a_token_the_dry_run_is_shown_without_a_question(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with FakeGitHub(
        {"shop/prices.py": "@@ -1,3 +1,3 @@\n one\n two\n+TAX = 0.19\n"}, token=""
    ) as hub:
        hub.follow(Path.cwd())
        for name, value in hub.environ("").items():
            monkeypatch.setenv(name, value)
        ctx = ScriptedContext(make_runtime([READ, END]))
        output = await ctx.type("/review --pr 7 --post --no-verify")
        assert "1 inline" in output
        assert "There is no token for GitHub." in output
        assert ctx.offered == []
        assert [f.id for f in review_store(ctx.runtime).findings()] == ["F-1"]


async def test_a_fix_asks_for_approval_and_the_finding_is_rechecked() -> None:
    user = User()
    ctx = ScriptedContext(make_runtime([READ, END, *REPAIR], user))
    await ctx.type("/review shop/prices.py --no-verify")
    output = await ctx.type("/review --fix F-1")
    assert [request.call.name for request in user.asked] == ["edit_file"]
    assert "F-1 shop/prices.py:3: open → gone (the code it named is gone)" in output


async def test_after_a_refused_fix_the_finding_stays_open() -> None:
    ctx = ScriptedContext(make_runtime([READ, END, *REPAIR], User([NO])))
    await ctx.type("/review shop/prices.py --no-verify")
    assert "F-1 is still open" in await ctx.type("/review --fix 1")
    assert "TAX = 0.19" in Path("shop/prices.py").read_text()


async def test_a_dry_run_prints_the_plan_and_asks_no_model() -> None:
    ctx = ScriptedContext(make_runtime())
    output = await ctx.type("/review shop --dry-run")
    assert "13 lines to read" in output
    assert ctx.runtime.agent.model.requests == []  # type: ignore[attr-defined]


@pytest.mark.parametrize("line", ["/review", "/review --staged"])
async def test_without_a_change_the_review_says_so_and_asks_no_model(line: str) -> None:
    ctx = ScriptedContext(make_runtime())
    assert "There is nothing to review in" in await ctx.type(line)
    assert ctx.runtime.agent.model.requests == []  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("line", "output"),
    [
        ("/review --continue", "no unfinished review"),
        ("/review --fix", "one finding"),
        ("/review --fix F-9", "no finding 'F-9'"),
        ("/review 'a", "Cannot parse"),
        ("/review --odd", "review option --odd"),
        ("/review --post", "--post needs --pr"),
        ("/review shop --post", "--post needs --pr"),
        ("/review --staged --base HEAD", "one target"),
        ("/review --base", "--base has no value"),
        ("/review --pr 7 --post-min odd", "unknown value 'odd'"),
        ("/review --base nope", "no branch or commit 'nope'"),
    ],
)
async def test_invalid_options_are_refused(line: str, output: str) -> None:
    ctx = ScriptedContext(make_runtime())
    with pytest.raises(SwecliError, match=output):
        await ctx.type(line)
    assert review_store(ctx.runtime).findings() == []
