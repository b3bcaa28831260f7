"""Where a session works, as far as strategies speak of it: what exists there, and what its instructions say anyway."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from swecli.models.learning_events import PlaybookUpdated
from swecli.models.playbook import Bullet
from swecli.models.session import Session
from swecli.playbook.commands import misused
from swecli.playbook.digest import TurnDigest
from swecli.playbook.here import Here, refused_flags
from swecli.store.session_manager import SessionManager

NAMED = 3  # strategies, where one thing is gone for many


@dataclass(frozen=True, slots=True)
class Workspaces:
    """What can be looked up without a model. `search_path` is the variable PATH, `tools` the names that models have.

    `instructions` gives what a prompt says anyway: the system prompt and the project's own files, as they are now.
    """

    search_path: str
    tools: Collection[str]
    instructions: Callable[[], str] = lambda: ""

    def here(self, session: Session, digest: TurnDigest | None = None, *, far: bool = True) -> Here | None:
        """A new look at where a session works, with the flags that a turn showed to be unknown; None where that
        directory is gone: then nothing can be told. See `Here` for `far`."""
        root = Path(session.working_directory)
        if not session.working_directory or not root.is_dir():
            return None
        above = Path(session.project) if session.project else root
        return Here(root, self.search_path, self.tools, _refused(digest), above, far)


def _refused(digest: TurnDigest | None) -> frozenset[str]:
    """Flags that a program called unknown in a turn or the one before it."""
    if digest is None:
        return frozenset()
    calls = (*digest.calls, *(digest.previous.calls if digest.previous else ()))
    return frozenset(refused_flags((c.command, c.output) for c in calls if misused(c) == "unknown option"))


async def look_around(sessions: SessionManager, session: Session, around: Workspaces) -> PlaybookUpdated | None:
    """Look for what the strategies name, and keep what is found; the event says which are stale now and were not.

    What applies to all projects is left alone: that it names something of another one says nothing. The looking is
    done beside the prompt. Raises StoreError.
    """
    bullets = dict(session.playbook.bullets)
    here = around.here(session)
    wanted = [bullet for bullet in bullets.values() if bullet.live and bullet.scope != "user"]
    if here is None or not wanted:
        return None
    looked = await asyncio.to_thread(lambda: {bullet.id: here.freshness(bullet) for bullet in wanted})
    stale = {name: found.missing for name, found in looked.items() if found.missing}
    sessions.playbook.verify(session, stale, [name for name, found in looked.items() if found.fresh])
    new = {name: why for name, why in stale.items() if not bullets[name].stale}
    lines = tuple(stale_lines(new, [name for name in new if bullets[name].state == "pinned"]))
    return PlaybookUpdated(session.interactions, "", lines) if lines else None


@dataclass(slots=True)
class StaleStrategies:
    """Finds, among strategies that are to stand in a prompt, those that name something that was here and is gone.

    What was found stays in `found` until a turn has reported it.
    """

    around: Workspaces | None = None
    found: dict[str, str] = field(default_factory=dict)
    _sessions: set[str] = field(default_factory=set)
    _fresh: set[str] = field(default_factory=set)

    def among(self, session: Session, bullets: Iterable[Bullet]) -> dict[str, str]:
        """The stale ones by id, with what is gone.

        Only what is quickly looked up, but for the first time in a session: when the program starts, all of them are
        looked at behind the prompt. What never was here was taught nevertheless: that is not found out by this.
        """
        far = bool(self._sessions) and session.id not in self._sessions
        self._sessions.add(session.id)
        here = self.around.here(session, far=far) if self.around else None
        stale: dict[str, str] = {}
        for bullet in bullets if here else ():
            if here is None or bullet.scope == "user" or bullet.state == "pinned" or bullet.stale:
                continue
            look = here.freshness(bullet)
            if look.fresh:
                self._fresh.add(bullet.id)
            elif look.missing and (bullet.verified_at is not None or bullet.id in self._fresh):
                stale[bullet.id] = look.missing
        self.found |= stale
        return stale

    def notices(self, session: Session) -> list[str]:
        """Lines for the user on what was found."""
        bullets = session.get_playbook().bullets
        pinned = [name for name in self.found if name in bullets and bullets[name].state == "pinned"]
        return list(stale_lines(self.found, pinned))


def stale_lines(stale: Mapping[str, str], pinned: Collection[str] = ()) -> Iterator[str]:
    """The lines on those that leave the prompts, and on pinned ones, which do not."""
    yield from _said({name: why for name, why in stale.items() if name not in pinned}, "out of prompts")
    yield from _said({name: stale[name] for name in pinned}, "in prompts all the same, being pinned")


def _said(stale: Mapping[str, str], where: str) -> Iterator[str]:
    """A line for each thing that is gone, with the strategies that name it."""
    for why in dict.fromkeys(stale.values()):
        names = [name for name, reason in stale.items() if reason == why]
        more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
        verb = "is stale and stays" if len(names) == 1 else "are stale and stay"
        yield f"{', '.join(names[:NAMED])}{more} {verb} {where}: {why}"
