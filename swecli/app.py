"""Everything built, once: store, model, tools, agent and learning, as the faces hold them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from swecli.agent.agent import Agent
from swecli.agent.calls import Toolkit
from swecli.agent.context_control import ContextControl
from swecli.agent.request_builder import RequestBuilder
from swecli.config.paths import is_trusted, project_root, trust
from swecli.config.settings import Settings, Start
from swecli.context.project import Project, load_project
from swecli.context.system_message import load_prompt, system_prompt
from swecli.llm.base import ChatModel
from swecli.llm.registry import make_model
from swecli.models.errors import SwecliError
from swecli.models.message import Ask, ChatMessage, Mode, ModelChoice
from swecli.models.session import Session
from swecli.models.window import WindowSpec
from swecli.playbook.learning.lessons import PlaybookMemory
from swecli.playbook.learning.service import LearningService
from swecli.playbook.workspace import StaleStrategies, Workspaces
from swecli.store.session_manager import SessionManager
from swecli.undo.history import TurnHistory, track_changes


@dataclass(slots=True)
class Runtime:
    """What a face works with. `notices` are lines to show once, before the first turn; `history` undoes turns (None:
    the database keeps nothing)."""

    start: Start
    settings: Settings
    sessions: SessionManager
    agent: Agent
    learning: LearningService
    choice: ModelChoice
    notices: list[str]
    history: TurnHistory | None = None

    @property
    def cwd(self) -> Path:
        """The directory this run works in."""
        return self.start.cwd

    @property
    def trusted(self) -> bool:
        """Whether this folder's project files may be used."""
        return is_trusted(self.start.paths, project_root(self.cwd))

    @property
    def session(self) -> Session:
        """The session in use: there is one from the start."""
        session = self.sessions.current_session
        assert session is not None
        return session

    @property
    def context_control(self) -> ContextControl:
        """What the user may see and change of what is sent."""
        return ContextControl(self.agent)

    def opening_lines(self) -> list[str]:
        """What a run without a screen reports before its first turn."""
        chosen = [f"The {self.choice.name} model answers: {self.choice.why}."]
        offline = self.agent.model.profile.offline and not self.settings.model
        return [*self.start.notices, *self.notices, *(chosen if offline else [])]

    def switch_model(self, name: str) -> None:
        """Use another model from the next turn on. Raises ModelNotFound or AuthFailed; then nothing has changed."""
        model = make_model(name, self.settings, self.start.environ)
        self.agent.use_model(model)
        self.choice = ModelChoice(model.name, "chosen here")
        self.use_reflector(model)
        self.sessions.set_model(model.name)

    def switch_fast_model(self, name: str) -> None:
        """Let another model reflect, condense and verify findings. Raises ModelNotFound or AuthFailed; then nothing has
        changed."""
        small = make_model(name, self.settings, self.start.environ)
        self.settings = replace(self.settings, reflect_model=name, condense_model=name, review_verify_model=name)
        self.agent.settings, self.agent.condense_model = self.settings, small
        self.use_reflector(self.agent.model)

    def use_reflector(self, model: ChatModel) -> None:
        """Let the model reflect that the settings name; without one, that which answers. Turns for one that is gone
        wait for it; learning reports it with the first of them."""
        settings = self.settings
        found, missing = model if settings.reflect_with_model else None, ""
        if found and settings.reflect_model:
            try:
                found = make_model(settings.reflect_model, settings, self.start.environ)
            except SwecliError as error:
                found, missing = None, str(error)
        every, present = settings.reflect_every_turn, self.learning.reflector
        self.learning.reflector = replace(present, model=found, missing=missing, every_turn=every)

    def set_mode(self, mode: Mode) -> None:
        """Ask less or more from the next call on."""
        self.settings = replace(self.settings, mode=mode)
        self.agent.permissions.mode = mode

    def set_window(self, spec: WindowSpec) -> None:
        """Change what the very next request holds."""
        self.settings = replace(self.settings, window=spec)
        self.sessions.set_window(spec)
        self.sessions.load_back_to(spec.first_kept(self.session.interactions, self.session.window_start))

    def new_session(self, title: str = "") -> None:
        """Begin another session; the present one stays as it is."""
        self.sessions.start(
            str(self.cwd),
            self.agent.model.name,
            title=title,
            window=self.settings.window,
            project=str(project_root(self.cwd)),
        )
        self.agent.ctx.seen.clear()
        self.agent.ctx.todos.clear()

    def resume(self, ref: str | None) -> None:
        """Go on with a stored session: an id, a prefix of one, a title; None for this directory's last."""
        session = self.sessions.resume(ref, str(self.cwd))
        self.settings = replace(self.settings, window=session.window)
        calls = (call for message in session.messages for call in message.tool_calls if call.name == "todo")
        made = [call.parameters["items"] for call in calls if call.result and not call.error]
        items = made[-1] if made else ()
        self.agent.ctx.todos[:] = [{"text": one["text"], "status": one.get("status", "pending")} for one in items]

    def trust_folder(self) -> None:
        """Use this folder's project files from now on."""
        trust(self.start.paths, project_root(self.cwd))
        self.agent.begin_epoch("the project's instructions are trusted now")
        self.notices += load_project(self.start, trusted=True, window=self.agent.model.profile.window).notices

    def close(self) -> None:
        """Finish with the store."""
        self.sessions.database.close()


def build_runtime(
    start: Start,
    ask: Ask,
    model: ChatModel | None = None,
    *,
    to_read: bool = False,
    begun: tuple[Session, ChatMessage] | None = None,
) -> Runtime:
    """Build it all for a run; `to_read` as `open_database` takes it. `begun` is a new session whose first message is
    stored already. Raises SwecliError: one line that says what is wrong (database, model, key, session)."""
    settings = start.settings
    model = model or make_model(start.choice.name, settings, start.environ)
    sessions = SessionManager.open(start.database, to_read=to_read)
    toolkit, idle = Toolkit.open(start, sessions, ask)
    ctx, root = toolkit.ctx, toolkit.ctx.root

    def project() -> Project:
        trusted, window = is_trusted(start.paths, project_root(root)), agent.model.profile.window
        found = load_project(start, trusted=trusted, window=window)
        ctx.skills = found.skills
        return found

    prompt = system_prompt(model.profile.window)
    workspaces = Workspaces(lambda: f"{prompt}\n{project().text}")
    stale = StaleStrategies(workspaces)
    builder = RequestBuilder(sessions, settings, root, prompt, stale, lambda: project().text)
    agent = Agent(model, toolkit, builder)
    notices = [*sessions.database.notices, *project().notices, *idle]
    if settings.condense_model:
        try:
            agent.condense_model = make_model(settings.condense_model, settings, start.environ)
        except SwecliError as error:  # the session can do without: its own model sums up
            notices.append(f"{settings.condense_model} cannot summarise, so {model.name} does: {error}")
    notices += [line] if (line := agent.window_warning()) else []
    ctx.memory = PlaybookMemory(sessions, workspaces, lambda text: agent.counter.count(text))
    learning = LearningService.open(sessions, settings, load_prompt("reflect"), workspaces)
    history = track_changes(sessions, ctx, (start.paths.data, start.paths.state, start.paths.cache))
    runtime = Runtime(start, settings, sessions, agent, learning, start.choice, notices, history)
    runtime.use_reflector(model)
    if missing := learning.reflector.missing:
        notices.append(f"no model reflects now, only the rules do; turns are queued for one: {missing}")
        learning.mark_reported(missing)
    if begun is not None:
        sessions.use(*begun)
    elif start.resume is None:
        runtime.new_session()
    else:
        runtime.resume(start.resume or None)
        if settings.origins.get("window") == "flags":  # said now, against what the session was left with
            runtime.set_window(settings.window)
    return runtime
