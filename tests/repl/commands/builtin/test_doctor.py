"""Test `/doctor`."""

from __future__ import annotations

from tests.support.command_context import ScriptedContext
from tests.support.runtime import make_runtime


async def test_doctor_checks_the_database_and_model_of_this_session() -> None:
    runtime = make_runtime(["ok"], db="x.db", model="openai/gpt-4o")
    shown = await ScriptedContext(runtime).type("/doctor")
    runtime.close()
    assert "database:" in shown
    assert "x.db: ok" in shown
    assert "! model:" in shown
    assert "OPENAI_API_KEY" in shown
