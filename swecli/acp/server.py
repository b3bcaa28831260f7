"""The agent's side of the protocol: answers the requests of one editor, which may have several sessions open."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

from acp.core import Connection, RequestError
from acp.meta import AGENT_METHODS, PROTOCOL_VERSION
from acp.schema import (
    AgentCapabilities,
    AuthenticateRequest,
    AuthenticateResponse,
    AuthMethodAgent,
    CancelNotification,
    CloseSessionRequest,
    CloseSessionResponse,
    DeleteSessionRequest,
    DeleteSessionResponse,
    Implementation,
    InitializeRequest,
    InitializeResponse,
    ListSessionsRequest,
    ListSessionsResponse,
    LoadSessionRequest,
    LoadSessionResponse,
    NewSessionRequest,
    NewSessionResponse,
    PromptCapabilities,
    PromptRequest,
    PromptResponse,
    ResumeSessionRequest,
    ResumeSessionResponse,
    SessionCapabilities,
    SessionCloseCapabilities,
    SessionDeleteCapabilities,
    SessionInfo,
    SessionListCapabilities,
    SessionResumeCapabilities,
    SetSessionConfigOptionResponse,
    SetSessionConfigOptionSelectRequest,
    SetSessionModeRequest,
    SetSessionModeResponse,
)
from pydantic import BaseModel, ValidationError

from swecli import __version__
from swecli.acp.editor import Editor
from swecli.acp.options import modes_of, options_of, set_mode, set_option
from swecli.acp.past_turns import show_conversation
from swecli.acp.questions import Questions
from swecli.acp.session import EditorSession
from swecli.acp.wire import Lines
from swecli.app import Runtime, build_runtime, settle
from swecli.config.settings import Start
from swecli.llm.choosing import choose_model
from swecli.llm.registry import make_model
from swecli.models.errors import (
    AuthFailed,
    BadInput,
    NoModel,
    SwecliError,
    UsageError,
    describe_unexpected,
)
from swecli.models.session import SessionInfo as StoredSession
from swecli.store.session_manager import SessionManager
from swecli.store.sqlite.files import locate
from swecli.text import one_line
from swecli.tools.projects import open_project
from swecli.values import dataclass

_Opening = NewSessionRequest | LoadSessionRequest | ResumeSessionRequest
_PAGE = 50  # sessions in one answer
# codes of the protocol
_AUTH_REQUIRED = -32000
_NOT_FOUND = -32002
_INVALID_PARAMS = -32602
_INTERNAL = -32603
_log = logging.getLogger(__name__)


_Request = TypeVar("_Request", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class _Route(Generic[_Request]):
    """What answers one kind of request."""

    model: type[_Request]
    run: Callable[[_Request], Awaitable[BaseModel | None]]


class Configurations(Protocol):
    """Reads the configuration, each time anew."""

    def of_session(self, folder: str, session: str | None) -> Start:
        """Return that of work in a folder, in a new session (None) or in a stored one. Raises SwecliError."""

    def anywhere(self) -> Start:
        """Return that of questions about all sessions, without a model. Raises SwecliError."""


async def serve(configurations: Configurations) -> int:
    """Serve an editor on stdin and stdout until it closes them, then stop what runs. Returns the exit code. Raises
    UsageError if nothing can be served there."""
    lines = await Lines.open()
    agent = EditorAgent(lines, configurations)
    try:
        await agent.connection.main_loop()
        task = asyncio.current_task()
        # a signal, which the library takes for the end of the input
        if task is not None and task.cancelling():
            raise asyncio.CancelledError
    finally:
        await agent.close()
    return 0


class EditorAgent:
    """The sessions of one editor, and the answers to its requests."""

    def __init__(self, lines: Lines, configurations: Configurations) -> None:
        self._lines = lines
        self._configurations = configurations
        self._sessions: dict[str, EditorSession] = {}
        self._opening = asyncio.Lock()
        self._has_announced = False
        names = AGENT_METHODS
        self._routes: Mapping[str, _Route[Any]] = {
            names["initialize"]: _Route(InitializeRequest, self.initialize),
            names["authenticate"]: _Route(AuthenticateRequest, self.authenticate),
            names["session_new"]: _Route(NewSessionRequest, self.new_session),
            names["session_load"]: _Route(LoadSessionRequest, self.load_session),
            names["session_resume"]: _Route(ResumeSessionRequest, self.resume_session),
            names["session_list"]: _Route(ListSessionsRequest, self.list_sessions),
            names["session_close"]: _Route(CloseSessionRequest, self.close_session),
            names["session_delete"]: _Route(DeleteSessionRequest, self.delete_session),
            names["session_prompt"]: _Route(PromptRequest, self.prompt),
            names["session_cancel"]: _Route(CancelNotification, self.cancel),
            names["session_set_mode"]: _Route(SetSessionModeRequest, self.set_mode),
            names["session_set_config_option"]: _Route(
                SetSessionConfigOptionSelectRequest, self.set_option
            ),
        }
        self.connection = Connection(self._answer, lines, listening=False)

    async def close(self) -> None:
        """Stop and close all sessions, and the connection."""
        closing_all = (self._close(name) for name in [*self._sessions])
        for outcome in await asyncio.gather(*closing_all, return_exceptions=True):
            if isinstance(outcome, Exception):
                _log.error("a session could not be closed", exc_info=outcome)
        await self.connection.close()

    # --- the connection

    async def initialize(self, request: InitializeRequest) -> InitializeResponse:
        """Say which version of the protocol is spoken, and what of it."""
        return InitializeResponse(
            protocol_version=PROTOCOL_VERSION,
            agent_info=Implementation(name="swecli", title="swecli", version=__version__),
            agent_capabilities=AgentCapabilities(
                load_session=True,
                prompt_capabilities=PromptCapabilities(image=True, embedded_context=True),
                session_capabilities=SessionCapabilities(
                    list=SessionListCapabilities(),
                    resume=SessionResumeCapabilities(),
                    close=SessionCloseCapabilities(),
                    delete=SessionDeleteCapabilities(),
                ),
            ),
            auth_methods=[
                AuthMethodAgent(
                    id="configuration",
                    name="The configuration of swecli",
                    description=(
                        "Set a provider's key in the environment of the editor, or a model, a key_command or a local "
                        "service in the settings: `swecli models` in a terminal lists what can be used."
                    ),
                )
            ],
        )

    async def authenticate(self, request: AuthenticateRequest) -> AuthenticateResponse:
        """Look whether there is a model that can be used now. Raises NoModel, AuthFailed, ConfigError."""
        if request.method_id != "configuration":
            raise BadInput(f"There is no way to log in named {request.method_id!r:.40}.")
        start = self._configurations.anywhere()
        choice = choose_model(start.settings, start.environ)
        make_model(choice.name, start.settings, start.environ)
        return AuthenticateResponse()

    # --- which sessions are open

    async def new_session(self, request: NewSessionRequest) -> NewSessionResponse:
        """Start a session in a folder."""
        session = await self._open(request, None)
        return NewSessionResponse(
            session_id=session.editor.session_id,
            modes=modes_of(session.runtime),
            config_options=[*options_of(session.runtime)],
        )

    async def load_session(self, request: LoadSessionRequest) -> LoadSessionResponse:
        """Open a stored session, and show its conversation."""
        session = await self._open(request, request.session_id)
        show_conversation(session.editor, session.runtime)
        return LoadSessionResponse(
            modes=modes_of(session.runtime), config_options=[*options_of(session.runtime)]
        )

    async def resume_session(self, request: ResumeSessionRequest) -> ResumeSessionResponse:
        """Open a stored session, whose conversation the editor shows already."""
        session = await self._open(request, request.session_id)
        return ResumeSessionResponse(
            modes=modes_of(session.runtime), config_options=[*options_of(session.runtime)]
        )

    async def list_sessions(self, request: ListSessionsRequest) -> ListSessionsResponse:
        """List the stored sessions of a folder, or all, newest first. The cursor is the number of those before."""
        cursor = request.cursor or "0"
        if not cursor.isdecimal():
            raise BadInput(f"The cursor {cursor!r:.40} is none of this program.")
        first = int(cursor)
        cwd = None if request.cwd is None else _require_absolute(request.cwd)
        sessions = await asyncio.to_thread(self._read_catalog, cwd, first + _PAGE + 1)
        page = sessions[first : first + _PAGE]
        following = str(first + _PAGE) if len(sessions) > first + _PAGE else None
        return ListSessionsResponse(
            sessions=[
                SessionInfo(
                    session_id=info.id,
                    cwd=info.directory or "/",
                    title=info.shown_title,
                    updated_at=info.updated_at.isoformat(),
                )
                for info in page
            ],
            next_cursor=following,
        )

    async def close_session(self, request: CloseSessionRequest) -> CloseSessionResponse:
        """Stop a session's turn and free what it holds. It stays stored."""
        self._get(request.session_id)
        await self._close(request.session_id)
        return CloseSessionResponse()

    async def delete_session(self, request: DeleteSessionRequest) -> DeleteSessionResponse:
        """Delete a stored session, which no other program may have open."""
        await self._close(request.session_id)
        await asyncio.to_thread(self._delete, request.session_id)
        return DeleteSessionResponse()

    # --- one session

    async def prompt(self, request: PromptRequest) -> PromptResponse:
        """Run a turn, or a slash command."""
        session = self._get(request.session_id)
        reason = await session.prompt(request.prompt)
        return PromptResponse(stop_reason=reason, usage=session.view.usage)

    async def cancel(self, request: CancelNotification) -> None:
        """Stop the turn that runs, if one does."""
        session = self._sessions.get(request.session_id)
        if session is not None:
            await session.cancel()

    async def set_mode(self, request: SetSessionModeRequest) -> SetSessionModeResponse:
        """Set the permission mode from the next call on."""
        session = self._get(request.session_id)
        await set_mode(session.runtime, request.mode_id)
        session.tell_changes()
        return SetSessionModeResponse()

    async def set_option(
        self, request: SetSessionConfigOptionSelectRequest
    ) -> SetSessionConfigOptionResponse:
        """Set the mode, the model or how much it thinks."""
        session = self._get(request.session_id)
        await set_option(session.runtime, request.config_id, request.value)
        session.tell_changes()
        return SetSessionConfigOptionResponse(config_options=[*options_of(session.runtime)])

    # --- how

    async def _answer(self, method: str, params: Any, is_notification: bool) -> BaseModel | None:
        """Answer a request. Raises RequestError, in the words of the protocol."""
        route = self._routes.get(method)
        if route is None:
            if is_notification:
                return None
            raise RequestError.method_not_found(method)
        try:
            return await route.run(route.model.model_validate({} if params is None else params))
        except RequestError:
            raise
        except ValidationError as error:
            raise RequestError(_INVALID_PARAMS, _describe_invalid(method, error)) from error
        except SwecliError as error:
            raise RequestError(_code_of(error), str(error)) from error
        except Exception as error:
            _log.error("%s failed", method, exc_info=error)
            problem = f"{describe_unexpected(error)} Details are in the log."
            raise RequestError(_INTERNAL, problem) from error

    def _get(self, session_id: str) -> EditorSession:
        session = self._sessions.get(session_id)
        if session is None:
            raise _not_found(session_id, "Load it first: no session is open as")
        return session

    async def _close(self, session_id: str) -> None:
        """Close a session if it is open."""
        session = self._sessions.pop(session_id, None)
        if session is not None:
            await session.close()

    async def _open(self, request: _Opening, session_id: str | None) -> EditorSession:
        """Open a session, anew if it is open already. The editor is told more when it has the answer."""
        folder = _require_absolute(request.cwd)
        questions = Questions()
        async with self._opening:  # one at a time, so that none is open twice
            start = await asyncio.to_thread(self._configurations.of_session, folder, session_id)
            if session_id is not None:
                await self._close(session_id)
            runtime = await asyncio.to_thread(_build, start, questions)
            if session_id not in (None, runtime.session.id):  # it was found by its title
                runtime.close()
                raise _not_found(session_id or "", "There is no session")
            editor = Editor(self._lines, self.connection, runtime.session.id)
            session = EditorSession(runtime, questions, editor)
            self._sessions[editor.session_id] = session
        notices = _describe_unused(request)
        is_first = not self._has_announced
        self._has_announced = True
        # the answer is written before this runs
        asyncio.get_running_loop().call_soon(lambda: session.announce(notices, is_first=is_first))
        return session

    def _read_catalog(self, cwd: str | None, limit: int) -> list[StoredSession]:
        with self._open_store() as sessions:
            if sessions is None:
                return []
            if cwd is None:
                return sessions.catalog.list_sessions(None, limit)
            place = open_project(sessions.database, Path(cwd))
            return sessions.catalog.list_sessions(cwd, limit, place=place)

    def _delete(self, session_id: str) -> None:
        with self._open_store() as sessions:
            if sessions is None:
                raise BadInput("No session is stored yet.")
            sessions.delete(session_id)

    @contextmanager
    def _open_store(self) -> Iterator[SessionManager | None]:
        """Open the store beside those of the open sessions; None if nothing is stored yet."""
        location = self._configurations.anywhere().database
        file = locate(location)
        if file is not None and not file.exists():
            yield None
            return
        sessions = SessionManager.open(location, even_read_only=True)
        with closing(sessions.database):
            yield sessions


def _build(start: Start, questions: Questions) -> Runtime:
    """Build a runtime with what its first turn needs, in a thread."""
    runtime = build_runtime(start, questions.ask)
    runtime.warm()
    settle()
    return runtime


def _not_found(session_id: str, problem: str) -> RequestError:
    return RequestError(_NOT_FOUND, f"{problem} {one_line(session_id, 60)}.")


def _require_absolute(cwd: str) -> str:
    """Return the folder of a session. Raises BadInput for one that depends on where this program was started."""
    if not cwd.startswith("/"):
        raise BadInput(f"The folder {cwd!r:.80} is not absolute.", "Name the whole path.")
    return cwd


def _describe_unused(request: _Opening) -> list[str]:
    """Return lines on what an editor offers and nobody uses: the tools of a server are used as they were approved, and
    those were not; a session has one folder."""
    lines: list[str] = []
    if request.mcp_servers:
        names = ", ".join(one_line(server.name, 40) for server in request.mcp_servers)
        lines.append(
            f"MCP servers of the editor are not used ({names}): `swecli mcp add` and `swecli mcp approve`, in a "
            "terminal, let swecli use them everywhere"
        )
    if request.additional_directories:
        names = ", ".join(one_line(folder, 80) for folder in request.additional_directories)
        lines.append(f"a session has one folder; others are read when you allow it: {names}")
    return lines


def _code_of(error: SwecliError) -> int:
    if isinstance(error, NoModel | AuthFailed):
        return _AUTH_REQUIRED
    return _INVALID_PARAMS if isinstance(error, BadInput | UsageError) else _INTERNAL


def _describe_invalid(method: str, error: ValidationError) -> str:
    """Return what is wrong with the parameters of a request, in one line."""
    first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    place = ".".join(str(part) for part in first["loc"])
    return f"{method}: {place}: {first['msg']}".replace(": : ", ": ")
