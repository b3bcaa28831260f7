"""Test `/status`."""

from __future__ import annotations

from swecli.app import Runtime
from tests.support.command_context import ScriptedContext
from tests.support.runtime import make_runtime, run_turn


async def test_status_shows_model_mode_database_sandbox_learning_and_trust(
    runtime: Runtime,
) -> None:
    printed = " ".join((await ScriptedContext(runtime, width=300).type("/status")).split())
    for words in (
        "scripted/test",
        "ask",
        "swecli.db",
        "sandbox",
        "learning",
        "not trusted",
        "5+3: the last 5 turns are sent, growing to 8",
    ):
        assert words in printed


async def test_status_counts_the_turns_on_which_reflection_failed() -> None:
    runtime = make_runtime(["Ok."])
    await run_turn(runtime, "go on", learn=False)
    session = runtime.sessions.session
    with runtime.sessions.database.write() as db:
        for final in (False, True):
            db.execute(
                "INSERT INTO reflection (session_id, interaction, status, final) VALUES (?, 1, 'failed', ?)",
                (session.id, final),
            )
    printed = " ".join((await ScriptedContext(runtime, width=300).type("/status")).split())
    assert "1 turn not reflected on: no usable answer (/reflect TURN)" in printed
