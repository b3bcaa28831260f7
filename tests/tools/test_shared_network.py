"""Test that what a job serves answers the next command, and nobody else; with real sandboxes."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from swecli.tools.base import ToolContext
from swecli.tools.permissions import Permissions
from swecli.tools.sandbox import Sandbox
from tests.tools.conftest import RunTool
from tests.tools.test_processes import has_ended

PYTHON = sys.executable
SERVER = f"""{PYTHON} -uc 'import http.server as s; h = s.HTTPServer(("127.0.0.1", 0), s.SimpleHTTPRequestHandler)
print("port", h.server_port); h.serve_forever()'"""
KILLED = """
import os, sys
from pathlib import Path
from swecli.tools.sandbox import GuardedFiles, Sandbox
sandbox = Sandbox("auto", Path(sys.argv[1]), os.environ)
sandbox.options("read-only", GuardedFiles())
print(sandbox._network._holder.pid, sandbox._network._held, flush=True)
input()
"""


@pytest.fixture(autouse=True)
def sandbox(ctx: ToolContext, root: Path, permissions: Permissions) -> Sandbox:
    """Let commands run in a sandbox without a question; skip where there is none."""
    made = Sandbox("auto", root, ctx.commands.environ)
    if made.problem:
        pytest.skip(f"no sandbox on this machine: {made.problem}")
    ctx.commands.open_sandbox = lambda: made
    permissions.mode = "edits"
    return made


async def serve(run: RunTool, ctx: ToolContext) -> int:
    """Start a server as a job. Returns its port."""
    started = await run("run_command", command=SERVER, background=True)
    assert "a browser does not: for one, start it with access: outside" in started.for_model
    [job] = ctx.commands.jobs.running
    while not (said := re.search(r"port (\d+)\n", job.text)):
        await asyncio.sleep(0.02)
    return int(said[1])


def asking(port: int) -> str:
    return f"{PYTHON} -c 'import urllib.request as r; print(r.urlopen(\"http://127.0.0.1:{port}\").status)'"


@pytest.mark.parametrize("access", ["read", "write"])
async def test_a_server_that_is_a_job_answers_the_next_command_and_nobody_outside(
    run: RunTool, ctx: ToolContext, access: str
) -> None:
    port = await serve(run, ctx)
    result = await run("run_command", command=asking(port), access=access)
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port), timeout=5)
    await ctx.commands.jobs.close()
    assert "200" in result.for_model


async def test_a_server_of_this_machine_does_not_answer_and_the_result_says_so(
    run: RunTool,
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        result = await run("run_command", command=f"{asking(port)} || true")
    assert result.ok, "the hint does not depend on the exit code"
    assert "on 127.0.0.1 only what this session serves answers" in result.for_model


async def test_a_refused_connection_is_told_whatever_the_program_prints(run: RunTool) -> None:
    silent = "import socket; print(socket.socket().connect_ex(('127.0.0.1', 9)))"
    refused = await run("run_command", command=f'{PYTHON} -c "{silent}"')
    other = await run("run_command", command="echo 111; exit 1")
    assert "on 127.0.0.1 only what this session serves answers" in refused.for_model
    assert "127.0.0.1" not in other.for_model


async def test_a_network_whose_holder_was_killed_is_made_anew(
    run: RunTool, ctx: ToolContext, sandbox: Sandbox
) -> None:
    await run("run_command", command="true")
    assert sandbox._network is not None
    os.kill(sandbox._network._held, signal.SIGKILL)
    assert await has_ended(sandbox._network._held)
    port = await serve(run, ctx)
    result = await run("run_command", command=asking(port))
    await ctx.commands.jobs.close()
    assert "200" in result.for_model


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
async def test_the_network_ends_with_the_session_however_that_ends(
    root: Path, number: signal.Signals
) -> None:
    with subprocess.Popen(
        [PYTHON, "-c", KILLED, str(root)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as session:
        assert session.stdout is not None
        held = [int(word) for word in session.stdout.readline().split()]
        session.send_signal(number)
    assert [await has_ended(pid) for pid in held] == [True, True]


async def test_where_no_program_enters_a_network_each_command_has_a_loopback_of_its_own(
    root: Path, tmp_path: Path
) -> None:
    alone = Sandbox("auto", root, {"PATH": str(tmp_path)})
    assert "each command has a loopback of its own (nsenter is not installed)" in alone.describe()
    assert not alone.has_shared_network
