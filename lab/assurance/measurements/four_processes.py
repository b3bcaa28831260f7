"""Four processes that use one store at the same time."""

from __future__ import annotations

import json
import sqlite3
import subprocess
from collections import Counter
from contextlib import closing
from pathlib import Path

from lab.assurance.measurements.rows import Measurement, Row
from tests.support.shell import COMMAND, environment
from tests.support.strict_provider import Call, Received, Reply, StrictProvider
from tests.support.strict_provider.server import OPENAI_MODEL

_PROCESSES = 4


def measure(count: int) -> list[Row]:
    """Run `count` turns in each of four processes."""
    home = Path("home").absolute()
    with StrictProvider(_answer) as server:
        environ = environment({**server.environ(), "SWECLI_HOME": str(home)})
        processes = [_start(number, count, environ) for number in range(_PROCESSES)]
        outcomes = [process.wait() for process in processes]
    store, made = home / "swecli.db", _PROCESSES * count
    shown = [_results(number) for number in range(_PROCESSES)]
    missing = [
        f"process {number}, turn {turn}: {found.get(turn, 'nothing')[:200]}"
        for number, found in enumerate(shown)
        for turn in range(count)
        if found.get(turn) != _said(_query(number, turn))
    ]
    errors = [
        Path(f"stderr{number}").read_text()[-300:] for number, code in enumerate(outcomes) if code
    ]
    return [
        Row("turns answered with their own answer", made, missing),
        Row("processes that ended well", _PROCESSES, errors),
        Row("lines and answers stored once, in the session of their process", 2 * made, _judge_messages(store, count)),
        Row("requests that real services accept", len(server.requests), list(server.refusals)),
        Row("the database is sound", 1, _integrity(store)),
    ]  # fmt: skip


def _query(process: int, turn: int) -> str:
    return f"process {process} turn {turn} goes on"


def _said(query: str) -> str:
    return f"Answer to {query}."


def _answer(request: Received) -> Reply:
    messages = request.body["messages"]
    last = max(at for at, message in enumerate(messages) if message["role"] == "user")
    query = str(messages[last]["content"])
    start = query.index("process ")
    query = query[start : query.index("goes on") + len("goes on")]
    if len(messages) - last == 1:
        return Reply("I look.", calls=(Call("list_files", {}),), piece=40)
    return Reply(_said(query), piece=40)


def _start(number: int, count: int, environ: dict[str, str]) -> subprocess.Popen[bytes]:
    Path(f"project{number}").mkdir()
    words = ("-p", "--input-format", "stream-json", "--output-format", "stream-json")
    settings = ("-m", f"openai/{OPENAI_MODEL}", "--mode", "auto", "--no-reflect")
    lines = [json.dumps({"type": "user", "text": _query(number, turn)}) for turn in range(count)]
    Path(f"lines{number}").write_text("\n".join(lines) + "\n")
    with (
        Path(f"lines{number}").open("rb") as given,
        Path(f"stdout{number}").open("wb") as out,
        Path(f"stderr{number}").open("wb") as err,
    ):
        return subprocess.Popen(
            [*COMMAND, *words, *settings],
            cwd=f"project{number}", env=environ, stdin=given, stdout=out, stderr=err,
        )  # fmt: skip


def _results(number: int) -> dict[int, str]:
    """Return the answers that a process showed, by turn."""
    events = [json.loads(line) for line in Path(f"stdout{number}").read_text().splitlines()]
    return dict(enumerate(str(event["result"]) for event in events if event["type"] == "result"))


def _judge_messages(store: Path, count: int) -> list[str]:
    wanted = {
        text: f"project{number}"
        for number in range(_PROCESSES)
        for turn in range(count)
        for text in (_query(number, turn), _said(_query(number, turn)))
    }
    with closing(sqlite3.connect(store)) as connection:
        rows = connection.execute(
            "SELECT message.content, session.directory FROM message JOIN session ON session.id = message.session_id"
        ).fetchall()
    times = Counter(text for text, _ in rows if text in wanted)
    wrong = [f"{text!r} is stored {times[text]} times" for text in wanted if times[text] != 1]
    mixed = [
        f"{text!r} is in {folder}"
        for text, folder in rows
        if not folder.endswith(wanted.get(text, ""))
    ]
    return [*wrong, *mixed]


def _integrity(store: Path) -> list[str]:
    with closing(sqlite3.connect(store)) as connection:
        return [row[0] for row in connection.execute("PRAGMA integrity_check") if row[0] != "ok"]


_METHOD = f"""\
{_PROCESSES} processes of `swecli -p` run turns with a tool call each at the same time, each in a folder of its own, on
one database."""

FOUR_PROCESSES = Measurement(
    "Four processes on one store",
    _METHOD,
    measure,
    quick=4,
    whole=250,
    is_slow=True,
)
