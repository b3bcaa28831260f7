"""Test that swecli starts no program that a command can replace, and that commands cannot write where it runs from."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import venv
from pathlib import Path

import pytest

from swecli.tools.own_programs import find_program, find_ripgrep
from swecli.tools.sandbox import Sandbox

REPOSITORY = Path(__file__).resolve().parents[2]

# Runs a command in the sandbox of the folder it is started in, and prints what swecli says of itself.
PROGRAM = """
import asyncio, json, os, sys
from pathlib import Path
from swecli.tools.guard import Guard
from swecli.tools.own_programs import find_ripgrep, own_link
from swecli.tools.run_inside import run_inside
from swecli.tools.sandbox import Sandbox

root = Path.cwd()
sandbox = Sandbox("auto", root, os.environ)
if sandbox.is_active:
    argv = ["/bin/sh", "-c", sys.argv[1]]
    guard = Guard(sandbox.root)
    asyncio.run(run_inside(sandbox, guard, "workspace", argv, env=os.environ, timeout=20, on_output=print))
print(json.dumps({
    "problem": sandbox.problem, "link": own_link(root), "ripgrep": find_ripgrep(os.environ, root),
    "asks": Guard(root).judge("source/swecli/app.py").write_reason,
    "free": Guard(root).judge("source/x.py").write_reason,
}))
"""


def make_program(path: Path, script: str = "#!/bin/sh\n") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(script)
    path.chmod(0o755)
    return path


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Create a workspace with swecli in an environment of its own there, and its source beside it."""
    root = tmp_path / "project"
    root.mkdir()
    venv.create(root / "env", symlinks=True)
    packages = next((root / "env").glob("lib/python*/site-packages"))
    shutil.copytree(REPOSITORY / "swecli", root / "source/swecli")
    others = next(path for path in sys.path if path.endswith("site-packages"))
    (packages / "here.pth").write_text(f"{root}/source\n{others}\n")
    make_program(root / "env/bin/rg")
    return root


def install_whole(project: Path) -> Path:
    """Move the source of swecli into its environment, as a wheel is installed. Returns its folder of packages."""
    packages = next((project / "env").glob("lib/python*/site-packages"))
    (project / "source/swecli").rename(packages / "swecli")
    return packages


def run_in(root: Path, python: str, command: str) -> dict[str, str]:
    done = subprocess.run(
        [root / python, "-I", "-c", PROGRAM, command],
        cwd=root,
        capture_output=True,
        text=True,
        check=True,
    )
    found: dict[str, str] = json.loads(done.stdout.splitlines()[-1])
    if found["problem"] and not found["link"]:
        pytest.skip(f"no sandbox on this machine: {found['problem']}")
    return found


def test_a_command_cannot_replace_swecli_in_an_environment_of_the_workspace(project: Path) -> None:
    packages = next((project / "env").glob("lib/python*/site-packages"))
    found = run_in(
        project,
        "env/bin/python",
        f"echo evil > env/bin/rg; echo evil > {packages}/evil.pth; echo evil >> env/bin/python;"
        "echo evil > source/swecli/app.py; mv source x; mv env y; echo fine > source/new.py",
    )
    assert found["ripgrep"] == f"{project}/env/bin/rg"
    assert (project / "env/bin/rg").read_text() == "#!/bin/sh\n"
    assert not (packages / "evil.pth").exists()
    assert "evil" not in (project / "source/swecli/app.py").read_text()
    assert (project / "source/new.py").read_text() == "fine\n"
    assert "swecli runs from there" in found["asks"]
    assert found["free"] == ""


def test_a_command_cannot_write_beside_swecli_where_all_of_it_lies_in_the_workspace(
    project: Path,
) -> None:
    packages = install_whole(project)
    run_in(
        project,
        "env/bin/python",
        f"cd {packages}; echo evil > evil.pth; echo evil > ../evil.py; echo evil > ../../evil; mkdir evil;"
        "echo evil > swecli/evil.py; mv swecli x; echo evil > $OLDPWD/env/bin/evil",
    )
    assert not list(project.rglob("evil*"))
    assert (packages / "swecli").is_dir()


def test_a_command_cannot_write_between_dependencies_and_an_environment_in_them(
    project: Path,
) -> None:
    (project / "node_modules/deep").mkdir(parents=True)
    (project / "env").rename(project / "node_modules/deep/env")
    run_in(
        project,
        "node_modules/deep/env/bin/python",
        "echo evil > node_modules/evil; echo evil > node_modules/deep/evil; mv node_modules x",
    )
    assert not list(project.rglob("evil"))
    assert (project / "node_modules/deep/env").is_dir()


def test_swecli_that_runs_through_a_link_in_the_workspace_has_no_sandbox(project: Path) -> None:
    (project / "env").rename(project / "real")
    (project / "env").symlink_to("real")
    found = run_in(project, "env/bin/python", "true")
    assert found["problem"].startswith(f"swecli runs through the link {project}/env")


@pytest.mark.parametrize("is_inside", [True, False])
def test_ripgrep_behind_a_link_that_a_command_can_replace_is_not_started(
    project: Path, tmp_path: Path, is_inside: bool
) -> None:
    real = project / "real" if is_inside else tmp_path / "elsewhere"
    (project / "env").rename(real)
    (project / "env").symlink_to(real)
    ripgrep = run_in(project, "env/bin/python", "true")["ripgrep"]
    assert ripgrep is None or not ripgrep.startswith(str(tmp_path))


def test_a_folder_of_the_path_behind_a_link_in_the_workspace_is_passed_over(
    root: Path, tmp_path: Path
) -> None:
    make_program(tmp_path / "outside/bin/tool")
    (root / "env").symlink_to(tmp_path / "outside")
    assert find_program("tool", {"PATH": f"{root}/env/bin"}, root) is None
    outside = f"{tmp_path}/outside/bin"
    assert find_program("tool", {"PATH": f"{root}/env/bin:{outside}"}, root) == f"{outside}/tool"


def test_programs_in_the_workspace_are_not_found(root: Path, tmp_path: Path) -> None:
    inside, outside = root / "bin", tmp_path / "tools"
    for folder in (inside, outside):
        folder.mkdir()
        (folder / "rg").write_text("#!/bin/sh\n")
        (folder / "rg").chmod(0o755)
    (tmp_path / "alias").symlink_to(inside)
    path = f".::{inside}:{tmp_path / 'alias'}"
    assert find_program("rg", {"PATH": path}, root) is None
    assert find_program("rg", {"PATH": f"{path}:{outside}"}, root) == str(outside / "rg")
    assert find_program("rg", {"PATH": ""}, root) is None


@pytest.mark.parametrize("steps", [1, 2])
def test_a_program_behind_a_link_in_the_workspace_is_not_started(
    root: Path, tmp_path: Path, steps: int
) -> None:
    real = make_program(tmp_path / "outside/tool")
    (root / "bin").mkdir()
    (root / "bin/tool").symlink_to(real)
    folder = root / "bin"
    if steps == 2:
        folder = tmp_path / "links"
        folder.mkdir()
        (folder / "tool").symlink_to(root / "bin/tool")
    assert find_program("tool", {"PATH": str(folder)}, root) is None


def test_ripgrep_beside_the_interpreter_is_the_usual_one(root: Path) -> None:
    assert find_ripgrep(os.environ, root) == str(Path(sys.prefix, "bin", "rg"))


def test_the_line_on_the_sandbox_names_what_swecli_runs_from() -> None:
    sandbox = Sandbox("auto", REPOSITORY, os.environ)
    if sandbox.problem:
        pytest.skip(f"no sandbox on this machine: {sandbox.problem}")
    assert "swecli, from which swecli runs" in sandbox.describe()
