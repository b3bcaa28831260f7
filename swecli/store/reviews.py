"""Reviews and the ledger of their findings in the database: no reported finding is lost or stored twice."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, replace
from typing import Any

import sqlmodel
from sqlalchemy import func
from sqlmodel import col, select

from swecli.models.errors import BadInput
from swecli.models.finding import (
    Finding,
    Judgement,
    ReviewRecord,
    StateChange,
    fingerprint,
    merge_report,
)
from swecli.models.ids import parse_short_id
from swecli.models.json_value import JsonObject
from swecli.models.proof import Outcome, Proof
from swecli.store.journal.reader import is_other_process
from swecli.store.journal.values import clean_text, folder_key, values
from swecli.store.sqlite.database import Database
from swecli.store.tables.reviews import FindingChangeRow, FindingRow, ReviewFindingRow, ReviewRow
from swecli.store.tables.sessions import InteractionRow
from swecli.values import dataclass

_COLUMNS = FindingRow.stored_fields()
# the fields that are stored together in the JSON column `more`
_OTHER_FIELDS = ("symbol", "verdict", "source", "late", "same_as", "hunk", "removed")
_MAX_ALIASES = 12
_PAST_REVIEWS = 20


@dataclass(frozen=True, slots=True)
class RecordedReview:
    """The `new_findings` of this review, in order, and the `review` as it is now."""

    new_findings: list[Finding]
    review: ReviewRecord


class ReviewStore:
    """The reviews of one project (`project` is its key) and their findings."""

    def __init__(self, database: Database, project: str) -> None:
        self.database = database
        self.project = folder_key(project)

    def begin(self, review: ReviewRecord) -> ReviewRecord:
        """Store a new review and return it with its id."""
        with self.database.transaction() as db:
            row = ReviewRow(
                project=self.project,
                spec=list(review.spec),
                label=review.label,
                prompt=review.prompt,
            )
            return _save_review(db, row, review)

    def record(
        self, review: ReviewRecord, findings: Sequence[Finding], reported: int | None = None
    ) -> RecordedReview:
        """Store the findings of one reply, and how far `review` is: `status`, `loops`, `seen`, `lost` and `spent`.

        A finding whose path, line and type this review has had is a repetition; it only fills fields that the first
        left empty. One with an id, or with a known fingerprint, is that finding: it keeps its words and its state.
        `reported` is how many reports these findings are, by default one each.
        """
        with self.database.transaction() as db:
            row = _review_row(db, review.id)
            recorded = [self._record_finding(db, row, finding) for finding in findings]
            new_findings = [finding for finding in recorded if finding is not None]
            row.total += len(findings) if reported is None else reported
            return RecordedReview(new_findings, _save_review(db, row, review))

    def adopt(self, findings: Sequence[Finding]) -> None:
        """Add findings that are not in the ledger, as a pull request carries them; known ones stay as they are."""
        with self.database.transaction() as db:
            for finding in findings:
                if self._find(db, finding.fingerprint) is None:
                    self._add(db, finding)

    def _record_finding(
        self, db: sqlmodel.Session, review: ReviewRow, finding: Finding
    ) -> Finding | None:
        """Store a finding; return it as it is stored, None if this review has reported it before."""
        place: dict[str, Any] = {
            "review": review.number,
            "line": finding.line,
            "path": clean_text(finding.path),
            "code_smell_type": clean_text(finding.code_smell_type),
        }
        earlier = db.exec(select(ReviewFindingRow).filter_by(**place)).first()
        if earlier is not None:
            earlier.times += 1
            _merge_report(db.get_one(FindingRow, earlier.finding), finding)
            return None
        row = self._find_or_add(db, review, finding)
        is_repeated = _is_reported(db, review, row)  # at another line, in other words
        db.add(ReviewFindingRow(finding=row.number or 0, loop=finding.loop, **place))
        db.flush()
        return None if is_repeated else _to_finding(row)

    def _find_or_add(self, db: sqlmodel.Session, review: ReviewRow, finding: Finding) -> FindingRow:
        """Return the row of a finding, which is made if it is not in the ledger."""
        if finding.id:
            return _merge_report(self._row(db, finding.id), finding)
        own_fingerprint = finding.fingerprint
        occurrence = 1
        while (row := self._find(db, own_fingerprint)) is not None:
            if not _is_reported(db, review, row):
                return _merge_report(row, finding)
            occurrence += 1  # this review reported it at another line, so these are two
            own_fingerprint = fingerprint(
                finding.fingerprint, finding.path, finding.code_smell_type, occurrence
            )
        return self._add(db, replace(finding, fingerprint=own_fingerprint))

    def _find(self, db: sqlmodel.Session, fingerprint: str) -> FindingRow | None:
        rows = select(FindingRow).filter_by(project=self.project, fingerprint=fingerprint)
        return db.exec(rows).first()

    def _add(self, db: sqlmodel.Session, finding: Finding) -> FindingRow:
        row = FindingRow(project=self.project, path=finding.path, fingerprint=finding.fingerprint)
        _fill(row, finding)
        db.add(row)
        db.flush()
        return row

    def unfinished(self) -> ReviewRecord | None:
        """Return the project's newest review if it did not end as "done" and no other process is running it."""
        newest = (
            select(ReviewRow).filter_by(project=self.project).order_by(col(ReviewRow.number).desc())
        )
        with self.database.reading() as db:
            row = db.exec(newest.limit(1)).first()
            if row is None or row.status == "done":
                return None
            running = select(InteractionRow.pid).filter_by(
                session_id=row.session_id, status="running"
            )
            is_elsewhere = any(map(is_other_process, db.exec(running).all()))
            return None if is_elsewhere else _to_review(db, row)

    def findings_of(self, review_id: str) -> list[Finding]:
        """Return the unique findings of a review in the order of their reports, each with its loop."""
        reported = (
            select(FindingRow, ReviewFindingRow.loop)
            .join(ReviewFindingRow, col(ReviewFindingRow.finding) == col(FindingRow.number))
            .where(col(ReviewFindingRow.review) == int(review_id.removeprefix("R-")))
            .order_by(col(ReviewFindingRow.id))
        )
        unique: dict[int | None, Finding] = {}
        for row, loop in self.database.rows(reported):
            unique.setdefault(row.number, replace(_to_finding(row), loop=loop))
        return list(unique.values())

    def findings(self, states: Iterable[str] = (), paths: Iterable[str] = ()) -> list[Finding]:
        """Return the project's findings by id, limited to these states and paths if any are given."""
        query = select(FindingRow).filter_by(project=self.project).order_by(col(FindingRow.number))
        if chosen_states := tuple(states):
            query = query.where(col(FindingRow.state).in_(chosen_states))
        if chosen_paths := tuple(paths):
            query = query.where(col(FindingRow.path).in_(chosen_paths))
        return [_to_finding(row) for row in self.database.rows(query)]

    def get(self, ref: str) -> Finding:
        """Return a finding by its id: `F-12`, `f12` or `12`. Raises BadInput."""
        with self.database.reading() as db:
            return _to_finding(self._row(db, ref))

    def update(self, findings: Iterable[Finding], cause: str = "", by: str = "") -> None:
        """Store changed findings. A changed state is added to the history, and a fix is counted."""
        with self.database.transaction() as db:
            for finding in findings:
                row = self._row(db, finding.id)
                if row.state != finding.state:
                    row.fixes += finding.state == "fixed"
                    change = FindingChangeRow(
                        finding=row.number or 0,
                        before=row.state,
                        after=finding.state,
                        by=by,
                        cause=cause,
                        why=finding.reason,
                    )
                    db.add(change)
                _fill(row, finding)

    def merge(self, ref: str, known_ref: str) -> None:
        """Replace a finding by a known one, which it turned out to be, in the reviews that reported it; its words
        become an alias of the known one."""
        with self.database.transaction() as db:
            row = self._row(db, ref)
            known_row = self._row(db, known_ref)
            _merge_report(known_row, _to_finding(row), stays=True)
            reports = select(ReviewFindingRow).where(col(ReviewFindingRow.finding) == row.number)
            for report in db.exec(reports).all():
                if _is_reported(db, _review_row(db, f"R-{report.review}"), known_row):
                    db.delete(report)
                else:
                    report.finding = known_row.number or 0

    def history(self, ref: str) -> list[StateChange]:
        """Return the changes of a finding's state, oldest first. Raises BadInput for an unknown id."""
        with self.database.reading() as db:
            changes = select(FindingChangeRow).filter_by(finding=self._row(db, ref).number)
            rows = db.exec(changes.order_by(col(FindingChangeRow.id))).all()
            return [_to_change(row) for row in rows]

    def past_costs(self) -> list[dict[str, float]]:
        """Return what the newest finished reviews spent."""
        finished = select(ReviewRow).filter_by(project=self.project, status="done")
        rows = self.database.rows(
            finished.order_by(col(ReviewRow.number).desc()).limit(_PAST_REVIEWS)
        )
        return [dict(row.spent) for row in rows if row.spent and row.spent.get("parts")]

    def _row(self, db: sqlmodel.Session, ref: str) -> FindingRow:
        finding_id = parse_short_id("F", ref) or parse_short_id("F", f"F{ref.strip()}")
        row = db.get(FindingRow, int(finding_id.removeprefix("F-"))) if finding_id else None
        if row is None or row.project != self.project:
            problem = (
                f"There is no finding {ref!r} in this project." if ref else "No finding is named."
            )
            raise BadInput(problem, "See /findings or `swecli findings list`.")
        return row


def _to_finding(row: FindingRow) -> Finding:
    more = row.more or {}
    judgement = Judgement(**more["judgement"]) if more.get("judgement") else None
    return Finding(
        id=f"F-{row.number}",
        judgement=judgement,
        proof=_load_proof(more.get("proof")),
        aliases=tuple(more.get("aliases") or ()),
        **values(row, _COLUMNS),
        **{name: more[name] for name in _OTHER_FIELDS if name in more},
    )


def _load_proof(value: JsonObject | None) -> Proof | None:
    """Return a stored proof; None if there is none."""
    if not value:
        return None
    sides = {side: Outcome(value[side]) for side in ("base", "head")}
    return Proof(value["language"], value["script"], **sides)


def _to_change(row: FindingChangeRow) -> StateChange:
    moment = row.at.isoformat(timespec="seconds")
    return StateChange(row.before, row.after, row.cause, row.by, row.why, moment)


def _fill(row: FindingRow, finding: Finding) -> None:
    for name in _COLUMNS:
        setattr(row, name, getattr(finding, name))
    judgement = finding.judgement and asdict(finding.judgement)
    aliases = list(finding.aliases)[-_MAX_ALIASES:]
    proof = finding.proof and asdict(finding.proof)
    others = {"judgement": judgement, "proof": proof, "aliases": aliases}
    row.more = values(finding, _OTHER_FIELDS) | others


def _merge_report(row: FindingRow, finding: Finding, *, stays: bool = False) -> FindingRow:
    _fill(row, merge_report(_to_finding(row), finding, stays=stays))
    return row


def _is_reported(db: sqlmodel.Session, review: ReviewRow, finding: FindingRow) -> bool:
    """Return whether a review has reported a finding."""
    reports = select(ReviewFindingRow.id).filter_by(review=review.number, finding=finding.number)
    return db.exec(reports).first() is not None


def _review_row(db: sqlmodel.Session, review_id: str) -> ReviewRow:
    row = db.get(ReviewRow, int(review_id.removeprefix("R-") or 0))
    if row is None:
        raise BadInput(f"There is no review {review_id!r}.")
    return row


def _save_review(db: sqlmodel.Session, row: ReviewRow, review: ReviewRecord) -> ReviewRecord:
    row.session_id = review.session_id
    row.status = review.status
    row.loops = review.loops
    row.seen = list(review.seen)
    row.lost = list(review.lost)
    row.spent = dict(review.spent)
    db.add(row)
    db.flush()
    return _to_review(db, row)


def _to_review(db: sqlmodel.Session, row: ReviewRow) -> ReviewRecord:
    unique = func.count(func.distinct(col(ReviewFindingRow.finding)))
    unique_count = select(unique).filter_by(review=row.number)
    return ReviewRecord(
        project=row.project,
        spec=tuple(row.spec or ()),
        label=row.label,
        session_id=row.session_id,
        id=f"R-{row.number}",
        status=row.status,
        loops=row.loops,
        total=row.total,
        unique=db.exec(unique_count).one(),
        seen=tuple(row.seen or ()),
        prompt=row.prompt,
        lost=tuple(row.lost or ()),
        spent=dict(row.spent or {}),
    )
