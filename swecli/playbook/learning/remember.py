"""The model's own way to the playbook: `remember` what the user states, `recall` what the prompt has no room for."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from itertools import takewhile

from swecli.models.errors import BadInput
from swecli.models.playbook import Evidence, Op, Scope, render_bullets, shorten
from swecli.models.session import Session
from swecli.playbook.learning.curator import AddProposal, Curated, Ground, curate, make_delta, quotes
from swecli.playbook.selection.rank import Count, SelectionRequest
from swecli.playbook.selection.select import RECALLED, recall
from swecli.playbook.similarity import BulletIndex
from swecli.playbook.turn_digest import TurnDigest, digest_turn
from swecli.playbook.workspace import Workspaces, mark_missing
from swecli.redact import redact
from swecli.store.session_manager import SessionManager


def digest_of(sessions: SessionManager, session: Session, number: int) -> TurnDigest:
    """A stored turn. Raises BadInput when there is no such turn."""
    sessions.load_back_to(max(1, number))
    info = sessions.interaction_info(number)
    if info is None:
        raise BadInput(f"There is no turn T{number} in this session.")
    own = [message for message in session.messages if message.interaction == number]
    return digest_turn(own, info.shown, session_id=session.id, outcome=info.status)


def ground_of(
    sessions: SessionManager, session: Session, digest: TurnDigest, workspaces: Workspaces | None, author: str
) -> Ground:
    """What there is, what the user does not want, what the prompt says anyway, and where the session works."""
    store = sessions.playbook
    return Ground(
        author,
        digest,
        tuple(session.playbook.bullets.values()),
        tuple(store.removed(session)),
        workspaces.instructions() if workspaces else "",
        workspaces.lookup(session) if workspaces else None,
        lambda name: [item.session_id for item in store.evidence(name)],
    )


REMEMBERED = "remember"  # the reason of such a change
_TYPED = re.compile(r"(?:please\s+)?remember(?:\s+that\b|\s*:)\s*(\S.*)", re.IGNORECASE)
_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z])")


def typed(query: str) -> list[AddProposal]:
    """What the user's message asks to be remembered, in so many words: `remember that ...`, `remember: ...`. Its first
    lines count, for further down it may hold a log or a page with such words; a question asks for nothing."""
    lines = takewhile(bool, map(_TYPED.match, query.strip().splitlines()))
    sentences = (_SENTENCE.split(line[1])[0].strip() for line in lines if line)
    whole = (one[0].upper() + one[1:].rstrip(".") for one in sentences if not one.endswith("?"))
    return [AddProposal(sentence, kind="preference", quote=sentence) for sentence in whole]


@dataclass(slots=True)
class PlaybookMemory:
    """What the tools `remember` and `recall` work with, for one program."""

    sessions: SessionManager
    workspaces: Workspaces
    count: Count = field(default=lambda text: len(text) // 4)
    index: BulletIndex = field(default_factory=BulletIndex)

    def remember(self, text: str, quote: str, when: str = "", scope: Scope = "project", replaces: str = "") -> str:
        """Keep what the user states, in the place of another bullet or of none; without a text only take that one out.
        Returns a line for the model. Raises BadInput when there is nothing to do, or it may not be done."""
        session = self._session()
        self.sessions.playbook.renew(session)
        digest = digest_of(self.sessions, session, session.interactions)
        curated = Curated()
        if text.strip():
            add = AddProposal(text, when, "preference", quote=quote, scope=scope)
            curated = curate([add], [], ground_of(self.sessions, session, digest, self.workspaces, REMEMBERED))
        if replaces:
            self._replace(replaces, quote, digest, curated)
        if not curated.ops:
            raise BadInput("; ".join(curated.refused) or "There is nothing to remember.")
        applied = self.sessions.playbook.apply(make_delta(digest, curated, REMEMBERED, REMEMBERED), session)
        for name in (*applied.added, *applied.touched):
            mark_missing(self.sessions, session, self.workspaces, name)
        lines = [*(self._line(op, name, session) for name, op in applied.named()), *curated.refused]
        return "; ".join(lines)

    def _replace(self, replaces: str, quote: str, digest: TurnDigest, curated: Curated) -> None:
        """Take a bullet out in the user's words; where they are not the user's, it stays and that is reported."""
        bullet = self.sessions.playbook.find(replaces, self._session())
        if not quotes(quote, digest.own_words):
            curated.refused.append(f"{bullet.id} stays: the quote is not in the user's message")
            return
        if any(op.bullet_id == bullet.id for op in curated.ops):
            return  # the new words were put into it
        said = Evidence(REMEMBERED, shorten(redact(quote), 300), digest.session_id, digest.interaction, trust="user")
        curated.ops.append(Op("REMOVE", bullet.id, evidence=(said,)))

    def _line(self, op: Op, name: str, session: Session) -> str:
        if op.op == "REMOVE":
            return f"{name} is removed"
        bullet = session.playbook.bullets.get(name)
        if bullet is None or bullet.live:
            missing = bullet.stale if bullet else ""
            return f"kept as {name}" + (f"; it is stale: {missing}" if missing else "")
        return f"kept as {name}, and needs the user's approval: /playbook review"

    def recall(self, query: str) -> str:
        """The bullets that match a query, as prompt text, "" for none; they are recorded as shown in the running
        turn."""
        session = self._session()
        self.sessions.playbook.renew(session)
        playbook = session.get_playbook()
        request = SelectionRequest(playbook.bullets, query, self.count, self.index, RECALLED)
        found = recall(request).bullets
        if found:
            self.sessions.note_shown([bullet.id for bullet in found])
        return render_bullets(found).strip()

    def _session(self) -> Session:
        session = self.sessions.current_session
        if session is None:
            raise BadInput("No session is open.")
        return session
