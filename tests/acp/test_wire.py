"""Test the lines that `swecli acp` reads and writes, byte by byte."""

from __future__ import annotations

import json
import signal
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.support.editor import find_processes
from tests.support.shell import COMMAND, environment, script, swecli

pytestmark = pytest.mark.slow
_PATIENCE = 60.0  # seconds, of a loaded machine


@dataclass
class RawEditor:
    """The pipes of a process. `errors` is what it wrote to stderr, once it has ended."""

    process: subprocess.Popen[bytes]
    errors: list[bytes] = field(default_factory=list)

    def write(self, line: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(line + b"\n")
        self.process.stdin.flush()

    def send(self, **message: Any) -> None:
        self.write(json.dumps({"jsonrpc": "2.0", **message}).encode())

    def read(self) -> Any:
        """Return the next line, which has to be JSON."""
        assert self.process.stdout is not None
        return json.loads(self.process.stdout.readline())

    def read_answer(self, number: int | None) -> Any:
        """Return the answer to a request, None for one to a line without any, and pass over updates before it."""
        while True:
            message = self.read()
            if "method" not in message and message["id"] == number:
                return message

    def begin_session(self) -> str:
        folder = str(Path.cwd())
        self.send(id=1, method="session/new", params={"cwd": folder, "mcpServers": []})
        return str(self.read_answer(1)["result"]["sessionId"])

    def begin_turn(self, session: str, text: str) -> None:
        prompt = [{"type": "text", "text": text}]
        self.send(id=2, method="session/prompt", params={"sessionId": session, "prompt": prompt})

    def wait_for(self, kind: str) -> Any:
        """Return the next update of a kind."""
        while True:
            message = self.read()
            update = message.get("params", {}).get("update", {})
            if update.get("sessionUpdate") == kind:
                return update

    def vanish(self) -> None:
        """Close all pipes, as the end of a killed editor does."""
        for pipe in (self.process.stdin, self.process.stdout):
            assert pipe is not None
            pipe.close()


@contextmanager
def raw_editor(*flags: str) -> Iterator[RawEditor]:
    """Start `swecli acp`, and wait for its end behind the block."""
    process = subprocess.Popen(
        [*COMMAND, "acp", *flags],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(),
    )
    editor = RawEditor(process)
    assert process.stderr is not None
    reader = threading.Thread(target=lambda: editor.errors.extend(process.stderr or ()))
    reader.start()
    try:
        yield editor
        assert process.stdin is not None
        process.stdin.close()
        process.wait(_PATIENCE)
    finally:
        process.kill()
        reader.join()
        for pipe in (process.stdin, process.stdout, process.stderr):
            if pipe is not None:
                pipe.close()
    assert b"Traceback" not in b"".join(editor.errors), editor.errors


@pytest.mark.parametrize(
    ("line", "number", "code"),
    [
        (b"hello", None, -32700),
        (b"{", None, -32700),
        (b"[" * 20_000, None, -32700),
        (b"\xff\xfe", None, -32700),
        (b"[1, 2]", None, -32600),
        (b"7", None, -32600),
        (b'{"jsonrpc": "2.0", "id": 5, "method": ["a"]}', None, -32600),
        (b'{"jsonrpc": "2.0", "id": 5, "method": "no/such"}', 5, -32601),
        (b'{"jsonrpc": "2.0", "id": 6, "method": "session/new"}', 6, -32602),
        (b'{"jsonrpc": "2.0", "id": 7, "method": "session/new", "params": {"cwd": 7}}', 7, -32602),
        (
            b'{"jsonrpc": "2.0", "id": 8, "method": "session/new", "params": {"cwd": "a", "mcpServers": []}}',
            8,
            -32602,
        ),
        (
            b'{"jsonrpc": "2.0", "id": 9, "method": "session/prompt", "params": {"sessionId": "x", "prompt": []}}',
            9,
            -32002,
        ),
    ],
)
def test_a_line_that_cannot_be_used_is_answered_and_the_next_one_works(
    line: bytes, number: int | None, code: int
) -> None:
    with raw_editor("-m", script("s.json", "Hello.")) as editor:
        editor.write(line)
        answer = editor.read_answer(number)
        assert answer["error"]["code"] == code
        assert answer["error"]["message"]
        editor.send(id=1, method="initialize", params={"protocolVersion": 99})
        assert editor.read_answer(1)["result"]["protocolVersion"] == 1


def test_a_line_of_32_mb_is_read_and_one_that_is_too_long_is_passed_over() -> None:
    with raw_editor("-m", script("s.json", "Hello.")) as editor:
        editor.write(b"x" * (65 * 2**20))
        assert "longer than" in editor.read_answer(None)["error"]["message"]
        session = editor.begin_session()
        block = {"type": "resource", "resource": {"uri": "a", "text": "x" * (32 * 2**20)}}
        editor.send(id=2, method="session/prompt", params={"sessionId": session, "prompt": [block]})
        assert editor.read_answer(2)


@pytest.mark.parametrize("query", ["hi", "run"])
def test_an_editor_that_is_killed_in_a_turn_loses_nothing_and_leaves_no_process(query: str) -> None:
    command = "echo $$ > pid; sleep 62.5"
    running = {"calls": [{"name": "run_command", "arguments": {"command": command}}]}
    slow = {"text": "a long answer that never ends", "piece": 1, "delay": 0.2}
    model = script("s.json", running if query == "run" else slow)
    with raw_editor("-m", model, "--mode", "auto") as editor:
        session = editor.begin_session()
        editor.begin_turn(session, query)
        editor.wait_for("tool_call" if query == "run" else "agent_message_chunk")
        editor.vanish()
        editor.process.wait(_PATIENCE)
    assert not find_processes("sleep 62.5")
    said = "a" if query == "hi" else command
    assert [
        text for text in (query, said) if text not in swecli("sessions", "show", session).out
    ] == []
    again = swecli("-c", "-p", "and now?", "-m", script("t.json", "Here."), "--no-reflect")
    assert (again.code, again.out) == (0, "Here.\n")


def test_a_signal_stops_it_as_it_stops_other_runs() -> None:
    model = script("s.json", {"text": "a long answer", "piece": 1, "delay": 0.2})
    with raw_editor("-m", model) as editor:
        session = editor.begin_session()
        editor.begin_turn(session, "hi")
        editor.wait_for("agent_message_chunk")
        editor.process.send_signal(signal.SIGTERM)
        assert editor.read_answer(2)["result"]["stopReason"] == "cancelled"
        assert editor.process.wait(_PATIENCE) == 128 + signal.SIGTERM


def test_nothing_else_is_printed_to_stdout() -> None:
    """Commands of a turn print to their own pipes, and what a library prints goes to stderr."""
    noisy = {"calls": [{"name": "run_command", "arguments": {"command": "echo noise"}}]}
    with raw_editor("-m", script("s.json", noisy, "Done."), "--mode", "auto") as editor:
        session = editor.begin_session()
        editor.begin_turn(session, "go")
        assert editor.read_answer(2)["result"]["stopReason"] == "end_turn"
        descriptors = Path(f"/proc/{editor.process.pid}/fd")
        assert (descriptors / "1").readlink() == (descriptors / "2").readlink()


def test_it_says_so_where_no_editor_can_be() -> None:
    Path("requests").write_text("{}\n")
    with Path("requests").open("rb") as file:
        done = subprocess.run(
            [*COMMAND, "acp"], stdin=file, capture_output=True, env=environment(), timeout=120
        )
    assert done.returncode == 2
    assert done.stderr.decode().startswith(
        "swecli: swecli acp needs a pipe as its stdin and stdout."
    )
