"""Test killed and concurrent processes: acknowledged writes are stored."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

from swecli.models.message import Role
from swecli.store.session_manager import SessionManager
from tests.support.databases import open_database

ROOT = Path(__file__).parents[3]

# Prints each acknowledged write after its call returned: "query N", "answer N", "result N".
WRITER = """
import sys
from swecli.models.message import ChatMessage, Role, ToolCall
from swecli.store.sqlite.database import open_database
from swecli.store.session_manager import SessionManager

manager = SessionManager(open_database(sys.argv[1]))
session = manager.start("/p", "scripted/test", title=sys.argv[2])
for number in range(1, int(sys.argv[3]) + 1):
    manager.begin_interaction(f"query {number} " + "x" * 3000)
    print("query", number, flush=True)
    call = ToolCall(f"c{number}", "run_command", {"n": number})
    manager.append(ChatMessage(Role.ASSISTANT, f"answer {number}", [call]))
    print("answer", number, flush=True)
    call.result = f"result {number}"
    manager.record_call(call, "full " * 4000)
    print("result", number, flush=True)
    manager.finish_interaction("done")
manager.database.close()
"""


def start_writer(path: Path, title: str, turns: int) -> subprocess.Popen[str]:
    arguments = [sys.executable, "-c", WRITER, str(path), title, str(turns)]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    return subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True, env=environment)


@pytest.mark.slow
def test_a_killed_process_loses_no_acknowledged_write(path: Path) -> None:
    moment = random.Random(3)
    for number in range(6):
        with start_writer(path, f"run {number}", 100_000) as process:
            assert process.stdout
            lines = [process.stdout.readline() for _ in range(moment.randrange(1, 60))]
            time.sleep(moment.random() / 50)
            process.kill()
            lines += process.stdout.readlines()
        acknowledged = [line.split() for line in lines if line.endswith("\n")]

        manager = SessionManager(open_database(path))
        assert manager.database.notices == []
        assert manager.database.check() == []
        session = manager.resume(f"run {number}", "/p", window_hint=1_000_000)
        stored = {(message.role, message.interaction) for message in session.messages}
        for kind, turn in acknowledged:
            if kind == "result":
                assert manager.read_result(f"c{turn}") == "full " * 4000
            else:
                assert (Role.USER if kind == "query" else Role.ASSISTANT, int(turn)) in stored
        assert session.interactions == len(session.group_by_interaction())
        last = manager.turns.turn(manager.session.id, session.interactions)
        assert last
        assert last.status in ("interrupted", "done")
        assert manager.begin_interaction("on we go").interaction == session.interactions
        manager.database.close()


@pytest.mark.slow
def test_concurrent_processes_lose_no_write(path: Path) -> None:
    processes = [start_writer(path, f"writer {number}", 40) for number in range(4)]
    for process in processes:
        output, _ = process.communicate(timeout=120)
        assert process.returncode == 0
        assert len(output.splitlines()) == 120
    manager = SessionManager(open_database(path))
    assert manager.database.check() == []
    assert [info.messages for info in manager.catalog.list_sessions()] == [80] * 4
    assert {len(manager.resume(f"writer {n}", "/p", 1000).messages) for n in range(4)} == {80}
    manager.database.close()
