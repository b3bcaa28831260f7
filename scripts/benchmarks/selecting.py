"""Figures of choosing bullets for a prompt, in this process: among 10,000 of them against among 100."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from random import Random

from scripts.benchmarks.place import Place
from scripts.benchmarks.rows import Effort, Row, medians, timed
from swecli.context.tokens import TokenCounter
from swecli.llm.price_table import prepare_environment
from swecli.models.playbook import Bullet, SessionPlaybook
from swecli.playbook.selection.rank import SelectionRequest
from swecli.playbook.selection.select import select
from swecli.playbook.similarity import BulletIndex

FEW, MANY = 100, 10_000
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


def _bullets(size: int) -> dict[str, Bullet]:
    rng, book = Random(size), SessionPlaybook()
    for number in range(size):
        said = " ".join(rng.choice(WORDS) + str(rng.randrange(90)) for _ in range(rng.randrange(4, 30)))
        book.add(f"Run `make {rng.choice(WORDS)}-{number}` before {said}", section=rng.choice(WORDS))
    return book.bullets


def _selecting(bullets: dict[str, Bullet], counter: TokenCounter) -> Callable[[], object]:
    index = BulletIndex()
    return lambda: select(SelectionRequest(bullets, QUERY, counter.count, index, whole_head=True))


def _anew(bullets: dict[str, Bullet]) -> Callable[[], object]:
    """With nothing remembered of the bullets, as when a session begins."""

    def work() -> object:
        counter = TokenCounter()
        counter.load()
        return select(SelectionRequest(bullets, QUERY, counter.count, BulletIndex(), whole_head=True))

    return work
