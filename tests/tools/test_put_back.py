"""Test that what a command did to protected files behind the mounts is put back; with real sandboxes, commands and
git."""

from __future__ import annotations

import asyncio
import subprocess
from pathlib import Path

import pytest

from swecli.tools.base import ToolContext
from swecli.tools.permissions import Permissions
from swecli.tools.sandbox import Sandbox
from tests.tools.conftest import RunTool

PROGRAM = "git config core.fsmonitor 'touch STARTED; false'"


@pytest.fixture(autouse=True)
def sandbox(ctx: ToolContext, root: Path, permissions: Permissions) -> None:
    """Let commands run in a sandbox without a question; skip where there is none."""
    sandbox = Sandbox("auto", root, ctx.commands.environ)
    ctx.commands.open_sandbox = lambda: sandbox
    if sandbox.problem:
        pytest.skip(f"no sandbox on this machine: {sandbox.problem}")
    permissions.mode = "edits"


def make(root: Path, name: str, text: str = "whole\n") -> Path:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def repository(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    git(folder, "init", "-q")
    return folder


def git(folder: Path, *words: str) -> str:
    done = subprocess.run(["git", *words], cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout


def starts_programs(folder: Path) -> bool:
    git(folder, "status")
    return any(path.name == "STARTED" for path in folder.rglob("*"))


def hidden(name: str) -> str:
    """Return a word for a name which a command does not show, so that nobody is asked about it."""
    return f"$(echo {name[::-1]} | rev)"


async def write(run: RunTool, command: str) -> str:
    result = await run("run_command", command=command, access="write")
    return result.for_model


@pytest.mark.parametrize(
    "name", [".github/workflows/ci.yml", "docs/AGENTS.md", "web/.vscode/tasks.json", "a/b/.envrc"]
)
async def test_a_protected_file_whose_folder_was_renamed_is_in_its_place_again(
    run: RunTool, root: Path, name: str
) -> None:
    file = make(root, name)
    top = name.split("/")[0]
    folder = name.rpartition("/")[0]
    exchange = (
        f"mv {top} g && mkdir -p {folder} && echo evil > x && mv x {folder}/{hidden(file.name)}"
    )
    shown = await write(run, exchange)
    assert file.read_text() == "whole\n"
    assert "is in its place again; what replaced it is" in shown
    kept = [path for path in root.rglob("*.replaced-1")]
    assert len(kept) == 1, "what the command wrote is kept"


async def test_a_link_in_place_of_the_folder_above_is_set_aside(run: RunTool, root: Path) -> None:
    file = make(root, ".github/workflows/ci.yml")
    await write(
        run,
        "mv .github g && mkdir -p e/workflows && echo evil > e/workflows/ci.yml && ln -s e .github",
    )
    assert file.read_text() == "whole\n"
    assert not (root / ".github").is_symlink()


async def test_a_folder_that_was_only_renamed_keeps_its_new_name(run: RunTool, root: Path) -> None:
    make(root, "docs/AGENTS.md")
    shown = await write(run, "mv docs manual")
    assert (root / "manual/AGENTS.md").read_text() == "whole\n"
    assert not (root / "docs").exists()
    assert "elsewhere now: manual/AGENTS.md" in shown


@pytest.mark.parametrize(
    "name", ["sub/AGENTS.md", ".github/workflows/new.yml", ".envrc", "x/.vscode/tasks.json"]
)
async def test_a_new_protected_file_is_set_aside_and_its_way_named(
    run: RunTool, root: Path, name: str
) -> None:
    folder, _, file = f"./{name}".rpartition("/")
    shown = await write(run, f"mkdir -p {folder}; cd {folder}; echo evil > x; mv x {hidden(file)}")
    assert not (root / name).exists()
    assert "To allow it: edit_file or write_file, which ask the user, or his rule edit(" in shown
    assert [path.read_text() for path in root.rglob("*") if path.is_file()] == ["evil\n"]


async def test_what_a_rule_allows_stays(run: RunTool, root: Path, permissions: Permissions) -> None:
    permissions.allow_for_session("edit(sub/AGENTS.md)")
    shown = await write(run, f"mkdir sub; echo wanted > x; mv x sub/{hidden('AGENTS.md')}")
    assert (root / "sub/AGENTS.md").read_text() == "wanted\n"
    assert "AGENTS.md" not in shown


@pytest.mark.parametrize("at", [".", "vendor/lib"])
async def test_a_plain_new_repository_stays_and_its_settings_are_protected(
    run: RunTool, root: Path, at: str
) -> None:
    author = "git config user.name a && git config user.email a@b"
    shown = await write(
        run,
        f"mkdir -p {at} && cd {at} && git init -q && {author} && git commit -q --allow-empty -m x",
    )
    assert shown.startswith("exit code 0")
    assert git(root / at, "log", "--format=%s") == "x\n"
    await write(run, f"cd {at} && {PROGRAM}")
    assert not starts_programs(root / at)


@pytest.mark.parametrize(
    "script",
    [
        PROGRAM,
        "echo 'touch STARTED' > .git/hooks/post-index-change; chmod +x .git/hooks/*",
        "printf '[include]\\n\\tpath = ../more\\n' >> .git/config",
        "printf '[core]\\n\\tbare = false\\\\\\n' >> .git/config",
        f"mv .git g; echo 'gitdir: g' > x; mv x {hidden('.git')}",
    ],
)
async def test_a_new_repository_that_would_start_programs_is_set_aside(
    run: RunTool, root: Path, script: str
) -> None:
    shown = await write(run, f"mkdir new; cd new; git init -q; {script}")
    assert not (root / "new/.git").exists()
    assert "new/.git is set aside as new/.git.replaced-1" in shown


async def test_a_repository_by_another_name_starts_no_programs(run: RunTool, root: Path) -> None:
    # git takes each folder that looks like one for a repository, also if only a prompt asks it there
    shown = await write(
        run, f"git init -q --bare fixture; cd fixture; git config core.bare false; {PROGRAM}"
    )
    assert "fixture is set aside as fixture.replaced-1" in shown
    shown = await write(run, "git init -q --bare plain && cd plain && touch notes AGENTS.md")
    assert "plain/AGENTS.md is set aside" in shown
    assert (root / "plain/notes").exists()
    shown = await write(run, f"cd plain; {PROGRAM}; echo x > hooks/post-update")
    assert "could not write config file" in shown
    assert not (root / "plain/hooks/post-update").exists()
    assert "fsmonitor" not in (root / "plain/config").read_text()


async def test_a_nested_repository_cannot_be_exchanged(run: RunTool, root: Path) -> None:
    nested = repository(root / "vendor/lib")
    await write(run, f"cd vendor/lib; mv .git g; cp -r g .git; {PROGRAM}")
    assert not starts_programs(nested)
    shown = await write(run, f"mv vendor v; cp -r v vendor; cd vendor/lib; {PROGRAM}")
    assert "vendor/lib/.git is in its place again" in shown
    assert not starts_programs(nested)


@pytest.mark.parametrize("name", ["config.worktree", "commondir", "modules/x/config"])
@pytest.mark.parametrize("at", [".", "vendor/lib"])
async def test_what_else_git_would_read_settings_from_is_set_aside(
    run: RunTool, root: Path, at: str, name: str
) -> None:
    folder = repository(root / at)
    await write(run, f"mkdir -p $(dirname {at}/.git/{name}); echo x > {at}/.git/{name}")
    assert not (folder / ".git" / name).exists()


async def test_ordinary_work_in_a_repository_is_not_touched(run: RunTool, root: Path) -> None:
    repository(root)
    make(root, "AGENTS.md")
    author = "git -c user.name=a -c user.email=a@b"
    shown = await write(
        run,
        f"git add -A && {author} commit -qm x && git branch y && git tag z && git gc -q && "
        "git clone -q . copy && rm -r copy && echo x > README",
    )
    assert shown.startswith("exit code 0")
    assert "replaced" not in shown
    assert "elsewhere now" not in shown


async def test_what_the_user_saves_while_a_command_runs_stays(
    run: RunTool, ctx: ToolContext, root: Path
) -> None:
    file = make(root, "docs/AGENTS.md")
    await run(
        "run_command", command="touch begun; until [ -s end ]; do sleep 0.1; done", background=True
    )
    (root / "end").write_text("")
    while not (root / "begun").exists():
        await asyncio.sleep(0.02)
    saved = make(root, "docs/AGENTS.md.new", "by the user\n")
    saved.replace(file)  # as an editor saves
    new = make(root, "web/AGENTS.md", "new by the user\n")
    (root / "end").write_text("now\n")
    [job] = ctx.commands.jobs.all
    await asyncio.wait({job.task})
    assert (file.read_text(), new.read_text()) == ("by the user\n", "new by the user\n")
    assert "elsewhere now: web/AGENTS.md" in job.text


async def test_what_the_user_commits_and_sets_while_a_command_runs_stays(
    run: RunTool, ctx: ToolContext, root: Path
) -> None:
    git(root, "init", "-q")
    make(root, "a.txt", "one\n")
    waits = "touch begun; until [ -e end ]; do sleep 0.02; done; git status --short"
    await run("run_command", command=waits, background=True)
    while not (root / "begun").exists():
        await asyncio.sleep(0.02)
    git(root, "add", "a.txt")
    git(root, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "by the user")
    git(root, "config", "core.pager", "less")
    await run("read_result", call_id="job-1")
    (root / "end").touch()
    [job] = ctx.commands.jobs.all
    await asyncio.wait({job.task})
    assert "by the user" in git(root, "log", "--oneline")
    assert git(root, "config", "core.pager") == "less\n"
    assert "a.txt" not in job.text, "it sees the commit"
    assert "replaced" not in job.text


async def test_what_a_job_exchanged_is_in_its_place_again_at_its_end(
    run: RunTool, ctx: ToolContext, root: Path
) -> None:
    file = make(root, "docs/AGENTS.md")
    script = "sleep 1; mv docs d; mkdir docs; echo evil > docs/AGENTS.md"
    await run("run_command", command=script, background=True)
    [job] = ctx.commands.jobs.all
    await asyncio.wait({job.task})
    assert file.read_text() == "whole\n"
    assert "docs/AGENTS.md is in its place again" in job.text


EXCHANGE = "mv docs d; mkdir docs; echo evil > docs/AGENTS.md"


async def test_what_a_running_job_exchanged_is_in_its_place_again_at_the_next_look(
    run: RunTool, ctx: ToolContext, root: Path
) -> None:
    file = make(root, "docs/AGENTS.md")
    script = f"until [ -e go ]; do sleep 0.02; done; {EXCHANGE}; touch done; sleep 60"
    await run("run_command", command=script, background=True)
    (root / "go").touch()
    while not (root / "done").exists():
        await asyncio.sleep(0.02)
    first = await run("read_result", call_id="job-1")
    assert file.read_text() == "whole\n"
    assert "docs/AGENTS.md is in its place again" in first.for_model
    again = await run("read_result", call_id="job-1")
    assert again.for_model.count("is in its place again") == 1, "it is named once"
    await ctx.commands.jobs.close()


async def test_a_look_in_the_middle_of_an_exchange_does_not_help_it(
    run: RunTool, ctx: ToolContext, root: Path
) -> None:
    file = make(root, "docs/AGENTS.md")
    half, rest = EXCHANGE.split("; ", 1)
    wait = "until [ -e go ]; do sleep 0.02; done"
    await run(
        "run_command", command=f"sleep 0.7; {half}; touch half; {wait}; {rest}", background=True
    )
    while not (root / "half").exists():
        await asyncio.sleep(0.02)
    looked = await run("read_result", call_id="job-1")
    assert "elsewhere now: d/AGENTS.md" in looked.for_model
    (root / "go").touch()
    [job] = ctx.commands.jobs.all
    await asyncio.wait({job.task})
    assert file.read_text() == "whole\n"
    assert "docs/AGENTS.md is in its place again" in job.text


async def test_what_the_user_saved_while_a_job_runs_is_what_comes_back(
    run: RunTool, ctx: ToolContext, root: Path
) -> None:
    file = make(root, "docs/AGENTS.md")
    wait = "touch begun; until [ -e go ]; do sleep 0.02; done"
    await run("run_command", command=f"{wait}; {EXCHANGE}", background=True)
    while not (root / "begun").exists():
        await asyncio.sleep(0.02)
    make(root, "docs/AGENTS.md.new", "by the user\n").replace(file)  # as an editor saves
    await run("read_result", call_id="job-1")
    (root / "go").touch()
    [job] = ctx.commands.jobs.all
    await asyncio.wait({job.task})
    assert file.read_text() == "by the user\n"
