"""Test the order of a headless run: the user's message is stored, the request is sent, and the rest is loaded
afterwards."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Literal
from zlib import crc32

import pytest

from swecli.models.playbook import Delta, Op
from swecli.store.playbook.store import PlaybookStore
from swecli.store.session_manager import SessionManager
from tests.support.databases import open_database
from tests.support.shell import CompletedRun, environment, swecli
from tests.support.strict_provider import Call, Received, Refusal, Reply, StrictProvider

pytestmark = pytest.mark.slow

MODEL = ("-m", "openai/gpt-4.1", "--no-reflect")
HEAVY = {
    "litellm",
    "openai",
    "pydantic",
    "sqlmodel",
    "sqlalchemy",
    "tiktoken",
    "rich",
    "click",
    "prompt_toolkit",
    "h2",
}
AT_CONNECT = """
import sys
def look(event, arguments):
    if event == "socket.connect" and "httpx" in sys.modules and not found:
        found.extend(sys.modules)
found = []
sys.addaudithook(look)
from swecli.cli.main import run_safely
code = run_safely(sys.argv[3:])
open(sys.argv[1], "w").write("\\n".join(found if sys.argv[2] == "request" else sys.modules))
raise SystemExit(code)
"""
BODIES = ("swecli.tools.builtin.", "swecli.tools.commands.", "swecli.tools.execute", "pydantic")


LATER = ("swecli.playbook.learning", "swecli.undo.", "swecli.tools.sandbox")
# of a turn without calls that is not summarised
NEVER = (
    "swecli.undo.",
    "swecli.tools.sandbox",
    "swecli.llm.refusals",
    "swecli.agent.condenser",
    "swecli.agent.context_control",
    "swecli.context.replay",
)


class Place:
    """A folder and a home in which swecli has run once, so that the next run finds an existing database."""

    def __init__(self, home: Path, server: StrictProvider) -> None:
        self.home, self.server = home, server
        self.environ = server.environ() | {"SWECLI_HOME": str(home)}

    def run(self, *arguments: str, stdin: str = "") -> CompletedRun:
        return swecli("-p", *arguments, *MODEL, stdin=stdin, environ=self.environ)

    def rows(self) -> list[tuple[str, str, str]]:
        with closing(sqlite3.connect(f"file:{self.home / 'swecli.db'}?mode=ro", uri=True)) as db:
            return db.execute(
                "SELECT m.role, m.content, i.status FROM message m JOIN interaction i "
                "ON i.session_id = m.session_id AND i.number = m.interaction ORDER BY m.id"
            ).fetchall()

    def teach(self, *words: str) -> None:
        outcome = swecli(*words, environ=self.environ)
        assert outcome.code == 0, outcome.err

    def modules(self, *arguments: str, until: Literal["request", "end"] = "request") -> set[str]:
        """Run swecli and return the modules that were loaded when it connected to the model, or at its end."""
        file = self.home / "modules"
        command = [sys.executable, "-c", AT_CONNECT, str(file), until, "-p", *arguments, *MODEL]
        outcome = subprocess.run(
            command, env=environment(self.environ), stdin=subprocess.DEVNULL, capture_output=True
        )
        assert outcome.returncode == 0, outcome.stderr
        loaded = set(file.read_text().split())
        file.unlink()
        assert "httpx" in loaded
        return loaded

    def all_rows(self) -> dict[str, list[dict[str, object]]]:
        """Return all rows by table, without times, process ids and random values."""
        with closing(sqlite3.connect(f"file:{self.home / 'swecli.db'}?mode=ro", uri=True)) as db:
            db.row_factory = sqlite3.Row
            tables = [
                name
                for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
            ]
            ids = {
                row["id"]: f"session {row['number']}"
                for row in db.execute("SELECT id, number FROM session")
            }
            return {
                table: [
                    {
                        name: ids.get(row[name], row[name])
                        for name in row.keys()  # noqa: SIM118
                        if name not in VARYING_COLUMNS
                    }
                    for row in db.execute(f"SELECT * FROM {table}")
                ]
                for table in tables
                if "_fts" not in table
            }


VARYING_COLUMNS = {
    "created_at",
    "updated_at",
    "started_at",
    "finished_at",
    "at",
    "pid",
    "duration_ms",
    "last_used",
}
VARYING_COLUMNS |= {"verified_at"}


def assert_paths_equal(place: Place, *arguments: str) -> CompletedRun:
    """Run a turn on the early path and, in a copy of the home, as a line of stream-json on the full path; assert that
    requests and rows are equal."""
    copied = Place(place.home.with_name(f"copied-{len(place.server.requests)}"), place.server)
    shutil.copytree(place.home, copied.home)
    began = len(place.server.requests)
    outcome = place.run(*arguments)
    early = place.server.requests[began:]
    query, *flags = arguments
    line = json.dumps({"type": "user", "text": query}) + "\n"
    full = swecli(
        "-p", "--input-format", "stream-json", *flags, *MODEL, stdin=line, environ=copied.environ
    )
    assert (outcome.code, full.code, full.out) == (0, 0, outcome.out), (outcome.err, full.err)
    assert [one.raw for one in early] == [
        one.raw for one in place.server.requests[began + len(early) :]
    ]
    assert place.all_rows() == copied.all_rows()
    return outcome


def read_notes(received: Received) -> Reply:
    """Answer a question about the notes by reading notes.txt, and any other with a text."""
    asked = received.body["messages"][-1]
    if asked["role"] == "user" and "notes" in str(asked["content"]):
        made = f"call_{crc32(received.raw)}"
        return Reply("I look.", calls=(Call("read_file", {"path": "notes.txt"}, id=made),))
    return Reply("The milk [P-1].")


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Place]:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "notes.txt").write_text("remember the milk\n")
    (folder / "AGENTS.md").write_text("Use tabs.\n")
    monkeypatch.chdir(folder)
    with StrictProvider(lambda received: Reply("Hello.")) as server:
        yield Place(tmp_path / "home", server)


@pytest.mark.parametrize(
    ("arguments", "stdin"),
    [
        (("hello",), ""),
        (("look at @notes.txt and ü 漢字 \U0001f600",), ""),
        (("what is this?",), "some piped text\n"),
        (("hello", "--window", "2"), ""),
    ],
)
def test_the_early_path_sends_the_same_request_as_the_full_path(
    place: Place, arguments: tuple[str, ...], stdin: str
) -> None:
    full_path = place.run(
        *arguments, stdin=stdin
    )  # Without a database, the run takes the full path.
    early = place.run(*arguments, stdin=stdin)
    assert (full_path.code, early.code) == (0, 0), early.err
    assert early.out == full_path.out == "Hello.\n"
    first, second = (received.body for received in place.server.requests)
    assert first == second
    assert [row[0] for row in place.rows()] == ["user", "assistant"] * 2
    assert {row[2] for row in place.rows()} == {"done"}


def test_the_early_path_sends_the_skills_of_the_user(place: Place) -> None:
    skill = Path.home() / ".agents/skills/notes/SKILL.md"
    skill.parent.mkdir(parents=True)
    skill.write_text("---\nname: notes\ndescription: For notes.\n---\nRead them.")
    place.run("hello")
    place.run("hello")
    first, second = (received.body for received in place.server.requests)
    assert first == second
    assert "- notes: For notes." in str(first["messages"][0])
    assert "skill" in [tool["function"]["name"] for tool in first["tools"]]


def test_the_message_is_stored_before_the_request_is_sent(place: Place) -> None:
    place.run("once")
    stored_rows: list[list[tuple[str, str, str]]] = []

    def answer(received: Received) -> Reply:
        stored_rows.append(place.rows())
        return Reply("Hello.")

    place.server.script = answer
    assert place.run("keep this").code == 0
    assert stored_rows == [
        [
            ("user", "once", "done"),
            ("assistant", "Hello.", "done"),
            ("user", "keep this", "running"),
        ]
    ]


def test_no_heavy_module_is_loaded_before_the_request_is_sent(place: Place) -> None:
    place.run("once")
    new = place.modules("hello")
    place.teach("playbook", "add", "Always run the linter.")
    for loaded in (new, place.modules("hello"), place.modules("hello", "-c")):
        assert not HEAVY & loaded
        assert not {"swecli.tools.base", "swecli.tools.permissions"} & loaded


def test_the_bodies_of_the_tools_are_loaded_with_the_first_call(place: Place) -> None:
    place.run("once")
    loaded = place.modules("hello", until="end")
    assert [name for name in loaded if name.startswith(BODIES)] == []
    place.server.script = read_notes
    assert "swecli.tools.builtin.read_file" in place.modules("what is in the notes?", until="end")


def test_learning_and_undo_are_loaded_when_they_are_used(place: Place) -> None:
    place.run("once")
    before = place.modules("hello")
    early = [name for name in before if name.startswith(("swecli.agent.", *LATER))]
    assert early == ["swecli.agent.request_builder"]
    after = place.modules("hello", until="end")
    assert "swecli.playbook.learning.service" in after, "a turn that has ended is learned from"
    assert [name for name in after if name.startswith(NEVER)] == []


def test_the_token_table_is_loaded_only_for_a_large_request(place: Place) -> None:
    place.run("once")
    code = (
        "import sys; from swecli.cli.main import run_safely;"
        " run_safely(sys.argv[1:]); print('tiktoken' in sys.modules)"
    )
    command = [sys.executable, "-c", code, "-p", "hello", *MODEL]
    outcome = subprocess.run(
        command, env=environment(place.environ), stdin=subprocess.DEVNULL, capture_output=True
    )
    assert outcome.stdout == b"Hello.\nFalse\n", outcome.stderr
    place.run("sum this up", stdin="漢" * 300_000)
    assert {row["encoding"] for row in place.all_rows()["message"]} == {"", "o200k_base"}


def test_the_early_path_continues_a_session_with_the_same_request_as_the_full_path(
    place: Place,
) -> None:
    place.server.script = read_notes
    place.run("what is in the notes?", "--window", "1")
    assert_paths_equal(place, "what did the walrus server say on port 7411?", "-c")
    place.teach("playbook", "add", "Always run the linter.")
    assert_paths_equal(place, "and the notes?", "-c")
    place.teach("context", "pin", "1")
    place.teach("playbook", "add", "Never edit notes.txt.")
    assert_paths_equal(place, "what else @notes.txt?", "-c")
    assert_paths_equal(
        place,
        "walrus server port",
        "-r",
        str(place.all_rows()["session"][0]["title"] or session_id(place)[:20]),
    )
    assert_paths_equal(place, "hello")
    assert not HEAVY & place.modules("more", "-c")


def test_the_early_path_sends_the_strategies_of_the_folder(place: Place) -> None:
    place.run("once")
    place.teach("playbook", "add", "Always run the linter.")
    assert_paths_equal(place, "hello")
    assert len(place.server.requests) == 3
    assert "Always run the linter." in json.dumps(place.server.requests[-1].body)


def test_the_early_path_retries_a_failed_request(place: Place) -> None:
    place.run("once")
    place.server.script = [
        Refusal(status=503, message="busy", headers={"retry-after": "0"}),
        Reply("Hello."),
    ]
    outcome = place.run("hello")
    assert (outcome.code, outcome.out) == (0, "Hello.\n"), outcome.err
    assert len(place.server.requests) == 3


def session_id(place: Place) -> str:
    with closing(sqlite3.connect(place.home / "swecli.db")) as db:
        return str(db.execute("SELECT id FROM session").fetchone()[0])


def kill_at_request(place: Place, *arguments: str) -> None:
    """Start a run and kill it when its request arrives."""

    def answer(received: Received) -> Reply:
        with closing(sqlite3.connect(place.home / "swecli.db")) as db:
            os.kill(
                db.execute("SELECT pid FROM interaction ORDER BY id DESC LIMIT 1").fetchone()[0],
                signal.SIGKILL,
            )
        return Reply("Too late.")

    place.server.script = answer
    command = [sys.executable, "-m", "swecli", "-p", *arguments, *MODEL]
    assert (
        subprocess.run(command, env=environment(place.environ), stdin=subprocess.DEVNULL).returncode
        == -9
    )


def test_the_message_of_a_killed_run_is_in_the_next_request(place: Place) -> None:
    place.run("once")
    kill_at_request(place, "remember me", "-c")
    assert place.rows()[-1] == ("user", "remember me", "running")
    place.server.script = lambda received: Reply("Hello.")
    assert not HEAVY & place.modules("go on", "-c")
    assert [row[1:] for row in place.rows()[2:]] == [
        ("remember me", "interrupted"), ("go on", "done"), ("Hello.", "done")
    ]  # fmt: skip
    sent = [
        message["content"].split("\n")[0] for message in place.server.requests[-1].body["messages"]
    ]
    assert sent[-3:-2] == ["remember me"]


def test_two_processes_can_continue_one_session_at_once(place: Place) -> None:
    place.run("once")
    command = [sys.executable, "-m", "swecli", "-p", "again", "-c", *MODEL]
    runs = [
        subprocess.Popen(
            command,
            env=environment(place.environ),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
        )
        for _ in range(2)
    ]
    assert [(run.communicate()[0], run.returncode) for run in runs] == [(b"Hello.\n", 0)] * 2
    turns = place.all_rows()["interaction"]
    assert [(turn["number"], turn["status"]) for turn in turns] == [
        (1, "done"),
        (2, "done"),
        (3, "done"),
    ]


def test_a_strategy_that_names_a_deleted_file_is_not_sent_unless_the_user_says_it(
    place: Place,
) -> None:
    (Path.cwd() / "src").mkdir()
    (Path.cwd() / "src/prices.py").touch()
    place.run("once")
    place.teach("playbook", "add", "I say that prices are in src/prices.py.")
    database = open_database(place.home / "swecli.db")
    session = SessionManager(database).resume(None, str(Path.cwd()))
    fields = {"content": "Nobody says that prices are in src/prices.py.", "scope": "project"}
    PlaybookStore(database).apply(Delta("d", (Op("ADD", fields=fields),), "import"), session)
    database.close()
    assert_paths_equal(place, "hello")
    assert "Nobody says" in place.server.requests[-1].raw.decode()
    (Path.cwd() / "src/prices.py").unlink()
    assert_paths_equal(place, "hello", "-c")
    assert_paths_equal(place, "hello")
    assert "Nobody says" not in place.server.requests[-1].raw.decode()
    assert "I say" in place.server.requests[-1].raw.decode(), "the user's own words stay"


def test_the_early_path_selects_the_same_of_many_strategies_as_the_full_path(place: Place) -> None:
    place.run("once")
    database = open_database(place.home / "swecli.db")
    session = SessionManager(database).resume(None, str(Path.cwd()))
    adds = [
        Op("ADD", fields={"content": f"Rule {n}: 漢字 for part-{n} of milk.", "scope": "project"})
        for n in range(90)
    ]
    PlaybookStore(database).apply(Delta("many", tuple(adds), "import"), session)
    database.close()
    assert_paths_equal(place, "where is the milk of part-7?")
    assert_paths_equal(place, "and part-8?", "-c")


def test_a_server_is_not_loaded_or_started_by_a_run_that_does_not_call_it(place: Place) -> None:
    assert not {"mcp", "swecli.tools.mcp.offered"} & place.modules("hello", until="request")
    (place.home / "mcp.json").write_text(
        json.dumps({"mcpServers": {"one": {"command": "no-such-program"}}})
    )
    assert not {"mcp", "httpx2", "pydantic"} & place.modules("hello", until="request")
    assert "mcp" not in place.modules("hello", until="end")
