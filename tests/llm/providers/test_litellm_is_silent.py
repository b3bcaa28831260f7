"""Test in whole processes that litellm prints nothing, and that only the request leaves the machine."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.strict_provider import Refusal, Reply, StrictProvider, Wire
from tests.support.strict_provider.script import Script

ROOT = Path(__file__).resolve().parents[3]
PROGRAM = """
import asyncio, os, sys

def guard(event, args):
    if event == "socket.getaddrinfo" and args[0] not in ("127.0.0.1", b"127.0.0.1", None):
        os.write(2, f"looked up {args[0]!r}".encode()); os._exit(9)
    if event == "socket.connect" and isinstance(args[1], tuple) and args[1][0] != "127.0.0.1":
        os.write(2, f"connected to {args[1]!r}".encode()); os._exit(9)

sys.addaudithook(guard)
from swecli.config.settings import Settings
from swecli.llm.registry import make_model
from swecli.models.errors import SwecliError
from swecli.models.message import ModelRequest
from swecli.models.message import ToolSpec

TOOLS = [ToolSpec("f", "Does.", {"type": "object", "properties": {}})]
MESSAGES = [{"role": "system", "content": "s"}, {"role": "user", "content": "hi"}]

async def main():
    outcomes = []
    for name in sys.argv[1:]:
        try:
            async for _ in make_model(name, Settings(), os.environ).stream(ModelRequest(name, MESSAGES, TOOLS)):
                pass
            outcomes.append("ok")
        except SwecliError as error:
            outcomes.append(type(error).__name__)
    return outcomes

outcomes = asyncio.run(main())
with open("outcomes", "w") as out:
    out.write(" ".join(outcomes))
"""


def run(
    server: StrictProvider, tmp_path: Path, *names: str, **more: str
) -> tuple[int, str, str, str]:
    environ = {k: v for k, v in os.environ.items() if not k.startswith(("LITELLM_", "TIKTOKEN_"))}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *names],
        cwd=tmp_path,
        env=environ | server.environ() | {"PYTHONPATH": str(ROOT)} | more,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    outcomes = tmp_path / "outcomes"
    return (
        done.returncode,
        done.stdout,
        done.stderr,
        outcomes.read_text() if outcomes.exists() else "",
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    "more", [{}, {"LITELLM_LOG": "DEBUG"}], ids=["as it is", "with the library's debug wish"]
)
def test_answers_and_failures_print_nothing_and_connect_only_to_the_provider(
    tmp_path: Path, more: dict[str, str]
) -> None:
    answers: list[Reply | Refusal] = [
        Reply("Hello"),
        Refusal(401, "bad key"),
        Refusal(500, "broken"),
        Reply("Hello there, all of you", wire=Wire(reset_at=700)),
        Reply("Hello", usage=None),
        Reply("Hello", finish=None),
    ]
    twice: Script = [answer for answer in answers for _ in range(2)]
    names = ["openai/gpt-4.1", "anthropic/claude-haiku-4-5"] * len(answers)
    with StrictProvider(twice) as server:
        code, out, err, outcomes = run(
            server, tmp_path, *names, "openai/nonesuch", "anthropic/nonesuch", **more
        )
    assert (code, out, err) == (0, "", "")
    assert outcomes == (
        "ok ok AuthFailed AuthFailed Unavailable Unavailable Unavailable Unavailable ok ok Unavailable Unavailable "
        "ModelNotFound ModelNotFound"
    )
    assert len(server.requests) == len(names) + 2
