"""Which strategies a turn's request carries: chosen for the query by what they are worth, less an ablation turn's."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from swecli.config.settings import Settings
from swecli.models.session import Session
from swecli.playbook.ablation import AblationPlan
from swecli.playbook.choosing import Chosen, choose
from swecli.playbook.score import Standings
from swecli.playbook.standing import believed
from swecli.store.session_manager import SessionManager


@dataclass(slots=True)
class Strategies:
    """Chooses for one workspace."""

    sessions: SessionManager
    settings: Settings

    def choose(self, session: Session, query: str, count: Callable[[str], int]) -> Chosen:
        """Choose for the next turn of a session; the same query and playbook give the same choice."""
        playbook = session.get_playbook()
        return choose(
            playbook,
            query,
            standings=self._believed(session),
            count=count,
            interaction=session.interactions + 1,
            seed=seed_of(session),
            plan=AblationPlan.parse(self.settings.ablation),
            budget=self.settings.playbook_tokens,
            most=self.settings.max_strategies,
        )

    def warm(self, session: Session, count: Callable[[str], int]) -> None:
        """Read and weigh all of them once, so that the first choice costs what later ones do."""
        if session.get_playbook().bullets:
            self.choose(session, "", count)

    def _believed(self, session: Session) -> Standings:
        return believed(self.sessions.playbook, session) if session.get_playbook().bullets else Standings()


def seed_of(session: Session) -> int:
    """A number for the next turn of a session: recorded with the turn, so that its choice can be made again."""
    return sum(ord(letter) * place for place, letter in enumerate(session.id, 1)) + session.interactions
