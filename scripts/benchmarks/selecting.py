"""Figures of a playbook's size, in this process: choosing among 10,000 bullets against 100, and a whole turn."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random

import sqlalchemy

from scripts.benchmarks.place import Place
from scripts.benchmarks.rows import Effort, Row, medians, timed
from swecli.agent.request_builder import Query, RequestBuilder, Turn
from swecli.agent.sender import send
from swecli.agent.turn import TurnRecord
from swecli.config.settings import Settings
from swecli.context.tokens import TokenCounter
from swecli.llm.price_table import prepare_environment
from swecli.models.message import ChatMessage, Role
from swecli.models.playbook import Bullet
from swecli.playbook.learning.reflector_model import ReflectorModel
from swecli.playbook.learning.service import LearningService
from swecli.playbook.ranking import BulletIndex
from swecli.playbook.selection import SelectionRequest
from swecli.playbook.workspace import StaleStrategies
from swecli.store.session_manager import SessionManager
from swecli.store.sqlite.database import open_database
from swecli.store.tables.playbook import BulletRow
from tests.support.scripted import ScriptedModel

FEW, MANY = 100, 10_000
QUERY = "round the prices in src/prices.py and run the tests"
WORDS = (
    "tests",
    "build",
    "commit",
    "branch",
    "config",
    "migration",
    "schema",
    "price",
    "round",
    "tax",
    "user",
    "api",
)


def selecting(place: Place, effort: Effort) -> Iterator[Row]:
    """Yield the rows as they are measured."""
    prepare_environment(os.environ)  # Sets the path of the token table.
    counter = TokenCounter()
    counter.load()
    many, few = (_bullets(size) for size in (MANY, FEW))
    ours, least = medians(
        effort.queries, timed(_selecting(many, counter)), timed(_selecting(few, counter))
    )
    yield Row(f"choose among {MANY:,} strategies", "ms", ours, least, f"{FEW} strategies", 12.0)
    ours, least = medians(effort.processes, timed(_anew(many)), timed(_anew(few)))
    yield Row(
        f"choose among {MANY:,} strategies, first time",
        "ms",
        ours,
        least,
        f"{FEW} strategies",
        12.0,
    )
    yield from _turning(place, effort, counter)


def _turning(place: Place, effort: Effort, counter: TokenCounter) -> Iterator[Row]:
    """Measure a turn through the product's code: until its request is stored and ready to send, and the bytes it
    stores."""
    large, small = (
        _Turning(place.folder / f"of-{size}", _bullets(size), counter) for size in (MANY, FEW)
    )
    ours, least = medians(effort.queries, timed(large.ask), timed(small.ask))
    yield Row(
        f"a turn with {MANY:,} strategies, to its request",
        "ms",
        ours,
        least,
        f"{FEW} strategies",
        1.5,
    )
    ours, least = (one.stored() / effort.queries / 1024 for one in (large, small))
    yield Row(
        f"a turn with {MANY:,} strategies, stored", "KiB", ours, least, f"{FEW} strategies", 1.5
    )


class _Turning:
    """A project with its database and a playbook of that size."""

    def __init__(self, folder: Path, bullets: dict[str, Bullet], counter: TokenCounter) -> None:
        folder.mkdir()
        self._file, root = folder / "swecli.db", str(folder)
        self._sessions = SessionManager(open_database(self._file))
        own = {"scope": "project", "project": root, "anchors": []}
        rows = [
            {"number": b.number, "content": b.content, "section": b.section} | own
            for b in bullets.values()
        ]
        with self._sessions.database.transaction() as db:
            db.connection().execute(sqlalchemy.insert(BulletRow), rows)
        self._sessions.start(root, "scripted/model", project=root)
        self._builder = RequestBuilder(self._sessions, Settings(), folder, "", StaleStrategies())
        self._learning = LearningService(self._sessions, ReflectorModel(""), send)
        self._record, self._counter = TurnRecord(self._sessions, counter), counter
        self._turn: Turn | None = None
        self.ask()
        self._before = self._size()

    def ask(self) -> None:
        """Finish the previous turn, as the prompt does, and begin a new one."""
        if self._turn is not None:
            self._sessions.append(ChatMessage(Role.ASSISTANT, "Done."))
            self._record.finish("done", self._turn, "Done.")
            self._learning.after_turn()
        self._turn = self._builder.prepare(Query(QUERY), ScriptedModel(), self._counter)
        self._record.begin(self._turn)

    def stored(self) -> int:
        """Return the bytes stored since the first turn."""
        return self._size() - self._before

    def _size(self) -> int:
        with self._sessions.database.reading() as db:
            return sum(db.connection().exec_driver_sql("SELECT pgsize FROM dbstat").scalars())


def _bullets(size: int) -> dict[str, Bullet]:
    rng, found = Random(size), dict[str, Bullet]()
    for number in range(1, size + 1):
        rest = " ".join(
            rng.choice(WORDS) + str(rng.randrange(90)) for _ in range(rng.randrange(4, 30))
        )
        content = f"Run `make {rng.choice(WORDS)}-{number}` before {rest}"
        found[f"P-{number}"] = Bullet(f"P-{number}", content, section=rng.choice(WORDS))
    return found


def _selecting(bullets: dict[str, Bullet], counter: TokenCounter) -> Callable[[], object]:
    index = BulletIndex()
    return lambda: SelectionRequest(bullets, QUERY, counter.count, index, whole_head=True).select()


def _anew(bullets: dict[str, Bullet]) -> Callable[[], object]:
    """Measure without a cache of the bullets, as when a session begins."""

    def work() -> object:
        counter = TokenCounter()
        counter.load()
        return SelectionRequest(
            bullets, QUERY, counter.count, BulletIndex(), whole_head=True
        ).select()

    return work
