"""The first request of a run without a screen: its message is stored and it is sent before what only the rest of the
run needs is loaded (SQLModel, the tools, the token table). See docs/adr/0055."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from swecli.agent.request_builder import Query, RequestBuilder
from swecli.agent.turn import Turn
from swecli.config.start import Start
from swecli.config.trust import is_trusted, project_root
from swecli.context.budget import is_lean, request_limit
from swecli.context.system_message import cache_marks, load_instructions, system_prompt
from swecli.context.tokens import TokenCounter
from swecli.headless.prompts import Prompt
from swecli.llm.base import ChatModel
from swecli.llm.native import Native
from swecli.models.ids import uuid7
from swecli.models.message import ChatMessage, ModelRequest, Role
from swecli.models.session import Session
from swecli.playbook.workspace import StaleStrategies
from swecli.store.first_write import first_write
from swecli.tools.schemas import lean_specs, written_specs

if TYPE_CHECKING:
    from swecli.store.session_manager import SessionManager

_LEAST_BYTES_A_TOKEN = 3


@dataclass(frozen=True, slots=True)
class FirstRequest:
    """A new session, its stored user message, and the turn whose first request is on its way to the model."""

    session: Session
    message: ChatMessage
    turn: Turn


@dataclass(slots=True)
class _NewSession:
    """What `RequestBuilder` asks of the store, for a session that has nothing in it yet."""

    current_session: Session

    @property
    def playbook(self) -> _NewSession:
        return self

    def renew(self, session: Session) -> None:
        """No strategies apply: `first_write` has looked."""


@asynccontextmanager
async def first_request(start: Start, prompt: Prompt, model: ChatModel) -> AsyncIterator[FirstRequest | None]:
    """Store the prompt and send its request; None where the whole way has to be taken, and nothing was done.

    That is so for a session that goes on, a model on no wire of ours, a database or tools that are not as usual, a
    folder with strategies, and a request that may not fit. The block ends when the store is open.
    """
    specs = written_specs() if start.resume is None and isinstance(model, Native) else None
    if specs is None or not isinstance(model, Native):
        yield None
        return
    settings, folder = start.settings, str(start.cwd)
    session = Session(uuid7(), folder, model=model.name, window=settings.window, project=str(project_root(start.cwd)))
    turn = _turn(start, prompt, model, session)
    offered = [spec for spec in specs if turn.selection.more or spec.name != "recall"]
    offered = lean_specs(specs) if is_lean(model.profile.window) else offered
    reserve = model.profile.reserve(settings.max_tokens)
    request = ModelRequest(model.name, turn.messages, offered, reserve, marks=cache_marks(turn.messages))
    message = ChatMessage(Role.USER, prompt.text)
    if not _fits_well(request, model):
        yield None
        return
    with first_write(start.database, session, message) as written:
        if not written:
            yield None
            return
        await model.send_ahead(request)
        yield FirstRequest(session, message, turn)


def _turn(start: Start, prompt: Prompt, model: ChatModel, session: Session) -> Turn:
    """As the agent prepares it, from the same parts."""
    root = start.cwd.resolve()
    builder = RequestBuilder(
        cast("SessionManager", _NewSession(session)),
        start.settings,
        root,
        system_prompt(model.profile.window),
        StaleStrategies(),
        lambda: load_instructions(root, trusted=is_trusted(start.paths, project_root(root))).text,
    )
    texts = (prompt.enclosed,) if prompt.attached else ()
    return builder.prepare(Query(prompt.text, texts), model, TokenCounter(model.profile.encoding, exact=False))


def _fits_well(request: ModelRequest, model: ChatModel) -> bool:
    """Whether it surely takes less than half of what the model takes, so that nothing needs to be counted."""
    limit = request_limit(model.profile.window, request.max_tokens or 0)
    size = len(json.dumps([request.messages, [spec.to_api() for spec in request.tools]]))
    return limit is None or size // _LEAST_BYTES_A_TOKEN <= limit // 2
