"""Test `/models`, which takes a word that names no action for one to search for."""

from __future__ import annotations

import pytest

from swecli.models.errors import UsageError
from tests.support.command_context import ScriptedContext


async def test_models_are_listed_found_by_a_word_and_described(ctx: ScriptedContext) -> None:
    assert "In this folder swecli would use" in await ctx.type("/models")
    assert "openai/gpt-4o-mini" in await ctx.type("/models gpt-4o-mini")
    assert "128000" in await ctx.type("/models show openai/gpt-4o-mini")
    with pytest.raises(UsageError, match="/models show needs a model's name"):
        await ctx.type("/models show")
