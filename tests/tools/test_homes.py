"""Test what commands in the sandbox see of the home folder; with real sandboxes."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from swecli.tools.guard import Guard
from swecli.tools.path_rules import PathRule
from swecli.tools.run_inside import run_inside
from swecli.tools.sandbox import Profile, Sandbox

PATH = "/usr/local/bin:/usr/bin:/bin"


def write(path: Path, text: str = "kept to myself\n") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """Return a home folder with files of which no list has the names."""
    made = tmp_path / "home"
    write(made / ".some-program/token")
    write(made / "other project/notes")
    return made


async def output_of(
    root: Path,
    command: str,
    home: Path,
    profile: Profile = "workspace",
    guard: Guard | None = None,
    **environ: str,
) -> str:
    root.mkdir(parents=True, exist_ok=True)
    env = {"PATH": PATH, "HOME": str(home), **environ}
    sandbox = Sandbox("auto", root, env)
    if sandbox.problem:
        pytest.skip(f"no sandbox on this machine: {sandbox.problem}")
    output = bytearray()
    await run_inside(
        sandbox,
        guard or Guard(sandbox.root),
        profile,
        ["/bin/sh", "-c", command],
        env=env,
        timeout=20,
        on_output=output.extend,
    )
    sandbox.close()
    return output.decode()


@pytest.mark.parametrize("profile", ["read-only", "workspace"])
async def test_home_is_hidden_but_for_the_workspace(home: Path, profile: Profile) -> None:
    write(home / "my work/here")
    output = await output_of(home / "my work", "ls -A ..; cat here ~/*/notes", home, profile)
    assert output.startswith("my work\nkept to myself\n")
    assert output.count("kept") == 1


async def test_nothing_is_written_at_home_as_if_it_were_kept(home: Path) -> None:
    output = await output_of(home / "work", "echo x > ~/made; echo x > made", home)
    assert "Read-only file system" in output
    assert (home / "work/made").exists()


async def test_a_workspace_that_is_home_itself_is_seen(home: Path) -> None:
    write(home / ".ssh/id_rsa", "a key\n")
    output = await output_of(home, "cat 'other project/notes' .ssh/id_rsa; touch made", home)
    assert "kept to myself" in output
    assert "a key" not in output
    assert (home / "made").exists()


async def test_programs_on_the_path_at_home_are_seen_with_what_they_need(home: Path) -> None:
    write(home / "tool/words", "echo found")
    write(home / "tool/bin/greet", '#!/bin/sh\n. "$(dirname "$0")/../words"\n').chmod(0o755)
    program = write(home / ".local/bin/wave", "#!/bin/sh\necho waved\n")
    program.chmod(0o755)
    write(home / ".local/share/keyrings/login")
    path = f"{home}/tool/bin:{home}/.local/bin:{PATH}"
    output = await output_of(home / "work", "greet; wave; ls -A ~/.local", home, PATH=path)
    assert output.split() == ["found", "waved", "bin"]


async def test_git_commits_in_the_name_of_the_user(home: Path) -> None:
    write(home / ".gitconfig", "[user]\nname = Ada\nemail = ada@example.org\n")
    work = home / "work"
    subprocess.run(["git", "init", "-q", work], check=True)
    output = await output_of(work, "git commit -q --allow-empty -m x; git log --format=%an", home)
    assert output == "Ada\n"


async def test_a_package_managers_cache_is_there_and_what_is_written_to_it_is_not_kept(
    home: Path, tmp_path: Path
) -> None:
    write(home / ".cache/pip/wheel", "fetched\n")
    own = write(tmp_path / "packages/one", "fetched too\n").parent
    write(home / ".cache/browser/page")
    command = (
        "cat ~/.cache/pip/wheel $npm_config_cache/one; ls ~/.cache;"
        "for name in ~/.cache/pip/new $npm_config_cache/new; do echo x > $name; cat $name; done"
    )
    output = await output_of(home / "work", command, home, npm_config_cache=str(own))
    if "Read-only" in output:
        pytest.skip("this machine has no private overlays")
    assert output.split("\n") == ["fetched", "fetched too", "pip", "x", "x", ""]
    assert not (home / ".cache/pip/new").exists()
    assert not (own / "new").exists()


async def test_a_rule_shows_what_it_names_at_home(home: Path) -> None:
    rule = PathRule("allow", False, f"/{home}/other project/**", "read(~/other project/**)")
    guard = Guard(home / "work", [rule])
    output = await output_of(home / "work", "cat ~/*/notes; ls -A ~", home, guard=guard)
    assert output.splitlines() == ["kept to myself", "other project", "work"]
