"""Test that commands in the sandbox reach no program outside by a socket or a named pipe, by whatever path it was bound
and in whatever network, and that they reach their own."""

from __future__ import annotations

import asyncio
import os
import shutil
import socket
import subprocess
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from swecli.tools.guard import Guard
from swecli.tools.run_inside import run_inside
from swecli.tools.sandbox import Profile, Sandbox

CONNECT = "import socket, sys; socket.socket(socket.AF_UNIX).connect(sys.argv[1]); print('reached')"
LISTEN = (
    "import socket, sys; s = socket.socket(socket.AF_UNIX); s.bind(sys.argv[1]); s.listen();"
    " print('bound', flush=True); sys.stdin.read()"
)


@pytest.fixture
async def sandbox(root: Path) -> AsyncIterator[Sandbox]:
    sandbox = Sandbox("auto", root, os.environ)
    if sandbox.problem:
        pytest.skip(f"no sandbox on this machine: {sandbox.problem}")
    yield sandbox
    sandbox.close()


async def output_of(sandbox: Sandbox, *words: str, profile: Profile = "workspace") -> str:
    """Run a program of Python in the sandbox."""
    output = bytearray()
    await run_inside(
        sandbox,
        Guard(sandbox.root),
        profile,
        ["/usr/bin/env", "python3", "-c", *words],
        env=os.environ,
        timeout=20,
        on_output=output.extend,
    )
    return output.decode()


@pytest.fixture(params=["relative", "./dotted", "a name", "in/../below"])
def bound(
    request: pytest.FixtureRequest, root: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[str]:
    """Listen in the workspace, as a server does that was started there, and return the path of the socket in it."""
    (root / "in").mkdir()
    monkeypatch.chdir(root)
    is_absolute = " " in request.param
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(f"{root}/{request.param}" if is_absolute else request.param)
        server.listen()
        yield request.param


async def test_a_listener_in_the_workspace_is_not_reached(sandbox: Sandbox, bound: str) -> None:
    output = await output_of(sandbox, CONNECT, bound)
    assert "reached" not in output
    assert "Error" in output


@pytest.fixture
def elsewhere(root: Path) -> Iterator[str]:
    """Listen in the workspace from another network, as a container does on a volume, and return the socket's path."""
    unshare = shutil.which("unshare")
    python = shutil.which("python3", path="/usr/bin:/usr/local/bin")
    assert unshare
    assert python
    (root / "volume").mkdir()
    path = "volume/docker.sock"
    process = subprocess.Popen(
        [unshare, "--user", "--map-root-user", "--net", python, "-c", LISTEN, path],
        cwd=root,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    with process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"bound\n"
        yield path
        process.kill()


@pytest.mark.parametrize("profile", ["read-only", "workspace"])
async def test_a_listener_of_another_network_is_not_reached(
    sandbox: Sandbox, elsewhere: str, profile: Profile
) -> None:
    for _ in range(2):  # what was found out is not forgotten
        output = await output_of(sandbox, CONNECT, elsewhere, profile=profile)
        assert "reached" not in output
        assert "Error" in output


async def test_a_listener_of_another_network_is_not_reached_by_a_name_of_ones_own(
    sandbox: Sandbox, elsewhere: str
) -> None:
    await output_of(sandbox, CONNECT, elsewhere)
    bind_and_connect = (
        "import os, socket; os.mkdir('own'); os.mkdir('own/volume'); os.chdir('own');"
        "own = socket.socket(socket.AF_UNIX); own.bind('volume/docker.sock'); own.listen();"
        "os.chdir('..'); other = socket.socket(socket.AF_UNIX); other.connect('volume/docker.sock');"
        "print('reached')"
    )
    assert "reached" not in await output_of(sandbox, bind_and_connect)


@pytest.mark.parametrize("profile", ["read-only", "workspace"])
async def test_a_named_pipe_leads_to_no_reader_outside(
    sandbox: Sandbox, root: Path, profile: Profile
) -> None:
    os.mkfifo(root / "orders")
    descriptor = os.open(root / "orders", os.O_RDONLY | os.O_NONBLOCK)
    try:
        write = "open('orders', 'w').write('rm -rf')"
        for _ in range(2):
            await output_of(sandbox, write, profile=profile)
            assert os.read(descriptor, 100) == b""
    finally:
        os.close(descriptor)


@pytest.mark.parametrize("path", ["server.sock", "{root}/server.sock"])
async def test_a_background_command_is_reached_by_the_next_command(
    sandbox: Sandbox, root: Path, path: str
) -> None:
    bound = path.format(root=root)
    serve = (
        "import socket, sys; s = socket.socket(socket.AF_UNIX); s.bind(sys.argv[1]); s.listen();"
        "s.accept()[0].recv(1)"
    )
    job = asyncio.create_task(output_of(sandbox, serve, bound))
    while not (root / "server.sock").exists():
        await asyncio.sleep(0.02)
    assert "reached" in await output_of(sandbox, CONNECT, bound)
    await job


async def test_what_a_server_left_when_it_ended_can_be_replaced(
    sandbox: Sandbox, root: Path
) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(root / "left"))
    replace = (
        "import os, socket; os.unlink('left'); s = socket.socket(socket.AF_UNIX); s.bind('left');"
        "s.listen(); c = socket.socket(socket.AF_UNIX); c.connect('left'); print('reached')"
    )
    assert "reached" in await output_of(sandbox, replace)


async def test_a_command_makes_named_pipes_for_the_next_one(sandbox: Sandbox, root: Path) -> None:
    await output_of(sandbox, "import os; os.mkfifo('own')")
    both = (
        "import os; r = os.open('own', os.O_RDONLY | os.O_NONBLOCK); w = os.open('own', os.O_WRONLY);"
        "os.write(w, b'passed'); print(os.read(r, 9))"
    )
    assert "passed" in await output_of(sandbox, both)
    assert (root / "own").is_fifo()
