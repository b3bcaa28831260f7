"""The playbook of a folder as another assistant uses it, who recalls strategies, proposes one, and reports on one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import field, replace
from pathlib import Path
from typing import Literal

from swecli.agent.path_rules import find_rules
from swecli.config.paths import project_root
from swecli.config.settings import Start
from swecli.context.tokens import TokenCounter
from swecli.models.action import Invocation
from swecli.models.doubts import Doubt
from swecli.models.errors import BadInput
from swecli.models.ids import uuid7
from swecli.models.json_value import JsonObject
from swecli.models.playbook import TAG_OF, Bullet, Delta, Evidence, Op, Verdict, render_bullets
from swecli.models.session import Session
from swecli.playbook.action import ActionContext
from swecli.playbook.actions.show import describe_strategy
from swecli.playbook.learning.curator import rejection_reason
from swecli.playbook.ranking import BulletIndex, clean, most_similar
from swecli.playbook.selection import Selection, SelectionRequest
from swecli.playbook.team import follow_shared_files
from swecli.playbook.wording import is_same_text
from swecli.playbook.workspace import StaleStrategies, find_anchors, note_anchors
from swecli.redact import redact
from swecli.store.records import TurnLessons
from swecli.store.session_manager import SessionManager
from swecli.store.sqlite.files import locate
from swecli.text import one_line, shorten
from swecli.tools.projects import open_project
from swecli.values import dataclass

ClientEffect = Literal["helped", "hurt"]

_PROPOSED, _REPORTED = "proposed", "reported"  # reasons of deltas
_MAX_NAME = 60  # characters of a client's name
_MAX_QUOTE = 300  # characters of stored evidence, as those of a turn
_MAX_COMMAND = 120  # characters of a command in it
_MOST_WAITING = 20  # proposals of one client: what a person reads through in one review


def author_of(client: str) -> str:
    """Return who is named as the author of what a client stores: never `user`, nor a model of ours, whatever it calls
    itself."""
    return f"mcp:{one_line(redact(client), _MAX_NAME) or 'unknown'}"


@dataclass(frozen=True, slots=True)
class Report:
    """What a client says that a strategy did, and the command that showed it."""

    strategy: str
    effect: ClientEffect
    command: str
    exit_code: int
    why: str = ""

    @property
    def quote(self) -> str:
        """The report as evidence, without secrets."""
        command = one_line(redact(self.command), _MAX_COMMAND)
        reason = f": {one_line(redact(self.why))}" if self.why.strip() else ""
        return shorten(f"{command} ended with exit code {self.exit_code}{reason}", _MAX_QUOTE)


@dataclass
class ServedMemory:
    """The playbook of the folder of a `start`, for one client at a time. The database is opened for each call: it may
    be upgraded, restored or mended between two. Each method may raise StoreError and BadInput; then nothing has
    changed."""

    start: Start
    # the last report on each strategy since the last `recall`, which another one replaces: they are about one task
    _reports: dict[str, str] = field(default_factory=dict)

    @contextmanager
    def _open(self, *, creates: bool = False) -> Iterator[ActionContext]:
        """Open the database, in no session, with the playbook of the folder's project. A database that does not exist
        is read as an empty one, unless the user named it."""
        folder = self.start.cwd
        path = locate(self.start.database)
        is_missing = path is not None and not path.exists()
        if is_missing and not creates and self.start.settings.db:
            raise BadInput(f"There is no database {path}.", "Check the path behind --db.")
        location = ":memory:" if is_missing and not creates else self.start.database
        sessions = SessionManager.open(location, even_read_only=True)
        with closing(sessions.database):
            place = open_project(sessions.database, folder)
            session = Session("", str(folder), project=place.project, subfolder=place.subfolder)
            sessions.use(session)
            follow_shared_files(sessions, session, project_root(folder), self.start.read_trust())
            yield ActionContext.of(sessions, Invocation(prefix="swecli "))

    # --- what a client reads

    def recall(self, query: str, files: Sequence[str]) -> str:
        """Return the strategies that a first request of ours with this query would hold, as text. Of those that are for
        some files only, these are the ones for `files`, and those that match the query."""
        with self._open() as ctx:
            selection = self._select(ctx.session, query, files)
        self._reports.clear()
        text = render_bullets(selection.bullets).strip() or "No strategy matches."
        return (
            f"{text}\n\nThere are others: recall again with other words."
            if selection.more
            else text
        )

    def _select(self, session: Session, query: str, files: Sequence[str]) -> Selection:
        bullets = session.playbook.bullets
        for name, missing_anchor in StaleStrategies().find(session, bullets.values()).items():
            bullets[name] = replace(bullets[name], stale=missing_anchor)
        count = TokenCounter(exact=False).count
        for_files = [rule.id for rule in find_rules(bullets.values(), self._relative(files))]
        bullets_of_paths = {name: bullet for name, bullet in bullets.items() if bullet.paths}
        matching = SelectionRequest(bullets_of_paths, query, count, BulletIndex()).recall()
        for_files += [bullet.id for bullet in matching.bullets]
        request = SelectionRequest.of(
            session, query, count, BulletIndex(), self.start.settings, for_files=for_files
        )
        # no later turn of a client shares the budget
        return replace(request, whole_head=True).select()

    def _relative(self, files: Sequence[str]) -> list[str]:
        """Return those of these files that are in the folder, relative to it."""
        root = self.start.cwd.resolve()
        paths = [Path(root, file) for file in files]
        return [str(path.relative_to(root)) for path in paths if path.is_relative_to(root)]

    def read_all(self) -> str:
        """Return all strategies in use as text."""
        with self._open() as ctx:
            bullets = ctx.session.playbook.live_bullets()
        return render_bullets(bullets).strip() or "No strategies yet."

    def strategies(self) -> list[Bullet]:
        """Return all strategies in use."""
        with self._open() as ctx:
            return ctx.session.playbook.live_bullets()

    def read_one(self, strategy: str) -> str:
        """Return what a strategy in use says, where it applies, and what it did."""
        with self._open() as ctx:
            bullet = _find_live(ctx, strategy)
            effects = ctx.sessions.playbook.effects([bullet.id])[bullet.id]
        return "\n".join(describe_strategy(bullet, effects))

    # --- what a client stores

    def propose(self, author: str, text: str, reason: str, condition: str) -> str:
        """Store a strategy that is used in no turn until the user says yes to it. Returns a line for the client."""
        content = clean(text)
        if problem := rejection_reason(content):
            raise BadInput(f"Nothing was kept: {problem}.")
        with self._open(creates=True) as ctx:
            same = [bullet for bullet in ctx.bullets() if is_same_text(bullet.content, content)]
            if same:
                return f"{same[0].id} says that already; it is {_describe_state(same[0])}."
            _refuse_removed(ctx, content)
            _refuse_too_many(ctx, author)
            quote = shorten(redact(clean(reason or text)), _MAX_QUOTE)
            fields: JsonObject = {
                "content": content,
                "scope": "project",
                "state": "quarantined",
                "trust": "tool",
                "doubt": Doubt.IMPORTED.value,
                "anchors": list(find_anchors(content)),
            }
            if condition.strip():
                fields["when"] = clean(condition)
            proposal = Op("ADD", fields=fields, evidence=(Evidence(author, quote, trust="tool"),))
            applied = ctx.apply(Delta(uuid7(), (proposal,), author, reason=_PROPOSED))
            note_anchors(ctx.sessions, ctx.session, applied.reworded)
        name = applied.added[0]
        return f"Kept as {name}. It is not used until the user agrees: swecli playbook review"

    def report(self, author: str, report: Report) -> str:
        """Store what a strategy did as evidence. Returns a line for the client."""
        has_passed = report.exit_code == 0
        if has_passed != (report.effect == "helped"):
            raise BadInput(
                f"A command that ended with exit code {report.exit_code} does not show that a strategy"
                f" {report.effect}. Nothing was stored."
            )
        with self._open() as ctx:
            bullet = _find_live(ctx, report.strategy)
            verdict = Verdict(
                bullet.id,
                "outcome",
                TAG_OF[report.effect],
                author,
                report.quote,
                effect=report.effect,
            )
            earlier = self._reports.get(bullet.id)
            delta = Delta(uuid7(), (), author, reason=_REPORTED)
            lessons = TurnLessons(
                0, delta, (verdict,), replaces=(earlier,) if earlier is not None else ()
            )
            ctx.sessions.playbook.record_lessons(ctx.session, lessons)
            self._reports[bullet.id] = delta.id
            effects = ctx.sessions.playbook.effects([bullet.id])[bullet.id]
        return f"Noted that {bullet.id} {report.effect}. In all: {effects.summary}."


def _find_live(ctx: ActionContext, strategy: str) -> Bullet:
    """Return a strategy in use. Raises BadInput."""
    bullet = ctx.find(strategy)
    if not bullet.is_live:
        raise BadInput(f"{bullet.id} is not in use: it is {_describe_state(bullet)}.")
    return bullet


def _describe_state(bullet: Bullet) -> str:
    return "waiting for the user's yes" if bullet.state == "quarantined" else bullet.state


def _refuse_removed(ctx: ActionContext, content: str) -> None:
    """Raises BadInput if the user removed what a proposal says."""
    removed = most_similar(content, ctx.sessions.playbook.deleted_bullets(ctx.session))
    if removed is not None:
        raise BadInput(f"Nothing was kept: the user removed {removed.id}, which covers it.")


def _refuse_too_many(ctx: ActionContext, author: str) -> None:
    """Raises BadInput if as many proposals of this author wait as a person reads."""
    proposal_ids = [bullet.id for bullet in ctx.bullets() if bullet.state == "quarantined"]
    sources = ctx.sessions.playbook.evidence_by_id(proposal_ids)
    own_ids = [
        name for name in proposal_ids if any(item.source == author for item in sources[name])
    ]
    if len(own_ids) >= _MOST_WAITING:
        raise BadInput(
            f"Nothing was kept: {len(own_ids)} proposals wait for the user already.",
            "The user decides with `swecli playbook review`.",
        )
