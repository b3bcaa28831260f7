"""Test the importers of other tools, found by their entry points as those of an installed package are."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from swecli.models.session import Session
from swecli.store.session_files.importing import ImportResult, import_file
from swecli.store.session_manager import SessionManager
from tests.support.databases import open_database
from tests.support.shell import ON_PATH, swecli

FILES = Path(__file__).with_name("transcripts")
NAMES = ("pi.jsonl", "aider.chat.history.md")


@pytest.fixture
def manager() -> Iterator[SessionManager]:
    with closing(open_database(":memory:")) as database:
        yield SessionManager(database)


def import_transcript(manager: SessionManager, name: str) -> tuple[ImportResult, Session]:
    imported = import_file(manager.database, FILES / name)
    return imported, manager.resume(imported.session_id, "", 100)


def message_rows(session: Session) -> list[tuple[int, str, str, list[str]]]:
    return [
        (m.interaction, m.role.value, m.content, [call.name for call in m.tool_calls])
        for m in session.messages
    ]


def test_a_pi_transcript_is_imported_without_its_abandoned_branch(manager: SessionManager) -> None:
    imported, session = import_transcript(manager, "pi.jsonl")
    assert (imported.tool, session.title, session.model) == (
        "pi",
        "the shop",
        "anthropic/claude-sonnet-4-5",
    )
    assert message_rows(session) == [
        (1, "user", "read the readme", []),
        (1, "assistant", "Reading.", ["read"]),
        (1, "assistant", "It is a shop.", []),
        (2, "user", "and the tests?", []),
    ], "the abandoned branch is not imported"
    assert session.messages[1].tool_calls[0].result == "# Shop"
    assert manager.totals().cost == pytest.approx(0.015)


def test_an_aider_transcript_is_imported(manager: SessionManager) -> None:
    imported, session = import_transcript(manager, "aider.chat.history.md")
    assert (imported.tool, session.model) == ("aider", "gpt-4o")
    assert session.messages[0].content == "add a function that greets\nby name"
    assert session.messages[1].content.startswith("Here it is:")
    assert "Tokens:" not in session.messages[1].content
    assert [m.content for m in session.messages[2:]] == ["thanks", "You are welcome."]


def test_headings_and_quotes_in_an_aider_answer_belong_to_the_answer(
    manager: SessionManager, tmp_path: Path
) -> None:
    text = """
# aider chat started at 2025-12-03 14:43:45

> Main model: gpt-4o with diff edit format@@
#### /add app.py@@
> Added app.py to the chat@@

#### add a greeting@@
#### for Ada@@

Here it is:

#### Step 1

> a quote

> Tokens: 2.4k sent, 1.0k cache hit, 104 received. Cost: $0.00042 message, $0.00042 session.@@
> Applied edit to app.py@@

#### /ask why@@

Because.

> Tokens: 300 sent, 5 received. Cost: $0.00010 message, $0.00052 session.@@

#### /exit@@
"""
    file = tmp_path / ".aider.chat.history.md"
    file.write_bytes(text.replace("@@", "  ").replace("\n", "\r\n").encode())
    session = manager.resume(import_file(manager.database, file).session_id, "")
    assert message_rows(session) == [
        (1, "user", "add a greeting\nfor Ada", []),
        (1, "assistant", "Here it is:\n\n#### Step 1\n\n> a quote", []),
        (2, "user", "/ask why", []),
        (2, "assistant", "Because.", []),
    ]
    assert (session.model, manager.totals().usage.input, manager.totals().usage.output) == (
        "gpt-4o",
        2700,
        109,
    )
    assert manager.totals().cost == pytest.approx(0.00052)


@pytest.mark.parametrize("name", NAMES)
def test_every_transcript_line_is_stored_and_exported_again(
    manager: SessionManager, name: str
) -> None:
    imported, session = import_transcript(manager, name)
    with manager.database.reading() as db:
        rows = db.connection().exec_driver_sql("SELECT text FROM transcript_line ORDER BY line")
        kept = rows.scalars().all()
    assert kept == [line for line in (FILES / name).read_text().split("\n") if line]
    assert imported.skipped == ()
    whole = json.dumps(manager.archive.export(session.id))
    manager.start("/q", "m")
    manager.delete(session.id)
    Path("again.json").write_text(whole)
    import_file(manager.database, Path("again.json"))
    assert json.dumps(manager.archive.export(session.id)) == whole


def test_a_broken_line_and_a_result_without_its_call_are_named(
    manager: SessionManager, tmp_path: Path
) -> None:
    lines = (
        (FILES / "pi.jsonl").read_text().replace('"toolCallId":"', '"toolCallId":"x').splitlines()
    )
    file = tmp_path / "x.jsonl"
    file.write_text("\n".join([*lines[:2], "{broken", "[1]", *lines[2:]]))
    assert import_file(manager.database, file).skipped == (
        "line 3: not JSON, perhaps cut off",
        "line 4: not a JSON object",
        "line 7: a result without its call",
    )


@pytest.mark.slow
def test_a_package_beside_the_program_adds_an_importer() -> None:
    done = swecli("sessions", "import", str(FILES / "aider.chat.history.md"))
    assert "Imported 2 turns from aider" in done.out, done.err


@pytest.mark.slow
def test_an_importer_that_cannot_be_loaded_is_named_when_nothing_reads_the_file(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    site = tmp_path_factory.mktemp("site")  # what lies in the working directory is not loaded
    folder = site / "broken-0.dist-info"
    folder.mkdir()
    (folder / "entry_points.txt").write_text("[swecli.importers]\nodd = nowhere_to_be_found:ODD\n")
    path = os.pathsep.join((str(site), ON_PATH))
    beside = ("env", f"PYTHONPATH={path}")  # a package is found when Python starts
    Path("notes.md").write_text("# Notes\n")
    done = swecli("sessions", "import", "notes.md", before=beside)
    assert done.code == 42
    assert "The importer 'odd' cannot be used: ModuleNotFoundError" in done.complaint
    chat = str(FILES / "aider.chat.history.md")
    done = swecli("sessions", "import", chat, before=beside)
    assert "Imported 2 turns from aider" in done.out, "the others are asked all the same"
