"""Where a session works, as far as strategies speak of it: what exists there, and what its instructions say anyway."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from swecli.models.learning_events import PlaybookUpdated
from swecli.models.playbook import Bullet
from swecli.models.session import Session
from swecli.playbook.workspace_lookup import WorkspaceLookup

if TYPE_CHECKING:  # a first request is made before the store is loaded
    from swecli.store.session_manager import SessionManager

_NAMED = 3  # strategies, where one thing is gone for many


@dataclass(frozen=True, slots=True)
class Workspaces:
    """What can be looked up without a model. `search_path` is the variable PATH, `tools` the names that models have.
    `instructions` gives what a prompt says anyway: the system prompt and the project's own files, as they are now."""

    search_path: str
    tools: Collection[str]
    instructions: Callable[[], str] = lambda: ""

    def lookup(self, session: Session, *, far: bool = True) -> WorkspaceLookup | None:
        """A new look at where a session works; None where that directory is gone: then nothing is known. See
        `WorkspaceLookup` for `far`."""
        root = Path(session.working_directory)
        if not session.working_directory or not root.is_dir():
            return None
        above = Path(session.project) if session.project else root
        return WorkspaceLookup(root, self.search_path, self.tools, above, far)


async def check_anchors(sessions: SessionManager, session: Session, workspaces: Workspaces) -> PlaybookUpdated | None:
    """Look for what the strategies name, and keep what is found; the event says which are stale now and were not. What
    applies to all projects is left alone: that it names something of another one says nothing. The looking is done
    beside the prompt. Raises StoreError."""
    bullets = dict(session.playbook.bullets)
    lookup = workspaces.lookup(session)
    wanted = [bullet for bullet in bullets.values() if bullet.live and bullet.scope != "user"]
    if lookup is None or not wanted:
        return None
    looked = await asyncio.to_thread(lambda: {bullet.id: lookup.freshness(bullet) for bullet in wanted})
    stale = {name: found.missing for name, found in looked.items() if found.missing}
    sessions.playbook.verify(session, stale, [name for name, found in looked.items() if found.fresh])
    new = {name: why for name, why in stale.items() if not bullets[name].stale}
    lines = tuple(_stale_lines(new, [name for name in new if bullets[name].state == "pinned"]))
    return PlaybookUpdated(session.interactions, "", lines) if lines else None


@dataclass(slots=True)
class StaleStrategies:
    """Finds, among strategies that are to stand in a prompt, those that name something that was here and is gone. What
    was found stays in `found` until a turn has reported it."""

    workspaces: Workspaces | None = None
    found: dict[str, str] = field(default_factory=dict)
    _sessions: set[str] = field(default_factory=set)
    _fresh: set[str] = field(default_factory=set)

    def among(self, session: Session, bullets: Iterable[Bullet]) -> dict[str, str]:
        """The stale ones by id, with what is gone. Only what is quickly looked up, but for the first time in a session:
        when the program starts, all of them are looked at behind the prompt. What never was here was taught
        nevertheless: that is not found out by this."""
        far = bool(self._sessions) and session.id not in self._sessions
        self._sessions.add(session.id)
        lookup = self.workspaces.lookup(session, far=far) if self.workspaces else None
        stale: dict[str, str] = {}
        for bullet in bullets if lookup else ():
            if lookup is None or bullet.scope == "user" or bullet.state == "pinned" or bullet.stale:
                continue
            look = lookup.freshness(bullet)
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
        return list(_stale_lines(self.found, pinned))


def _stale_lines(stale: Mapping[str, str], pinned: Collection[str] = ()) -> Iterator[str]:
    """The lines on those that leave the prompts, and on pinned ones, which do not."""
    yield from _grouped({name: why for name, why in stale.items() if name not in pinned}, "out of prompts")
    yield from _grouped({name: stale[name] for name in pinned}, "in prompts all the same, being pinned")


def _grouped(stale: Mapping[str, str], where: str) -> Iterator[str]:
    """A line for each thing that is gone, with the strategies that name it."""
    for why in dict.fromkeys(stale.values()):
        names = [name for name, reason in stale.items() if reason == why]
        more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
        verb = "is stale and stays" if len(names) == 1 else "are stale and stay"
        yield f"{', '.join(names[:_NAMED])}{more} {verb} {where}: {why}"
