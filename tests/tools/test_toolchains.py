"""Test that commands in the sandbox find the programs that are in use, also where they would see something else; with
real sandboxes."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from swecli.tools.guard import Guard
from swecli.tools.run_inside import run_inside
from swecli.tools.sandbox import Sandbox
from swecli.tools.toolchains import toolchains_below

PLACES = ("/tmp", "/var/tmp", "/dev/shm")
PATH = "/usr/local/bin:/usr/bin:/bin"


@pytest.fixture(params=PLACES)
def place(request: pytest.FixtureRequest) -> Iterator[Path]:
    """Create a folder where a command in the sandbox sees a folder of its own."""
    if not os.access(request.param, os.W_OK):
        pytest.skip(f"{request.param} cannot be written")
    with TemporaryDirectory(dir=request.param) as name:
        yield Path(name)


def make_program(path: Path, script: str = "#!/bin/sh\necho found\n") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(script)
    path.chmod(0o755)
    return path


async def output_of(root: Path, command: str, **environ: str) -> str:
    env = {"PATH": PATH, **environ}
    sandbox = Sandbox("auto", root, env)
    if sandbox.problem:
        pytest.skip(f"no sandbox on this machine: {sandbox.problem}")
    output = bytearray()
    argv = ["/bin/sh", "-c", command]
    await run_inside(
        sandbox,
        Guard(sandbox.root),
        "workspace",
        argv,
        env=env,
        timeout=20,
        on_output=output.extend,
    )
    return output.decode()


async def test_programs_behind_links_on_the_path_are_seen(
    root: Path, place: Path, tmp_path: Path
) -> None:
    make_program(
        place / "tool/bin/greet", '#!/bin/sh\n. "$(dirname "$(readlink -f "$0")")/../words"\n'
    )
    (place / "tool/words").write_text("echo found\n")
    links = tmp_path / "links"
    links.mkdir()
    (links / "greet").symlink_to(place / "tool/bin/greet")
    assert await output_of(root, "greet", PATH=f"{links}:{PATH}") == "found\n"


async def test_a_toolchain_that_a_variable_names_is_seen_and_cannot_be_changed(
    root: Path, place: Path
) -> None:
    program = make_program(place / "jdk/bin/java")
    command = "$JAVA_HOME/bin/java; echo x > $JAVA_HOME/bin/java"
    assert "found" in await output_of(root, command, JAVA_HOME=str(place / "jdk"))
    assert "found" in program.read_text()


async def test_an_environment_here_whose_interpreter_lies_there_works(
    root: Path, place: Path
) -> None:
    base = place / "python/bin"
    base.mkdir(parents=True)
    shutil.copy(os.path.realpath("/bin/sh"), base / "python3")
    (root / ".venv/bin").mkdir(parents=True)
    (root / ".venv/pyvenv.cfg").write_text(f"home = {base}\n")
    (root / ".venv/bin/python").symlink_to(base / "python3")
    assert await output_of(root, ".venv/bin/python -c 'echo found'") == "found\n"


async def test_a_linked_environment_that_lies_there_works(root: Path, place: Path) -> None:
    make_program(place / "one/bin/tool")
    (place / "one/pyvenv.cfg").touch()
    (root / ".venv").symlink_to(place / "one")
    assert await output_of(root, ".venv/bin/tool") == "found\n"


async def test_nothing_else_of_that_place_is_seen(root: Path, place: Path) -> None:
    make_program(place / "bin/tool")
    make_program(place / "private/python/key")
    (root / ".venv/bin").mkdir(parents=True)
    (root / ".venv/bin/python").symlink_to(place / "private/python/key")
    (root / ".venv/pyvenv.cfg").touch()
    shown = await output_of(
        root, f"ls {place.parent} {place}/private", PATH=f"{root}/.venv/bin:{PATH}"
    )
    assert place.name not in shown.splitlines()
    assert "key" not in shown.splitlines()


def test_the_interpreter_of_swecli_is_among_them(root: Path) -> None:
    prefix = os.path.realpath(sys.prefix)
    assert prefix in toolchains_below((str(Path(prefix).parent),), root, {})


def test_the_folder_of_a_users_sockets_is_not(root: Path) -> None:
    found = toolchains_below(("/run",), root, {"PATH": "/run/user/1000/bin"})
    assert found == ("/run/user/1000/bin",)


def test_a_folder_that_holds_a_home_is_not(root: Path, tmp_path: Path) -> None:
    home = tmp_path / "people/ana"
    home.mkdir(parents=True)
    places = (str(tmp_path), str(home))
    environ = {"HOME": str(home), "PATH": f"{home.parent}/bin", "GOPATH": str(home.parent)}
    found = toolchains_below(places, root, environ)
    assert f"{home.parent}/bin" in found
    assert str(home.parent) not in found
