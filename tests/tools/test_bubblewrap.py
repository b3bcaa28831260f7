"""Test which program makes the sandbox, and what is said where none can; with real sandboxes, and programs that fail in
the words of bubblewrap."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from swecli.models.errors import ToolError
from swecli.tools import bubblewrap
from swecli.tools.base import ToolContext
from swecli.tools.bubblewrap import find_bubblewrap, forbidden_by_kernel
from swecli.tools.permissions import Permissions
from swecli.tools.sandbox import Sandbox
from tests.tools.conftest import Answers, make_run
from tests.tools.test_homes import output_of, write

# what AppArmor on Ubuntu 24.04, a kernel without user namespaces, and a container refuse
REFUSALS = [
    "setting up uid map: Permission denied",
    "loopback: Failed RTM_NEWADDR: Operation not permitted",
    "No permissions to create a new namespace",
    "Can't mount proc on /newroot/proc: Operation not permitted",
]
WITHOUT_NETWORKS = """
import os, sys
from pathlib import Path
from swecli.tools.sandbox import Sandbox
Path("/proc/sys/user/max_net_namespaces").write_text("0")
print(Sandbox("auto", Path(sys.argv[1]), os.environ).describe())
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    made = tmp_path / "work"
    made.mkdir(exist_ok=True)
    return made


@pytest.fixture
def real(root: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the program that makes sandboxes on this machine, where nothing else finds one any more."""
    program = find_bubblewrap(os.environ, root).program
    if program is None:
        pytest.skip("no sandbox on this machine")
    monkeypatch.setattr(bubblewrap, "_SYSTEM", Path("/nowhere/bwrap"))
    monkeypatch.setattr(bubblewrap, "_packaged", list)
    return program


def failing(folder: Path, error: str) -> Path:
    """Make a bwrap that fails with an error."""
    program = write(folder / "bwrap", f'#!/bin/sh\necho "bwrap: {error}" >&2\nexit 1\n')
    program.chmod(0o755)
    return program


def lacking(folder: Path, option: str, real: Path, error: str = "Unknown option $word") -> Path:
    """Make a bwrap that fails where it gets an option: that it is too old for, or that the kernel refuses with an
    error."""
    text = f"""#!/bin/sh
for word; do [ "$word" = {option} ] && {{ echo "bwrap: {error}" >&2; exit 1; }}; done
exec {real} "$@"
"""
    program = write(folder / "bwrap", text)
    program.chmod(0o755)
    return program


@pytest.mark.parametrize("error", REFUSALS)
def test_what_the_kernel_refuses_is_said_in_one_line(
    root: Path, tmp_path: Path, real: Path, error: str
) -> None:
    program = failing(tmp_path / "bin", error)
    sandbox = Sandbox("required", root, {"PATH": str(program.parent)})
    assert not sandbox.is_active
    assert f"{program} cannot make one: {error}" in sandbox.describe()
    assert error in sandbox.refusal
    assert "\n" not in sandbox.describe()


def test_where_no_program_is_there_the_line_says_how_to_install_it(root: Path, real: Path) -> None:
    described = Sandbox("auto", root, {"PATH": "/nowhere"}).describe()
    assert "bubblewrap is not installed: install it as your system does" in described


def test_a_real_kernel_that_makes_no_more_namespaces_has_no_sandbox(root: Path) -> None:
    unshare = shutil.which("unshare")
    if unshare is None:
        pytest.skip("unshare is not installed")
    words = [
        unshare,
        "--user",
        "--map-root-user",
        sys.executable,
        "-c",
        WITHOUT_NETWORKS,
        str(root),
    ]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"no user namespaces on this machine: {done.stderr}")
    assert done.stdout.startswith("none, so commands run as you, after you allow them (")
    assert "cannot make one: Creating new namespace failed" in done.stdout


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("kernel/apparmor_restrict_unprivileged_userns", "1"),
        ("kernel/unprivileged_userns_clone", "0"),
        ("user/max_user_namespaces", "0"),
    ],
)
def test_a_setting_of_the_kernel_that_forbids_sandboxes_is_named(
    root: Path,
    tmp_path: Path,
    real: Path,
    monkeypatch: pytest.MonkeyPatch,
    setting: str,
    value: str,
) -> None:
    settings = tmp_path / "sys"
    for other in ("kernel/unprivileged_userns_clone", "user/max_user_namespaces"):
        write(settings / other, "15000\n")
    assert forbidden_by_kernel(settings) == ""
    write(settings / setting, f"{value}\n")
    monkeypatch.setattr(bubblewrap, "KERNEL_SETTINGS", settings)
    program = failing(tmp_path / "bin", REFUSALS[0])
    problem = find_bubblewrap({"PATH": str(program.parent)}, root).problem
    assert f"{REFUSALS[0]}; {setting.replace('/', '.')} is {value}: " in problem


@pytest.mark.parametrize("option", ["--perms", "--json-status-fd", "--overlay-src"])
def test_the_next_program_is_taken_where_the_first_is_too_old(
    root: Path, tmp_path: Path, real: Path, monkeypatch: pytest.MonkeyPatch, option: str
) -> None:
    monkeypatch.setattr(bubblewrap, "_SYSTEM", lacking(tmp_path / "system", option, real))
    monkeypatch.setattr(bubblewrap, "_packaged", lambda: [real])
    assert find_bubblewrap({"PATH": "/nowhere"}, root).program == real


@pytest.mark.parametrize(
    ("option", "error"),
    [
        ("--overlay-src", "Unknown option --overlay-src"),
        ("--tmp-overlay", "Can't make overlay mount on /newroot/etc: No such device"),
    ],
)
async def test_without_overlays_caches_are_read_only_and_that_is_said(
    tmp_path: Path, real: Path, option: str, error: str
) -> None:
    home = tmp_path / "home"
    write(home / ".cache/pip/wheel", "fetched\n")
    program = lacking(tmp_path / "bin", option, real, error)
    path = f"{program.parent}:/usr/bin:/bin"
    said = Sandbox("auto", home / "work", {"PATH": path, "HOME": str(home)}).describe()
    assert said.endswith(f"caches of package managers are read-only ({error})")
    output = await output_of(
        home / "work", "cat ~/.cache/pip/wheel; echo x > ~/.cache/pip/new", home, PATH=path
    )
    assert output.startswith("fetched\n")
    assert "Read-only file system" in output


async def test_a_sandbox_that_is_refused_later_runs_no_command(
    root: Path, tmp_path: Path, real: Path
) -> None:
    # which no probe has, as if the system had forbidden sandboxes after the first one
    program = lacking(tmp_path / "bin", "--chdir", real, REFUSALS[0])
    path = f"{program.parent}:/usr/bin:/bin"
    with pytest.raises(ToolError, match=f"was not run, because no sandbox .*: {REFUSALS[0]}"):
        await output_of(root, "touch ran", tmp_path, PATH=path)
    assert list(root.iterdir()) == []


async def test_in_edits_a_command_without_a_sandbox_is_a_question(
    ctx: ToolContext, answers: Answers, root: Path, tmp_path: Path, real: Path
) -> None:
    program = failing(tmp_path / "bin", REFUSALS[0])
    sandbox = Sandbox("auto", root, {"PATH": f"{program.parent}:/usr/bin:/bin"})
    ctx.commands.open_sandbox = lambda: sandbox
    answers.decision = replace(answers.decision, allow=False)
    await make_run(ctx, Permissions("edits"), answers)("run_command", command="touch ran")
    assert len(answers.asked) == 1
    assert list(root.iterdir()) == []


def test_a_network_that_cannot_be_shared_is_told_with_the_reason(
    root: Path, tmp_path: Path, real: Path
) -> None:
    program = lacking(tmp_path / "bin", "--info-fd", real)
    sandbox = Sandbox("auto", root, {"PATH": f"{program.parent}:/usr/bin:/bin"})
    assert "a loopback of its own (Unknown option --info-fd)" in sandbox.describe()
    sandbox.close()
