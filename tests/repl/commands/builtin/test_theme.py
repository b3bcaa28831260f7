"""Test `/theme`."""

from __future__ import annotations

import pytest

from swecli.app import Runtime
from swecli.models.errors import UsageError
from swecli.repl.render.theme import Theme
from tests.support.command_context import ScriptedContext
from tests.support.screenless import play


async def test_theme_shows_and_changes_the_theme(runtime: Runtime, ctx: ScriptedContext) -> None:
    ctx.theme = Theme("auto", {"COLORFGBG": "0;15"})
    assert "theme auto (light)" in await ctx.type("/theme")
    assert "theme none: no colours" in await ctx.type("/theme none")
    assert ctx.theme.resolved == "none"
    with pytest.raises(UsageError, match="Unknown theme 'pink'"):
        await ctx.type("/theme pink")


async def test_with_no_color_set_the_theme_command_names_it_as_the_reason(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    played = await play("/theme light\rexit\r")
    assert "NO_COLOR is set" in played.text
    assert "\x1b[" not in played.text
