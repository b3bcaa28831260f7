"""A file that holds a session: an export of swecli, or a transcript of another tool, found by looking.

What it holds is checked whole and then written in one transaction.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any, Literal

import sqlmodel
from pydantic import AfterValidator, AwareDatetime, BaseModel, Field, ValidationError, create_model
from sqlmodel import col, select

from swecli.models.context import Edits, Epoch
from swecli.models.errors import BadInput
from swecli.models.playbook import Kind, Scope, State, Trust
from swecli.models.window import WindowSpec
from swecli.store.playbook.bullets import number_of
from swecli.store.playbook.deltas import last_number
from swecli.store.session_files.archive import EXCLUDED_COLUMNS, Archive, rename_strategies, write
from swecli.store.session_files.formats import detect_format
from swecli.store.session_files.transcript import Transcript
from swecli.store.sqlite.database import Database
from swecli.store.tables.columns import clean_text
from swecli.store.tables.learned import BulletRow, TurnRow
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

MAX_BYTES = 100_000_000  # bytes: a session is held in memory while it is checked
_HEAD = 65_536
_FORMATS = (
    "What can be imported: exports (swecli sessions export ID > FILE) and transcripts of Claude Code, codex, pi "
    "and aider."
)
_HINT = "Make one with: swecli sessions export ID > FILE"


@dataclass(frozen=True, slots=True)
class ImportResult:
    """What came of it. `strategies` of the session's own were taken in; `left_out` are those of its project and of
    its user, which are not the session's to bring. `tool` wrote the transcript that it was, `skipped` names what could
    not be read of it."""

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
_SAFE: Mapping[Any, Any] = {
    datetime: AwareDatetime,
    datetime | None: AwareDatetime | None,
    str: _Text,
    str | None: _Text | None,
    int: _Count,
    int | None: _Count | None,
}


def _shape(table: type[sqlmodel.SQLModel], **narrower: Any) -> Any:
    """What a row of the table looks like in a file; a time has to be given where the table would take the present."""
    fields: dict[str, Any] = {
        name: (_SAFE.get(field.annotation, field.annotation), ... if field.default_factory else field.default)
        for name, field in table.model_fields.items()
        if name not in EXCLUDED_COLUMNS[table]
    }
    return create_model(table.__name__, **fields | narrower)


def _many(shape: Any, default: Any = ...) -> Any:
    return list.__class_getitem__(shape), default


_ROLES = Literal["user", "assistant", "system"]


class _Image(BaseModel):
    name: _Text  # in the order in which they are stored: an export of the import is the same to the byte
    label: _Text
    media_type: Annotated[str, Field(pattern="^image/(png|jpeg|gif|webp)$")]
    data: Annotated[str, Field(pattern="^[A-Za-z0-9+/]+={0,2}$")]


_ID = Annotated[_Text, Field(pattern="^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$")]
_Call = _shape(
    CallRow, id=(_Text, ...), parameters=(dict[str, Any], {}), full_result=(_Text | None, None),
    exit_code=(int | None, None), duration_ms=(int | None, None),
)  # fmt: skip
_Message = _shape(
    MessageRow, id=(Any, None), role=(_ROLES, ...), interaction=(_Count, ...),
    tool_calls=_many(_Call, []), images=(list[_Image] | None, None),
)  # fmt: skip
_Record = _shape(TurnRow, weight=(Annotated[float, Field(ge=0, le=1)], 0.0), withheld=(_Names, None))
_Turn = _shape(
    InteractionRow, status=(_Text, ...), shown=(_Names, None), cited=(_Names, None), playbook=(_Record | None, None)
)
_Reduction = _shape(ReductionRow, number=(_Count, ...))
_Bullet = _shape(
    BulletRow, id=(_Text, ""), kind=(Kind, ...), scope=(Scope, ...),
    state=(State, ...), trust=(Trust, ...), anchors=(tuple[_Text, ...], ()),
)  # fmt: skip
_Export = _shape(
    SessionRow, id=(_ID, ...), directory=(_Text, ...), cost=(float | None, None),
    window_start=(Annotated[_Count, Field(ge=1)], 1), interactions=_many(_Turn), messages=_many(_Message),
    requests=_many(_shape(RequestRow), []), reductions=_many(_Reduction, []),
    survivors=_many(_shape(SurvivorRow), []), playbook=_many(_Bullet, []),
)  # fmt: skip


def import_session(database: Database, value: Any, lines: Sequence[tuple[int, str]] = ()) -> ImportResult:
    """Take in what `SessionManager.export` gave, under its own id; its turns count as reflected upon. `lines` are those
    of the transcript that it was read from, with their numbers: they hold what the session has no place for. Raises
    BadInput with the first thing that is wrong, or when the session is already there."""
    try:
        whole = _Export.model_validate(value).model_dump()
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(str(part) for part in first["loc"]) or "the whole"
        raise BadInput(f"Not an export of a session: {where}: {first['msg']}.", _HINT) from None
    _check(whole)
    bullets = whole.pop("playbook")
    own = [bullet for bullet in bullets if bullet["scope"] == "session"]
    with database.transaction() as db:
        if db.exec(select(SessionRow.id).filter_by(id=whole["id"])).first() is not None:
            raise BadInput(f"The session {whole['id']} is already here.", f"Go on with it: swecli -r {whole['id']}")
        row = SessionRow(**{name: value for name, value in whole.items() if not isinstance(value, list)})
        row.interactions, row.messages = len(whole["interactions"]), len(whole["messages"])
        db.add(row)
        db.flush()
        names = _write_bullets(db, row, own) | _known_here(db, row.project, bullets)
        rename_strategies(whole, names)
        write(db, row.id, whole)
        if lines:
            kept = [{"session_id": row.id, "line": number, "text": text} for number, text in lines]
            db.connection().execute(sqlmodel.insert(TranscriptLineRow), kept)
    return ImportResult(row.id, row.interactions, row.messages, len(own), len(bullets) - len(own))


def _check(whole: Archive) -> None:
    """What the shape alone does not say. Raises BadInput."""
    turns = [turn["number"] for turn in whole["interactions"]]
    if turns != list(range(1, len(turns) + 1)):
        raise BadInput("Not an export of a session: its turns are not numbered 1, 2, 3 …", _HINT)
    places = [message["interaction"] for message in whole["messages"]]
    if places != sorted(places) or any(not 1 <= place <= len(turns) for place in places):
        raise BadInput("Not an export of a session: a message belongs to no turn, or comes too late.", _HINT)
    try:
        where = "window_spec"
        WindowSpec.parse(whole["window_spec"] or "5")
        for place, row in enumerate(whole["reductions"]):
            for name, make in (("epoch", Epoch.from_json), ("edits", Edits.from_json)):
                where = f"reductions.{place}.{name}"  # what the next request is built from
                make(row[name] or {"first": 1, "system": ""})
    except (ValueError, TypeError, AttributeError, KeyError) as error:
        raise BadInput(f"Not an export of a session: {where}: {error}.", _HINT) from error


def _write_bullets(db: sqlmodel.Session, session: SessionRow, own: Sequence[Archive]) -> dict[str, str]:
    """Take in the session's own strategies: under their numbers, or new ones where those were given once. What they
    are called here, by what the export calls them."""
    newest = last_number(db)
    names: dict[str, str] = {}
    for bullet in sorted(own, key=lambda bullet: number_of(bullet["id"])):
        number = number_of(bullet["id"])
        known = {name: value for name, value in bullet.items() if name != "id"}
        row = BulletRow(**known, session_id=session.id, project=session.project)
        row.number, row.anchors = number if number > newest else None, list(bullet["anchors"])
        db.add(row)
        db.flush()
        newest = max(newest, row.number or 0)
        names[bullet["id"]] = f"P-{row.number}"
    return names


def _known_here(db: sqlmodel.Session, project: str, bullets: Iterable[Archive]) -> dict[str, str]:
    """Which of an export's strategies of a project and of its user are here too, word for word: their ids by the ids
    that the export has for them."""
    found: dict[str, str] = {}
    for bullet in (one for one in bullets if one["scope"] != "session"):
        where = {"project": project} if bullet["scope"] == "project" else {}
        same = select(BulletRow.number).filter_by(content=bullet["content"], scope=bullet["scope"], **where)
        alive = same.where(col(BulletRow.state) != "deleted").order_by(col(BulletRow.number))
        if number := db.exec(alive).first():
            found[bullet["id"]] = f"P-{number}"
    return found


def import_file(database: Database, path: Path) -> ImportResult:
    """Take in the session that a file holds. What is broken in a transcript is skipped and named. Raises BadInput."""
    try:
        if (size := path.stat().st_size) > MAX_BYTES:
            raise BadInput(
                f"{path} has {size / 1e6:,.0f} MB; files of up to {MAX_BYTES / 1e6:,.0f} MB can be imported.",
                "Split it, or import the session it ends with.",
            )
        text = path.read_bytes().decode("utf-8-sig", "replace")
    except OSError as error:
        raise BadInput(f"{path} cannot be read: {error.strerror}.", _FORMATS) from error
    if (known := detect_format(text[:_HEAD])) is None:
        try:
            return import_session(database, json.loads(text))
        except (ValueError, RecursionError) as error:
            raise BadInput(f"{path} is not a session that swecli can read: {error}.", _FORMATS) from error
    tool, read = known
    transcript = Transcript(tool, str(path.absolute().parent))
    read(enumerate(text.split("\n"), 1), transcript)
    if not (whole := transcript.archive()):
        raise BadInput(f"{path} looks like a transcript of {tool}, but no turn of it can be read.", _FORMATS)
    imported = import_session(database, whole, transcript.lines)
    return replace(imported, tool=tool, skipped=tuple(transcript.skipped))
