"""Test `/findings walk`, which shows findings as cards, one at a time, with a key for each action."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from swecli.models.errors import BadInput
from swecli.store.reviews import ReviewStore
from tests.support.command_context import ScriptedContext
from tests.support.project import make_project
from tests.support.reviews import begin_review, collect, report_call, review_store, verdict_call
from tests.support.runtime import make_runtime, run_turn
from tests.support.scripted import Reply, ScriptedCall

PRICES = Path("shop/prices.py")


def report(*rows: tuple[str, int, str], **fields: Any) -> Reply:
    return Reply("", (ScriptedCall(*report_call(*rows, **fields)),))


async def open_walk(
    monkeypatch: pytest.MonkeyPatch, *replies: Reply | str, **fields: Any
) -> tuple[ScriptedContext, ReviewStore]:
    monkeypatch.chdir(make_project(Path("shop")))
    fields = {"suggestion": "TAX = Decimal('0.19')", "severity": "high", **fields}
    first = report(("shop/prices.py", 3, "MAGIC_NUMBERS"), ("README.md", 1, "DEAD_CODE"), **fields)
    runtime = make_runtime([first, *replies])
    await collect(await begin_review(runtime, "shop/prices.py", "README.md"))
    return ScriptedContext(runtime), review_store(runtime)


async def test_a_card_shows_the_code_and_the_suggestion_as_a_diff(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ctx, _ = await open_walk(monkeypatch)
    ctx.will_pick("q")
    text = await ctx.type("/findings walk shop/prices.py")
    assert ">    3 TAX = 0.19" in text
    assert "3 - TAX = 0.19" in text
    assert "3 + TAX = Decimal('0.19')" in text
    assert [mark for mark, _ in ctx.offered[0]] == ["a", "f", "d", "c", "o", "q"]


@pytest.mark.slow
async def test_apply_asks_for_approval_and_changes_only_the_lines_of_the_finding(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ctx, store = await open_walk(monkeypatch)
    before = PRICES.read_text()
    ctx.will_pick("a", "1", "q")
    text = await ctx.type("/findings walk F-1")
    assert PRICES.read_text() == before.replace("TAX = 0.19", "TAX = Decimal('0.19')")
    assert "F-1 is gone, not verified" in text
    assert store.get("F-1").state == "gone"
    assert "a" not in dict(ctx.offered[2]), "the card is shown again in its new state"


async def test_undo_reverts_a_suggestion_applied_after_the_last_turn(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ctx, _ = await open_walk(monkeypatch, "Hello.")
    before = PRICES.read_text()
    await run_turn(ctx.runtime, "hello", learn=False)
    ctx.will_pick("1")
    await ctx.type("/findings apply F-1")
    assert PRICES.read_text() != before
    await ctx.type("/undo files")
    assert PRICES.read_text() == before


async def test_a_refused_suggestion_changes_neither_file_nor_state(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ctx, store = await open_walk(monkeypatch)
    before = PRICES.read_text()
    ctx.will_pick("3")
    await ctx.type("/findings apply F-1")
    assert (PRICES.read_text(), store.get("F-1").state) == (before, "open")


@pytest.mark.slow
async def test_dismissing_asks_for_a_reason_and_offers_earlier_reasons(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ctx, store = await open_walk(monkeypatch)
    ctx.will_pick("d", "the law says so", "d", "the law says so")
    await ctx.type("/findings walk")
    assert [store.get(ref).reason for ref in ("F-1", "F-2")] == ["the law says so"] * 2
    assert ctx.offered[2] == [("the law says so", "the law says so"), ("", "another reason")]


async def test_a_dismissal_without_a_reason_is_not_stored(monkeypatch: pytest.MonkeyPatch) -> None:
    ctx, store = await open_walk(monkeypatch)
    ctx.will_pick("d", None, "q")
    await ctx.type("/findings walk")
    assert store.get("F-1").state == "open"


@pytest.mark.slow
async def test_check_asks_before_its_request_and_stores_the_verdict(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    judged = Reply("", (ScriptedCall(*verdict_call(("F-1", "refuted", "Decimal('0.19')"))),))
    ctx, store = await open_walk(monkeypatch, judged)
    ctx.will_pick("1")
    await ctx.type("/findings apply F-1")
    ctx.will_pick("1")
    text = await ctx.type("/findings check F-1")
    assert ctx.offered[-1] == [("1", "yes"), ("3", "no")]
    assert "0 confirmed, 1 refuted" in text
    assert store.get("F-1").state == "fixed"


async def test_the_editor_opens_at_the_line_of_the_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    ctx, _ = await open_walk(monkeypatch)
    ctx.will_pick("o", "q")
    await ctx.type("/findings walk F-1")
    assert ctx.edited == [(Path("shop/prices.py").resolve(), 3)]


async def test_next_and_previous_move_between_cards(monkeypatch: pytest.MonkeyPatch) -> None:
    ctx, _ = await open_walk(monkeypatch)
    ctx.will_pick("n", "p", "n", "q")
    text = await ctx.type("/findings walk")
    assert [line.split()[0] for line in text.splitlines() if line.startswith("F-")] == [
        "F-2",
        "F-1",
        "F-2",
        "F-1",
    ]


@pytest.mark.parametrize(
    ("suggestion", "change", "problem"),
    [
        ("", "", "has no suggestion"),
        ("def (", "", "would not be valid Python"),
        ("TAX = 1", "TAX = 7\n", "has changed since the review"),
        ("TAX = 0.19", "", "equals the present code"),
    ],
)
async def test_a_suggestion_that_cannot_be_applied_changes_nothing(
    suggestion: str, change: str, problem: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    ctx, store = await open_walk(monkeypatch, suggestion=suggestion)
    if change:
        PRICES.write_text(change)
    before = PRICES.read_bytes()
    with pytest.raises(BadInput, match=problem):
        await ctx.type("/findings apply F-1")
    assert (PRICES.read_bytes(), store.get("F-1").state) == (before, "open")


async def test_of_two_equal_lines_the_one_of_the_finding_is_replaced(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ctx, _ = await open_walk(monkeypatch)
    text = PRICES.read_bytes()
    PRICES.write_bytes(b"".join([b"# moved\r\n", text.replace(b"\n", b"\r\n"), b"TAX = 0.19\r\n"]))
    ctx.will_pick("1")
    await ctx.type("/findings apply F-1")
    after = PRICES.read_bytes()
    assert after.count(b"TAX = 0.19\r\n") == 1
    assert after.endswith(b"TAX = 0.19\r\n")
    assert after.count(b"\r\n") == after.count(b"\n")
