"""An exported session taken in again: checked whole, then written in one transaction."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Any, Literal

import sqlmodel
from pydantic import AfterValidator, BaseModel, Field, ValidationError
from sqlmodel import col, select

from swecli.models.errors import BadInput
from swecli.models.message import ChatMessage, Role, ToolCall
from swecli.models.playbook import Bullet, Kind, Scope, State, Trust
from swecli.models.window import WindowSpec
from swecli.store.playbook_mapping import fill_bullet
from swecli.store.session_files.turns import known_here, translated, write_record
from swecli.store.sessions import mapping
from swecli.store.sqlite.database import Database
from swecli.store.tables.columns import clean_text
from swecli.store.tables.sessions import BulletRow, InteractionRow, SessionRow

_HINT = "Make one with: swecli sessions export ID > FILE"


@dataclass(frozen=True, slots=True)
class Imported:
    """What came of it. `strategies` of the session's own were taken in under new numbers; `left_out` are those of its
    project and of its user, which are not the session's to bring."""

    session_id: str
    interactions: int
    messages: int
    strategies: int
    left_out: int


def _zoned(moment: datetime) -> datetime:
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


Moment = Annotated[datetime, AfterValidator(_zoned)]
Text = Annotated[str, AfterValidator(clean_text)]
Count = Annotated[int, Field(ge=0, lt=2**63)]


class _Call(BaseModel):
    id: Text
    name: Text
    parameters: dict[str, Any] = {}
    result: Text | None = None
    error: Text | None = None
    approved: bool | None = None
    decision: Text = ""
    reason: Text = ""
    exit_code: int | None = None
    duration_ms: int | None = None
    tokens: Count | None = None


class _Message(BaseModel):
    role: Literal["user", "assistant", "system"]
    content: Text = ""
    tool_calls: list[_Call] = []
    interaction: Count
    sent: Text | None = None
    reasoning: Text = ""
    tokens: Count | None = None
    is_summary: bool = False
    status: Text = "complete"
    created_at: Moment
    encoding: Text = ""

    def message(self) -> ChatMessage:
        calls = [ToolCall(**call.model_dump()) for call in self.tool_calls]
        return ChatMessage(**self.model_dump() | {"role": Role(self.role), "tool_calls": calls})


class _Record(BaseModel):
    good: bool | None = None
    weight: Annotated[float, Field(ge=0, le=1)] = 0.0
    signal: Text = ""
    topic: Text = ""
    contradicted: list[Text] | None = None
    unknown: list[Text] | None = None
    errors: Count = 0
    ablation: Literal["", "off", "withheld"] = ""
    withheld: list[Text] | None = None
    seed: Annotated[int, Field(ge=-(2**63), lt=2**63)] = 0
    created_at: Moment


class _Turn(BaseModel):
    number: Count
    status: Text
    shown: list[Text] | None = None
    cited: list[Text] | None = None
    mark: Text = ""
    why: Text = ""
    started_at: Moment
    finished_at: Moment | None = None
    playbook: _Record | None = None


class _Bullet(BaseModel):
    id: Text = ""
    content: Text
    section: Text = "general"
    kind: Kind
    scope: Scope
    state: State
    trust: Trust
    helpful: Count = 0
    harmful: Count = 0
    neutral: Count = 0
    anchors: tuple[Text, ...] = ()
    created_at: Moment
    updated_at: Moment | None = None
    last_used: Moment | None = None


class _Export(BaseModel):
    id: Annotated[Text, Field(pattern="^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$")]
    directory: Text
    project: Text = ""
    title: Text = ""
    model: Text = ""
    parent_id: Text | None = None
    window_spec: Text = ""
    window_start: Annotated[Count, Field(ge=1)] = 1
    cost: float | None = None
    first_query: Text = ""
    created_at: Moment
    updated_at: Moment
    interactions: list[_Turn]
    messages: list[_Message]
    playbook: list[_Bullet] = []


def import_session(database: Database, value: Any) -> Imported:
    """Take in what `SessionManager.export` gave, under its own id; its turns count as reflected upon.

    Raises:
        BadInput: it is no export, naming the first thing that is wrong; or the session is here already.
    """
    try:
        whole = _Export.model_validate(value)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(str(part) for part in first["loc"]) or "the whole"
        raise BadInput(f"This is no export of a session: {where}: {first['msg']}.", _HINT) from None
    _check(whole)
    with database.transaction() as db:
        if db.exec(select(SessionRow.id).where(col(SessionRow.id) == whole.id)).first() is not None:
            raise BadInput(f"The session {whole.id} is here already.", f"Go on with it: swecli -r {whole.id}")
        own = [bullet for bullet in whole.playbook if bullet.scope == "session"]
        _write(db, whole)
        _write_turns(db, whole, _write_bullets(db, whole, own))
    return Imported(whole.id, len(whole.interactions), len(whole.messages), len(own), len(whole.playbook) - len(own))


def _check(whole: _Export) -> None:
    """What the shape alone does not say. Raises BadInput."""
    turns = [turn.number for turn in whole.interactions]
    if turns != list(range(1, len(turns) + 1)):
        raise BadInput("This is no export of a session: its turns are not numbered 1, 2, 3 …", _HINT)
    places = [message.interaction for message in whole.messages]
    if places != sorted(places) or any(not 1 <= place <= len(turns) for place in places):
        raise BadInput("This is no export of a session: a message belongs to no turn, or comes too late.", _HINT)
    try:
        WindowSpec.parse(whole.window_spec or "5")
    except ValueError as error:
        raise BadInput(f"This is no export of a session: {error}.", _HINT) from error


def _write(db: sqlmodel.Session, whole: _Export) -> None:
    columns = whole.model_dump(exclude={"interactions", "messages", "playbook"})
    counts = {"interactions": len(whole.interactions), "messages": len(whole.messages)}
    db.add(SessionRow(**columns | counts))
    db.flush()
    for message in (m.message() for m in whole.messages):
        mapping.clean_message(message)
        row = mapping.message_row(whole.id, message)
        db.add(row)
        db.flush()  # one by one: their keys are their order
        db.add_all(mapping.call_row(whole.id, row.id or 0, call) for call in message.tool_calls)
        db.flush()


def _write_bullets(db: sqlmodel.Session, whole: _Export, own: list[_Bullet]) -> dict[str, str]:
    """Take in the session's own strategies. What all of the export's are called here, where they are here."""
    others = [_bullet(bullet) for bullet in whole.playbook if bullet.scope != "session"]
    names = known_here(db, whole.project, others)
    for bullet in own:
        kept = BulletRow(content=bullet.content, session_id=whole.id, project=whole.project)
        row = fill_bullet(kept, _bullet(bullet))
        db.add(row)
        db.flush()
        names[bullet.id] = f"P-{row.number}"
    return names


def _bullet(bullet: _Bullet) -> Bullet:
    return Bullet(**bullet.model_dump())


def _write_turns(db: sqlmodel.Session, whole: _Export, names: dict[str, str]) -> None:
    """The turns, with what they say of strategies: by their names here."""
    for turn in whole.interactions:
        cited = {"shown": translated(turn.shown, names), "cited": translated(turn.cited, names)}
        row = turn.model_dump(exclude={"playbook"}) | cited
        db.add(InteractionRow(**row, session_id=whole.id, pending=False))
        if turn.playbook is not None:
            known = turn.playbook.model_dump()
            for name in ("contradicted", "unknown", "withheld"):
                known[name] = translated(known[name], names)
            write_record(db, whole.id, turn.number, known)
    db.flush()
