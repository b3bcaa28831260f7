"""Test that commands in the sandbox cannot change installed dependencies, wherever in the workspace they lie; with real
sandboxes."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from swecli.models.mode import Mode
from swecli.tools.base import ToolContext
from swecli.tools.permissions import Permissions
from swecli.tools.protected_folders import find_protected_names
from swecli.tools.sandbox import Sandbox
from tests.tools.conftest import Answers, RunTool

SECRET = "canary-4711"
INSTALLED = [
    ".venv/bin/activate",
    ".venv/lib/python3.11/site-packages/first.pth",
    "venv/bin/activate",
    "node_modules/.bin/tool",
    "packages/a/node_modules/.bin/tool",
    "lib/python/site-packages/first.pth",
    ".tox/py/bin/activate",
    ".terraform/providers/one",
]


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


@pytest.mark.parametrize("mode", ["edits", "auto"])
async def test_installed_dependencies_are_read_only_wherever_they_lie(
    run: RunTool, root: Path, permissions: Permissions, answers: Answers, mode: Mode
) -> None:
    permissions.mode = mode
    make(root, ".tox/py/pyvenv.cfg")
    files = [make(root, name) for name in INSTALLED]
    for file in files:
        name = file.relative_to(root)
        await run(
            "run_command",
            command=f"echo evil >> {name}; touch {name.parent}/new; rm {name}; mv {name.parent} x",
        )
    assert [asked.why for asked in answers.asked] == []
    assert [file.read_text() for file in files] == ["whole\n"] * len(files)
    assert [list(file.parent.iterdir()) for file in files] == [[file] for file in files]


async def test_an_empty_folder_of_dependencies_is_read_only_too(run: RunTool, root: Path) -> None:
    (root / "node_modules").mkdir()
    await run("run_command", command="echo evil > node_modules/x")
    assert list((root / "node_modules").iterdir()) == []


async def test_a_refused_installation_says_how_to_install(run: RunTool, root: Path) -> None:
    make(root, "node_modules/x/package.json")
    result = await run("run_command", command="rm -r node_modules/x")
    assert "installed dependencies (.venv, node_modules) read-only" in result.for_model
    assert "send it again with access: outside" in result.for_model


@pytest.mark.parametrize(
    "name", [".venv/.env", "node_modules/p/.env", ".terraform/terraform.tfstate", ".tox/id_rsa"]
)
async def test_secrets_among_dependencies_are_hidden(run: RunTool, root: Path, name: str) -> None:
    make(root, name, SECRET)
    folder, _, file = name.rpartition("/")
    built = f"{file[:2]}''{file[2:-1]}?"  # so that no word of the command names it
    result = await run("run_command", command=f"x={folder}; cat $x/{built}; true")
    assert SECRET not in result.for_model


async def test_program_text_and_certificates_among_dependencies_are_not_taken_for_secrets(
    run: RunTool, root: Path
) -> None:
    packages = ".venv/lib/python3.11/site-packages"
    make(root, f"{packages}/certifi/cacert.pem", "-----BEGIN CERTIFICATE-----\n")
    make(root, f"{packages}/botocore/credentials.py", "text = 1\n")
    make(root, f"{packages}/own.pem", f"-----BEGIN PRIVATE KEY-----\n{SECRET}\n")
    command = f"x={packages}; y=ow; cat $x/certifi/c* $x/botocore/c*; cat $x/${{y}}n*"
    shown = (await run("run_command", command=command)).for_model
    assert "BEGIN CERTIFICATE" in shown
    assert "text = 1" in shown
    assert SECRET not in shown


async def test_a_linked_environment_is_read_only_and_its_link_is_put_back(
    run: RunTool, root: Path
) -> None:
    file = make(root, "environments/one/bin/activate")
    (root / ".venv").symlink_to("environments/one")
    await run("run_command", command="echo evil >> .venv/bin/activate")
    await run("run_command", command="echo evil >> environments/one/bin/activate")
    assert file.read_text() == "whole\n"
    command = "rm .venv && mkdir -p .venv/bin && echo evil > .venv/bin/activate"
    result = await run("run_command", command=command)
    assert ".venv is the link to environments/one again" in result.for_model
    assert (root / ".venv/bin/activate").read_text() == "whole\n"
    assert (root / ".venv.replaced-1/bin/activate").read_text() == "evil\n"


async def test_an_environment_linked_from_outside_stays_as_it_is(run: RunTool, root: Path) -> None:
    file = make(root.parent, "outside/bin/activate")
    (root / ".venv").symlink_to("../outside")
    await run("run_command", command="echo evil >> .venv/bin/activate; rm .venv")
    assert file.read_text() == "whole\n"
    assert (root / ".venv").readlink() == Path("../outside")


async def test_what_a_command_makes_behind_a_dangling_link_is_named(
    run: RunTool, root: Path
) -> None:
    (root / "node_modules").symlink_to("later")
    result = await run("run_command", command="mkdir later && echo x > later/x")
    assert "elsewhere now: later" in result.for_model
    await run("run_command", command="echo evil > later/x")
    assert (root / "later/x").read_text() == "x\n"


async def test_a_link_to_the_whole_workspace_does_not_make_it_read_only(
    run: RunTool, root: Path
) -> None:
    (root / "node_modules").symlink_to(".")
    assert (await run("run_command", command="echo x > made")).ok


async def test_an_environment_that_a_command_makes_works_and_is_named(
    run: RunTool, root: Path
) -> None:
    command = "mkdir -p .venv/bin && echo 'echo ran' > .venv/bin/tool && sh .venv/bin/tool"
    result = await run("run_command", command=command)
    assert "ran" in result.for_model
    assert "elsewhere now: .venv" in result.for_model
    await run("run_command", command="echo evil > .venv/bin/tool")
    assert (root / ".venv/bin/tool").read_text() == "echo ran\n"


async def test_dependencies_moved_away_with_the_folder_above_are_put_back(
    run: RunTool, root: Path
) -> None:
    file = make(root, "packages/a/node_modules/.bin/tool")
    result = await run(
        "run_command",
        command="mv packages p && mkdir -p packages/a/node_modules/.bin && "
        "echo evil > packages/a/node_modules/.bin/tool",
    )
    assert "packages/a/node_modules is in its place again" in result.for_model
    assert file.read_text() == "whole\n"


async def test_a_folder_of_dependencies_may_move_with_its_project(run: RunTool, root: Path) -> None:
    make(root, "packages/a/node_modules/.bin/tool")
    assert (await run("run_command", command="mv packages p")).ok
    assert (root / "p/a/node_modules/.bin/tool").exists()
    assert not (root / "packages").exists()


async def test_nothing_is_put_back_through_a_link_to_another_folder(
    run: RunTool, root: Path
) -> None:
    (root / "a").mkdir()
    (root / "a/.venv").symlink_to("../one")
    outside = root.parent / "outside"
    outside.mkdir()
    await run("run_command", command=f"mv a b && ln -s {outside} a")
    assert list(outside.iterdir()) == []


async def test_vite_may_write_what_it_compiles_and_nobody_else_runs_it(
    run: RunTool, root: Path
) -> None:
    make(root, "node_modules/vite/package.json")
    command = "echo x > node_modules/.vite-temp/config.mjs && cat node_modules/.vite-temp/*"
    assert (await run("run_command", command=command, access="write")).ok
    assert list((root / "node_modules/.vite-temp").iterdir()) == []


@pytest.mark.parametrize(
    "name",
    [
        "AGENTS.md",
        "docs/claude.MD",
        "a/.git",
        "x.pth",
        ".env.local",
        ".github/workflows/ci.yml",
        ".github/dependabot.yaml",
        "A\u200bGENTS.md",
        "__pycache__/sitecustomize.py",
        ".vscode/settings.json",
        "p/node_modules/a/b.js",
    ],
)
def test_files_with_protected_names_are_among_those_to_be_judged_or_in_a_protected_folder(
    root: Path, name: str
) -> None:
    place = make(root, name)
    make(root, "src/ordinary.py")
    names = find_protected_names(root)
    places = {*names.folders, *(str(root / one) for one in names.judged_names)}
    assert not places.isdisjoint(map(str, (place, *place.parents)))
    assert places.isdisjoint(map(str, (root / "src/ordinary.py", root / "src", root)))


def test_a_link_to_what_runs_in_ci_is_among_the_links(root: Path) -> None:
    make(root, "elsewhere/ci.yml")
    (root / ".github").mkdir()
    (root / ".github/workflows").symlink_to("../elsewhere")
    assert find_protected_names(root).links == ((f"{root}/.github/workflows", "../elsewhere"),)


def test_very_deep_folders_are_looked_through(root: Path) -> None:
    subprocess.run(["mkdir", "-p", "d/" * 1_500 + ".venv"], cwd=root, check=True)
    [found] = find_protected_names(root).folders
    subprocess.run(["rm", "-r", "d"], cwd=root, check=True)  # pytest cannot
    assert found == f"{root}/{'d/' * 1_500}.venv"
