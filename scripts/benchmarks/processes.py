"""Figures of whole processes: --version, --help and one headless prompt."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator

from scripts.benchmarks.place import Place, run_once, swecli
from scripts.benchmarks.rows import Effort, Row, medians, timed

NOTHING = (sys.executable, "-c", "pass")
BARE = """
import sys
from sqlmodel import Field, Session, SQLModel, create_engine

class Message(SQLModel, table=True):
    id: int | None = Field(default=None, primary_key=True)
    content: str

engine = create_engine(f"sqlite:///{sys.argv[1]}")
SQLModel.metadata.create_all(engine)
with Session(engine) as session:
    session.add(Message(content="hello"))
    session.commit()
print("hello")
"""


def processes(place: Place, effort: Effort) -> Iterator[Row]:
    """Yield the rows as they are measured."""

    def run(*command: str) -> Callable[[], float]:
        return timed(lambda: run_once(place, *command))

    for flag, goal in (("--version", 1.5), ("--help", 3.0)):
        ours, least = medians(effort.processes, run(*swecli(flag)), run(*NOTHING))
        yield Row(f"swecli {flag}", "ms", ours, least, "python -c pass", goal)
    ask = run(*swecli("-m", "demo", "-p", "hello"))
    store = run(sys.executable, "-c", BARE, str(place.folder / "bare.db"))
    ask(), store()  # The first run creates the databases.
    ours, least = medians(effort.processes, ask, store)
    yield Row(
        "-p, demo model, exec to exit", "ms", ours, least, "SQLModel alone: one row stored", 2.0
    )
