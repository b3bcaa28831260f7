"""The order of a run without a screen: the user's message durable, its request out, everything else after."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.shell import Done, environment, swecli
from tests.support.strict_provider import Received, Refusal, Reply, StrictProvider

pytestmark = pytest.mark.slow

MODEL = ("-m", "openai/gpt-4.1", "--no-reflect")
HEAVY = {"litellm", "openai", "pydantic", "sqlmodel", "sqlalchemy", "tiktoken", "rich", "click", "prompt_toolkit", "h2"}
MOST_OWN = 105
AT_CONNECT = """
import sys
def look(event, arguments):
    if event == "socket.connect" and "httpx" in sys.modules and not found:
        found.extend(sys.modules)
found = []
sys.addaudithook(look)
from swecli.cli.main import run_safely
code = run_safely(sys.argv[2:])
open(sys.argv[1], "w").write("\\n".join(found))
raise SystemExit(code)
"""


class Place:
    """A folder and a home in which swecli ran once: the next run finds everything as usual."""

    def __init__(self, home: Path, server: StrictProvider) -> None:
        self.home, self.server = home, server
        self.environ = server.environ() | {"SWECLI_HOME": str(home)}

    def run(self, *arguments: str, stdin: str = "") -> Done:
        return swecli("-p", *arguments, *MODEL, stdin=stdin, environ=self.environ)

    def rows(self) -> list[tuple[str, str, str]]:
        with sqlite3.connect(f"file:{self.home / 'swecli.db'}?mode=ro", uri=True) as db:
            return db.execute(
                "SELECT m.role, m.content, i.status FROM message m JOIN interaction i "
                "ON i.session_id = m.session_id AND i.number = m.interaction ORDER BY m.id"
            ).fetchall()


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
def test_a_request_sent_early_is_the_one_that_would_be_sent(
    place: Place, arguments: tuple[str, ...], stdin: str
) -> None:
    whole = place.run(*arguments, stdin=stdin)  # there is no database yet: this one takes the whole way
    early = place.run(*arguments, stdin=stdin)
    assert (whole.code, early.code) == (0, 0), early.err
    assert early.out == whole.out == "Hello.\n"
    first, second = (received.body for received in place.server.requests)
    assert first == second
    assert [row[0] for row in place.rows()] == ["user", "assistant"] * 2
    assert {row[2] for row in place.rows()} == {"done"}


def test_skills_of_the_users_go_with_a_request_sent_early(place: Place) -> None:
    skill = Path.home() / ".agents/skills/notes/SKILL.md"
    skill.parent.mkdir(parents=True)
    skill.write_text("---\nname: notes\ndescription: For notes.\n---\nRead them.")
    place.run("hello")
    place.run("hello")
    first, second = (received.body for received in place.server.requests)
    assert first == second
    assert "- notes: For notes." in str(first["messages"][0])
    assert "skill" in [tool["function"]["name"] for tool in first["tools"]]


def test_the_message_is_stored_before_its_request_is_out(place: Place) -> None:
    place.run("once")
    seen: list[list[tuple[str, str, str]]] = []

    def answer(received: Received) -> Reply:
        seen.append(place.rows())
        return Reply("Hello.")

    place.server.script = answer
    assert place.run("keep this").code == 0
    assert seen == [[("user", "once", "done"), ("assistant", "Hello.", "done"), ("user", "keep this", "running")]]


def test_only_what_the_request_needs_is_loaded_before_it(place: Place, tmp_path: Path) -> None:
    place.run("once")
    command = [sys.executable, "-c", AT_CONNECT, str(tmp_path / "modules"), "-p", "hello", *MODEL]
    done = subprocess.run(command, env=environment(place.environ), stdin=subprocess.DEVNULL, capture_output=True)
    assert done.returncode == 0, done.stderr
    loaded = (tmp_path / "modules").read_text().split()
    assert "httpx" in loaded
    assert not HEAVY & set(loaded)
    assert len([name for name in loaded if name.startswith("swecli")]) <= MOST_OWN


def test_a_run_in_a_folder_with_strategies_sends_them(place: Place) -> None:
    place.run("once")
    taught = swecli("playbook", "add", "Always run the linter.", environ=place.environ)
    assert taught.code == 0, taught.err
    assert place.run("hello").code == 0
    assert "Always run the linter." in json.dumps(place.server.requests[-1].body)


def test_a_failed_request_is_retried_like_any_other(place: Place) -> None:
    place.run("once")
    place.server.script = [Refusal(status=503, message="busy", headers={"retry-after": "0"}), Reply("Hello.")]
    done = place.run("hello")
    assert (done.code, done.out) == (0, "Hello.\n"), done.err
    assert len(place.server.requests) == 3
