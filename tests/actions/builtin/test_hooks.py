"""Test `swecli hooks`: what a user sees before he approves a hook, and what of it is recorded."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.hooks import declare
from tests.support.shell import HELLO, Run, script

_GUARD = ("PreToolUse", "Bash", "sh guard.sh")


@pytest.fixture
def guard() -> Path:
    """Declare a hook with a script."""
    declare(Path.cwd(), _GUARD)
    path = Path("guard.sh")
    path.write_text("exit 0\n")
    return path


def test_without_hooks_the_list_says_where_they_are_declared(run: Run) -> None:
    printed = run("hooks").out
    assert (
        "There are no hooks. They are declared in .swecli/hooks.json, .claude/settings.json"
        in printed
    )


def test_a_hook_is_listed_shown_approved_and_withdrawn(run: Run, guard: Path) -> None:
    [listed] = json.loads(run("hooks", "list", "--json").out)
    assert (listed["number"], listed["event"], listed["state"]) == (
        1,
        "PreToolUse",
        "not approved yet",
    )
    shown = run("hooks", "show", "1").out
    assert "runs in the sandbox: no network, writes only in this folder, for at most 600 s" in shown
    assert "command: sh guard.sh" in shown
    assert "    exit 0\n" in shown
    refused = run("hooks", "approve")
    assert refused.code == 1
    assert "nothing was approved: add --yes" in refused.out
    assert run("hooks", "approve", "--yes").code == 0
    assert " on" in run("hooks").out
    assert "No hook waits for your approval." in run("hooks", "approve").out
    assert "1 approval withdrawn" in run("hooks", "withdraw").out
    assert "not approved yet" in run("hooks").out


def test_what_changed_since_is_shown_as_a_difference(run: Run, guard: Path) -> None:
    run("hooks", "approve", "--yes")
    guard.write_text("exit 2\n")
    shown = run("hooks", "show", "1").out
    assert "changed since you approved it" in shown
    assert '-   "exit 0\\n"' in shown
    assert '+   "exit 2\\n"' in shown
    assert "1 changed since you approved it" in run("doctor").out


def test_a_hook_is_approved_for_outside_by_name(run: Run, guard: Path) -> None:
    approved = run("hooks", "approve", "1", "--outside", "--yes")
    assert "runs outside the sandbox, as you" in approved.out
    assert json.loads(run("hooks", "list", "--json").out)[0]["outside"] is True


def test_a_second_approval_keeps_the_first(run: Run, guard: Path) -> None:
    run("hooks", "approve", "--yes")
    declare(Path.cwd(), ("PreToolUse", "Bash", "true"), _GUARD)
    run("hooks", "approve", "--yes")
    states = [row["state"] for row in json.loads(run("hooks", "list", "--json").out)]
    assert states == ["on", "on"]


def test_hidden_letters_of_a_script_are_shown_as_escapes(run: Run, guard: Path) -> None:
    guard.write_text("exit 0 # \u202e\x1b[2J\U000e0041\n", encoding="utf-8")
    assert "exit 0 # \\u202e\\x1b[2J\\U000e0041" in run("hooks", "show", "1").out


def test_approved_hooks_are_listed_with_what_is_trusted(run: Run, guard: Path) -> None:
    run("hooks", "approve", "--yes")
    assert run("trust", "list", "--json").json[0]["hooks"]
    shown = run("trust", "show").out
    assert "not trusted" in shown
    assert "hook .claude/settings.json PreToolUse[Bash] 1: " in shown
    assert ", approved 20" in shown


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (("show",), "Give the number of one hook."),
        (("show", "x"), "'x' is no number of a hook."),
        (("show", "2"), "There is no hook 2."),
        (("show", "0"), "There is no hook 0."),
        (("approve", "9"), "There is no hook 9."),
    ],
)
def test_bad_input_gets_one_clear_line(
    run: Run, guard: Path, words: tuple[str, ...], error: str
) -> None:
    done = run("hooks", *words)
    assert done.code in (2, 42)
    assert error in done.err
    assert "Traceback" not in done.err


@pytest.mark.slow
def test_a_run_without_a_screen_says_which_hooks_it_skips(run: Run, guard: Path) -> None:
    done = run("-p", "hello", "-m", HELLO)
    assert done.code == 0
    assert (
        "1 hook of this project is not approved yet, and not run: swecli hooks approve" in done.err
    )


@pytest.mark.slow
def test_a_prompt_that_a_hook_refuses_ends_a_run_without_a_screen(run: Run) -> None:
    declare(Path.cwd(), ("UserPromptSubmit", "", "echo no secrets please >&2; exit 2"))
    run("hooks", "approve", "--yes")
    done = run("-p", "hello", "-m", HELLO)
    assert done.code == 42
    assert "A hook refuses this message: no secrets please" in done.complaint


@pytest.mark.slow
def test_an_approved_hook_guards_a_run_without_a_screen(run: Run, guard: Path) -> None:
    guard.write_text("echo not here >&2; exit 2\n")
    run("hooks", "approve", "--yes")
    call = {"name": "run_command", "arguments": {"command": "touch ran"}}
    done = run("-p", "go", "--mode", "auto", "-m", script("guarded", {"calls": [call]}, "done"))
    assert done.out == "done\n"
    assert "denied: Run touch ran: a hook refuses this call: not here" in done.err
    assert not Path("ran").exists()
