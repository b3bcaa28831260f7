"""Whether selection finds what a query needs: made-up queries, each with the one bullet that is to be in the prompt."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from scripts.corpus.judged import FILE, candidates
from swecli.models.playbook import Bullet, SessionPlaybook, render_bullets
from swecli.playbook.score import Standings
from swecli.playbook.selection.rank import SelectionRequest, rank
from swecli.playbook.selection.select import select

QUERIES: Path = FILE.with_name("queries.tsv")
Count = Callable[[str], int]


@dataclass(frozen=True, slots=True)
class Found:
    """Of `queries`, how many had the bullet they need in the prompt, and how many had it first, second or third."""

    queries: int
    inside: int
    leading: int


def needs() -> list[tuple[str, str]]:
    """Each query with the beginning of the bullet that it needs."""
    rows = (line.split("\t") for line in QUERIES.read_text(encoding="utf-8").splitlines())
    return [(query, wanted) for query, wanted in rows]


def bullets() -> list[Bullet]:
    """A playbook of all the good candidates."""
    book = SessionPlaybook()
    return [book.add(one.text, section="general") for one in candidates() if one.good]


def selected(count: Count, budget: int) -> Found:
    """What `select` finds, with nothing known of any bullet."""
    found = [
        (select(rank(SelectionRequest(bullets(), query, Standings(), count, whole_head=True)), budget), w)
        for query, w in needs()
    ]
    places = [_place([bullet.content for bullet in one.chosen], wanted) for one, wanted in found]
    return Found(len(places), sum(place is not None for place in places), sum(place in (0, 1, 2) for place in places))


def by_age(count: Count, budget: int) -> Found:
    """What is found by the newest ones that fit, whatever the query: what stood in the prompt before."""
    chosen: list[Bullet] = []
    for bullet in sorted(bullets(), key=lambda one: -one.number):
        if count(render_bullets([*chosen, bullet])) > budget:
            break
        chosen.append(bullet)
    places = [_place([bullet.content for bullet in chosen], wanted) for _, wanted in needs()]
    return Found(len(places), sum(place is not None for place in places), 0)


def _place(contents: list[str], wanted: str) -> int | None:
    return next((place for place, content in enumerate(contents) if content.startswith(wanted)), None)
