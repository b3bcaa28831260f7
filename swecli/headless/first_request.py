"""The first request of a run without a screen: its message is stored and it is sent before what only the rest of the
run needs is loaded (SQLModel, the tools, the token table). See docs/adr/0055."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass

from swecli.agent.request_builder import Query, RequestBuilder, Turn
from swecli.config.paths import project_root
from swecli.config.settings import Start
from swecli.context.budget import is_lean, request_limit
from swecli.context.project import Project, load_project
from swecli.context.system_message import cache_marks, system_prompt
from swecli.context.tokens import TokenCounter
from swecli.headless.prompts import Prompt
from swecli.llm.base import ChatModel
from swecli.models.message import ChatMessage, ModelRequest, Role
from swecli.models.session import Session, uuid7
from swecli.store.first_write import first_write
from swecli.tools.schemas import bundled_specs, lean_specs, usable_specs

_LEAST_BYTES_A_TOKEN = 3
_Begun = tuple[Session, ChatMessage]  # A new session and its stored user message


@dataclass(slots=True)
class _NewSession:
    """What `RequestBuilder` asks of the store, for a session that has nothing in it yet."""

    current_session: Session

    @property
    def playbook(self) -> _NewSession:
        return self

    def refresh(self, session: Session) -> None:
        """No strategies apply: `first_write` has looked."""


@asynccontextmanager
async def first_request(start: Start, prompt: Prompt, model: ChatModel) -> AsyncIterator[tuple[Turn, _Begun] | None]:
    """Store the prompt and send its request: the turn whose first request is on its way, and what of it is stored; None
    where the whole way has to be taken, and nothing was done. That is so for a session that goes on, a model on no wire
    of ours, a database or tools that are not as usual, a folder with strategies, and a request that may not fit. The
    block ends when the store is open."""
    if start.resume is not None or not hasattr(model, "send_ahead") or (specs := bundled_specs()) is None:
        yield None
        return
    settings, folder = start.settings, str(start.cwd)
    session = Session(uuid7(), folder, model=model.name, window=settings.window, project=str(project_root(start.cwd)))
    project = load_project(start, trusted=start.trusted, window=model.profile.window)
    turn = _turn(start, prompt, model, session, project)
    tools = usable_specs(specs, more=turn.selection.more, skills=project.skills)
    tools = lean_specs(specs) if is_lean(model.profile.window) else tools
    reserve = model.profile.reserve(settings.max_tokens)
    request = ModelRequest(model.name, turn.messages, tools, reserve, marks=cache_marks(turn.messages))
    message = ChatMessage(Role.USER, prompt.text)
    with ExitStack() as stack:
        if not _fits_well(request, model) or not stack.enter_context(first_write(start.database, session, message)):
            yield None
            return
        await model.send_ahead(request)
        yield turn, (session, message)


def _turn(start: Start, prompt: Prompt, model: ChatModel, session: Session, project: Project) -> Turn:
    root, store = start.cwd.resolve(), _NewSession(session)
    system = system_prompt(model.profile.window)
    builder = RequestBuilder(store, start.settings, root, system, instructions=lambda: project.text)  # type: ignore[arg-type]
    texts = (prompt.enclosed,) if prompt.attached else ()
    return builder.prepare(Query(prompt.text, texts), model, TokenCounter(model.profile.encoding, exact=False))


def _fits_well(request: ModelRequest, model: ChatModel) -> bool:
    """Whether it surely takes less than half of what the model takes, so that nothing needs to be counted."""
    limit = request_limit(model.profile.window, request.max_tokens or 0)
    size = len(json.dumps([request.messages, [spec.to_api() for spec in request.tools]]))
    return limit is None or size // _LEAST_BYTES_A_TOKEN <= limit // 2
