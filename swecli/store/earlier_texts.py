"""Makes data of what versions up to 0.2.0 stored as text and read back from it: the notes behind a query, and which job
a call started. Read once: when a database is upgraded, and when a session is imported that such a version exported."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from swecli.models.json_value import Json, JsonObject
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
_OPEN, _CLOSE = "\n\n<turn_notes>\n- ", "\n</turn_notes>"
_FOUND = (
    "Found in earlier turns of this session that are no longer sent; quoted, not asked for now:"
)
_STRATEGY = "Strategy ["
_REVOKED = "] no longer applies."
_CHANGES = {"] is new: ": StrategyChange.NEW, "] now reads: ": StrategyChange.REWRITTEN}
_MODE_ENDED = ". The mode before it has ended"
_STARTED = re.compile(r"Job (\d{1,9}) runs in the background\.")
_JOB = "background "
_LOST = ": lost: swecli ended while it ran, and its output is not kept"


def split_notes(content: str, sent: str) -> tuple[str, list[Note]]:
    """Return a query as it was sent without its notes, and the notes. `content` is what the user typed: `sent` began
    with it and ended with the notes, so a block that was typed is none. The text and its notes give `sent` again; a
    text for which they would not is returned as it is, with no notes."""
    typed = len(content) if sent.startswith(content) else 0
    start = sent.rfind(_OPEN, typed)
    if start < 0 or not sent.endswith(_CLOSE):
        return sent, []
    listed = sent[start + len(_OPEN) : -len(_CLOSE)]
    notes = _read_lines(listed.split("\n- "))
    text = sent[:start]
    return (text, notes) if with_notes(text, notes) == sent else (sent, [])


def _read_lines(lines: Sequence[str]) -> list[Note]:
    notes: list[Note] = []
    is_quoting = False
    for line in lines:
        if line == _FOUND:
            is_quoting = True
        else:
            notes.append(ExcerptNote(line) if is_quoting else _read_line(line))
    return notes


def _read_line(line: str) -> Note:
    """Return the note that a line was made of; what reads otherwise when it is sent again stays a text."""
    note = _read_strategy(line) or _read_situation(line) or _read_job(line)
    return note if note is not None and note.line == line else TextNote(line)


def _read_strategy(line: str) -> StrategyNote | None:
    name, bracket, rest = line.removeprefix(_STRATEGY).partition("]")
    rest = bracket + rest
    if not line.startswith(_STRATEGY) or not _is_bullet(name):
        return None
    if rest == _REVOKED:
        return StrategyNote(name, StrategyChange.ENDED)
    for how, change in _CHANGES.items():
        if rest.startswith(how):
            return StrategyNote(name, change, rest.removeprefix(how))
    return None


def _is_bullet(name: str) -> bool:
    return name.startswith("P-") and name.removeprefix("P-").isdecimal()


def _read_situation(line: str) -> SituationNote | None:
    name, colon, value = line.partition(": ")
    if not colon or name not in list(Label):
        return None
    label = Label(name)
    has_ended = label is Label.MODE and value.endswith(_MODE_ENDED)
    return SituationNote(label, value.removesuffix(_MODE_ENDED) if has_ended else value, has_ended)


def _read_job(line: str) -> LostJobNote | None:
    is_lost = line.startswith(_JOB) and line.endswith(_LOST)
    return LostJobNote(line[len(_JOB) : -len(_LOST)]) if is_lost else None


def split_edits(edits: JsonObject, notes_of: Callable[[int], list[Note]]) -> bool:
    """Take the notes out of the texts that stored edits put in place of queries; return whether any was changed.
    `notes_of` returns the notes of an interaction's query. Notes that were cut with the text stay in it."""
    is_changed = False
    for key, fields in edits["replace"].items():
        number, _, place = key.partition(".")
        if place != "0" or not number.isdecimal() or not isinstance(fields.get("content"), str):
            continue
        notes = notes_of(int(number))
        if notes:
            fields |= _split_edited(fields["content"], notes)
            is_changed = True
    return is_changed


def _split_edited(text: str, notes: list[Note]) -> JsonObject:
    """Return the fields that stand for an edited text that may end with notes, or with those that an epoch keeps."""
    kept: list[Note] = [note for note in notes if not isinstance(note, StrategyNote)]
    for behind in (with_notes("", notes), with_notes("", kept)):
        if behind and text.endswith(behind):
            return {"content": text.removesuffix(behind)}
    return {"notes": []}


def convert_rows(connection: Connection) -> None:
    """Take the notes out of all stored messages and edits, and say which calls started a job."""
    noted = connection.exec_driver_sql(
        "SELECT id FROM message WHERE role = 'user' AND sent != content"
        " AND substr(sent, -length(?)) = ?",
        (_CLOSE, _CLOSE),
    )
    for (key,) in noted.fetchall():  # the texts one by one: all of them may not fit into memory
        content, sent = connection.exec_driver_sql(
            "SELECT content, sent FROM message WHERE id = ?", (key,)
        ).one()
        text, notes = split_notes(content, sent)
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
        session, stored = connection.exec_driver_sql(
            "SELECT session_id, edits FROM reduction WHERE number = ?", (number,)
        ).one()
        edits = json.loads(stored)
        if split_edits(edits, partial(_notes_of_query, connection, session)):
            connection.exec_driver_sql(
                "UPDATE reduction SET edits = ? WHERE number = ?", (_to_text(edits), number)
            )


def _notes_of_query(connection: Connection, session: str, interaction: int) -> list[Note]:
    """Return the converted notes of an interaction's first message; [] if it has none. The reductions of an undone turn
    are in a session of their own, whose earlier turns are those of its parent."""
    found = connection.exec_driver_sql(
        "SELECT m.notes FROM session s JOIN message m ON m.session_id IN (s.id, s.parent_id)"
        " WHERE s.id = ? AND m.interaction = ? ORDER BY m.session_id != s.id, m.id LIMIT 1",
        (session, interaction),
    ).scalar()
    return notes_from_json(json.loads(found)) if found else []


def _to_text(value: Json) -> str:
    return json.dumps(value, ensure_ascii=False)


def convert_archive(whole: JsonObject) -> None:
    """Do the same with the messages, edits and calls of an exported session."""
    queries: dict[int, list[Note]] = {}
    for message in whole["messages"]:
        for call in message["tool_calls"]:
            started = _STARTED.match(call["result"] or "")
            if started and call["effects"] and call["parameters"].get("background"):
                call["effects"]["job"] = int(started[1])
        notes: list[Note] = []
        if message["role"] == "user" and message["sent"] is not None:
            message["sent"], notes = split_notes(message["content"], message["sent"])
            message["notes"] = notes_to_json(notes)
        queries.setdefault(message["interaction"], notes)
    for reduction in whole["reductions"]:
        if reduction["edits"] and "replace" in reduction["edits"]:
            split_edits(reduction["edits"], lambda interaction: queries.get(interaction, []))
