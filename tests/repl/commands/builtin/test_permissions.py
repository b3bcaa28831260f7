"""Test `/permissions`: the rules in force, and the reason for the last approval question."""

from __future__ import annotations

import pytest

from swecli.app import Runtime
from swecli.models.errors import SwecliError, UsageError
from swecli.tools.permission_rules import PermissionRule
from swecli.tools.permissions import InvalidRule
from tests.support.command_context import ScriptedContext


async def test_permissions_shows_each_rule_with_its_source(
    runtime: Runtime, ctx: ScriptedContext
) -> None:
    rules = runtime.agent.permissions
    assert "no calls yet" in await ctx.type("/permissions")
    rules.allow_for_session("run(make *)")
    rules.allow_for_project("run(pytest *)")
    rules.deny.append(PermissionRule.parse("run(rm *)"))
    runtime.settings.origins["deny: run(rm *)"] = "environment"
    rules.last = "Run find . -delete: asked (-delete deletes files)"
    shown = await ctx.type("/permissions")
    for text in (
        "run(make *)",
        "this session",
        "run(pytest *)",
        "permissions.toml",
        "run(rm *)",
        "environment",
    ):
        assert "".join(text.split()) in "".join(shown.split()), "a long path is wrapped"
    assert "last decision: Run find . -delete: asked (-delete deletes files)" in shown


async def test_an_allowed_rule_is_removed_by_its_number(
    runtime: Runtime, ctx: ScriptedContext
) -> None:
    rules = runtime.agent.permissions
    rules.allow_for_project("run(pytest *)")
    rules.allow_for_session("run(make *)")
    assert "removed: you will be asked again for run(pytest *)" in await ctx.type(
        "/permissions remove 1"
    )
    assert [rule.text for rule in rules.session] == ["run(make *)"]
    assert rules.saved is not None
    assert rules.saved.rules == ()
    await ctx.type("/permissions remove 1")
    assert rules.session == []


@pytest.mark.parametrize(
    "args",
    ["remove", "remove 0", "remove 9", "remove x", "add x", "remove ²", "remove 99999999999"],
)
async def test_removing_an_unknown_rule_is_refused(ctx: ScriptedContext, args: str) -> None:
    with pytest.raises(UsageError, match="Unknown permissions action|cannot be removed"):
        await ctx.type(f"/permissions {args}")


async def test_an_invalid_rule_is_shown_as_not_enforced(
    runtime: Runtime, ctx: ScriptedContext
) -> None:
    broken = InvalidRule("deny", "rm *", "Write it like run(rm *).")
    runtime.agent.permissions.invalid.append(broken)
    assert (
        "'rm *' is not a valid permission rule and is NOT enforced. Write it like"
        in await ctx.type("/permissions")
    )


async def test_a_rule_in_claude_code_syntax_is_allowed_and_shown_in_swecli_syntax(
    runtime: Runtime, ctx: ScriptedContext
) -> None:
    assert "allowed in this session: run(git commit *)" in await ctx.type(
        "/permissions allow Bash(git commit:*)"
    )
    assert [rule.pattern for rule in runtime.agent.permissions.session] == ["git commit *"]
    for args, why in (("Bash(a:* b)", "Ambiguous"), ("rnu(x)", "neither a tool"), ("", "Invalid")):
        with pytest.raises(SwecliError, match=why):
            await ctx.type(f"/permissions allow {args}")
    assert len(runtime.agent.permissions.session) == 1
