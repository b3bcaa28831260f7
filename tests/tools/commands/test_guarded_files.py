"""Test that files which may hold secrets, or which an ignore file names, are not read by commands or tools without a
question, in any mode."""

from __future__ import annotations

import os
import subprocess
import sysconfig
from pathlib import Path

import pytest

from swecli.models.approval import Decision
from swecli.models.mode import Mode
from swecli.tools.base import ToolContext
from swecli.tools.commands.rules import why_uncovered
from swecli.tools.commands.touched_paths import find_touched_paths
from swecli.tools.guard import Guard
from swecli.tools.permissions import Permissions
from tests.tools.conftest import Answers, RunTool

KEY = "sk-canary-4711"
ENVIRON = os.environ | {"PATH": f"{sysconfig.get_path('scripts')}:{os.environ['PATH']}"}


def git(root: Path, *words: str) -> None:
    name = ("-c", "user.name=a", "-c", "user.email=a@example.org")
    subprocess.run(["git", *name, *words], cwd=root, check=True, capture_output=True)


def asked_about(command: str, root: Path) -> str:
    return find_touched_paths(command, Guard(root), ENVIRON, is_confined=True, may_write=True).guard


def make(root: Path, **files: str) -> None:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


@pytest.fixture
def project(root: Path) -> Path:
    """Create a repository with a secret that git ignores, and harmless source files."""
    git(root, "init", "-q", "-b", "main")
    make(root, **{".gitignore": ".env\n", ".env": f"KEY={KEY}\n", "a.py": "KEY = 1\n"})
    make(root, **{"src/b.py": "KEY = 2\n", "src/notes.txt": "nothing\n"})
    git(root, "add", ".gitignore", "a.py", "src")
    git(root, "commit", "-qm", "first")
    return root


def printed(root: Path, command: str) -> str:
    done = subprocess.run(
        ["bash", "-c", command], cwd=root, env=ENVIRON, capture_output=True, check=False
    )
    return done.stdout.decode("utf-8", "replace")


@pytest.mark.parametrize(
    "command", ["rg KEY", "grep -R KEY .", "diff -r a b", "git grep KEY", "tree"]
)
def test_what_reads_whole_folders_is_no_plain_form(project: Path, command: str) -> None:
    assert "may change files" in why_uncovered(command, Guard(project), ENVIRON)


@pytest.mark.parametrize(
    ("command", "why"),
    [
        ("grep -rn KEY src", ""),
        ("cd src && grep -r KEY", ""),
        ("grep -rl --include=*.py KEY src/*", ""),
        ("grep -r KEY .", ".env may contain secrets"),
        ("grep -r KEY", ".env may contain secrets"),
        ("cat a.py | grep -r KEY", ".env may contain secrets"),
        ("grep KEY -nr src .env", ".env may contain secrets"),
        ("grep -r KEY s*", "src/pipe is a pipe, socket or device"),
        ("grep -r KEY ..", ".. is outside the workspace"),
    ],
)
def test_a_search_through_a_folder_is_plain_if_all_that_is_in_it_may_be_read(
    project: Path, command: str, why: str
) -> None:
    if "pipe" in why:
        os.mkfifo(project / "src/pipe")
    reason = why_uncovered(command, Guard(project), ENVIRON)
    assert why in reason if why else not reason
    if not why:
        assert "KEY" in printed(project, command) or "b.py" in printed(project, command)


def test_a_search_through_a_folder_with_what_a_rule_hides_asks(project: Path) -> None:
    guard = Permissions(deny=["read(src/notes.txt)"]).guard(project, {})
    assert "forbids reading src/notes.txt" in why_uncovered("grep -r KEY src", guard, ENVIRON)
    assert why_uncovered("grep -r KEY a.py", guard, ENVIRON) == ""


@pytest.fixture
def tracked(project: Path) -> Path:
    """Add a commit with a secret, and one after it."""
    make(project, **{"config/.env.test": f"KEY={KEY}\n"})
    git(project, "add", "-f", "config")
    git(project, "commit", "-qm", "second")
    make(project, **{"a.py": "KEY = 3\n"})
    git(project, "commit", "-qam", "third")
    return project


@pytest.mark.parametrize(
    "command",
    [
        "git show HEAD~1", "git show HEAD~1 -- '*env*'", "git show HEAD~2 HEAD~1", "git diff HEAD~2",
        "git diff HEAD~2 HEAD~1 -w", "git show HEAD:config/.env.test", "cd src && git show HEAD~1",
        "git --no-pager diff HEAD~2", "git log -p", "git log -p --all -n 3 --", "cd src && git log -p",
    ],
)  # fmt: skip
def test_git_requires_approval_to_show_a_tracked_secret(tracked: Path, command: str) -> None:
    assert KEY in printed(tracked, command)
    assert ".env.test may contain secrets" in why_uncovered(command, Guard(tracked), ENVIRON)


def test_git_requires_approval_to_show_an_object_without_a_path(tracked: Path) -> None:
    blob = printed(tracked, "git rev-parse HEAD:config/.env.test").strip()
    other = printed(tracked, "git rev-parse HEAD:a.py").strip()
    for command in (f"git show {blob}", f"git diff {other} {blob}"):
        assert KEY in printed(tracked, command)
        assert "not known" in why_uncovered(command, Guard(tracked), ENVIRON)


@pytest.mark.parametrize(
    "command",
    [
        "git show", "git show HEAD~2", "git show --stat HEAD~1", "git show -s HEAD~1", "git diff", "git diff HEAD~1",
        "git diff HEAD~2 --name-only", "git log --oneline", "git log --stat -- src",
        "git log -p -1", "git log -p -- src", "git log -p -- . ':(exclude)config'", "git show HEAD:a.py",
        "git diff main..no-such-branch",
    ],
)  # fmt: skip
def test_git_shows_other_changes_without_approval_beside_a_tracked_secret(
    tracked: Path, command: str
) -> None:
    assert KEY not in printed(tracked, command)
    assert why_uncovered(command, Guard(tracked), ENVIRON) == ""


@pytest.mark.parametrize("form", ["%GG", "%h %G?", "%+GK"])
def test_git_requires_approval_to_check_signatures(tracked: Path, form: str) -> None:
    for command in (f"git log --format='{form}'", f"git log --pretty='format:{form}'"):
        assert "gpg" in why_uncovered(command, Guard(tracked), ENVIRON)
    git(tracked, "config", "format.pretty", form)
    assert "format.pretty" in why_uncovered("git log", Guard(tracked), ENVIRON)


async def test_git_that_runs_without_approval_does_not_write_to_the_index(
    tracked: Path, run: RunTool, answers: Answers
) -> None:
    file, index = tracked / "a.py", tracked / ".git" / "index"
    for seconds, command in enumerate(("git diff", "git status"), 1):
        os.utime(file, (seconds, seconds))
        before = index.read_bytes()
        assert (await run("run_command", command=command)).ok
        assert index.read_bytes() == before
    assert answers.asked == []


@pytest.fixture
def ignoring(project: Path) -> Path:
    """Add ignore files of the assistant, and what they name."""
    make(project, **{".swecliignore": "private/\n*.sql\n!keep.sql\n", ".aiignore": "/notes.md\n"})
    for name in ("private/plan.txt", "src/data.sql", "keep.sql", "notes.md", "src/notes.md"):
        make(project, **{name: f"{KEY}\n"})
    return project


@pytest.mark.parametrize(
    "command",
    [
        "cat private/plan.txt",
        "ls private",
        "head -3 src/data.sql",
        "cat src/*.sql",
        "cd src && cat data.sql",
        "cd src && cat ../notes.md",
        "git show HEAD:notes.md",
        "cd src && git show HEAD:notes.md",
        "sort src/data.sql | head",
    ],
)
def test_a_command_asks_for_what_an_ignore_file_names(ignoring: Path, command: str) -> None:
    assert "named by an ignore file" in why_uncovered(command, Guard(ignoring), ENVIRON)
    assert "named by an ignore file" in asked_about(command, ignoring)


def test_a_command_does_not_ask_for_what_no_ignore_file_names(ignoring: Path) -> None:
    for command in ("cat keep.sql a.py", "cat src/notes.md", "ls"):
        assert why_uncovered(command, Guard(ignoring), ENVIRON) == ""


@pytest.mark.parametrize("mode", ["ask", "edits", "auto"])
@pytest.mark.parametrize(
    ("tool", "parameters"),
    [
        ("read_file", {"path": "notes.md"}),
        ("read_file", {"path": "private/plan.txt"}),
        ("read_file", {"path": ".env"}),
        ("list_files", {"path": "private"}),
        ("search_files", {"pattern": "canary", "path": "private"}),
        ("search_files", {"pattern": "canary", "path": "src/data.sql"}),
        ("write_file", {"path": "private/new.txt", "content": "x"}),
        ("run_command", {"command": "cat .env"}),
        ("run_command", {"command": "cat notes.md"}),
        ("run_command", {"command": "cat .env > copy"}),
        ("run_command", {"command": "python3 -c 'print(open(\".env\").read())'"}),
        ("run_command", {"command": "echo x; cd src && frobnicate <data.sql"}),
        ("run_command", {"command": "grep -r canary private || make"}),
    ],
)
async def test_every_mode_asks_for_secrets_and_for_what_an_ignore_file_names(
    ignoring: Path,
    ctx: ToolContext,
    run: RunTool,
    permissions: Permissions,
    answers: Answers,
    mode: Mode,
    tool: str,
    parameters: dict[str, str],
) -> None:
    permissions.mode = mode
    answers.decision = Decision(False)
    result = await run(tool, **parameters)
    assert [request.call.name for request in answers.asked] == [tool]
    assert KEY not in result.for_model


async def test_a_search_leaves_out_what_an_ignore_file_names_although_git_includes_it_again(
    ignoring: Path, run: RunTool
) -> None:
    make(ignoring, **{".gitignore": "!notes.md\n!*.sql\n"})
    found = await run("search_files", pattern="canary")
    assert "keep.sql:1" in found.for_model
    assert "data.sql" not in found.for_model
    listed = await run("list_files", pattern="*.sql")
    assert listed.for_model.splitlines()[1:] == ["keep.sql"]


async def test_an_approved_folder_that_an_ignore_file_names_is_searched(
    ignoring: Path, run: RunTool, answers: Answers
) -> None:
    found = await run("search_files", pattern="canary", path="private")
    assert len(answers.asked) == 1
    assert "private/plan.txt:1" in found.for_model


@pytest.mark.parametrize("kind", ["pipe", "device", "long", "folder", "not UTF-8"])
def test_what_an_unusable_ignore_file_names_is_unknown_so_everything_asks(
    project: Path, kind: str
) -> None:
    file = project / ".swecliignore"
    if kind == "pipe":
        os.mkfifo(file)
    elif kind == "device":
        file.symlink_to("/dev/zero")
    elif kind == "folder":
        file.mkdir()
    else:
        file.write_bytes(b"x\n" * 1_000_000 if kind == "long" else b"\xff\n")
    why = why_uncovered("cat a.py", Guard(project), ENVIRON)
    assert why.startswith("What .swecliignore leaves out is unknown")
    file.rmdir() if kind == "folder" else file.unlink()
    assert why_uncovered("cat a.py", Guard(project), ENVIRON) == ""


def test_a_command_without_a_file_that_asks_is_left_to_the_mode(ignoring: Path) -> None:
    for command in ("python3 -c 'print(process.env)'", "make", "cp a.py c.py", "cat a.py > x"):
        assert asked_about(command, ignoring) == ""


@pytest.mark.parametrize(
    "command",
    [
        "cat 'my keys/id_rsa' > copy",
        "cat my\\ keys/id_rsa > copy",
        'cat "$PWD/my keys/id_rsa"',
        "cd 'my keys' && cat id_rsa > copy",
        "cd 'my keys' && cd old && cat id_dsa > copy",
    ],
)
def test_a_secret_in_a_folder_whose_name_has_a_blank_is_guarded(
    project: Path, command: str
) -> None:
    make(project, **{"my keys/id_rsa": KEY, "my keys/old/id_dsa": KEY})
    assert KEY in printed(project, f"{command}; cat copy")
    assert "may contain secrets" in asked_about(command, project)
