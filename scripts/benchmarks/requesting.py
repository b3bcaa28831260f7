"""Figures of building a request, in this process: a session of 10,000 interactions against one of 10."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from functools import partial

from scripts.benchmarks.place import Place
from scripts.benchmarks.rows import Effort, Row, medians, timed
from scripts.benchmarks.stored import long_session
from swecli.context.prepare import PreparedRequest, RequestInput, compose_request, past_request
from swecli.context.system_message import HeadParts
from swecli.context.tokens import TokenCounter
from swecli.context.window import OpeningConditions
from swecli.llm.price_table import prepare_environment
from swecli.models.message import ChatMessage, Role, ToolCall
from swecli.models.notes import TextNote
from swecli.models.session import Session
from swecli.store.session_manager import SessionManager
from swecli.store.sqlite.database import open_database

FEW, MANY = 10, 10_000
QUERY = "and now round the prices"


def requesting(place: Place, effort: Effort) -> Iterator[Row]:
    """Yield the rows as they are measured."""
    prepare_environment(os.environ)  # Sets the path of the token table.
    counter = TokenCounter()
    counter.load()
    many, few = (_session(size, counter) for size in (MANY, FEW))
    for name, build in (("measured", partial(_built, counter=counter)), ("messages only", _plain)):
        ours, least = medians(
            effort.queries * 5, timed(partial(build, many)), timed(partial(build, few))
        )
        yield Row(
            f"build a request, {MANY:,} turns, {name}", "ms", ours, least, f"{FEW} turns", 1.2
        )
    yield from _resumed(place, effort, counter)


def _resumed(place: Place, effort: Effort, counter: TokenCounter) -> Iterator[Row]:
    """Measure resuming the session from the database and building its next request."""
    built: list[Callable[[], object]] = []
    with ExitStack() as opened:
        for turns in (MANY, FEW):
            path = place.folder / f"turns-{turns}.db"
            session = long_session(path, place.project, turns * 2)
            sessions = SessionManager(opened.enter_context(closing(open_database(path))))
            built.append(partial(_take_up, sessions, session, counter))
        ours, least = medians(effort.queries, timed(built[0]), timed(built[1]))
    yield Row(f"resume and build a request, {MANY:,} turns", "ms", ours, least, f"{FEW} turns", 1.2)


def _take_up(sessions: SessionManager, session: str, counter: TokenCounter) -> object:
    return _built(sessions.resume(session, ""), counter)


def _built(session: Session, counter: TokenCounter) -> PreparedRequest:
    """Measure building a request as each turn does, with all parts counted."""
    begins = OpeningConditions().next_opening(session, QUERY, past_request(session), counter)
    given = RequestInput(
        session, QUERY, HeadParts("Be brief."), (TextNote("the day is fine"),), begins
    )
    return compose_request(given).measure(counter)


def _session(interactions: int, counter: TokenCounter) -> Session:
    """Return a session whose next turn continues the epoch that it holds."""
    session = Session("s", "/project")
    for number in range(interactions):
        call = ToolCall(
            f"call-{number}", "read_file", {"path": "prices.py"}, result="TAX = 0.19\n" * 20
        )
        session.add_message(ChatMessage(Role.USER, f"Question {number}: what of the prices?"))
        session.add_message(ChatMessage(Role.ASSISTANT, "I read the file.", tool_calls=[call]))
        session.add_message(
            ChatMessage(Role.ASSISTANT, f"Answer {number}: they are kept with tax.")
        )
    first = _built(session, counter).epoch_row
    assert first is not None, "a session begins with an epoch"
    session.context.add(first)
    return session


def _plain(session: Session) -> object:
    return past_request(session, ChatMessage(Role.USER, QUERY))
