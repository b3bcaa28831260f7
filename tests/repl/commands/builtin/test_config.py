"""Test `/config`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from swecli.app import Runtime
from swecli.models.errors import ConfigError, UsageError
from tests.support.command_context import ScriptedContext
from tests.support.runtime import make_runtime


async def test_config_shows_every_setting_with_its_source(
    runtime: Runtime, ctx: ScriptedContext
) -> None:
    runtime.settings.origins["mode"] = "environment"
    shown = [line.split() for line in (await ctx.type("/config")).splitlines()]
    assert ["mode", "environment", '"ask"'] in shown
    assert ["max_turns", "default", "50"] in shown
    assert "max_turns" in await ctx.type("/config max_turns")


async def test_config_writes_to_the_users_file_and_names_a_layer_that_overrides_it(
    runtime: Runtime, ctx: ScriptedContext
) -> None:
    file = runtime.start.paths.config_file
    file.write_text("# mine\n")
    assert 'theme = "light" in' in await ctx.type("/config theme light")
    assert "from the next start on" in await ctx.type("/config allow 'run(pytest *)' Bash(git:*)")
    assert file.read_text() == '# mine\ntheme = "light"\nallow = ["run(pytest *)", "Bash(git:*)"]\n'
    runtime.settings.origins["mode"] = "environment"
    assert "environment wins where it is set" in await ctx.type("/config mode plan")


async def test_config_changes_the_file_given_with_the_config_option(tmp_path: Path) -> None:
    made = make_runtime([])
    ctx = ScriptedContext(replace(made, start=replace(made.start, config=tmp_path / "mine.toml")))
    await ctx.type("/config theme light")
    assert (tmp_path / "mine.toml").read_text() == 'theme = "light"\n'
    assert not made.start.paths.config_file.exists()


@pytest.mark.parametrize(
    ("args", "error", "why"),
    [
        ("thme light", ConfigError, "Did you mean theme"),
        ("theme pink", ConfigError, "choose: auto, dark, light, none"),
        ("mode plan now", ConfigError, "takes one value"),
        ("allow Bash(a:*b)", ConfigError, "`:*` is only valid at the end"),
        ("allow 'run(", UsageError, "Cannot parse the arguments of config"),
    ],
)
async def test_an_invalid_setting_is_an_error_and_changes_no_file(
    runtime: Runtime, ctx: ScriptedContext, args: str, error: type[Exception], why: str
) -> None:
    with pytest.raises(error) as caught:
        await ctx.type(f"/config {args}")
    assert why in str(caught.value)
    assert not runtime.start.paths.config_file.exists()
