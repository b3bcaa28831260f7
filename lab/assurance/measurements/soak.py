"""A long run of one process: thousands of turns with a fault now and then."""

from __future__ import annotations

import json
import random
import sqlite3
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lab.assurance.measurements.provider_faults import FAULTS
from lab.assurance.measurements.rows import Measurement, Row
from tests.support.shell import COMMAND, environment
from tests.support.strict_provider import Call, Received, Refusal, Reply, StrictProvider
from tests.support.strict_provider.server import OPENAI_MODEL

_SEED = 13
_FAULTS = 0.02  # of the requests
# a service that is silent is waited for minutes: those are among the faults of the service
_LASTING = ("silent from the middle on", "only pings from the middle on")
_SAMPLES = 10  # of memory, handles and children
_GROWTH = 1.5


@dataclass(slots=True)
class _Service:
    """Answers turns of four kinds, and lets some requests fail. `harmed` counts those."""

    chance: random.Random = field(default_factory=lambda: random.Random(_SEED))
    harmed: int = 0

    def __call__(self, request: Received) -> Reply | Refusal:
        reply = self._right(request.body["messages"])
        if self.chance.random() >= _FAULTS:
            return reply
        self.harmed += 1
        name = self.chance.choice([name for name in FAULTS if name not in _LASTING])
        return FAULTS[name](reply, self.chance.randrange(20, 900))

    @staticmethod
    def _right(messages: list[dict[str, Any]]) -> Reply:
        query = max(at for at, message in enumerate(messages) if message["role"] == "user")
        number = _number_in(str(messages[query]["content"]))
        if len(messages) - query > 1 or number % 4 == 0:
            return Reply(_answer(number), piece=40)
        call = (
            Call("read_file", {"path": "lines.txt"}),
            Call("write_file", {"path": f"out/{number % 50}.txt", "content": f"{number}\n" * 50}),
            Call("run_command", {"command": f"seq {number} {number + 200}"}),
        )[number % 4 - 1]
        return Reply("I look.", calls=(call,), piece=200)


def _number_in(query: str) -> int:
    return int(query.split("turn ")[1].split()[0])


def _answer(number: int) -> str:
    return f"Turn {number} is done. " + "So it stands. " * 20


@dataclass(frozen=True, slots=True)
class _Sample:
    """What a process has after a turn: resident memory in MB, open handles, children."""

    turn: int
    memory: int
    handles: int
    children: int


@dataclass(slots=True)
class _Run:
    """What became of the turns. `wrong` are those that ended neither with their answer nor with an error."""

    answered: int = 0
    wrong: list[str] = field(default_factory=list)
    samples: list[_Sample] = field(default_factory=list)


def measure(count: int) -> list[Row]:
    """Run `count` turns in one process."""
    Path("project").mkdir()
    Path("project/lines.txt").write_text("".join(f"line {n}\n" for n in range(300)))
    service, home = _Service(), Path("home").absolute()
    with StrictProvider(service) as server:
        run = _run(count, environment({**server.environ(), "SWECLI_HOME": str(home)}))
    printed = Path("stderr").read_text()
    is_clean = "Traceback" not in printed and "fault of swecli" not in printed
    turns = f"{run.answered:,} answered; {service.harmed} requests failed on purpose"
    return [
        Row("turns answered, or ended with an error line", count, run.wrong, turns),
        Row("requests that real services accept", len(server.requests), server.refusals),
        *_judge_samples(run.samples),
        Row("no traceback on stderr", 1, [] if is_clean else [printed[-300:]]),
        Row("the database is sound and has every turn", 1, _judge_store(home / "swecli.db", count)),
    ]


def _run(count: int, environ: Mapping[str, str]) -> _Run:
    run, words = _Run(), ("-p", "--input-format", "stream-json", "--output-format", "stream-json")
    settings = ("-m", f"openai/{OPENAI_MODEL}", "--mode", "auto", "--no-reflect")
    with (
        Path("stderr").open("w") as noise,
        subprocess.Popen(
            [*COMMAND, *words, *settings],
            cwd="project",
            env=environ,
            text=True,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=noise,
        ) as process,
    ):
        for number in range(1, count + 1):
            result = _ask(process, number)
            if result.get("result") == _answer(number):
                run.answered += 1
            elif not result.get("is_error"):
                run.wrong.append(f"turn {number}: {str(result)[:200]}")
            if number % max(1, count // _SAMPLES) == 0 or number == min(100, count // 2):
                run.samples.append(_look(process.pid, number))
    return run


def _judge_samples(samples: Sequence[_Sample]) -> list[Row]:
    first, last = samples[0], samples[-1]
    memory = ", ".join(f"{one.memory} MB at {one.turn:,}" for one in samples)
    handles = ", ".join(str(one.handles) for one in samples)
    left = [f"turn {one.turn}: {one.children} children" for one in samples if one.children]
    grown = [memory] if last.memory > _GROWTH * first.memory else []
    # what a session opens once, it has in its first half
    most = max(one.handles for one in samples[: len(samples) // 2])
    opened = [handles] if last.handles > most else []
    return [
        Row(f"memory at the end below {_GROWTH} times that of turn {first.turn}", 1, grown, memory),
        Row("no more open handles at the end than in the first half", 1, opened, handles),
        Row("no child process between turns", len(samples), left),
    ]


def _ask(process: subprocess.Popen[str], number: int) -> dict[str, Any]:
    """Send a line and return the result of its turn. Raises RuntimeError if the process ends."""
    assert process.stdin
    assert process.stdout
    process.stdin.write(json.dumps({"type": "user", "text": f"turn {number} goes on"}) + "\n")
    process.stdin.flush()
    for line in process.stdout:
        event = json.loads(line)
        if event["type"] == "result":
            return dict(event)
    raise RuntimeError(f"it ended in turn {number}: {Path('stderr').read_text()[-500:]}")


def _look(pid: int, turn: int) -> _Sample:
    status = Path(f"/proc/{pid}/status").read_text()
    kilobytes = int(status.split("VmRSS:")[1].split()[0])
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return _Sample(turn, kilobytes // 1000, _count_handles(pid), len(children))


def _count_handles(pid: int) -> int:
    """Count the open handles of a process; 0 for an ordinary user, who may not see those of one that holds keys."""
    try:
        return len(list(Path(f"/proc/{pid}/fd").iterdir()))
    except PermissionError:
        return 0


def _judge_store(path: Path, turns: int) -> list[str]:
    with closing(sqlite3.connect(path)) as connection:
        problems = [
            row[0] for row in connection.execute("PRAGMA integrity_check") if row[0] != "ok"
        ]
        (stored,) = connection.execute("SELECT count(*) FROM interaction").fetchone()
    return [*problems, *([f"it has {stored} turns"] if stored != turns else [])]


_METHOD = """\
One process of `swecli -p` answers turns that come through its stdin: answers, files read and written, commands. Two of
a hundred requests fail, in one of the ways above but for silence, which is waited for. Memory, handles and children are
taken from `/proc` between the turns."""

SOAK = Measurement(
    "A long run with faults",
    _METHOD,
    measure,
    quick=24,
    whole=2_000,
    is_slow=True,
)
