"""Test `/playbook`."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from swecli.app import Runtime
from swecli.models.errors import BadInput, UsageError
from swecli.models.playbook import Delta, Evidence, Op
from tests.support.command_context import ScriptedContext
from tests.support.runtime import calls, make_runtime, run_turn


def system(runtime: Runtime) -> str:
    return str(runtime.agent.prepare("x").messages[0]["content"])


async def test_an_added_strategy_is_in_the_next_request_with_the_user_as_evidence(
    runtime: Runtime, ctx: ScriptedContext
) -> None:
    assert "P-1" in await ctx.type("/playbook add Run the tests  with make check")
    assert "[P-1] Run the tests with make check" in system(runtime)
    assert "P-1" in await ctx.type("/playbook")
    shown = await ctx.type("/playbook show p1")
    assert "Run the tests with make check" in shown
    assert 'you wrote: "Run the tests with make check"' in shown
    assert "effects: none seen yet" in shown


async def test_on_a_narrow_screen_a_row_of_the_list_takes_two_lines(runtime: Runtime) -> None:
    narrow = ScriptedContext(runtime, width=40)
    content = "Look at the change before each commit, in this project"
    await narrow.type(f"/playbook add {content}")
    printed = await narrow.type("/playbook")
    assert printed.startswith("P-1  Look at the change")
    assert "state active · for this project · said by you" in " ".join(printed.split())
    await run_turn(runtime, "hello")
    for line in ("", " why", " list --verbose", " list --log"):
        assert all(
            len(row) <= 40 for row in (await narrow.type(f"/playbook{line}")).splitlines()
        ), line


async def test_an_added_strategy_is_in_the_next_session_of_the_project(
    runtime: Runtime, ctx: ScriptedContext
) -> None:
    await run_turn(runtime, "hello")
    await ctx.type("/playbook add Run the tests with make check")
    await ctx.type("/new")
    assert "make check" in system(runtime)


async def test_a_strategy_can_be_edited_and_removed(runtime: Runtime, ctx: ScriptedContext) -> None:
    await ctx.type("/playbook add Run make")
    assert "changed" in await ctx.type("/playbook edit P-1 Run make check")
    assert "[P-1] Run make check" in system(runtime)
    assert "removed" in await ctx.type("/playbook remove 1")
    assert "Run make" not in system(runtime)
    assert "No strategies yet" in await ctx.type("/playbook list")


async def test_an_undone_edit_shows_the_text_that_is_used_again(ctx: ScriptedContext) -> None:
    await ctx.type("/playbook add Tabs everywhere")
    await ctx.type("/playbook edit P-1 Spaces everywhere")
    printed = await ctx.type("/playbook undo")
    assert "undone: the change of P-1, which reads again: Tabs everywhere" in printed
    assert "redone: P-1 now: Spaces everywhere" in await ctx.type("/playbook undo --redo")


async def test_playbook_undo_reverts_the_newest_change_first(
    runtime: Runtime, ctx: ScriptedContext
) -> None:
    await ctx.type("/playbook add One")
    await ctx.type("/playbook add Two words")
    await ctx.type("/playbook remove P-1")
    assert "undone: P-1 removed" in await ctx.type("/playbook undo")
    await ctx.type("/playbook undo 2")
    assert "No strategies yet" in await ctx.type("/playbook")
    with pytest.raises(BadInput):
        await ctx.type("/playbook undo")
    assert "(undone)" in await ctx.type("/playbook list --log")


@pytest.mark.parametrize(
    "line",
    [
        "/playbook dance",
        "/playbook good",
        "/playbook pin P-1",
        "/playbook add",
        "/playbook show P-9",
    ],
)
async def test_an_invalid_subcommand_is_an_error_of_one_line(
    ctx: ScriptedContext, line: str
) -> None:
    with pytest.raises((BadInput, UsageError)) as caught:
        await ctx.type(line)
    assert "\n" not in str(caught.value)


def propose(runtime: Runtime, *texts: str) -> None:
    """Add proposals that wait for the user, numbered from P-1."""
    for number, text in enumerate(texts, 1):
        fields = {"content": text, "state": "quarantined", "trust": "web", "scope": "project"}
        quote = Evidence("model", f"a page says {text}", trust="web")
        op = Op("ADD", fields=fields, evidence=(quote,))
        delta = Delta(f"d{number}", (op,), "rules")
        runtime.sessions.playbook.apply(delta, runtime.session)


def states(runtime: Runtime) -> dict[str, str]:
    return {name: bullet.state for name, bullet in runtime.session.playbook.bullets.items()}


async def test_review_asks_at_most_three_questions_with_the_texts_and_names_the_rest(
    runtime: Runtime,
) -> None:
    propose(runtime, "one", "two", "three", "four")
    ctx = ScriptedContext(runtime, "1", "3", "l")
    lines = await ctx.type("/playbook review")
    for number, decision in ((1, "P-1 is active: one"), (2, "P-2 is removed: two")):
        shown, _, after = lines.partition(decision)
        text = ("one", "two")[number - 1]
        assert f"P-{number} {text}" in shown, "the text is on the screen before the answer"
        assert f'on a web page: "a page says {text}"' in shown
        assert after
    assert states(runtime) == {"P-1": "active", "P-3": "quarantined", "P-4": "quarantined"}
    assert runtime.sessions.playbook.evidence("P-1")[-1].trust == "user"
    assert len(ctx.offered) == 3
    assert "1 more: /playbook review" in lines


async def test_no_answer_ends_a_review(runtime: Runtime) -> None:
    propose(runtime, "one", "two")
    ctx = ScriptedContext(runtime, None)
    await ctx.type("/playbook review")
    assert len(ctx.offered) == 1
    assert states(runtime) == {"P-1": "quarantined", "P-2": "quarantined"}


async def test_the_end_of_a_session_asks_each_question_once_and_one_left_leaves_all(
    runtime: Runtime,
) -> None:
    propose(runtime, "one", "two", "three", "four")
    await run_turn(runtime, "hello")
    ctx = ScriptedContext(runtime, "1", "l")
    await ctx.type("/exit")
    assert ctx.left
    assert len(ctx.offered) == 2, "Enter leaves the rest"
    assert states(runtime)["P-1"] == "active"
    again = ScriptedContext(runtime, "l")
    await again.type("/exit")
    assert [title.partition(" in")[0] for title in again.titles] == ["Use P-4"]
    silent = ScriptedContext(runtime)
    await silent.type("/exit")
    assert silent.left
    assert silent.offered == []


async def test_the_first_answer_that_enter_gives_leaves_a_question_open(runtime: Runtime) -> None:
    propose(runtime, "one")
    ctx = ScriptedContext(runtime, "l")
    await ctx.type("/playbook review")
    labels = [label for _, label in ctx.offered[0]]
    assert labels == ["leave it (Enter)", "yes, use it in prompts", "no, remove it (can be undone)"]
    assert states(runtime) == {"P-1": "quarantined"}


async def test_review_does_not_claim_that_the_user_wrote_an_invented_quote() -> None:
    told = {"text": "Indent with tabs.", "quote": "I like tabs"}
    runtime = make_runtime([calls(("remember", told)), "Noted."])
    await run_turn(runtime, "format the file", learn=False)
    ctx = ScriptedContext(runtime, None)
    lines = await ctx.type("/playbook review")
    assert 'quoted by the model, not taken as your words, T1: "I like tabs"' in lines


@pytest.mark.parametrize("setting", [{"playbook_tokens": 0}, {"max_strategies": 0}])
async def test_a_setting_that_keeps_the_playbook_out_removes_strategies_already_sent(
    runtime: Runtime, ctx: ScriptedContext, setting: Any
) -> None:
    await ctx.type("/playbook add Run make")
    await run_turn(runtime, "hello")
    assert "Run make" in system(runtime)
    builder = runtime.agent.builder
    runtime.agent.builder = replace(builder, settings=replace(builder.settings, **setting))
    turn = runtime.agent.prepare("x")
    assert "Run make" not in str(turn.messages)
    assert turn.request.strategy_ids == ()


async def test_a_file_name_with_spaces_can_be_quoted(ctx: ScriptedContext) -> None:
    await ctx.type('/playbook add it\'s "quoted" here')
    assert "Written to my own.md." in await ctx.type('/playbook export "my own.md"')
    assert "1 the same" in await ctx.type("/playbook add --from 'my own.md'")
    assert "1 the same" in await ctx.type("/playbook add --from my own.md")
