"""Test the question about what the model remembered in words that are not the user's."""

from __future__ import annotations

import pytest

from swecli.app import Runtime
from swecli.repl.commands.restated import ask_about_restated
from tests.support.command_context import ScriptedContext
from tests.support.runtime import calls, make_runtime, run_turn

pytestmark = pytest.mark.slow

QUERY = "bitte immer mit Tabs einrücken"
TEXT = "Indent with tabs."


async def remember(text: str, quote: str, query: str = QUERY) -> Runtime:
    """Return a runtime after a turn in which the model remembered `text`."""
    called = calls(("remember", {"text": text, "quote": quote}))
    runtime = make_runtime([called, "Noted."], reflect_with_model=False)
    await run_turn(runtime, query)
    return runtime


async def answer(runtime: Runtime, *picks: str | None) -> ScriptedContext:
    ctx = ScriptedContext(runtime, *picks)
    await ask_about_restated(ctx)
    return ctx


def state_of(runtime: Runtime) -> tuple[str, str]:
    found = runtime.sessions.playbook.get("P-1")
    assert found is not None
    return found.state, found.content


async def test_a_statement_in_another_language_is_offered_after_its_turn() -> None:
    runtime = await remember(TEXT, QUERY)
    assert state_of(runtime) == ("quarantined", TEXT)
    ctx = await answer(runtime, "1")
    assert ctx.titles == [f'Remember for this project "{TEXT}"?\nYou wrote: "{QUERY}"']
    assert state_of(runtime) == ("active", TEXT)


async def test_the_users_own_words_are_not_shown_twice_where_they_may_be_part_of_a_sentence() -> (
    None
):
    runtime = await remember("Never push", "never push", "commit it. never push")
    ctx = await answer(runtime, "1")
    why = "These are your words, but maybe only a part of a sentence."
    assert ctx.titles == [f'Remember for this project "Never push"?\n{why}']
    assert state_of(runtime) == ("active", "Never push")


async def test_no_forgets_it() -> None:
    runtime = await remember(TEXT, QUERY)
    await answer(runtime, "3")
    assert state_of(runtime)[0] == "deleted"


async def test_edit_stores_what_the_user_types() -> None:
    runtime = await remember(TEXT, QUERY)
    await answer(runtime, "4", "Indent Go files with tabs.")
    assert state_of(runtime) == ("active", "Indent Go files with tabs.")


async def test_the_second_key_makes_it_hold_in_all_projects() -> None:
    runtime = await remember(TEXT, QUERY)
    await answer(runtime, "2")
    bullet = runtime.sessions.session.playbook.bullets["P-1"]
    assert (bullet.state, bullet.scope, bullet.trust) == ("active", "user", "user")


async def test_what_the_user_takes_back_is_removed_after_a_yes_and_stays_after_a_no() -> None:
    taught = "the port is 8080 here"
    runtime = make_runtime(["Noted.", "Ok.", "Ok."], reflect_with_model=False)
    await run_turn(runtime, f"remember that {taught}")
    question = 'Forget P-1 "The port is 8080 here"?\nYou wrote: "The port is 8080"'
    for key, state in (("3", "active"), ("1", "deleted")):
        await run_turn(runtime, "forget that the port is 8080")
        ctx = await answer(runtime, key)
        assert ctx.titles == [question]
        assert state_of(runtime)[0] == state


async def test_without_an_answer_it_waits_for_review() -> None:
    runtime = await remember(TEXT, QUERY)
    await answer(runtime, None)
    assert state_of(runtime)[0] == "quarantined"


async def test_the_users_own_words_raise_no_question() -> None:
    runtime = await remember("Always indent with tabs", QUERY, "always indent with tabs")
    assert (await answer(runtime)).titles == []


async def test_what_was_asked_about_once_is_not_asked_again_after_the_next_turn() -> None:
    called = calls(("remember", {"text": TEXT, "quote": QUERY}))
    runtime = make_runtime([called, "Noted.", "Hello."], reflect_with_model=False)
    await run_turn(runtime, QUERY)
    await answer(runtime, None)
    await run_turn(runtime, "hello")
    assert (await answer(runtime)).titles == []


async def test_a_statement_that_replaces_another_names_it_and_replaces_it_also_when_edited() -> (
    None
):
    old = calls(
        ("remember", {"text": "Always indent with tabs", "quote": "always indent with tabs"})
    )
    new = {"text": "Indent with blanks.", "quote": "ab jetzt Leerzeichen", "replaces": "P-1"}
    replies = [old, "Noted.", calls(("remember", new)), "Noted."]
    runtime = make_runtime(replies, reflect_with_model=False)
    await run_turn(runtime, "always indent with tabs")
    await run_turn(runtime, "ab jetzt Leerzeichen statt Tabs")
    ctx = await answer(runtime, "4", "Indent with four blanks.")
    question = (
        'Remember for this project "Indent with blanks." instead of P-1 "Always indent with tabs"?'
        '\nYou wrote: "ab jetzt Leerzeichen"'
    )
    assert ctx.titles[:1] == [question]
    bullets = runtime.sessions.session.playbook.bullets
    assert [one.content for one in bullets.values()] == ["Indent with four blanks."]
    assert bullets["P-2"].trust == "user"
