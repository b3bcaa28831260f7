"""Figures of building a request, in this process: a session of 10,000 interactions against one of 10."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from functools import partial

from scripts.benchmarks.place import Place
from scripts.benchmarks.rows import Effort, Row, medians, timed
from swecli.context.prepare import Parts, prepare, prepare_messages
from swecli.context.tokens import TokenCounter
from swecli.llm.environment import prepare_environment
from swecli.models.message import ChatMessage, Role, ToolCall
from swecli.models.session import Session

FEW, MANY = 10, 10_000
QUERY = "and now round the prices"


def requesting(place: Place, effort: Effort) -> Iterator[Row]:
    """The rows, as they are measured."""
    prepare_environment(os.environ)  # says where the token table is
    counter = TokenCounter()
    counter.load()
    many, few = (_session(size) for size in (MANY, FEW))
    for name, build in (("measured", _measured(counter)), ("messages only", _plain)):
        ours, least = medians(effort.queries * 5, timed(partial(build, many)), timed(partial(build, few)))
        yield Row(f"build a request, {MANY:,} turns, {name}", "ms", ours, least, f"{FEW} turns", 1.2)


def _session(interactions: int) -> Session:
    session = Session("s", "/project")
    for number in range(interactions):
        call = ToolCall(f"call-{number}", "read_file", {"path": "prices.py"}, result="TAX = 0.19\n" * 20)
        session.add_message(ChatMessage(Role.USER, f"Question {number}: what of the prices?"))
        session.add_message(ChatMessage(Role.ASSISTANT, "I read the file.", tool_calls=[call]))
        session.add_message(ChatMessage(Role.ASSISTANT, f"Answer {number}: they are kept with tax."))
    return session


def _measured(counter: TokenCounter) -> Callable[[Session], object]:
    """As each turn does it: with every part weighed."""
    parts = Parts("Be brief.", notes=["the day is fine"])
    return lambda session: prepare(session, QUERY, parts, counter)


def _plain(session: Session) -> object:
    return prepare_messages(session, "Be brief.", QUERY, QUERY)
