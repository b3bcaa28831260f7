"""Import a session from a file: an export of swecli, or a transcript of another tool that an installed importer reads;
the format is detected. The content is validated as a whole and then written in one transaction."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import sqlmodel
from pydantic import AfterValidator, AwareDatetime, BaseModel, Field, ValidationError, create_model
from sqlmodel import select

from swecli.discovery import installed_entry_points
from swecli.models.context import Edits, Epoch
from swecli.models.errors import BadInput
from swecli.models.message import CallStatus, Effects
from swecli.models.notes import notes_from_json, notes_to_json
from swecli.models.playbook import Kind, Scope, State, Trust
from swecli.models.window_spec import WindowSpec
from swecli.store.earlier_texts import add_missing_ends, add_missing_statuses, convert_archive
from swecli.store.journal.reader import number_of
from swecli.store.journal.values import clean_text
from swecli.store.playbook.bullets import Bullets
from swecli.store.session_files.archive import (
    EXCLUDED_COLUMNS,
    Archive,
    rename_strategies,
    write_turns,
)
from swecli.store.session_files.importer import Importer
from swecli.store.sqlite.database import Database
from swecli.store.tables.playbook import BulletRow
from swecli.store.tables.sessions import (
    CallRow,
    InteractionRow,
    MessageRow,
    ReductionRow,
    RequestRow,
    SessionRow,
    SurvivorRow,
    TranscriptLineRow,
)
from swecli.store.tables.turns import TurnRow
from swecli.values import dataclass

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

_MAX_BYTES = 100_000_000  # a session is validated in memory
_DETECTED_FROM = 65_536  # characters from which the format is detected
_GROUP = "swecli.importers"  # the group of entry points
_FORMATS = (
    "What can be imported: exports (swecli sessions export ID > FILE), and transcripts that an installed package "
    "of importers reads."
)
_HINT = "Make one with: swecli sessions export ID > FILE"


@dataclass(frozen=True, slots=True)
class ImportResult:
    """Counts of an import. `strategies` of the session were imported, the `left_out` ones of its project and user were
    not. `tool` is the name of the transcript's tool, `skipped` describes the lines that could not be read."""

    session_id: str
    interactions: int
    messages: int
    strategies: int
    left_out: int
    tool: str = ""
    skipped: tuple[str, ...] = ()


_Text = Annotated[str, AfterValidator(clean_text)]
_Count = Annotated[int, Field(ge=0, lt=2**63)]
_Names = list[_Text] | None
_SAFE_TYPES: Mapping[Any, Any] = {
    datetime: AwareDatetime,
    datetime | None: AwareDatetime | None,
    str: _Text,
    str | None: _Text | None,
    int: _Count,
    int | None: _Count | None,
}


def _row_model(table: type[sqlmodel.SQLModel], **narrower: Any) -> Any:
    """Return the pydantic model of a table's rows in a file. Times with a default of now are required there."""
    fields: dict[str, Any] = {
        name: (
            _SAFE_TYPES.get(field.annotation, field.annotation),
            ... if field.default_factory else field.default,
        )
        for name, field in table.model_fields.items()
        if name not in EXCLUDED_COLUMNS[table]
    }
    return create_model(table.__name__, **fields | narrower)


def _list_of(model: Any, default: Any = ...) -> Any:
    return list.__class_getitem__(model), default


_ROLES = Literal["user", "assistant", "system"]


class _Image(BaseModel):
    name: _Text  # fields in stored order, so that exporting an import gives the same bytes
    label: _Text
    media_type: Annotated[str, Field(pattern="^image/(png|jpeg|gif|webp)$")]
    data: Annotated[str, Field(pattern="^[A-Za-z0-9+/]+={0,2}$")]


_ID = Annotated[_Text, Field(pattern="^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$")]
_Call = _row_model(
    CallRow, id=(_Text, ...), parameters=(dict[str, Any], {}), full_result=(_Text | None, None),
    exit_code=(int | None, None), duration_ms=(int | None, None), status=(CallStatus | None, None),
    ended_jobs=(_Names, None),
)  # fmt: skip
_Message = _row_model(
    MessageRow, id=(Any, None), role=(_ROLES, ...), interaction=(_Count, ...),
    tool_calls=_list_of(_Call, []), images=(list[_Image] | None, None),
    ended_jobs=(_Names, None),
)  # fmt: skip
_Record = _row_model(TurnRow, weight=(Annotated[float, Field(ge=0, le=1)], 0.0))
_Turn = _row_model(
    InteractionRow,
    status=(_Text, ...),
    shown=(_Names, None),
    cited=(_Names, None),
    playbook=(_Record | None, None),
)
_Reduction = _row_model(ReductionRow, number=(_Count, ...))
_Bullet = _row_model(
    BulletRow, id=(_Text, ""), kind=(Kind, ...), scope=(Scope, ...),
    state=(State, ...), trust=(Trust, ...), anchors=(tuple[_Text, ...], ()),
)  # fmt: skip
_Export = _row_model(
    SessionRow, id=(_ID, ...), directory=(_Text, ...), cost=(float | None, None),
    window_start=(Annotated[_Count, Field(ge=1)], 1), interactions=_list_of(_Turn), messages=_list_of(_Message),
    requests=_list_of(_row_model(RequestRow), []), reductions=_list_of(_Reduction, []),
    survivors=_list_of(_row_model(SurvivorRow), []), playbook=_list_of(_Bullet, []),
)  # fmt: skip


def import_session(
    database: Database, value: Any, lines: Sequence[tuple[int, str]] = ()
) -> ImportResult:
    """Store a value of `SessionManager.export` under its own id; its turns count as reflected upon. `lines` are the
    numbered raw lines of a transcript, stored for what a session has no column for. Raises BadInput on the first
    validation error, or if the session already exists."""
    try:
        export = _Export.model_validate(value)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(map(str, first["loc"])) or "the whole file"
        raise BadInput(f"Not an export of a session: {place}: {first['msg']}.", _HINT) from None
    archive = export.model_dump()
    _validate(archive)
    if all("notes" not in message.model_fields_set for message in export.messages):
        convert_archive(archive)
    add_missing_statuses(archive)
    add_missing_ends(archive)
    bullets = archive.pop("playbook")
    own_bullets = [bullet for bullet in bullets if bullet["scope"] == "session"]
    with database.transaction() as db:
        if db.exec(select(SessionRow.id).filter_by(id=archive["id"])).first() is not None:
            raise BadInput(
                f"The session {archive['id']} already exists.",
                f"Continue it: swecli -r {archive['id']}",
            )
        row = SessionRow(
            **{name: value for name, value in archive.items() if not isinstance(value, list)}
        )
        row.interactions = len(archive["interactions"])
        row.messages = len(archive["messages"])
        db.add(row)
        db.flush()
        rename_strategies(archive, _write_bullets(db, row, own_bullets))
        write_turns(db, row.id, archive)
        if lines:
            line_rows = [
                {"session_id": row.id, "line": number, "text": text} for number, text in lines
            ]
            db.connection().execute(sqlmodel.insert(TranscriptLineRow), line_rows)
    return ImportResult(
        row.id, row.interactions, row.messages, len(own_bullets), len(bullets) - len(own_bullets)
    )


def _validate(archive: Archive) -> None:
    """Validate what the models cannot: numbering, window and reductions. Raises BadInput."""
    turns = [turn["number"] for turn in archive["interactions"]]
    if turns != list(range(1, len(turns) + 1)):
        raise BadInput("Not an export of a session: its turns are not numbered 1, 2, 3 …", _HINT)
    of_messages = [message["interaction"] for message in archive["messages"]]
    if of_messages != sorted(of_messages) or not set(of_messages) <= set(turns):
        raise BadInput(
            "Not an export of a session: a message belongs to no turn or is out of order.", _HINT
        )
    _validate_values(archive)


def _validate_values(archive: Archive) -> None:
    """Parse the values that have a type of their own. Raises BadInput."""
    place = "effects of a call"
    try:
        for message in archive["messages"]:
            for call in message["tool_calls"]:
                Effects.from_json(call["effects"])
        place = "notes of a message"
        for message in archive["messages"]:
            message["notes"] = notes_to_json(notes_from_json(message["notes"]))
        place = "window_spec"
        WindowSpec.parse(archive["window_spec"] or "5")
        for index, row in enumerate(archive["reductions"]):
            place = f"reductions.{index}.epoch"
            Epoch.from_json(row["epoch"] or {"first": 1, "system": ""})
            place = f"reductions.{index}.edits"
            Edits.from_json(row["edits"] or {})
    except (ValueError, TypeError, AttributeError, KeyError) as error:
        raise BadInput(f"Not an export of a session: {place}: {error}.", _HINT) from error


def _write_bullets(
    db: sqlmodel.Session, session: SessionRow, own_bullets: Sequence[Archive]
) -> dict[str, str]:
    """Store the session's own strategies under their numbers, or new ones if a number was used here before. Returns
    their ids here by their ids in the export."""
    newest = Bullets(db).last_number()
    new_ids: dict[str, str] = {}
    for bullet in sorted(own_bullets, key=lambda bullet: number_of(bullet["id"])):
        number = number_of(bullet["id"])
        columns = {name: value for name, value in bullet.items() if name != "id"}
        row = BulletRow(**columns, session_id=session.id, project=session.project)
        row.number = number if number > newest else None
        row.anchors = list(bullet["anchors"])
        db.add(row)
        db.flush()
        newest = max(newest, row.number or 0)
        new_ids[bullet["id"]] = f"P-{row.number}"
    return new_ids


def import_file(database: Database, path: Path) -> ImportResult:
    """Import the session of a file. Broken lines of a transcript are skipped and reported. Raises BadInput."""
    try:
        size = path.stat().st_size
        if size > _MAX_BYTES:
            raise BadInput(
                f"{path} has {size / 1e6:,.0f} MB; files of up to {_MAX_BYTES / 1e6:,.0f} MB can be imported.",
                "Split it into smaller files.",
            )
        text = path.read_bytes().decode("utf-8-sig", "replace")
    except OSError as error:
        raise BadInput(f"{path} cannot be read: {error.strerror}.", _FORMATS) from error
    importer, problem = _find_importer(text[:_DETECTED_FROM])
    if importer is None:
        try:
            return import_session(database, json.loads(text))
        except (ValueError, RecursionError) as error:
            raise BadInput(
                f"{path} is not a session that swecli can read: {error}.", problem or _FORMATS
            ) from error
    transcript = importer.read(enumerate(text.split("\n"), 1), str(path.absolute().parent))
    if not transcript.session:
        raise BadInput(
            f"{path} looks like a transcript of {importer.tool}, but no turn of it can be read.",
            _FORMATS,
        )
    imported = import_session(database, transcript.session, transcript.lines)
    return replace(imported, tool=importer.tool, skipped=transcript.skipped)


def _find_importer(beginning: str) -> tuple[Importer | None, str]:
    """Return the installed importer that recognises the beginning of a file, and ""; if none does, None, and in one
    line why one could not be asked, "" if all were."""
    problem = ""
    for entry in installed_entry_points(_GROUP):
        try:
            importer = _ask_importer(entry, beginning)
        except BadInput as error:
            problem = str(error)
            continue
        if importer is not None:
            return importer, ""
    return None, problem


def _ask_importer(entry: EntryPoint, beginning: str) -> Importer | None:
    """Return the importer of an entry point if it recognises the beginning of a file. Raises BadInput if it cannot be
    loaded or fails."""
    try:
        importer: Importer = entry.load()
        return importer if importer.recognises(beginning) else None
    except Exception as error:  # third-party code: any error becomes one line for the user
        raise BadInput(
            f"The importer {entry.name!r} cannot be used: {type(error).__name__}: {error}. "
            f"Update or remove the package that brings {entry.module}."
        ) from error
