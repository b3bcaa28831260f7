"""The first request of a run without a screen: its message is stored and it is sent before what only the rest of the
run needs is loaded (SQLModel, the tools, the token table). The loop then prepares the same request and goes on with
this one. See docs/adr/0055."""

from __future__ import annotations

import json
import logging
from collections.abc import AsyncIterator
from contextlib import ExitStack, asynccontextmanager
from pathlib import Path

from swecli.agent.request_builder import Query, RequestBuilder, Turn
from swecli.config.paths import project_root
from swecli.config.settings import Start
from swecli.context.budget import is_lean, request_limit
from swecli.context.epochs import HALF
from swecli.context.project import load_project
from swecli.context.system_message import cache_marks, system_prompt
from swecli.context.tokens import TokenCounter
from swecli.headless.prompts import Prompt
from swecli.llm.base import ChatModel
from swecli.models.message import ChatMessage, ModelRequest, Role
from swecli.models.session import Session, uuid7
from swecli.store.first_write import FAILURES, EarlyStore, Unusual, open_early
from swecli.tools.schemas import bundled_specs, lean_specs, usable_specs

_LEAST_BYTES_A_TOKEN = 3
_Begun = tuple[Session, ChatMessage]  # the session and its stored user message
_log = logging.getLogger(__name__)


@asynccontextmanager
async def first_request(start: Start, prompt: Prompt, model: ChatModel) -> AsyncIterator[_Begun | None]:
    """Store the prompt and send its request, which is on its way then: the session and what of it is stored; None where
    the full way has to be taken, and nothing was done. The block ends when the store is open."""
    with ExitStack() as opened:
        try:
            request, session, message = _begin(start, prompt, model, opened)
        except FAILURES as error:
            _log.debug("the first request is not sent early: %s", error)
            opened.close()  # the store will open the file as its own
            yield None
            return
        await model.send_ahead(request)  # type: ignore[attr-defined]  # `_begin` has looked
        yield session, message


def _begin(
    start: Start, prompt: Prompt, model: ChatModel, opened: ExitStack
) -> tuple[ModelRequest, Session, ChatMessage]:
    """Read the session, prepare its request and commit its message. Raises Unusual for what only the full way can do,
    and whatever it is that makes reading or building fail."""
    if not hasattr(model, "send_ahead") or (specs := bundled_specs()) is None:
        raise Unusual("the model is on no wire of ours, or there are other tools")
    store, settings, folder = opened.enter_context(open_early(start.database)), start.settings, str(start.cwd)
    if start.resume is None:
        window, project = settings.window, str(project_root(start.cwd))
        session = store.start(Session(uuid7(), folder, model=model.name, window=window, project=project))
    elif settings.origins.get("window") == "flags":
        raise Unusual("the session's window changes")
    else:
        session = store.resume(start.resume or None, folder)
    _require_anchors(session)
    turn, skills = _prepare(start, prompt, model, store)
    tools = usable_specs(specs, more=turn.selection.more, skills=skills)
    tools = lean_specs(specs) if is_lean(model.profile.window) else tools
    reserve = model.profile.reserve(settings.max_tokens)
    request = ModelRequest(model.name, turn.messages, tools, reserve, marks=cache_marks(turn.messages))
    _require_room(request, model, session)
    message = ChatMessage(Role.USER, prompt.text)
    store.store_query(message)
    return request, session, message


def _prepare(start: Start, prompt: Prompt, model: ChatModel, store: EarlyStore) -> tuple[Turn, dict[str, Path]]:
    """The turn, and the skills that go with it. Sizes are estimated, unless its parts depend on exact ones."""
    project = load_project(start, trusted=start.trusted, window=model.profile.window)
    root, system, texts = start.cwd.resolve(), system_prompt(model.profile.window), (prompt.enclosed,)
    builder = RequestBuilder(store, start.settings, root, system, instructions=lambda: project.text)  # type: ignore[arg-type]
    query = Query(prompt.text, texts if prompt.attached else ())
    turn = builder.prepare(query, model, TokenCounter(model.profile.encoding, exact=False))
    chosen, opened = turn.selection, turn.request.opened
    tight = chosen.more or chosen.missed or chosen.tokens * 4 > chosen.budget * 3
    if tight or (opened is not None and opened.detail == HALF):
        turn = builder.prepare(query, model, TokenCounter(model.profile.encoding))
    return turn, project.skills


def _require_anchors(session: Session) -> None:
    """Raises Unusual where a strategy has become stale, or is not any more: the full way stores that first."""
    live = [bullet for bullet in session.playbook.bullets.values() if bullet.is_live and bullet.scope != "user"]
    if not live:
        return
    # late: only strategies name files
    from swecli.playbook.workspace import Workspaces  # noqa: PLC0415

    lookup = Workspaces().lookup(session)
    if lookup is not None and any((lookup.missing(bullet) or "") != bullet.stale for bullet in live):
        raise Unusual("what a strategy names has gone or come back")


def _require_room(request: ModelRequest, model: ChatModel, session: Session) -> None:
    """Raises Unusual for a request that may take more than half of what the model takes: the others need no exact
    count, and are not reduced."""
    limit, known = request_limit(model.profile.window, request.max_tokens or 0), session.context
    size = len(json.dumps([request.messages, [spec.to_api() for spec in request.tools]])) // _LEAST_BYTES_A_TOKEN
    if limit is not None and size * max(1, known.asked_prompt / (known.asked_counted or 1)) > limit // 2:
        raise Unusual("the request may be too long")
