"""Test importing transcripts of Claude Code and codex: queries, answers, calls and costs, with nothing lost."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from swecli.models.api_message import calls_of
from swecli.models.errors import BadInput
from swecli.models.message import Role
from swecli.models.session import Session
from swecli.store.session_files.importing import _MAX_BYTES, ImportResult, import_file
from swecli.store.session_manager import SessionManager
from tests.support.databases import open_database


@pytest.fixture
def manager() -> Iterator[SessionManager]:
    with closing(open_database(":memory:")) as database:
        yield SessionManager(database)


FILES = Path(__file__).with_name("transcripts")
JSON_LINES = ("claude_code.jsonl", "claude_code_turns.jsonl", "codex.jsonl")


def import_transcript(manager: SessionManager, name: str) -> tuple[ImportResult, Session]:
    imported = import_file(manager.database, FILES / name)
    return imported, manager.resume(imported.session_id, "", 100)


def message_rows(session: Session) -> list[tuple[int, str, str, list[str]]]:
    return [
        (m.interaction, m.role.value, m.content, [call.name for call in m.tool_calls])
        for m in session.messages
    ]


def test_a_claude_code_transcript_is_imported(manager: SessionManager) -> None:
    imported, session = import_transcript(manager, "claude_code.jsonl")
    assert (imported.tool, imported.session_id) == (
        "Claude Code",
        "4f35e220-c435-4cf7-b9b9-f40426042847",
    )
    assert (session.title, session.working_directory) == ("Fix the login", "/home/ada/shop")
    assert message_rows(session) == [
        (1, "user", "why does the login fail?", []),
        (1, "assistant", "I run the tests.", ["Bash"]),
        (1, "assistant", "The token has expired.", []),
        (2, "user", "renew it", []),
        (2, "assistant", "", ["Edit"]),
    ]
    call = session.messages[1].tool_calls[0]
    assert (call.parameters, call.result, call.error) == (
        {"command": "pytest -q"},
        "1 failed",
        "1 failed",
    )
    assert session.messages[1].reasoning == "Look at the tests first."
    usage = manager.totals().usage
    assert (usage.input, usage.cache_read, usage.cache_write, usage.output) == (
        12,
        57493,
        1033,
        160,
    )
    assert manager.totals().requests == 2, "a reply that is split over lines is one request"


def test_a_codex_transcript_is_imported(manager: SessionManager) -> None:
    imported, session = import_transcript(manager, "codex.jsonl")
    assert (imported.tool, session.model) == ("codex", "gpt-5-codex")
    assert message_rows(session) == [
        (1, "user", "list the files", []),
        (1, "assistant", "", ["shell", "apply_patch"]),
        (1, "assistant", "There is app.py.", []),
        (2, "user", "thanks", []),
        (2, "assistant", "You are welcome.", []),
    ]
    first, second = session.messages[1].tool_calls
    assert (first.parameters, first.result, first.error) == ({"command": ["ls"]}, "app.py\n", None)
    assert (second.parameters, second.error) == ({"input": "*** Begin Patch"}, "no such file")
    usage = manager.totals().usage
    assert (usage.input, usage.cache_read, usage.output, usage.reasoning) == (1000, 4000, 36, 64)


def test_an_old_codex_transcript_without_payload_envelopes_is_imported(
    manager: SessionManager, tmp_path: Path
) -> None:
    lines = [
        {"id": "abc", "timestamp": "2025-06-01T10:00:00Z", "instructions": None},
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "hello"}]},
        {"type": "local_shell_call", "call_id": "c", "action": {"command": ["ls"]}},
        {
            "type": "message",
            "role": "assistant",
            "content": [{"type": "output_text", "text": "hi"}],
        },
    ]
    file = tmp_path / "rollout.jsonl"
    file.write_text("\n".join(json.dumps(line) for line in lines))
    session = manager.resume(import_file(manager.database, file).session_id, "")
    assert [m.content for m in session.messages] == ["hello", "", "hi"]


def test_claude_code_lines_not_typed_by_the_user_start_no_turn(manager: SessionManager) -> None:
    _, session = import_transcript(manager, "claude_code_turns.jsonl")
    assert message_rows(session) == [
        (1, "user", "count the files", []),
        (1, "assistant", "I count.", ["Bash"]),
        (2, "user", "and the folders", []),
        (2, "assistant", "One file.", []),
        (3, "user", "keep it", []),
        (3, "assistant", "Kept.", []),
        (4, "user", "/ship now", []),
        (4, "assistant", "Shipped.", []),
    ], "queued lines are turns; the tool's commands, reminders and retracted lines are not"
    assert (session.title, session.model) == ("Shop work", "claude-opus-4-5")
    usage = manager.totals().usage
    assert (usage.input, usage.cache_read, usage.cache_write, usage.output) == (11, 100, 7, 81)


def test_claude_code_text_after_many_tags_starts_a_turn(
    manager: SessionManager, tmp_path: Path
) -> None:
    words = "<task-notification>done</task-notification>" * 500 + "go on"
    line = {
        "type": "user",
        "sessionId": "s",
        "uuid": "u",
        "message": {"role": "user", "content": words},
    }
    file = tmp_path / "x.jsonl"
    summary = {
        "content": "This session is being continued from a previous conversation that ran out of context."
    }
    lines = [
        line,
        line | {"uuid": "v", "message": summary},
        line | {"uuid": ["odd"], "parentUuid": {}},
    ]
    file.write_text("\n".join(map(json.dumps, lines)))
    session = manager.resume(import_file(manager.database, file).session_id, "")
    assert [m.content for m in session.messages] == [words, words]


def test_a_codex_query_recorded_twice_is_one_turn(manager: SessionManager) -> None:
    _, session = import_transcript(manager, "codex_turns.jsonl")
    assert message_rows(session) == [
        (1, "user", "list the files", []),
        (1, "assistant", "", ["exec_command"]),
        (1, "assistant", "", ["web_search", "web_search"]),
        (1, "assistant", "a", []),
        (2, "user", "list", []),
    ]
    assert len({call.id for message in session.messages for call in message.tool_calls}) == 3


@pytest.mark.parametrize("name", JSON_LINES)
def test_every_transcript_line_is_stored_and_exported_again(
    manager: SessionManager, name: str
) -> None:
    imported, session = import_transcript(manager, name)
    with manager.database.reading() as db:
        kept = (
            db.connection()
            .exec_driver_sql("SELECT text FROM transcript_line ORDER BY line")
            .scalars()
            .all()
        )
    assert kept == [line for line in (FILES / name).read_text().split("\n") if line]
    assert imported.skipped == ()
    whole = json.dumps(manager.archive.export(session.id))
    manager.start("/q", "m")
    manager.delete(session.id)
    Path("again.json").write_text(whole)
    import_file(manager.database, Path("again.json"))
    assert json.dumps(manager.archive.export(session.id)) == whole


@pytest.mark.parametrize("name", JSON_LINES)
def test_an_imported_transcript_can_be_continued_and_searched(
    manager: SessionManager, name: str
) -> None:
    _, session = import_transcript(manager, name)
    sent = session.to_api_messages()
    answered = {m["tool_call_id"] for m in sent if m["role"] == "tool"}
    assert answered == {call["id"] for m in sent for call in calls_of(m)}, (
        "also calls without a result"
    )
    before = session.interactions
    assert manager.begin_interaction("go on").interaction == before + 1
    assert manager.catalog.search(session.messages[0].content.split()[-1].strip("?"))


@pytest.mark.parametrize("name", JSON_LINES)
def test_importing_the_same_transcript_twice_is_refused(manager: SessionManager, name: str) -> None:
    import_transcript(manager, name)
    with pytest.raises(BadInput, match="already exists"):
        import_file(manager.database, FILES / name)


@pytest.mark.parametrize("name", JSON_LINES)
def test_a_broken_line_is_named_and_the_rest_imported(
    manager: SessionManager, tmp_path: Path, name: str
) -> None:
    lines = (FILES / name).read_text().splitlines()
    cut = tmp_path / name
    cut.write_text("\n".join([*lines[:2], "{broken", "[1]", *lines[2:]])[:-20])
    imported = import_file(manager.database, cut)
    assert imported.skipped[:2] == (
        "line 3: not JSON, perhaps cut off",
        "line 4: not a JSON object",
    )
    assert imported.skipped[-1] == f"line {len(lines) + 2}: not JSON, perhaps cut off"
    assert manager.resume(imported.session_id, "").messages[0].role is Role.USER


def test_a_result_without_its_call_is_named(manager: SessionManager, tmp_path: Path) -> None:
    lines = (FILES / "claude_code.jsonl").read_text().splitlines()
    file = tmp_path / "x.jsonl"
    file.write_text(
        "\n".join(line for line in lines if "toolu_1" not in line or "tool_result" in line)
    )
    assert import_file(manager.database, file).skipped == ("line 5: a result without its call",)


@pytest.mark.parametrize(
    "change",
    [{"message": 5}, {"message": {"content": 7}}, {"timestamp": "yesterday"}, {"timestamp": 1e300}, {"message": None},
     {"timestamp": "9999-12-31T23:59:59-14:00"},
     {"message": {"content": [5, {"type": "tool_use"}, {"type": "text"}], "usage": {"input_tokens": "many"}}}],
)  # fmt: skip
def test_fields_with_unexpected_types_do_not_prevent_the_import(
    manager: SessionManager, tmp_path: Path, change: dict[str, object]
) -> None:
    lines = [json.loads(line) for line in (FILES / "claude_code.jsonl").read_text().splitlines()]
    lines[2:2] = [lines[2] | change, lines[1] | change]
    file = tmp_path / "x.jsonl"
    file.write_text("\n".join(json.dumps(line) for line in lines))
    imported = import_file(manager.database, file)
    assert manager.resume(imported.session_id, "").messages


def test_a_transcript_without_a_turn_is_refused(manager: SessionManager, tmp_path: Path) -> None:
    file = tmp_path / "x.jsonl"
    file.write_text((FILES / "codex.jsonl").read_text().splitlines()[0])
    with pytest.raises(BadInput, match="transcript of codex, but no turn"):
        import_file(manager.database, file)


@pytest.mark.parametrize(
    "text", ['{"chat": [{"from": "me"}]}', '{"a": 1}\n{"b": 2}\n', "# Notes\n\n#### heading\n"]
)
def test_a_file_of_an_unknown_tool_is_refused_with_the_supported_ones(
    manager: SessionManager, tmp_path: Path, text: str
) -> None:
    file = tmp_path / "session.jsonl"
    file.write_text(text)
    with pytest.raises(BadInput) as caught:
        import_file(manager.database, file)
    assert "swecli sessions export" in caught.value.hint
    assert manager.catalog.list_sessions() == []


@pytest.mark.slow
def test_a_file_over_100_megabytes_is_refused_unread(
    manager: SessionManager, tmp_path: Path
) -> None:
    file = tmp_path / "large.jsonl"
    file.touch()
    os.truncate(file, 2 * 10**9)
    with pytest.raises(BadInput, match=r"has 2,000 MB; files of up to 100 MB") as caught:
        import_file(manager.database, file)
    assert "Split it" in caught.value.hint
    assert _MAX_BYTES == 10**8


def test_a_line_of_five_million_characters_is_imported(
    manager: SessionManager, tmp_path: Path
) -> None:
    lines = (FILES / "codex.jsonl").read_text().splitlines()
    answer = json.loads(lines[-1])
    answer["payload"]["content"][0]["text"] = "x" * 5_000_000
    file = tmp_path / "x.jsonl"
    file.write_text("\n".join([*lines[:-1], json.dumps(answer)]))
    imported = import_file(manager.database, file)
    assert len(manager.resume(imported.session_id, "").messages[-1].content) == 5_000_000
