"""Test a stored call whose arguments are no JSON object: every later request of its session would contain them."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from swecli.config.paths import Paths
from tests.support.shell import swecli
from tests.support.strict_provider import Call, Reply, StrictProvider

NAMES = ("openai/gpt-4.1", "openai/gpt-6.1-sol", "anthropic/claude-haiku-4-5")
DAMAGED: dict[str, str | bytes] = {
    "a cut object": '{"path": "a',
    "two objects": '{"path": "a.py"}{}',
    "no JSON": "hello",
    "nothing": "",
    "bytes": b"\x00\xff",
    "a text": '"a.py"',
    "a list": '["a.py"]',
    "null": "null",
    "a number": "7",
    "a deep list": '{"path": ' + "[" * 3_000 + "]" * 3_000 + "}",
}
pytestmark = pytest.mark.slow


def damage(arguments: str | bytes) -> None:
    """Store a session with one call, and replace the call's arguments."""
    Path("a.py").write_text("x = 1\n")
    models = tuple(name.partition("/")[2] for name in NAMES)
    with StrictProvider(
        [Reply(calls=(Call("read_file", {"path": "a.py"}),)), Reply("One.")], models=models
    ) as server:
        assert swecli("-p", "read a.py", "-m", NAMES[0], environ=server.environ()).code == 0
    with closing(sqlite3.connect(Paths.find(os.environ).database)) as database, database:
        database.execute("UPDATE tool_call SET parameters = ?", (arguments,))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("kind", ["a cut object", "a text"])
def test_a_session_goes_on_after_damaged_arguments(kind: str, name: str) -> None:
    damage(DAMAGED[kind])
    models = tuple(name.partition("/")[2] for name in NAMES)
    with StrictProvider([Reply("Two.")], models=models) as server:
        result = swecli("-p", "go on", "-c", "-m", name, "--no-reflect", environ=server.environ())
    assert (result.code, result.out, server.refusals) == (0, "Two.\n", []), result.err
    assert "malformed_arguments" in server.requests[0].raw.decode()


@pytest.mark.parametrize("kind", DAMAGED)
def test_a_session_with_damaged_arguments_can_be_read_exported_and_forked(kind: str) -> None:
    damage(DAMAGED[kind])
    [session] = swecli("sessions", "list", "--json").json
    for action in (
        ("show", session["id"]),
        ("export", session["id"]),
        ("export", session["id"], "--format", "md"),
        ("export", session["id"], "--format", "html"),
        ("replay", session["id"]),
        ("fork", session["id"]),
    ):
        result = swecli("sessions", *action)
        assert result.code == 0, (action, result.err)
