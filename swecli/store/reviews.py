"""Reviews and the ledger of their findings in the database: what was reported once is never lost, nor doubled."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import sqlmodel
from sqlalchemy import func
from sqlmodel import col, select

from swecli.models.errors import BadInput
from swecli.models.finding import Finding, Judgement, ReviewRecord, StateChange, fingerprint
from swecli.models.ids import parse_short_id
from swecli.store.sqlite.database import Database
from swecli.store.tables.columns import clean_text, shared, values
from swecli.store.tables.learned import FindingChangeRow, FindingRow, JudgementRow, ReviewFindingRow, ReviewRow

_COLUMNS = shared(Finding, FindingRow)
_MORE = ("symbol", "verdict", "source", "late", "same_as")  # as they are, in one column
_PLACE = ("path", "line", "end_line", "verified", "why", "anchor", "file_hash", "block", "symbol")
_WORDS = ("message", "improvement", "suggestion", "evidence", "severity", "kind")
_MOST_ALIASES = 12


@dataclass(frozen=True, slots=True)
class _Noted:
    """What one response brought: `new` findings of this review, in order, and the `review` as it is now."""

    new: list[Finding]
    review: ReviewRecord


class ReviewStore:
    """The reviews of one project (`project` is its folder) and their findings."""

    def __init__(self, database: Database, project: str) -> None:
        self.database, self.project = database, clean_text(project)

    def begin(self, review: ReviewRecord) -> ReviewRecord:
        """Commit a new review; it gets its id."""
        with self.database.transaction() as db:
            row = ReviewRow(project=self.project, spec=list(review.spec), label=review.label, prompt=review.prompt)
            return _put_review(db, row, review)

    def record(self, review: ReviewRecord, findings: Sequence[Finding]) -> _Noted:
        """Commit the findings of one response, and how far the review is: `loops`, `seen` and `lost` of `review`.

        A finding whose path, line and type this review has had counts as a repetition; it fills what the first left
        empty. One that has an id, or whose fingerprint is in the ledger, is that finding: it keeps its words and its
        state, and is where it was reported now.
        """
        with self.database.transaction() as db:
            row = _review_row(db, review.id)
            new = [found for finding in findings if (found := self._record_one(db, row, finding)) is not None]
            row.total += len(findings)
            row.loops = review.loops
            return _Noted(new, _put_review(db, row, review))

    def _record_one(self, db: sqlmodel.Session, review: ReviewRow, finding: Finding) -> Finding | None:
        key: dict[str, Any] = {"review": review.number, "line": finding.line}
        key |= {name: clean_text(getattr(finding, name)) for name in ("path", "code_smell_type")}
        if (known := db.exec(select(ReviewFindingRow).filter_by(**key)).first()) is not None:
            known.times += 1
            _complete(db.get_one(FindingRow, known.finding), finding)
            return None
        row, old = self._in_ledger(db, review, finding)
        again = old and _is_reported(db, review, row)  # this review had it at another line, in other words
        db.add(ReviewFindingRow(finding=row.number or 0, loop=finding.loop, **key))
        db.flush()
        return None if again else _finding_of(row)

    def _in_ledger(self, db: sqlmodel.Session, review: ReviewRow, finding: Finding) -> tuple[FindingRow, bool]:
        """The row of that finding, and whether it was there."""
        if finding.id:
            return _complete(self._row(db, finding.id), finding, moved=True), True
        print_, again = finding.fingerprint, 1
        theirs = select(FindingRow).filter_by(project=self.project)
        while (row := db.exec(theirs.filter_by(fingerprint=print_)).first()) is not None:
            if not _is_reported(db, review, row):
                return _complete(row, finding, moved=True), True
            again += 1  # this review had it at another line: these are two
            print_ = fingerprint(finding.fingerprint, finding.path, finding.code_smell_type, again)
        row = FindingRow(project=self.project, path=finding.path, fingerprint=print_)
        _fill(row, replace(finding, fingerprint=print_))
        db.add(row)
        db.flush()
        return row, False

    def end(self, review: ReviewRecord, status: str) -> ReviewRecord:
        """Commit how it ended, and what it took."""
        with self.database.transaction() as db:
            row = _review_row(db, review.id)
            row.spent, row.status = dict(review.spent), status
            return _put_review(db, row, review)

    def unfinished(self) -> ReviewRecord | None:
        """The project's newest review, if it is one that did not come to its end."""
        newest = select(ReviewRow).filter_by(project=self.project).order_by(col(ReviewRow.number).desc())
        with self.database.reading() as db:
            row = db.exec(newest.limit(1)).first()
            return _review(db, row) if row is not None and row.status != "done" else None

    def of_review(self, review_id: str) -> list[Finding]:
        """Every unique finding of a review, in the order they came, each with the loop it came in."""
        both = select(FindingRow, ReviewFindingRow.loop).order_by(col(ReviewFindingRow.id))
        which = both.join(ReviewFindingRow, col(ReviewFindingRow.finding) == col(FindingRow.number))
        rows = self.database.rows(which.where(col(ReviewFindingRow.review) == int(review_id.removeprefix("R-"))))
        return [replace(_finding_of(row), loop=loop) for row, loop in rows]

    def since(self, review_id: str) -> set[str]:
        """The ids of what that review and those behind it reported. Raises BadInput for what is not a review id."""
        named = parse_short_id("R", review_id) or parse_short_id("R", f"R{review_id.strip()}")
        if not named:
            raise BadInput(f"{review_id!r} is not a review id.", "For example: since:R-2")
        which = select(ReviewFindingRow.finding).where(col(ReviewFindingRow.review) >= int(named.removeprefix("R-")))
        return {f"F-{number}" for number in self.database.rows(which)}

    def findings(self, states: Iterable[str] = (), paths: Iterable[str] = ()) -> list[Finding]:
        """The project's findings, by id; of these states and paths only, where some are named."""
        which = select(FindingRow).filter_by(project=self.project)
        if chosen := tuple(states):
            which = which.where(col(FindingRow.state).in_(chosen))
        if named := tuple(paths):
            which = which.where(col(FindingRow.path).in_(named))
        return [_finding_of(row) for row in self.database.rows(which.order_by(col(FindingRow.number)))]

    def get(self, ref: str) -> Finding:
        """A finding by its id, `F-12`, `f12` or `12`. Raises BadInput."""
        with self.database.reading() as db:
            return _finding_of(self._row(db, ref))

    def update(self, findings: Iterable[Finding], cause: str = "", by: str = "") -> None:
        """Commit findings as they are now; a changed state is a row of their history, a new fix counts as one more."""
        with self.database.transaction() as db:
            for finding in findings:
                row = self._row(db, finding.id)
                if row.state != finding.state:
                    row.fixes += finding.state == "fixed"
                    change = FindingChangeRow(finding=row.number or 0, before=row.state, after=finding.state, by=by)
                    change.cause, change.why = cause, finding.reason
                    db.add(change)
                _fill(row, finding)

    def merge(self, ref: str, known: str) -> None:
        """Let the reviews that reported a finding have reported the known one that it is; its words become an alias."""
        with self.database.transaction() as db:
            row, same = self._row(db, ref), self._row(db, known)
            _complete(same, _finding_of(row))
            links = select(ReviewFindingRow).where(col(ReviewFindingRow.finding) == row.number)
            for link in db.exec(links).all():
                if _is_reported(db, _review_row(db, f"R-{link.review}"), same):
                    db.delete(link)
                else:
                    link.finding = same.number or 0

    def history(self, ref: str) -> list[StateChange]:
        """How a finding's state changed, oldest first. Raises BadInput for an unknown id."""
        with self.database.reading() as db:
            which = select(FindingChangeRow).filter_by(finding=self._row(db, ref).number)
            rows = db.exec(which.order_by(col(FindingChangeRow.id))).all()
            return [
                StateChange(r.before, r.after, r.cause, r.by, r.why, r.at.isoformat(timespec="seconds")) for r in rows
            ]

    def judgements(self, keys: Iterable[str]) -> dict[str, Judgement]:
        """The stored judgements of these keys."""
        rows = self.database.rows(select(JudgementRow).where(col(JudgementRow.key).in_(tuple(keys))))
        return {row.key: Judgement(**row.value) for row in rows}

    def keep_judgements(self, judged: Mapping[str, Judgement]) -> None:
        """Commit judgements under their keys."""
        with self.database.transaction() as db:
            for key, judgement in judged.items():
                db.merge(JudgementRow(key=key, value=asdict(judgement)))

    def spent(self, most: int = 20) -> list[dict[str, float]]:
        """What the newest reviews took that came to their end, each with its parts."""
        which = select(ReviewRow).filter_by(project=self.project, status="done")
        rows = self.database.rows(which.order_by(col(ReviewRow.number).desc()).limit(most))
        return [dict(row.spent) for row in rows if row.spent and row.spent.get("parts")]

    def fixed_often(self, times: int) -> dict[str, list[Finding]]:
        """Smell types fixed at least so often in this project, each with the findings that were."""
        which = select(FindingRow).filter_by(project=self.project).where(col(FindingRow.fixes) > 0)
        found: dict[str, list[FindingRow]] = {}
        for row in self.database.rows(which.order_by(col(FindingRow.number))):
            found.setdefault(row.code_smell_type, []).append(row)
        often = sorted(name for name, rows in found.items() if sum(row.fixes for row in rows) >= times)
        return {name: [_finding_of(row) for row in found[name]] for name in often}

    def _row(self, db: sqlmodel.Session, ref: str) -> FindingRow:
        named = parse_short_id("F", ref) or parse_short_id("F", f"F{ref.strip()}")
        row = db.get(FindingRow, int(named.removeprefix("F-"))) if named else None
        if row is None or row.project != self.project:
            raise BadInput(f"There is no finding {ref!r} in this project.", "See `swecli findings list`.")
        return row


def _finding_of(row: FindingRow) -> Finding:
    """The row as a finding."""
    more = row.more or {}
    judgement = Judgement(**more["judgement"]) if more.get("judgement") else None
    return Finding(
        id=f"F-{row.number}",
        judgement=judgement,
        aliases=tuple(more.get("aliases") or ()),
        **values(row, _COLUMNS),
        **{name: more[name] for name in _MORE if name in more},
    )


def _fill(row: FindingRow, finding: Finding) -> None:
    for name in _COLUMNS:
        setattr(row, name, getattr(finding, name))
    judgement = finding.judgement and asdict(finding.judgement)
    aliases = list(finding.aliases)[-_MOST_ALIASES:]
    row.more = values(finding, _MORE) | {"judgement": judgement, "aliases": aliases}


def _complete(row: FindingRow, found: Finding, *, moved: bool = False) -> FindingRow:
    """The row's finding with what a later report adds: it keeps its words, and takes those it has none of.

    `moved` says that the report is of another review: the place is the newer one's.
    """
    known = _finding_of(row)
    half = known.source == "cut" and found.source != "cut"
    wanted = [name for name in _WORDS if half or not getattr(known, name)]
    words = {name: getattr(found, name) for name in wanted if getattr(found, name)}
    place = values(found, _PLACE) if moved and found.line > 0 else {}
    other = [f"{found.code_smell_type}|{found.line}|{found.message[:200]}"]
    same = found.message == known.message and found.code_smell_type == known.code_smell_type
    aliases = tuple(dict.fromkeys([*known.aliases, *([] if same else other)]))
    source = found.source if half else known.source
    _fill(row, replace(known, **words, **place, aliases=aliases, source=source))
    return row


def _is_reported(db: sqlmodel.Session, review: ReviewRow, finding: FindingRow) -> bool:
    mine = select(ReviewFindingRow.id).filter_by(review=review.number, finding=finding.number)
    return db.exec(mine).first() is not None


def _review_row(db: sqlmodel.Session, review_id: str) -> ReviewRow:
    row = db.get(ReviewRow, int(review_id.removeprefix("R-") or 0))
    if row is None:
        raise BadInput(f"There is no review {review_id!r}.")
    return row


def _put_review(db: sqlmodel.Session, row: ReviewRow, review: ReviewRecord) -> ReviewRecord:
    row.session_id, row.seen, row.lost = review.session_id, list(review.seen), list(review.lost)
    db.add(row)
    db.flush()
    return _review(db, row)


def _review(db: sqlmodel.Session, row: ReviewRow) -> ReviewRecord:
    counted = select(func.count(col(ReviewFindingRow.id))).filter_by(review=row.number)
    return ReviewRecord(
        row.project, tuple(row.spec or ()), row.label, row.session_id, f"R-{row.number}", row.status, row.loops,
        row.total, db.exec(counted).one(), tuple(row.seen or ()), row.prompt, tuple(row.lost or ()),
        dict(row.spent or {}),
    )  # fmt: skip
