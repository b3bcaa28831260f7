"""Test `/steer`; that the line reaches the running turn is tested in tests/repl/test_repl.py."""

from __future__ import annotations

import pytest

from swecli.models.errors import UsageError
from tests.support.command_context import ScriptedContext


async def test_steer_starts_no_turn_when_none_is_running(ctx: ScriptedContext) -> None:
    with pytest.raises(UsageError, match="No turn is running"):
        await ctx.type("/steer rather in French")
