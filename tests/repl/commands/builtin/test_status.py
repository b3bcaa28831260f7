"""Test `/status`."""

from __future__ import annotations

from swecli.app import Runtime
from tests.support.command_context import ScriptedContext


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
    ):
        assert words in printed
