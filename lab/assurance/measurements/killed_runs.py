"""A run of two turns that is killed, and what must hold afterwards."""

from __future__ import annotations

import asyncio
import json
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from swecli.models.errors import SwecliError
from swecli.store.session_manager import SessionManager
from swecli.store.sqlite.database import open_database
from tests.support.command_context import ScriptedContext
from tests.support.runtime import make_runtime
from tests.support.shell import COMMAND, environment, swecli
from tests.support.strict_provider import Call, Received, Reply, StrictProvider, Wire
from tests.support.strict_provider.server import OPENAI_MODEL

TURNS = 2
_AFTER = "Nothing else."
_PATIENCE = 60.0  # seconds for a run that is not killed
_GONE_WITHIN = 3.0  # seconds in which the children of a killed process end


def version(turn: int) -> str:
    """Return what the file holds after a turn, "" for none."""
    return f"turn {turn}\n" * 1_000 if turn else ""


@dataclass(slots=True)
class KilledRun:
    """A run in a folder of its own. `events` are what it had `written` to stdout, `was_killed` is False if it had ended
    before."""

    folder: Path
    server: StrictProvider
    written: bytes = b""
    events: list[dict[str, Any]] = field(default_factory=list)
    was_killed: bool = False

    @property
    def project(self) -> Path:
        return self.folder / "project"

    @property
    def home(self) -> Path:
        return self.folder / "home"

    @property
    def store(self) -> Path:
        return self.home / "swecli.db"

    @property
    def last(self) -> str:
        """Return the type of the last event that was read, "" for none."""
        return str(self.events[-1]["type"]) if self.events else ""

    def environ(self) -> dict[str, str]:
        return {**self.server.environ(), "SWECLI_HOME": str(self.home)}

    def start(self, before: Sequence[str] = ()) -> subprocess.Popen[bytes]:
        """Start the run: turns that write a file, run a command and answer. `before` is a command prefix."""
        self.project.mkdir(parents=True)
        process = subprocess.Popen(
            [*before, *COMMAND, "-p", *_flags(), "--input-format", "stream-json", "--output-format", "stream-json"],
            cwd=self.project, env=environment(self.environ()), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )  # fmt: skip
        lines = [json.dumps({"type": "user", "text": _query(turn + 1)}) for turn in range(TURNS)]
        assert process.stdin
        process.stdin.write(("\n".join(lines) + "\n").encode())
        process.stdin.close()
        return process

    def wait_for_first_event(self, process: subprocess.Popen[bytes]) -> None:
        assert process.stdout
        self.written += process.stdout.readline()

    def finish(self, process: subprocess.Popen[bytes]) -> None:
        """Read what the run had written until its end."""
        assert process.stdout
        self.written += process.stdout.read()
        process.stdout.close()
        code = process.wait(_PATIENCE)
        self.was_killed = code != 0
        whole = self.written[: self.written.rfind(b"\n") + 1]
        self.events = [json.loads(line) for line in whole.splitlines()]


def answer(request: Received) -> Reply:
    """Play the service: in each turn a file is written and a command is run, then an answer streams slowly."""
    messages = request.body["messages"]
    query = max(at for at, message in enumerate(messages) if message["role"] == "user")
    said = str(messages[query]["content"])
    if "and now?" in said:
        return Reply(_AFTER)
    turn = next(number + 1 for number in range(TURNS) if _query(number + 1) in said)
    results = sum(message["role"] == "tool" for message in messages[query:])
    if results == 0:
        return Reply("I write.", calls=(_write(turn),), piece=500)
    if results == 1:
        command = f"echo begun; sleep 0.1; echo {turn} >> ran; sleep 0.1"
        return Reply(calls=(Call("run_command", {"command": command}),))
    return Reply(_answer(turn), wire=Wire(pause=0.005))


def _flags() -> tuple[str, ...]:
    return ("-m", f"openai/{OPENAI_MODEL}", "--mode", "auto", "--no-reflect")


def _query(turn: int) -> str:
    return f"do the work of turn {turn}"


def _answer(turn: int) -> str:
    return f"The work of turn {turn} is done. " * 8


def _write(turn: int) -> Call:
    return Call("write_file", {"path": "lines.txt", "content": version(turn)})


def judge(run: KilledRun) -> str:
    """Look at what a killed run left, go on in its session, and undo its last turn. Returns what did not hold."""
    return "; ".join(
        [
            *_left_running(run),
            *_judge_files(run),
            *_judge_store(run),
            *_judge_next(run),
            *_judge_undo(run),
        ]
    )


def _left_running(run: KilledRun) -> Iterator[str]:
    """Complain about processes that the run started and that are still there."""
    deadline = time.monotonic() + _GONE_WITHIN
    while (found := _inside(run.project)) and time.monotonic() < deadline:
        time.sleep(0.05)
    if found:
        yield f"still running: {', '.join(found)}"


def _inside(folder: Path) -> list[str]:
    """Return the names of the processes that are in a folder."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdecimal() and (entry / "cwd").readlink() == folder:
                found.append((entry / "comm").read_text().strip())
        except OSError:
            continue  # it has ended, or is another user's
    return found


def _judge_files(run: KilledRun) -> Iterator[str]:
    path = run.project / "lines.txt"
    if path.exists() and path.read_text() not in [version(turn) for turn in range(1, TURNS + 1)]:
        yield "lines.txt is half written"
    ran = _lines_of(run.project / "ran")
    if len(ran) != len(set(ran)):
        yield f"a command ran twice: {ran}"


def _lines_of(path: Path) -> list[str]:
    return path.read_text().split() if path.exists() else []


def _judge_store(run: KilledRun) -> Iterator[str]:
    """Complain about damage, and about what was said to be stored and is not."""
    if not run.store.exists():
        if run.events:
            yield "there is no store"
        return
    try:
        database = open_database(run.store)
    except SwecliError as error:
        yield f"the store cannot be opened: {error}"
        return
    with closing(database):
        yield from (f"the store: {problem}" for problem in [*database.notices, *database.check()])
        started = next((event for event in run.events if event["type"] == "turn_started"), None)
        if started is None:
            return
        manager = SessionManager(database)
        manager.resume(started["session_id"], "")
        stored = str(manager.archive.export(started["session_id"]))
        results = {
            event["call"]["id"]: event for event in run.events if event["type"] == "tool_finished"
        }
        for call_id in results:
            if manager.read_result(call_id) is None:
                yield f"the result of {call_id} is lost"
        for event in run.events:
            if event["type"] == "turn_started" and event["query"] not in stored:
                yield f"a line is lost: {event['query']}"
            if event["type"] == "turn_finished" and event["text"] not in stored:
                yield f"an answer is lost: {event['text'][:40]}"


def _judge_next(run: KilledRun) -> Iterator[str]:
    """Complain if the session cannot be continued with a valid request that has what was stored."""
    queries = [event["query"] for event in run.events if event["type"] == "turn_started"]
    before = len(run.server.requests)
    going_on = ("-c",) if queries else ()
    done = swecli(
        "-p", "and now?", *_flags(), *going_on, "-C", str(run.project), environ=run.environ()
    )
    if (done.code, done.out.strip()) != (0, _AFTER):
        yield f"going on ends with {done.code}: {done.out}{done.err}"
    yield from (f"illegal request: {refusal}" for refusal in run.server.refusals)
    sent = str(run.server.bodies[before:])
    yield from (f"not sent again: {query}" for query in queries if query not in sent)
    if _lines_of(run.project / "ran") != sorted(set(_lines_of(run.project / "ran"))):
        yield "going on ran a command again"


def _judge_undo(run: KilledRun) -> Iterator[str]:
    """Complain if /undo, once for the turn after the kill and once for the last one before, does not bring back the
    files of the turn before that."""
    if not any(event["type"] == "turn_started" for event in run.events):
        return
    turns = asyncio.run(_undo(run.project, run.store))
    path = run.project / "lines.txt"
    if (path.read_text() if path.exists() else "") != version(turns - 1):
        yield f"/undo did not bring back lines.txt of turn {turns - 1}"


async def _undo(project: Path, store: Path) -> int:
    """Undo the last two turns, whatever else has changed. Returns the number of the earlier one."""
    runtime = make_runtime(cwd=project, db=str(store), resume="", reflect_with_model=False)
    try:
        turns = runtime.sessions.session.interactions - 1
        for _ in range(2):
            await ScriptedContext(runtime, "1").type("/undo")
        return turns
    finally:
        runtime.close()
