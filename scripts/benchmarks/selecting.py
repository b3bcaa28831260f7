"""Figures of choosing bullets for a prompt, in this process: among 1,000 of them against among 100, and after 10,000
judged turns of the project against after 10."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from functools import partial
from random import Random

from scripts.benchmarks.place import Place
from scripts.benchmarks.rows import Effort, Row, medians, timed
from scripts.benchmarks.stored import judged_session
from swecli.context.tokens import TokenCounter
from swecli.llm.price_table import prepare_environment
from swecli.models.playbook import Bullet, SessionPlaybook
from swecli.playbook.relevance import terms
from swecli.playbook.score import Standings
from swecli.playbook.selection.rank import SelectionRequest, rank
from swecli.playbook.selection.select import select
from swecli.playbook.standing import believed
from swecli.store.session_manager import SessionManager
from swecli.store.sqlite.database import open_database

FEW, MANY = 100, 1_000
FEW_TURNS, MANY_TURNS = 10, 10_000
QUERY = "round the prices in src/prices.py and run the tests"
WORDS = ("tests", "build", "commit", "branch", "config", "migration", "schema", "price", "round", "tax", "user", "api")


def selecting(place: Place, effort: Effort) -> Iterator[Row]:
    """The rows, as they are measured."""
    prepare_environment(os.environ)  # says where the token table is
    counter = TokenCounter()
    counter.load()
    many, few = (_bullets(size) for size in (MANY, FEW))
    ours, least = medians(effort.queries, timed(_selecting(many, counter)), timed(_selecting(few, counter)))
    yield Row(f"choose among {MANY:,} strategies", "ms", ours, least, f"{FEW} strategies", 12.0)
    ours, least = medians(effort.processes, timed(_anew(many)), timed(_anew(few)))
    yield Row(f"choose among {MANY:,} strategies, first time", "ms", ours, least, f"{FEW} strategies", 12.0)
    yield _weighed(place, effort)


def _weighed(place: Place, effort: Effort) -> Row:
    """What every strategy is worth, after a turn was judged."""
    weigh: list[Callable[[], object]] = []
    with ExitStack() as opened:
        for turns in (MANY_TURNS, FEW_TURNS):
            path = place.folder / f"judged-{turns}.db"
            session_id = judged_session(path, place.project, _bullets(FEW), turns)
            sessions = SessionManager(opened.enter_context(closing(open_database(path))))
            session = sessions.resume(session_id, "")
            believed(sessions.playbook, session)  # as an earlier turn did
            weigh.append(partial(believed, sessions.playbook, session))
        ours, least = medians(effort.queries, timed(weigh[0]), timed(weigh[1]))
    return Row(f"weigh the strategies, {MANY_TURNS:,} turns", "ms", ours, least, f"{FEW_TURNS} turns", 2.0)


def _bullets(size: int) -> list[Bullet]:
    rng, book = Random(size), SessionPlaybook()
    for number in range(size):
        said = " ".join(rng.choice(WORDS) + str(rng.randrange(90)) for _ in range(rng.randrange(4, 30)))
        book.add(f"Run `make {rng.choice(WORDS)}-{number}` before {said}", section=rng.choice(WORDS))
    return list(book.bullets.values())


def _selecting(bullets: list[Bullet], counter: TokenCounter) -> Callable[[], object]:
    return lambda: select(rank(SelectionRequest(bullets, QUERY, Standings(), counter.count, whole_head=True)))


def _anew(bullets: list[Bullet]) -> Callable[[], object]:
    """With nothing remembered of the bullets, as when a session begins."""

    def work() -> object:
        counter = TokenCounter()
        counter.load()
        terms.cache_clear()
        return select(rank(SelectionRequest(bullets, QUERY, Standings(), counter.count, whole_head=True)))

    return work
