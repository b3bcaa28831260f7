"""Makes data of what versions up to 0.2.0 stored as text and read back from it: the notes behind a query, which job a
call started, how it ended, and which ends of jobs were told. Read once: when a database is upgraded, and when a session
is imported that such a version exported."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from swecli.models.json_value import Json, JsonObject
from swecli.models.message import CallStatus
from swecli.models.notes import (
    ExcerptNote,
    Label,
    LostJobNote,
    Note,
    SituationNote,
    StrategyChange,
    StrategyNote,
    TextNote,
    notes_from_json,
    notes_to_json,
    with_notes,
)

if TYPE_CHECKING:  # most databases are of the newest version
    from sqlalchemy import Connection

# The lines of that version, which stay as they are whatever the notes of later ones look like.
_OPENING = "\n\n<turn_notes>\n- "
_CLOSING = "\n</turn_notes>"
_EXCERPTS_FOLLOW = (
    "Found in earlier turns of this session that are no longer sent; quoted, not asked for now:"
)
_STRATEGY = "Strategy ["
_REVOKED = "] no longer applies."
_CHANGES = {"] is new: ": StrategyChange.NEW, "] now reads: ": StrategyChange.REWRITTEN}
_MODE_ENDED = ". The mode before it has ended"
_STARTED = re.compile(r"Job (\d{1,9}) runs in the background\.")
_JOB = "background "
_ENDED = re.compile(r"\[background (job \d{1,9} \(.{0,60}?\)): ")
# The errors that were compared. The result of a tool that failed begins with its error.
_ENDED_BY_ERROR = {
    "cancelled": CallStatus.CANCELLED,
    "interrupted": CallStatus.INTERRUPTED,
    "swecli ended while it ran": CallStatus.INTERRUPTED,
}
_LOST_NOTE = ": lost: swecli ended while it ran, and its output is not kept"


def split_notes(content: str, sent_text: str) -> tuple[str, list[Note]]:
    """Return a query as it was sent without its notes, and the notes. `content` is what the user typed: `sent_text`
    began with it and ended with the notes, so a block that was typed is none. The text and its notes give `sent_text`
    again; a text for which they would not is returned as it is, with no notes."""
    typed_length = len(content) if sent_text.startswith(content) else 0
    start = sent_text.rfind(_OPENING, typed_length)
    if start < 0 or not sent_text.endswith(_CLOSING):
        return sent_text, []
    lines = sent_text[start + len(_OPENING) : -len(_CLOSING)].split("\n- ")
    notes = _read_lines(lines)
    text = sent_text[:start]
    if with_notes(text, notes) != sent_text:
        return sent_text, []
    return text, notes


def _read_lines(lines: Sequence[str]) -> list[Note]:
    notes: list[Note] = []
    is_quoting = False
    for line in lines:
        if line == _EXCERPTS_FOLLOW:
            is_quoting = True
        else:
            notes.append(ExcerptNote(line) if is_quoting else _read_line(line))
    return notes


def _read_line(line: str) -> Note:
    """Return the note that a line was made of; what reads otherwise when it is sent again stays a text."""
    note = _read_strategy(line) or _read_situation(line) or _read_job(line)
    return note if note is not None and note.line == line else TextNote(line)


def _read_strategy(line: str) -> StrategyNote | None:
    """Return the note of a line such as `Strategy [P-7] is new: run tox`."""
    bullet_id, bracket, text = line.removeprefix(_STRATEGY).partition("]")
    sentence = bracket + text
    if not line.startswith(_STRATEGY) or not _is_bullet(bullet_id):
        return None
    if sentence == _REVOKED:
        return StrategyNote(bullet_id, StrategyChange.ENDED)
    for beginning, change in _CHANGES.items():
        if sentence.startswith(beginning):
            return StrategyNote(bullet_id, change, sentence.removeprefix(beginning))
    return None


def _is_bullet(name: str) -> bool:
    return name.startswith("P-") and name.removeprefix("P-").isdecimal()


def _read_situation(line: str) -> SituationNote | None:
    name, colon, value = line.partition(": ")
    if not colon or name not in list(Label):
        return None
    label = Label(name)
    if label is Label.MODE and value.endswith(_MODE_ENDED):
        return SituationNote(label, value.removesuffix(_MODE_ENDED), True)
    return SituationNote(label, value, False)


def _read_job(line: str) -> LostJobNote | None:
    if line.startswith(_JOB) and line.endswith(_LOST_NOTE):
        return LostJobNote(line[len(_JOB) : -len(_LOST_NOTE)])
    return None


def split_edits(edits: JsonObject, notes_of: Callable[[int], list[Note]]) -> bool:
    """Take the notes out of the texts that stored edits put in place of queries; return whether any was changed.
    `notes_of` returns the notes of an interaction's query. Notes that were cut with the text stay in it."""
    is_changed = False
    for key, fields in edits["replace"].items():
        number, _, index = key.partition(".")  # "7.0" is the query of interaction 7
        if index != "0" or not number.isdecimal() or not isinstance(fields.get("content"), str):
            continue
        notes = notes_of(int(number))
        if notes:
            fields |= _split_edited(fields["content"], notes)
            is_changed = True
    return is_changed


def _split_edited(text: str, notes: list[Note]) -> JsonObject:
    """Return the fields that stand for an edited text that may end with notes, or with those that an epoch keeps."""
    lasting: list[Note] = [note for note in notes if not isinstance(note, StrategyNote)]
    for suffix in (with_notes("", notes), with_notes("", lasting)):
        if suffix and text.endswith(suffix):
            return {"content": text.removesuffix(suffix)}
    return {"notes": []}


def convert_rows(connection: Connection) -> None:
    """Take the notes out of all stored messages and edits, and say which calls started a job."""
    with_block = connection.exec_driver_sql(
        "SELECT id FROM message WHERE role = 'user' AND sent != content"
        " AND substr(sent, -length(?)) = ?",
        (_CLOSING, _CLOSING),
    )
    for (
        key,
    ) in with_block.fetchall():  # the texts one by one: all of them may not fit into memory
        content, sent_text = connection.exec_driver_sql(
            "SELECT content, sent FROM message WHERE id = ?", (key,)
        ).one()
        text, notes = split_notes(content, sent_text)
        if notes:
            columns = (text, _to_text(notes_to_json(notes)), key)
            connection.exec_driver_sql(
                "UPDATE message SET sent = ?, notes = ? WHERE id = ?", columns
            )
    _convert_edits(connection)
    connection.exec_driver_sql(
        "UPDATE tool_call SET effects = json_set(effects, '$.job', CAST(substr(result, 5) AS INTEGER))"
        " WHERE result GLOB 'Job [1-9]* runs in the background.*' AND json_valid(effects)"
        " AND json_valid(parameters) AND json_extract(parameters, '$.background')"
    )


def _convert_edits(connection: Connection) -> None:
    edited = connection.exec_driver_sql(
        "SELECT number FROM reduction"
        " WHERE json_valid(edits) AND json_type(edits, '$.replace') = 'object'"
    )
    for (number,) in edited.fetchall():
        session, stored_json = connection.exec_driver_sql(
            "SELECT session_id, edits FROM reduction WHERE number = ?", (number,)
        ).one()
        edits = json.loads(stored_json)
        if split_edits(edits, partial(_notes_of_query, connection, session)):
            connection.exec_driver_sql(
                "UPDATE reduction SET edits = ? WHERE number = ?", (_to_text(edits), number)
            )


def _notes_of_query(connection: Connection, session: str, interaction: int) -> list[Note]:
    """Return the converted notes of an interaction's first message; [] if it has none. The reductions of an undone turn
    are in a session of their own, whose earlier turns are those of its parent."""
    stored_json = connection.exec_driver_sql(
        "SELECT m.notes FROM session s JOIN message m ON m.session_id IN (s.id, s.parent_id)"
        " WHERE s.id = ? AND m.interaction = ? ORDER BY m.session_id != s.id, m.id LIMIT 1",
        (session, interaction),
    ).scalar()
    return notes_from_json(json.loads(stored_json)) if stored_json else []


def _status_of(result: str | None, error: str | None, *, is_refused: bool) -> CallStatus:
    if result is None:
        return CallStatus.INTERRUPTED
    if is_refused:
        return CallStatus.REFUSED
    if error is None:
        return CallStatus.FINISHED
    if result.startswith(error):
        return CallStatus.FAILED
    return _ENDED_BY_ERROR.get(error, CallStatus.FAILED)


def store_statuses(connection: Connection) -> None:
    """Say of all stored calls how they ended."""
    calls = connection.exec_driver_sql(
        # results are long, the texts that they are compared with short
        "SELECT id, substr(result, 1, 100), substr(error, 1, 100), approved = 0 FROM tool_call"
    )
    statuses = [
        (_status_of(result, error, is_refused=bool(is_refused)), key)
        for key, result, error, is_refused in calls
    ]
    if statuses:
        connection.exec_driver_sql("UPDATE tool_call SET status = ? WHERE id = ?", statuses)


def add_missing_statuses(whole: JsonObject) -> None:
    """Do the same with those calls of an exported session that do not say it themselves."""
    for message in whole["messages"]:
        for call in message["tool_calls"]:
            if call["status"] is None:
                is_refused = call["approved"] is False
                call["status"] = _status_of(call["result"], call["error"], is_refused=is_refused)


def _ended_jobs(text: str | None) -> list[str]:
    """Return the names of the jobs whose end a text tells."""
    return [*dict.fromkeys(_ENDED.findall(text or ""))]


def _without_typed(content: str, sent_text: str | None) -> str:
    """Return what was sent behind a query. What the user typed tells no end."""
    return (sent_text or "").removeprefix(content)


def store_ended_jobs(connection: Connection) -> None:
    """Say of all stored messages and calls which ends of jobs they told."""
    query = "SELECT id, {} FROM {} WHERE instr({}, '[background job ')"
    queries = connection.exec_driver_sql(query.format("content, sent", "message", "sent"))
    ended_jobs = [
        (key, _ended_jobs(_without_typed(content, sent_text)))
        for key, content, sent_text in queries
    ]
    _store_ends(connection, "message", ended_jobs)
    calls = connection.exec_driver_sql(query.format("result", "tool_call", "result"))
    _store_ends(connection, "tool_call", [(key, _ended_jobs(result)) for key, result in calls])


def _store_ends(
    connection: Connection, table: str, ended_jobs: Sequence[tuple[int, list[str]]]
) -> None:
    for key, names in ended_jobs:
        change = f"UPDATE {table} SET ended_jobs = ? WHERE id = ?"
        connection.exec_driver_sql(change, (_to_text([*names]), key))


def add_missing_ends(whole: JsonObject) -> None:
    """Do the same with those messages and calls of an exported session that do not say it themselves."""
    for message in whole["messages"]:
        if message["ended_jobs"] is None:
            message["ended_jobs"] = _ended_jobs(_without_typed(message["content"], message["sent"]))
        for call in message["tool_calls"]:
            if call["ended_jobs"] is None:
                call["ended_jobs"] = _ended_jobs(call["result"])


def _to_text(value: Json) -> str:
    return json.dumps(value, ensure_ascii=False)


def convert_archive(archive: JsonObject) -> None:
    """Do the same with the messages, edits and calls of an exported session."""
    notes_of_query: dict[int, list[Note]] = {}
    for message in archive["messages"]:
        for call in message["tool_calls"]:
            started = _STARTED.match(call["result"] or "")
            if started and call["effects"] and call["parameters"].get("background"):
                call["effects"]["job"] = int(started[1])
        notes: list[Note] = []
        if message["role"] == "user" and message["sent"] is not None:
            message["sent"], notes = split_notes(message["content"], message["sent"])
            message["notes"] = notes_to_json(notes)
        notes_of_query.setdefault(message["interaction"], notes)
    for reduction in archive["reductions"]:
        if reduction["edits"] and "replace" in reduction["edits"]:
            split_edits(reduction["edits"], lambda number: notes_of_query.get(number, []))
