"""Test which hooks run: those that the user approved with the bytes of their scripts, and his own."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from swecli.config.trust import TrustLedger
from swecli.tools.hooks.approved import HookState, read_hooks
from swecli.tools.hooks.files import may_have_hooks, user_file
from tests.support.hooks import approve_hooks, declare
from tests.support.runtime import make_start

_GUARD = ("PreToolUse", "Bash", 'sh "$CLAUDE_PROJECT_DIR"/tools/guard.sh')


def _states() -> list[HookState]:
    return [known.state for known in read_hooks(make_start()).hooks]


@pytest.fixture
def script() -> Path:
    """Declare a hook and write its script."""
    declare(Path.cwd(), _GUARD)
    path = Path("tools/guard.sh")
    path.parent.mkdir()
    path.write_text("exit 0\n")
    return path


def test_without_a_file_there_are_none() -> None:
    assert not may_have_hooks(make_start())
    Path(".claude").mkdir()
    Path(".claude/settings.json").write_text('{"permissions": {}}')
    assert not may_have_hooks(make_start())


def test_a_hook_runs_once_it_is_approved(script: Path) -> None:
    assert may_have_hooks(make_start())
    assert _states() == [HookState.NEW]
    approve_hooks(make_start())
    assert _states() == [HookState.ON]


def test_a_changed_script_turns_its_hook_off(script: Path) -> None:
    approve_hooks(make_start())
    script.write_text("exit 2\n")
    assert _states() == [HookState.CHANGED]
    script.write_text("exit 0\n")
    assert _states() == [HookState.ON]
    script.unlink()
    assert _states() == [HookState.CHANGED]


@pytest.mark.parametrize(
    "changed",
    [
        ("PostToolUse", "Bash", _GUARD[2]),
        ("PreToolUse", "Edit", _GUARD[2]),
        (*_GUARD[:2], f"{_GUARD[2]} -q"),
    ],
)
def test_another_event_matcher_or_command_needs_another_approval(
    script: Path, changed: tuple[str, str, str]
) -> None:
    approve_hooks(make_start())
    declare(Path.cwd(), changed)
    assert HookState.ON not in _states()


def test_an_approval_holds_where_a_hook_has_only_moved(script: Path) -> None:
    approve_hooks(make_start())
    declare(Path.cwd(), ("PreToolUse", "Bash", "true"), _GUARD)
    assert _states() == [HookState.CHANGED, HookState.ON]


@pytest.mark.parametrize(
    "command",
    [
        "./tools/guard.sh",
        "bash tools/guard.sh --all",
        "cd tools && sh guard.sh",
        "sh ${CLAUDE_PROJECT_DIR}/tools/guard.sh",
    ],
)
def test_the_scripts_of_a_command_are_found(script: Path, command: str) -> None:
    declare(Path.cwd(), ("PreToolUse", "Bash", command))
    [known] = read_hooks(make_start()).hooks
    assert known.scripts == {"tools/guard.sh": ["exit 0\n"]}


def test_what_a_hook_writes_its_output_to_is_no_script_of_it(script: Path) -> None:
    declare(Path.cwd(), ("PreToolUse", "Bash", "sh tools/guard.sh >> tools/log.txt 2>&1"))
    Path("tools/log.txt").write_text("one\n")
    approve_hooks(make_start())
    Path("tools/log.txt").write_text("one\ntwo\n")
    assert _states() == [HookState.ON]


def test_a_script_that_is_no_text_is_named_by_its_digest(script: Path) -> None:
    script.write_bytes(b"\0\xff")
    [known] = read_hooks(make_start()).hooks
    assert known.scripts["tools/guard.sh"][0].startswith("2 bytes, SHA-256 ")


def test_files_of_other_assistants_and_our_own_are_read_and_the_same_hook_once() -> None:
    for file in (".swecli/hooks.json", ".claude/settings.local.json", ".codex/hooks.json"):
        declare(Path.cwd(), ("Stop", "", "true"), file=file)
    declare(Path.cwd(), ("Stop", "", "false"), file=".claude/settings.json")
    names = [known.hook.name for known in read_hooks(make_start()).hooks]
    assert names == [".swecli/hooks.json Stop[] 1", ".claude/settings.json Stop[] 1"]


def test_the_users_own_hooks_need_no_approval() -> None:
    start = make_start()
    declare(start.paths.config, ("Stop", "", "true"), file=user_file(start).name)
    [known] = read_hooks(start).hooks
    assert (known.scope, known.state, known.approval.outside) == ("user", HookState.ON, True)


def test_a_link_that_leads_out_is_not_read(tmp_path_factory: pytest.TempPathFactory) -> None:
    elsewhere = declare(tmp_path_factory.mktemp("elsewhere"), ("Stop", "", "true"))
    Path(".claude").mkdir()
    Path(".claude/settings.json").symlink_to(elsewhere)
    known = read_hooks(make_start())
    assert not known.hooks
    assert known.problems == (".claude/settings.json is a link that leads out of the project",)


def test_a_pipe_in_place_of_a_file_does_not_block(tmp_path: Path) -> None:
    Path(".claude").mkdir()
    os.mkfifo(".claude/settings.json")
    assert ".claude/settings.json cannot be read" in read_hooks(make_start()).problems[0]


def test_an_approval_is_recorded_with_its_time_and_withdrawn(script: Path) -> None:
    start = make_start()
    approve_hooks(start)
    ledger = TrustLedger.find(start.paths)
    [file] = ledger.trust_in(Path.cwd()).hooks.values()
    assert file.since is not None
    assert json.loads(file.text)["scripts"] == {"tools/guard.sh": ["exit 0\n"]}
    assert ledger.forget_hooks(Path.cwd()) == 1
    assert _states() == [HookState.NEW]
