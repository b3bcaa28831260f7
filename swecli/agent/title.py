"""Gives a new session a title, by one small request."""

from __future__ import annotations

from swecli.agent.sender import send
from swecli.llm.base import ChatModel
from swecli.models.errors import SwecliError
from swecli.models.message import ModelRequest, RequestRecord
from swecli.store.session_manager import SessionManager

_PROMPT = (
    "Give a conversation that begins as follows a title: at most six words, in its own language, without quotes. "
    "Answer with the title alone.\n\n"
)
_MAX_TURNS = 3  # a session with more turns gets no generated title
_MAX_TOKENS = 300  # of the answer, thoughts included
_MAX_QUESTION = 2_000  # characters
_MAX_TITLE = 60  # characters


async def generate_title(sessions: SessionManager, model: ChatModel) -> None:
    """Generate a title for a new session without one from its first question. Does nothing if the request fails."""
    session = sessions.session
    questions = (message.content for message in session.messages if message.is_query)
    question = next((text for text in questions if text.strip()), "")
    if session.title or session.interactions > _MAX_TURNS or not question:
        return

    def keep(record: RequestRecord) -> None:
        if sessions.current_session is session:
            sessions.record_request(record)

    text = _PROMPT + question[:_MAX_QUESTION]
    request = ModelRequest(
        model.name, [{"role": "user", "content": text}], max_tokens=_MAX_TOKENS, purpose="title"
    )
    try:
        reply = await send(model, request, keep, interaction=session.interactions, attempts=1)
    except SwecliError:
        return
    if sessions.current_session is not session:
        return
    title = " ".join(reply.text.split()).strip("\"'`“”«».")
    if title and len(title) <= _MAX_TITLE and not session.title:
        sessions.rename(title)
