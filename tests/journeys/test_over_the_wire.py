"""Test the whole journey in a real terminal, through litellm, against strict servers of both protocols."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.conversation import Conversation
from tests.support.project import make_project
from tests.support.strict_provider import (
    Call,
    Received,
    Refusal,
    Reply,
    StrictProvider,
    Tokens,
    Wire,
)
from tests.support.strict_provider.script import Script
from tests.support.strict_provider.server import ANTHROPIC_MODEL, OPENAI_MODEL

ROOT = Path(__file__).parents[2]
MODELS = [f"openai/{OPENAI_MODEL}", f"anthropic/{ANTHROPIC_MODEL}"]
pytestmark = [pytest.mark.slow, pytest.mark.parametrize("model", MODELS)]


def tool_results(body: dict) -> list[str]:  # type: ignore[type-arg]
    """Return the tool results in a request of either protocol, in order."""
    found = []
    for message in body["messages"]:
        if message["role"] == "tool":
            found.append(str(message["content"]))
        elif isinstance(message.get("content"), list):
            found += [
                str(part["content"])
                for part in message["content"]
                if part.get("type") == "tool_result"
            ]
    return found


def script_answers(script: list[Reply]) -> Callable[[Received], Reply]:
    """Answer requests with tools from the script, and reflections (which have no tools) with an empty result."""
    steps = iter(script)
    return lambda request: (
        next(steps) if request.body.get("tools") else Reply('{"strategies": [], "lessons": []}')
    )


def turn_requests(server: StrictProvider) -> list[dict]:  # type: ignore[type-arg]
    """Return the requests of the user's turns, without reflections."""
    return [body for body in server.bodies if body.get("tools")]


def start_conversation(
    server: StrictProvider, model: str, project: Path, *flags: str
) -> Conversation:
    env = {**server.environ(), "NO_COLOR": "1", "PYTHONPATH": str(ROOT)}
    return Conversation((sys.executable, "-m", "swecli", "-m", model, *flags), env=env, cwd=project)


def test_a_turn_with_an_approved_edit_and_a_refused_command_is_resumed_later(
    model: str, tmp_path: Path
) -> None:
    project = make_project(tmp_path / "shop")
    new = {"old_text": "TAX = 0.19", "new_text": "TAX = 0.21"}
    script = [
        Reply(
            "Both at once.",
            calls=(
                Call("read_file", {"path": "shop/prices.py"}),
                Call("search_files", {"pattern": "TAX", "path": "shop"}),
            ),
        ),
        Reply(calls=(Call("edit_file", {"path": "shop/prices.py", "edits": [new]}),)),
        Reply(calls=(Call("run_command", {"command": "rm -rf shop"}),)),
        Reply(
            "The tax is **0.21** now; nothing was removed.", usage=Tokens(input=900, cache_read=100)
        ),
        Reply("We changed the tax."),
    ]
    with StrictProvider(script_answers(script)) as server:
        with start_conversation(server, model, project) as terminal:
            terminal.wait(r"^>")
            terminal.line("raise the tax to 21 %")
            terminal.wait("Answer with a number")
            terminal.child.send("1")
            terminal.wait("rm -rf shop")
            terminal.wait(r"rm -rf shop[\s\S]*Answer with a number")
            terminal.child.send("3")
            terminal.wait("nothing was removed")
            terminal.settle()
            terminal.line("/exit")
            assert terminal.wait_for_exit() == 0
        assert "TAX = 0.21" in (project / "shop/prices.py").read_text()
        assert (project / "shop").is_dir()
        assert server.refusals == []
        together = tool_results(turn_requests(server)[1])
        assert len(together) == 2
        assert "def gross" in together[0]
        assert "TAX" in together[1]
        assert len(server.bodies) == 4, "the user has not reacted yet"
        assert "refused" in tool_results(turn_requests(server)[3])[-1].lower()
        with start_conversation(server, model, project, "-c") as terminal:
            terminal.wait(r"^>")
            terminal.line("what did we do?")
            terminal.wait("We changed the tax")
            terminal.settle()
        assert server.refusals == []
        asked = [body for body in server.bodies if not body.get("tools")]
        assert len(asked) == 1, "a refusal is friction: the model was asked to reflect, once"
        assert "what did we do?" in str(asked), "after the next turn, with the reaction"
        assert "raise the tax to 21 %" in str(turn_requests(server)[4])


def test_a_stream_cut_in_half_is_retried_and_reported(model: str, tmp_path: Path) -> None:
    project = make_project(tmp_path / "shop")
    script: Script = [
        Reply("half an answer that is cut", wire=Wire(broken_at=400)),
        Reply("the whole answer"),
    ]
    with StrictProvider(script) as server, start_conversation(server, model, project) as terminal:
        terminal.wait(r"^>")
        terminal.line("hello")
        terminal.wait("retry|again")
        terminal.wait("the whole answer")
        assert len(server.requests) == 2
    assert server.refusals == []


def run_headless(
    server: StrictProvider, model: str, project: Path, *flags: str
) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "swecli", "-p", "hello", "-m", model, *flags]
    env = {**os.environ, **server.environ(), "PYTHONPATH": str(ROOT)}
    return subprocess.run(
        command, cwd=project, env=env, capture_output=True, text=True, stdin=subprocess.DEVNULL
    )


@pytest.mark.parametrize(
    ("refusal", "code", "message"),
    [
        (Refusal(401), 1, "key"),
        (Refusal(404, "no such model"), 42, "model"),
        (Refusal(429, headers={"retry-after": "120"}), 75, "rate limit"),
    ],
    ids=["401", "404", "429"],
)
def test_an_http_error_is_reported_in_one_line_with_an_exit_code(
    model: str, refusal: Refusal, code: int, message: str, tmp_path: Path
) -> None:
    project = make_project(tmp_path / "shop")
    with StrictProvider(lambda request: refusal) as server:
        done = run_headless(server, model, project)
    assert done.returncode == code
    assert done.stdout == ""
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    assert len([line for line in done.stderr.splitlines() if line.startswith("swecli:")]) == 1


def test_an_unreachable_server_is_named_and_exits_with_75(model: str, tmp_path: Path) -> None:
    project = make_project(tmp_path / "shop")
    with StrictProvider([]) as server:
        pass  # The server is closed.
    done = run_headless(server, model, project, "--output-format", "json")
    assert done.returncode == 75
    assert str(server.port) in done.stdout
    assert '"is_error": true' in done.stdout
