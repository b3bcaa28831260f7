"""Test that commands in the sandbox reach no program by a socket, by whatever path it was bound."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from swecli.tools.guard import Guard
from swecli.tools.run_inside import run_inside
from swecli.tools.sandbox import Sandbox

CONNECT = "import socket, sys; socket.socket(socket.AF_UNIX).connect(sys.argv[1]); print('reached')"


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


async def test_a_listener_in_the_workspace_is_not_reached(root: Path, bound: str) -> None:
    sandbox = Sandbox("auto", root, os.environ)
    if sandbox.problem:
        pytest.skip(f"no sandbox on this machine: {sandbox.problem}")
    output = bytearray()
    await run_inside(
        sandbox,
        Guard(sandbox.root),
        "workspace",
        ["/usr/bin/env", "python3", "-c", CONNECT, bound],
        env=os.environ,
        timeout=20,
        on_output=output.extend,
    )
    assert b"reached" not in output
    assert b"Error" in output
