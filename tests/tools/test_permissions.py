"""Test permission rules, modes, and the decisions of a session."""

from __future__ import annotations

import re
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from swecli.config.project_rules import ProjectRules
from swecli.models.errors import ConfigError
from swecli.models.mode import MODES, Mode
from swecli.tools.base import ToolContext, ToolPlan
from swecli.tools.guard import Reading
from swecli.tools.permission_rules import PermissionRule
from swecli.tools.permissions import Permissions, PermissionVerdict
from swecli.tools.registry import ToolRegistry

TOOLS = ToolRegistry.discover()


CTX = ToolContext(Path(tempfile.gettempdir()))


def decide(permissions: Permissions, name: str, subject: str, guard: str = "") -> PermissionVerdict:
    tool = TOOLS.get(name)
    assert tool is not None
    return permissions.decide(tool, ToolPlan("x", subject=subject, guard=guard), CTX)


def exact_rule(name: str, subject: str) -> str:
    """Return the rule that matches only this subject."""
    tool = TOOLS.get(name)
    assert tool is not None
    return Permissions.suggest_rules(tool, ToolPlan("x", subject=subject), CTX, exact_only=True)[0][
        0
    ]


@pytest.mark.parametrize(
    ("mode", "read", "edit", "run"),
    [
        ("ask", "allow", "ask", "ask"),
        ("edits", "allow", "allow", "ask"),
        ("plan", "allow", "deny", "deny"),
        ("auto", "allow", "allow", "allow"),
    ],
)
def test_each_mode_decides_for_reading_editing_and_running(
    mode: Mode, read: str, edit: str, run: str
) -> None:
    permissions = Permissions(mode)
    assert decide(permissions, "read_file", "a.py").outcome == read
    assert decide(permissions, "edit_file", "a.py").outcome == edit
    assert decide(permissions, "write_file", "a.py").outcome == edit
    assert decide(permissions, "run_command", "make").outcome == run
    assert decide(permissions, "run_command", "ls").outcome == "allow"
    assert decide(permissions, "todo", "").outcome == "allow"


def test_plan_mode_gives_its_reason_and_allow_rules_do_not_override_it() -> None:
    verdict = decide(Permissions("plan", allow=["run", "edit"]), "run_command", "make")
    assert (verdict.outcome, verdict.by) == ("deny", "mode")
    assert "read-only" in verdict.reason


def test_deny_rules_precede_ask_rules_and_ask_rules_precede_allow_rules() -> None:
    permissions = Permissions(
        "auto",
        allow=["run(git *)"],
        ask=["run(git push*)"],
        deny=["run(git push --force*)", "edit(vendor/**)"],
    )
    assert decide(permissions, "run_command", "git push").outcome == "ask"
    assert decide(permissions, "run_command", "git push --force").outcome == "deny"
    assert decide(permissions, "run_command", "ls && git push --force x").outcome == "deny"
    assert decide(permissions, "edit_file", "vendor/a/b.c").outcome == "deny"
    assert decide(permissions, "edit_file", "src/vendor.c").outcome == "allow"
    permissions.allow_for_session("run(git push --force)")
    assert decide(permissions, "run_command", "git push --force").outcome == "deny"


@pytest.mark.parametrize("mode", ["ask", "edits", "auto"])
def test_guarded_files_require_approval_in_every_mode_unless_a_rule_names_them(mode: Mode) -> None:
    permissions = Permissions(mode, allow=["edit", "edit(**)", "read(**)", "read(*.env)"])
    assert decide(permissions, "edit_file", ".git/config", "protected").outcome == "ask"
    assert decide(permissions, "read_file", ".env", "secret").outcome == "ask"
    permissions.allow_for_session("edit(**)")
    assert decide(permissions, "edit_file", ".git/config", "protected") == (
        PermissionVerdict("ask", "rule", "protected", exact_only=True)
    )
    permissions.allow_for_session("edit(/.git/config)")
    assert decide(permissions, "edit_file", ".git/config", "protected").outcome == "allow"
    assert decide(permissions, "edit_file", ".git/hooks", "protected").outcome == "ask"
    named = Permissions(mode, allow=["read(.env)"])
    assert decide(named, "read_file", ".env", "secret").by == "rule"
    assert decide(named, "read_file", "sub/.env", "secret").outcome == "ask"


def test_an_approval_for_the_session_precedes_an_ask_rule_for_the_same_command() -> None:
    permissions = Permissions(ask=["run(make*)"])
    assert decide(permissions, "run_command", "make *.o").exact_only
    permissions.allow_for_session(exact_rule("run_command", "make *.o"))
    assert decide(permissions, "run_command", "make *.o")[:2] == ("allow", "session")
    assert decide(permissions, "run_command", "make a.o").outcome == "ask"


def test_a_rule_can_name_a_tool() -> None:
    permissions = Permissions("auto", deny=["write_file(docs/**)", "todo"], ask=["search_files"])
    assert decide(permissions, "write_file", "docs/a.md").outcome == "deny"
    assert decide(permissions, "edit_file", "docs/a.md").outcome == "allow"
    assert decide(permissions, "todo", "").outcome == "deny"
    assert decide(permissions, "search_files", ".").outcome == "ask"


def test_read_rules_do_not_apply_to_tools_without_files() -> None:
    permissions = Permissions(deny=["read(private/**)"], ask=["read"])
    assert decide(permissions, "read_file", "private/a").outcome == "deny"
    assert decide(permissions, "read_file", "a").outcome == "ask"
    assert decide(permissions, "todo", "").outcome == "allow"


def test_files_that_need_approval_to_read_are_left_out_of_searches(tmp_path: Path) -> None:
    permissions = Permissions(deny=["read(private/**)"], ask=["read(*.pdf)"])
    guard = permissions.guard(tmp_path, {})
    names = ("a", "private/a", "x.pdf", ".env", "b/c.py")
    free = [name for name in names if guard.judge(name).read is Reading.FREE]
    assert free == ["a", "b/c.py"]


@pytest.mark.parametrize("text", ["", "run(", "run()", "(x)", "run x", "edit(!a)", "git status"])
def test_an_invalid_rule_is_reported_and_not_enforced(text: str) -> None:
    with pytest.raises(ConfigError, match="Invalid permission rule"):
        PermissionRule.parse(text)
    permissions = Permissions(allow=[text, "run(make)"])
    assert [(name, broken) for name, broken, _ in permissions.invalid] == [("allow", text)]
    assert decide(permissions, "run_command", "make").outcome == "allow"
    assert decide(permissions, "run_command", f"sudo {text}").outcome == "ask"


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("Bash", "run"),
        ("Bash(*)", "run"),
        ("Bash(git:*)", "run(git *)"),
        ("Bash(npm run test)", "run(npm run test)"),
        ("Bash(git * main)", "run(git * main)"),
        ("Bash(ls [ab]?:*)", "run(ls [[]ab][?] *)"),
        ("Read(docs/**)", "read(docs/**)"),
        ("Read(./.env)", "read(/.env)"),
        ("Edit(src/**)", "edit(src/**)"),
        ("Write", "edit"),
        ("WebFetch(domain:docs.python.org)", "fetch(docs.python.org)"),
    ],
)
def test_a_claude_code_rule_is_parsed_as_the_swecli_rule_of_the_same_meaning(
    written: str, meant: str
) -> None:
    found, ours = PermissionRule.parse(written), PermissionRule.parse(meant)
    assert (found.kind, found.pattern, found.text) == (ours.kind, ours.pattern, written)


def test_a_claude_code_rule_is_judged_like_a_swecli_rule() -> None:
    permissions = Permissions(
        allow=["Bash(git commit:*)", "Edit(src/**)"], deny=["Bash(curl:*)", "Read(./private)"]
    )
    assert decide(permissions, "run_command", "git commit -m x").outcome == "allow"
    assert decide(permissions, "run_command", "git push").outcome == "ask"
    assert decide(permissions, "run_command", "ls && curl example.org").outcome == "deny"
    assert decide(permissions, "edit_file", "src/a.py").outcome == "allow"
    assert decide(permissions, "read_file", "private").outcome == "deny"
    assert decide(permissions, "read_file", "src/private").outcome == "allow"


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("Bash(git:* --force)", "`:\\*` is only valid at the end"),
        ("Read(/src/**)", r"write read\(src"),
        ("Edit(../a)", r"write edit\(src"),
        ("WebFetch(https://example.org)", r"write fetch\(docs"),
    ],
)
def test_a_claude_code_rule_with_an_ambiguous_meaning_is_refused(text: str, hint: str) -> None:
    with pytest.raises(ConfigError, match="Ambiguous permission rule") as caught:
        PermissionRule.parse(text)
    assert re.search(hint, caught.value.hint)


@pytest.mark.parametrize("mode", ["edits", "auto"])
def test_with_an_invalid_deny_rule_every_mode_asks_for_approval(mode: Mode) -> None:
    permissions = Permissions(mode, allow=["run(make)"], deny=["rm *", "run(git push*)"])
    assert decide(permissions, "run_command", "rm x").outcome == "ask"
    assert decide(permissions, "edit_file", "a.py").outcome == "ask"
    assert (
        decide(permissions, "edit_file", "a.py").reason
        == "the invalid rule 'rm *' must be corrected first"
    )
    assert decide(permissions, "run_command", "git push x").outcome == "deny"
    assert decide(permissions, "run_command", "make").outcome == "allow"


def test_a_question_calls_a_command_that_no_wider_rule_covers_this_exact_command() -> None:
    tool = TOOLS.get("run_command")
    assert tool is not None
    for command in ("for i in 1 2; do make; done", "rm a"):
        rules, label = Permissions.suggest_rules(
            tool, ToolPlan("x", subject=command), CTX, exact_only=False
        )
        assert (rules, label) == ((f"run({command})",), "this exact command")
    outside = ToolPlan("x", subject="make", outside="it needs the network")
    assert Permissions.suggest_rules(tool, outside, CTX, exact_only=True) == (
        ("outside(make)",),
        "this exact command outside the sandbox",
    )


def test_the_reason_for_an_approval_is_what_the_command_would_do() -> None:
    assert decide(Permissions(), "run_command", "find . -delete") == (
        PermissionVerdict("ask", "mode", "find -delete may change files")
    )
    allowed = decide(Permissions(allow=["run(find *)"]), "run_command", "find . -delete")
    assert allowed.reason == "by run(find *)"
    assert (
        decide(Permissions(ask=["run(ls*)"]), "run_command", "ls").reason
        == "The rule run(ls*) asks for approval."
    )


def test_plan_mode_allows_read_only_commands_without_an_ask_rule() -> None:
    assert decide(Permissions("plan"), "run_command", "ls | head").outcome == "allow"
    assert (
        decide(Permissions("plan", ask=["run(ls*)"]), "run_command", "ls | head").outcome == "deny"
    )


def test_rules_of_session_project_and_settings_can_cover_a_command_together(tmp_path: Path) -> None:
    saved = ProjectRules(tmp_path / "permissions.toml", tmp_path)
    saved.add("run(make *)")
    permissions = Permissions(
        allow=["run(pytest*)"], project=ProjectRules(tmp_path / "permissions.toml", tmp_path)
    )
    permissions.allow_for_session("run(tool *)")
    assert decide(permissions, "run_command", "make a && tool b")[:2] == ("allow", "session")
    assert decide(permissions, "run_command", "make a && tool b && pytest")[:2] == ("allow", "rule")
    assert decide(permissions, "run_command", "make a && other").outcome == "ask"


def test_a_project_rule_is_loaded_again_and_can_be_removed(tmp_path: Path) -> None:
    file = tmp_path / "permissions.toml"
    permissions = Permissions(project=ProjectRules(file, tmp_path))
    permissions.allow_for_project("run(make *)")
    assert decide(permissions, "run_command", "make a").outcome == "allow"
    assert permissions.session == [], "it is kept in one place"
    later = Permissions(project=ProjectRules(file, tmp_path))
    assert decide(later, "run_command", "make a").outcome == "allow"
    later.remove(later.project[0])
    assert decide(later, "run_command", "make a").outcome == "ask"
    assert ProjectRules(file, tmp_path).rules == ()
    permissions.remove(permissions.project[0])
    assert decide(permissions, "run_command", "make a").outcome == "ask"


def test_a_project_rule_that_cannot_be_saved_applies_for_the_session(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    permissions = Permissions(
        project=ProjectRules(tmp_path / "file" / "permissions.toml", tmp_path)
    )
    with pytest.raises(ConfigError, match="cannot be written"):
        permissions.allow_for_project("run(make)")
    assert decide(permissions, "run_command", "make").by == "session"
    assert permissions.project == []


def test_rules_that_no_tool_uses_are_named() -> None:
    permissions = Permissions(allow=["rnu(x)", "run(x)", "Edit(~/x)"], deny=["deploy(y)", "todo"])
    assert permissions.unusable_rules(TOOLS) == ["rnu(x)", "deploy(y)", "Edit(~/x)"]


def test_a_rule_can_contain_brackets_and_newlines() -> None:
    assert PermissionRule.parse("run(python -c 'print(1)\n')").pattern == "python -c 'print(1)\n'"


SUBJECTS = st.text(alphabet="ab/.*?[] ;&|$(\\!", min_size=1, max_size=15).filter(
    lambda subject: (
        subject.strip() == subject and all(part.strip(".") for part in subject.split("/"))
    )
)


@given(
    SUBJECTS,
    SUBJECTS,
    st.sampled_from(MODES),
    st.sampled_from(["run_command", "edit_file", "read_file"]),
)
def test_an_approval_for_the_session_covers_the_same_subject_and_deny_wins(
    subject: str, other: str, mode: Mode, name: str
) -> None:
    rule = exact_rule(name, subject)
    permissions = Permissions(mode)
    permissions.allow_for_session(rule)
    if mode != "plan" or name == "read_file":
        assert decide(permissions, name, subject, guard="special").outcome == "allow"
        if other != subject:
            assert decide(permissions, name, other, guard="special").outcome == "ask"
    denying = Permissions(mode, allow=[rule], deny=[rule])
    denying.allow_for_session(rule)
    assert decide(denying, name, subject).outcome == "deny"
