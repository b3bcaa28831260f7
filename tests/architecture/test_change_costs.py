"""Test the cost of typical changes: each is made in a copy of the source tree and run there, and its code files are
counted."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from tests.llm.test_one_file_provider import SOURCE as PROVIDER
from tests.support.shell import HELLO, ON_PATH, ROOT, CompletedRun, swecli

pytestmark = pytest.mark.slow


class Tree:
    """A copy of the source tree. `changed` are the code files that a change touches."""

    def __init__(self, root: Path) -> None:
        self.root, self.changed = root, set[str]()
        ignored = shutil.ignore_patterns("__pycache__", ".venv")
        for name in ("swecli", "scripts", "docs"):
            shutil.copytree(ROOT / name, root / name, ignore=ignored)
        shutil.copy(ROOT / "pyproject.toml", root)

    def write(self, path: str, text: str) -> None:
        """Create a file."""
        assert not (self.root / path).exists()
        (self.root / path).write_text(text, encoding="utf-8")
        self._count(path)

    def insert(self, path: str, before: str, text: str) -> None:
        """Insert text before the only occurrence of `before` in a file."""
        old = (self.root / path).read_text(encoding="utf-8")
        assert old.count(before) == 1
        (self.root / path).write_text(old.replace(before, text + before), encoding="utf-8")
        self._count(path)

    def _count(self, path: str) -> None:
        if path.endswith(".py"):
            self.changed.add(path)

    def swecli(self, *arguments: str, **environ: str) -> CompletedRun:
        """Run the copy in the test's own empty folder."""
        return swecli(
            *arguments,
            environ={"PYTHONPATH": os.pathsep.join((str(self.root), ON_PATH)), **environ},
        )

    def python(self, code: str) -> str:
        """Return the output of Python code with the copy on its path."""
        argv = [sys.executable, "-c", f"import sys; sys.path.insert(0, {str(self.root)!r})\n{code}"]
        return subprocess.run(argv, capture_output=True, text=True, check=True).stdout

    def reference(self, page: str) -> str:
        """Return a page of the reference, generated from the copy."""
        script = self.root / "scripts" / "reference"
        subprocess.run(
            [sys.executable, str(script)], check=True, capture_output=True, cwd=self.root
        )
        return (self.root / "docs" / "reference" / page).read_text(encoding="utf-8")


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    return Tree(tmp_path / "tree")


RING = '''
from pydantic import Field

from swecli.models.message import ToolResult
from swecli.tools.base import PermissionKind, ToolContext, ToolPlan, tool
from swecli.tools.params import Params

BELL = PermissionKind("bell", "Ring this bell?", "asks before it rings")


class RingParams(Params):
    """Parameters of ring."""

    name: str = Field(description="Which bell.")


def _plan(params: RingParams, ctx: ToolContext) -> ToolPlan:
    return ToolPlan(f"Ring {params.name}", subject=params.name)


@tool(BELL, RingParams, _plan)
async def ring(params: RingParams, ctx: ToolContext, plan: ToolPlan) -> ToolResult:
    """Ring a bell."""
    return ToolResult(True, f"{params.name} rang")
'''


def test_adding_a_tool_with_a_new_permission_kind_changes_one_code_file(tree: Tree) -> None:
    tree.write("swecli/tools/builtin/ring.py", RING)
    tree.write("swecli/tools/builtin/ring.md", "Ring one of the bells of this house, by its name.")
    ringing = {"calls": [{"name": "ring", "arguments": {"name": "door/front"}}]}
    Path("replies.json").write_text(json.dumps([ringing, {"text": "Done."}]))
    Path("mine.toml").write_text('allow = ["bell(door/*)"]')
    prompt = ("-p", "ring", "-m", "scripted/replies.json")
    denied = tree.swecli(*prompt)
    assert "denied: Ring door/front" in denied.err
    allowed = tree.swecli(*prompt, "--config", "mine.toml")
    assert "ok: Ring door/front" in allowed.err
    assert "can never apply" not in allowed.err
    assert "## ring\n\nAsks before it rings." in tree.reference("tools.md")
    assert len(tree.changed) == 1


HOW_TO = ROOT / "docs" / "how-to" / "add-a-tool-or-command.md"
OFFERED_SPECS = """
from swecli.tools.offers import bundled_specs
from swecli.tools.registry import ToolRegistry
tools = ToolRegistry.discover()
assert tools.specs() == [tool.spec() for tool in tools.values()]
print(*(len(spec.description) for spec in bundled_specs() if spec.name == "count_lines"))
"""


def test_the_tool_of_the_page_is_offered_as_it_is_typed(tree: Tree) -> None:
    page = HOW_TO.read_text(encoding="utf-8")
    typed = page.partition("```python\n")[2].partition("```")[0]
    tree.write("swecli/tools/builtin/count_lines.py", typed)
    assert "The model reads:\n\n> Count the lines" in tree.reference("tools.md")
    assert 40 < int(tree.python(OFFERED_SPECS)) < 1200
    assert len(tree.changed) == 1


ECHO = '''
from swecli.repl.commands.base import CommandContext, command


@command(usage="[loud]", complete=lambda runtime: [("loud", "in capitals")])
async def _echo(ctx: CommandContext, args: str) -> None:
    """Print the words"""
    ctx.screen.line(args)
'''


OFFERED = """
import asyncio
from prompt_toolkit.document import Document
from swecli.repl.commands.registry import CommandTable
from swecli.repl.input.completer import LineCompleter

class Source:
    async def commands(self):
        return [(one.name, one.aliases, one.help) for one in CommandTable.discover().commands]

    async def values(self, name):
        return CommandTable.discover().find(name).complete(None)

async def offered(line):
    completer = LineCompleter(Source(), None)
    return [found.text async for found in completer.get_completions_async(Document(line), None)]

print(asyncio.run(offered("/echo")), asyncio.run(offered("/echo l")))
"""


def test_adding_a_command_with_completion_changes_one_code_file(tree: Tree) -> None:
    tree.write("swecli/repl/commands/builtin/echo.py", ECHO)
    assert tree.python(OFFERED) == "['echo'] ['loud']\n"
    assert "| `/echo [loud]` |  | Print the words |" in tree.reference("commands.md")
    assert len(tree.changed) == 1


TURNS = '''
from swecli.models.action import Action, ActionResult, Flag, Invocation, Need, Words
from swecli.store.session_manager import SessionManager


@Action(
    Need.SESSION,
    Words("[WORD]", "count only those with this word"),
    (Flag("--plus", "count so many more", "N"),),
    complete=lambda runtime: [("tests", "those about tests")],
)
def turns(sessions: SessionManager, asked: Invocation) -> ActionResult:
    """Count the turns of a session"""
    count = sessions.session.interactions + int(asked.value("--plus", "0"))
    return ActionResult({"turns": count}, (f"{count} turns {asked.text}".strip(),))
'''


TYPED = """
import asyncio
from swecli.repl.commands.registry import CommandTable
from tests.support.command_context import ScriptedContext
from tests.support.runtime import make_runtime

context = ScriptedContext(make_runtime([]))
print(asyncio.run(context.type("/turns tests --plus 2")))
print(CommandTable.discover().find("turns").complete(None))
"""


def test_adding_a_command_for_session_and_shell_changes_one_code_file(tree: Tree) -> None:
    tree.write("swecli/actions/builtin/turns.py", TURNS)
    assert tree.swecli("-p", "hi", "-m", HELLO).code == 0
    assert tree.swecli("turns", "tests", "--plus", "2").out == "3 turns tests\n"
    assert tree.swecli("turns", "--json").json == {"turns": 1}
    help_lines = [" ".join(line.split()) for line in tree.swecli("--help").out.splitlines()]
    assert "swecli turns count the turns of a session" in help_lines
    assert "--plus N" in tree.swecli("turns", "--help").out
    assert "turns" in tree.swecli("completion", "words", "tu").out
    assert tree.python(TYPED) == "2 turns tests\n\n[('tests', 'those about tests')]\n"
    assert "| `/turns [WORD]` |  | Count the turns of a session |" in tree.reference("commands.md")
    assert "Count the turns of a session." in tree.reference("swecli.1")
    assert len(tree.changed) == 1


def test_adding_a_provider_changes_one_code_file(tree: Tree) -> None:
    """Check that no other file names the provider; its answers are tested with the providers."""
    tree.write("swecli/llm/providers/acme.py", PROVIDER)
    assert "ACME_API_KEY is not set" in tree.swecli("-p", "hi", "-m", "acme/small").complaint
    assert len(tree.changed) == 1


def test_adding_a_setting_changes_one_code_file(tree: Tree) -> None:
    setting = '    loudness: int = _setting(3, integer(0, 9), "how loud the bell is", in_project="stricter")\n'
    tree.insert("swecli/config/settings.py", "    color: bool", setting)
    assert tree.swecli("config", "get", "loudness").out == "3\n"
    assert (
        "SWECLI_LOUDNESS: '10' is not"
        in tree.swecli("config", "get", SWECLI_LOUDNESS="10").complaint
    )
    assert tree.swecli("config", "set", "loudness", "4").code == 0
    assert (
        "loudness" in tree.swecli("config", "get", "loudness", "--origin", SWECLI_LOUDNESS="5").out
    )
    assert "| `loudness` | how loud the bell is | `SWECLI_LOUDNESS` | `3` |" in tree.reference(
        "settings.md"
    )
    assert len(tree.changed) == 1


WORDS = '''
from swecli.headless.writers.base import Writer


class Words(Writer):
    """How many words the answer has."""

    def answer(self, exit_code: int) -> str:
        return str(len(self.turn.finished.text.split())) if self.turn.finished else ""


FORMAT = Words
'''


def test_adding_an_output_format_changes_one_code_file(tree: Tree) -> None:
    tree.write("swecli/headless/writers/word_count.py", WORDS)
    assert (
        tree.swecli("-p", "hi", "-m", HELLO, "--output-format", "word-count")
        .out.strip()
        .isdecimal()
    )
    assert "word-count" in tree.swecli("--help").out
    assert len(tree.changed) == 1


MOOD_NOTED = '''@dataclass(frozen=True, slots=True)
class MoodNoted(Event):
    """The model is in a mood."""

    mood: str


'''


def test_adding_an_event_changes_its_declaration_and_the_place_that_makes_it(tree: Tree) -> None:
    tree.insert(
        "swecli/models/events.py",
        "@dataclass(frozen=True, slots=True)\nclass StepStarted(Event):",
        MOOD_NOTED,
    )
    loop = "swecli/agent/loop.py"
    tree.insert(loop, "            yield StepStarted(", '            yield MoodNoted("calm")\n')
    tree.insert(
        loop,
        "from swecli.models.message import ChatMessage",
        "from swecli.models.events import MoodNoted\n",
    )
    printed = tree.swecli("-p", "hi", "-m", HELLO, "--output-format", "stream-json").out
    events = [json.loads(line) for line in printed.splitlines()]
    assert [event["mood"] for event in events if event["type"] == "mood_noted"] == ["calm"]
    assert len(tree.changed) == 2


def test_adding_a_note_changes_its_label_and_the_place_that_makes_it(
    tree: Tree, own_home: Path
) -> None:
    tree.insert("swecli/models/notes.py", '    MODE = "Mode"', '    MOON = "Moon"\n')
    tree.insert(
        "swecli/context/situation.py",
        "        SituationNote(Label.PLATFORM, platform),",
        '        SituationNote(Label.MOON, "full"),\n',
    )
    tree.swecli("-p", "hi", "-m", HELLO)
    with closing(sqlite3.connect(own_home / "swecli" / "swecli.db")) as db:
        [notes] = db.execute("SELECT notes FROM message WHERE notes LIKE '%Moon%'").fetchone()
    assert {"kind": "situation", "label": "Moon", "value": "full"}.items() <= next(
        note for note in json.loads(notes) if note.get("label") == "Moon"
    ).items()
    assert "- Moon: full" in tree.swecli("context", "prompt", "full", "again").out
    assert len(tree.changed) == 2


RESUMED = """
from pathlib import Path
from swecli.store.session_manager import SessionManager
from swecli.store.sqlite.database import open_database
manager = SessionManager(open_database(Path({file!r})))
"""


def test_a_new_column_is_written_by_a_new_session_and_read_back(tree: Tree) -> None:
    swecli("-p", "hi", "-m", HELLO)  # an older database
    column = '    mood: str = Field(default="", sa_type=CleanText, sa_column_kwargs={"server_default": ""})\n'
    tree.insert("swecli/store/tables/sessions.py", "    first_query: str = Field(", column)
    tree.insert(
        "swecli/store/sqlite/migrations.py",
        "# The n-th step",
        'def add_mood(connection: Connection) -> None:\n    """Sessions have a mood."""\n\n\n',
    )
    tree.insert(
        "swecli/store/sqlite/migrations.py",
        ")\n\n\ndef newest_format(",
        "    add_mood,\n",
    )
    tree.insert(
        "swecli/models/session.py",
        "    cost: float | None = 0.0\n    context:",
        '    mood: str = "calm"\n',
    )
    tree.reference("sql.md")  # writes the tables of the journal, too
    assert len(tree.changed) == 3
    assert tree.swecli("-p", "hi", "-m", HELLO).code == 0
    new, old = tree.swecli("sessions", "list", "--json").json
    file = str(Path(os.environ["SWECLI_HOME"], "swecli.db"))
    moods = "print([manager.resume(name, '').mood for name in ({new!r}, {old!r})])"
    code = RESUMED.format(file=file) + moods.format(new=new["id"], old=old["id"])
    assert tree.python(code) == "['calm', '']\n"
    Path("export.json").write_text(tree.swecli("sessions", "export", new["id"]).out)
    assert tree.swecli("sessions", "import", "export.json", "--db", "other.db").code == 0
    with closing(sqlite3.connect("other.db")) as database:
        assert database.execute("SELECT mood FROM session").fetchall() == [("calm",)]


UNSTORED = [
    ("swecli/models/session.py", "    cost: float | None = 0.0\n    context:"),
    ("swecli/models/message.py", "    effects: Effects = Effects()\n"),
    (
        "swecli/models/message.py",
        "    notes: list[Note] = field(default_factory=list)\n",
    ),
]


@pytest.mark.parametrize(("path", "before"), UNSTORED, ids=["session", "call", "message"])
def test_a_field_that_is_not_stored_changes_nothing_that_is(
    tree: Tree, path: str, before: str
) -> None:
    tree.insert(path, before, '    mood: str = ""\n')
    Path("replies.json").write_text(
        json.dumps([{"calls": [{"name": "list_files", "arguments": {}}]}, {"text": "Done."}])
    )
    assert tree.swecli("-p", "hi", "-m", "scripted/replies.json").code == 0
    assert tree.swecli("-p", "go on", "-c", "-m", HELLO).code == 0
