"""Asks the small model for a session's title, behind the prompt: nothing waits for it."""

from __future__ import annotations

from swecli.agent.turn import ModelStep
from swecli.llm.base import ChatModel
from swecli.models.errors import SwecliError
from swecli.models.message import ApiMessage, ModelRequest, RequestRecord
from swecli.models.session import Session
from swecli.store.session_manager import SessionManager

_ASKED = (
    "Give a conversation that begins as follows a title: at most six words, in its own language, without quotes. "
    "Answer with the title alone.\n\n"
)
_TURNS = 3  # turns after which a session without a title is left as it is
_QUESTION, _LENGTH, _RESERVE = 2_000, 60, 300  # characters sent, characters of a title, tokens of the answer


def wants_title(session: Session | None) -> bool:
    """Whether nobody has named the session, and it has only begun."""
    return session is not None and not session.title and 1 <= session.interactions <= _TURNS


async def give_title(sessions: SessionManager, model: ChatModel) -> None:
    """Name the session in use after its first question, unless somebody does meanwhile. A failure leaves it unnamed."""
    session = sessions.current_session
    question = next((m.content for m in session.messages if m.opens and m.content.strip()), "") if session else ""
    if session is None or not question:
        return
    messages: list[ApiMessage] = [{"role": "user", "content": _ASKED + question[:_QUESTION]}]
    request = ModelRequest(model.name, messages, max_tokens=_RESERVE, purpose="title")
    step = ModelStep(model, request, attempts=1)
    try:
        async for _ in step.run():
            pass
    except SwecliError:
        return
    if sessions.current_session is not session:
        return
    if (reply := step.reply).usage is not None:
        took = (reply.usage, reply.cost, step.duration_ms)
        sessions.record_request(RequestRecord(model.name, "title", session.interactions, 0, *took))
    title = " ".join(reply.text.split()).strip("\"'`“”«».")
    if title and len(title) <= _LENGTH and not session.title:
        sessions.rename(title)
