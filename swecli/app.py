"""The runtime of a session: store, model, tools, agent and learning, built once for the REPL, headless and the CLI."""

from __future__ import annotations

import gc
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from swecli.agent.agent import Agent
from swecli.agent.calls import Toolkit
from swecli.agent.request_builder import RequestBuilder
from swecli.agent.sender import send
from swecli.config.paths import project_root
from swecli.config.settings import Settings, Start, load_settings
from swecli.config.trust import Skill, TrustLedger
from swecli.context.instructions import InstructionsBelow
from swecli.context.project import Project, load_project
from swecli.context.system_message import load_prompt
from swecli.context.tokens import TokenCounter
from swecli.descendants import hide_environment
from swecli.llm.base import ChatModel
from swecli.llm.registry import make_model, try_make_model
from swecli.models.added_folder import AddedFolder
from swecli.models.approval import Ask
from swecli.models.changed_files import ChangedFile
from swecli.models.errors import BusyElsewhere, ContinuedElsewhere
from swecli.models.message import CallStatus
from swecli.models.mode import Mode
from swecli.models.model_choice import ModelChoice
from swecli.models.notes import LostJobNote
from swecli.models.project import ProjectPlace
from swecli.models.session import Session
from swecli.playbook.team import follow_shared_files
from swecli.playbook.workspace import StaleStrategies
from swecli.store.session_manager import SessionManager
from swecli.tools.base import ChangeRecorder
from swecli.tools.jobs import Jobs, lost_jobs
from swecli.tools.limits import one_line
from swecli.tools.projects import open_project
from swecli.tools.surroundings import Surroundings
from swecli.values import dataclass

if TYPE_CHECKING:  # an answer is shown before these are loaded
    from swecli.agent.context_control import ContextControl
    from swecli.agent.left_turns import LeftTurns
    from swecli.playbook.learning.lessons import PlaybookMemory
    from swecli.playbook.learning.service import LearningService
    from swecli.tools.sandbox import Sandbox
    from swecli.undo.history import TurnHistory

OPEN_ELSEWHERE = (
    "this session is open in another swecli: each loads the turns of the other before its next one"
)
_COLLECTOR_THRESHOLDS = (700, 10, 10)  # Python's own


@dataclass(slots=True)
class Runtime:
    """The parts of a running session. `notices` are lines to show once, before the first turn; `instructions` returns
    the current system prompt with the project's instruction files. `auto_confirmed`: the user named the mode auto at
    the start, or confirmed it since. Learning and undo are loaded when they are first used."""

    start: Start
    settings: Settings
    sessions: SessionManager
    agent: Agent
    instructions: Callable[[], str]
    choice: ModelChoice
    notices: list[str]
    auto_confirmed: bool = False
    is_open_elsewhere: bool = False  # the session, in another process, when it was opened here
    _folders_of_run: tuple[AddedFolder, ...] = ()  # that each new session of the run has
    _place: ProjectPlace | None = None  # None: not looked at yet
    _learning: LearningService | None = None
    _memory: PlaybookMemory | None = None
    _history: TurnHistory | None = None
    _sandbox: Sandbox | None = None

    @property
    def cwd(self) -> Path:
        """Return the working directory."""
        return self.start.cwd

    @property
    def trusted(self) -> bool:
        """Return whether the project of the working directory is trusted."""
        return self.start.read_trust().is_trusted

    @property
    def session(self) -> Session:
        """Return the current session."""
        return self.sessions.session

    @property
    def context_control(self) -> ContextControl:
        """Return the user's view of the next request and its commands."""
        # late: a turn needs none
        from swecli.agent.context_control import ContextControl

        return ContextControl(self.agent)

    @property
    def left_turns(self) -> LeftTurns:
        """Return the turns that the next request leaves out."""
        # late: as above
        from swecli.agent.left_turns import LeftTurns

        return LeftTurns(self.agent)

    @property
    def learning(self) -> LearningService:
        """Return what learns from the turns of this session."""
        if self._learning is None:
            # late: it learns from a turn that has ended
            from swecli.playbook.learning.service import LearningService

            self._learning = LearningService.open(
                self.sessions,
                self.settings,
                load_prompt("reflect"),
                self.instructions,
                send,
                load_prompt("tidy"),
            )
            self.select_reflector()
        return self._learning

    def open_memory(self) -> PlaybookMemory:
        """Return the memory of the tools `remember` and `recall`."""
        if self._memory is None:
            # the counter changes with the model
            self._memory = self.learning.open_memory(lambda text: self.agent.counter.count(text))
        return self._memory

    def open_sandbox(self) -> Sandbox:
        """Return the sandbox of the run's commands."""
        if self._sandbox is None:
            # late: it is loaded with the first command
            from swecli.tools.sandbox import Sandbox

            self._sandbox = Sandbox.of(self.start)
        return self._sandbox

    @property
    def history(self) -> TurnHistory | None:
        """Return what undoes turns, None if file versions cannot be stored: the database is in memory."""
        if self._history is None:
            # late: it is loaded with the first call, whose changes it records
            from swecli.undo.history import TurnHistory

            paths = self.start.paths
            folders_of_swecli = (paths.data, paths.state, paths.cache)
            ctx = self.agent.ctx
            self._history = TurnHistory.track(
                self.sessions,
                root=ctx.root,
                environ=self.start.environ,
                jobs=ctx.commands.jobs,
                folders_of_swecli=folders_of_swecli,
            )
        return self._history

    def warm(self) -> None:
        """Load in advance, in a thread, what learns from the first turn and what undoes it."""
        _ = self.learning
        _ = self.history

    def opening_lines(self) -> list[str]:
        """Return the lines to print before the first turn of a headless run."""
        shared = [OPEN_ELSEWHERE] if self.is_open_elsewhere else []
        return [*self.start.notices, *self.notices, *shared]

    def reload_models(self) -> None:
        """Read the models of the user's settings file again. Raises ConfigError."""
        path = self.start.config or self.start.paths.config_file
        settings, _ = load_settings(user_file=path, environ=self.start.environ, flags={})
        model_names = {entry.name for entry in settings.models}
        others = [entry for entry in self.settings.models if entry.name not in model_names]
        self.settings = replace(self.settings, models=(*settings.models, *others))
        self.agent.settings = self.settings

    def switch_model(self, name: str) -> None:
        """Use another model from the next turn on, also one that was added to the settings since the start. Raises
        ModelNotFound, AuthFailed or ConfigError and then changes nothing."""
        if name not in {self.agent.model.name, self.choice.name}:
            self.reload_models()
        model = make_model(name, self.settings, self.start.environ)
        self.agent.use_model(model)
        self.choice = ModelChoice(model.name, "chosen here")
        self.select_reflector()
        self.sessions.set_model(model.name)

    def switch_fast_model(self, name: str) -> None:
        """Use another model to reflect, condense and verify findings. Raises ModelNotFound or AuthFailed and then
        changes nothing."""
        model = make_model(name, self.settings, self.start.environ)
        self.settings = replace(
            self.settings, reflect_model=name, condense_model=name, review_verify_model=name
        )
        self.agent.settings = self.settings
        self.agent.condense_model = model
        self.select_reflector()

    def select_reflector(self) -> None:
        """Reflect with the model of the settings, else with the session's model. If it cannot be created, turns stay
        queued for it, and learning reports the reason with the first of them."""
        settings = self.settings
        model = self.agent.model if settings.reflect_with_model else None
        missing_reason = ""
        if model and settings.reflect_model:
            model, missing_reason = try_make_model(
                settings.reflect_model, settings, self.start.environ
            )
        self.learning.reflector = replace(
            self.learning.reflector,
            model=model,
            missing_reason=missing_reason,
            every_turn=settings.reflect_every_turn,
        )

    def missing_sandbox(self) -> str:
        """Return why commands run outside a sandbox, "" if they do not. The first call may take a while: not for the
        event loop."""
        return self.open_sandbox().outside_reason

    @property
    def lost_sandbox(self) -> str:
        """Why the commands that were asked for had no sandbox, "" if none was asked for, or the user wants none."""
        if self._sandbox is None or self.start.settings.sandbox == "off":
            return ""
        return self._sandbox.outside_reason

    def set_mode(self, mode: Mode) -> None:
        """Set the permission mode from the next call on, until the program ends."""
        self.agent.permissions.mode = mode

    @property
    def place(self) -> ProjectPlace:
        """The folder's project, and its place in it, as they were when a session was opened last."""
        if self._place is None:
            self._place = open_project(self.sessions.database, self.cwd)
        return self._place

    def new_session(self, title: str = "") -> None:
        """Start a new session with the window of the current one."""
        self._place = None  # the user may have said meanwhile which project it is
        previous = self.sessions.current_session
        window = previous.window if previous else self.settings.window
        self.sessions.start(
            str(self.cwd),
            self.agent.model.name,
            title=title,
            window=window,
            place=self.place,
        )
        if self._folders_of_run:
            self.agent.permissions.folders.write(self._folders_of_run)
        self.is_open_elsewhere = self.sessions.enter()
        self.agent.ctx.files.digests.clear()
        self.agent.ctx.todos.clear()

    def resume(self, ref: str | None) -> None:
        """Resume a stored session by id, prefix of an id or title; None resumes the directory's last one."""
        self._place = None  # as for a new one
        session = self.sessions.resume(
            ref, str(self.cwd), place=self.place, attended=self.start.attended
        )
        self.restore_todos(session)
        self.is_open_elsewhere = self.sessions.enter()

    async def store_query(
        self,
        query: str,
        wait: Callable[[BusyElsewhere], Awaitable[None]],
        load: Callable[[], Awaitable[None]],
        **fields: str,
    ) -> None:
        """Store a query as the next turn of the session, whatever other processes do in it: `wait` for a moment while a
        turn of theirs runs, and `load` the session again after one. Its message may have other `fields`. Raises
        StoreError."""
        while True:
            try:
                self.sessions.store_query(query, **fields)
            except BusyElsewhere as busy:
                await wait(busy)
            except ContinuedElsewhere:
                await load()
            else:
                return

    def add_folder(self, text: str) -> AddedFolder:
        """Add a folder that the user names to this session. Raises BadInput, StoreError."""
        # late: few sessions have any
        from swecli.tools.added_folders import FolderAdder, with_folder

        folders = self.agent.permissions.folders
        adder = FolderAdder(self.agent.ctx.root, self.start.environ, self.start.paths)
        folder = adder.add(folders.read(), text, self.cwd)
        folders.write(with_folder(folders.read(), folder))
        return folder

    def remove_folder(self, text: str) -> AddedFolder:
        """Remove a folder from this session, and return it. Raises BadInput, StoreError."""
        # late: as above
        from swecli.tools.added_folders import without_folder

        folders = self.agent.permissions.folders
        others, removed = without_folder(folders.read(), text, self.cwd)
        folders.write(others)
        return removed

    def add_folders_of_run(self) -> None:
        """Add the folders that the flags of the run name, to this session and to each new one. Raises BadInput,
        StoreError."""
        if not self.start.add_dirs:
            return
        # late: as above
        from swecli.tools.added_folders import FolderAdder, with_folder

        folders = self.agent.permissions.folders
        adder = FolderAdder(self.agent.ctx.root, self.start.environ, self.start.paths)
        added_folders = [adder.read(text, self.cwd) for text in self.start.add_dirs]
        for folder in added_folders:
            folders.write(with_folder(folders.read(), folder))
        self._folders_of_run = tuple(added_folders)

    def load_again(self) -> list[str]:
        """Load the session again, which another process has changed. Returns a line for each turn that it added or
        took back, and for each piece of one."""
        before = self.session
        self.resume(before.id)
        after = self.session
        first = after.messages[0].interaction if after.messages else 1
        queries_before = {message.id: message for message in before.messages if message.is_query}
        queries_after = {message.id: message for message in after.messages if message.is_query}
        answers = {
            message.interaction: message.content for message in after.messages if message.is_answer
        }
        lines: list[str] = []
        for key, query in queries_before.items():
            if key not in queries_after and query.interaction >= first:
                text = one_line(query.content)
                lines.append(f"T{query.interaction} was undone in another swecli: {text}")
        for key, query in queries_after.items():
            if key not in queries_before and query.interaction >= first:
                text = one_line(query.content)
                answer = one_line(answers.get(query.interaction) or "no answer")
                lines.append(f"T{query.interaction} is of another swecli: {text} → {answer}")
        for piece in after.undone_pieces:
            if piece not in before.undone_pieces:
                lines.append(f"{piece.description} of T{piece.turn} was undone in another swecli")
        for piece in before.undone_pieces:
            if piece not in after.undone_pieces and piece.turn in answers:
                lines.append(f"{piece.description} of T{piece.turn} was redone in another swecli")
        return lines

    def restore_todos(self, session: Session) -> None:
        """Restore the to-do list of the session in use, unless its turn ended with an answer."""
        items: Sequence[dict[str, str]] = ()
        for message in session.messages:
            if message.is_answer:
                items = ()
            for call in message.tool_calls:
                is_finished = call.status is CallStatus.FINISHED
                if is_finished and call.effects.todo is not None:
                    items = call.effects.todo
        self.agent.ctx.todos[:] = [dict(item) for item in items]

    def resumed_lines(self) -> list[str]:
        """Return lines for the user on the session that was resumed: the background commands that ended with an earlier
        run of it, and what it may do unasked."""
        lost_names = lost_jobs(self.session.messages, self.agent.ctx.commands.jobs.names)
        allowed = [one_line(rule.text) for rule in self.agent.permissions.session]
        lines = [LostJobNote(name).line for name in lost_names]
        if allowed:
            lines.append(f"allowed in this session: {', '.join(allowed)} (/permissions)")
        added = [
            f"{folder}" if folder.is_there else f"{folder}, which is gone"
            for folder in self.agent.permissions.folders.read()
        ]
        if added:
            lines.append(f"added to this session: {', '.join(added)} (/add-dir)")
        return lines

    def trust_files(self, files: Mapping[Path, bytes]) -> list[str]:
        """Trust these files of the project as they are, and use them from the next request on. Returns notices on what
        cannot be used. Raises OSError."""
        trust = TrustLedger.find(self.start.paths).approve(project_root(self.cwd), files)
        self.agent.begin_epoch("the project's instructions are trusted now")
        project = load_project(self.start, trust, window=self.agent.model.profile.window)
        return [*project.notices, *self.follow_shared_files()]

    def follow_shared_files(self) -> list[str]:
        """Bring the playbook in step with the strategies that the project's people share. Returns lines for the user.
        Raises StoreError."""
        root = project_root(self.cwd)
        return follow_shared_files(
            self.sessions, self.sessions.session, root, self.start.read_trust()
        )

    def close(self) -> None:
        """Close the session and the database, and remove the sandbox's temporary files."""
        self.sessions.leave()
        self.sessions.database.close()
        if self.agent.toolkit.hooks is not None:
            self.agent.toolkit.hooks.close()
        if self._sandbox is not None:
            self._sandbox.close()


def settle() -> None:
    """Collect garbage as usual from now on: what was loaded is skipped, so that a collection takes little time, and
    turns leave hundreds of objects in circles each. To be called when little more is loaded."""
    gc.freeze()
    gc.set_threshold(*_COLLECTOR_THRESHOLDS)


def build_runtime(
    start: Start,
    ask: Ask,
    model: ChatModel | None = None,
    *,
    sessions: SessionManager | None = None,
    surroundings: Surroundings | None = None,
    counter: TokenCounter | None = None,
) -> Runtime:
    """Build the runtime, with the open store `sessions` if it is given, in whose session a turn may have begun, and
    with the `surroundings` and the `counter` of that turn. `Runtime.close` closes the store, also one that was given.
    Raises SwecliError for a problem with the database, model, key or session; then a store that was opened here is
    closed."""
    hide_environment()
    model = model or make_model(start.choice.name, start.settings, start.environ)
    if sessions is not None:
        return _assemble(start, ask, model, sessions, surroundings, counter)
    sessions = SessionManager.open(start.database)
    try:
        return _assemble(start, ask, model, sessions, surroundings, counter)
    except BaseException:
        sessions.database.close()
        raise


def _assemble(
    start: Start,
    ask: Ask,
    model: ChatModel,
    sessions: SessionManager,
    surroundings: Surroundings | None,
    counter: TokenCounter | None,
) -> Runtime:
    """Build the runtime on an open store. Raises SwecliError."""
    settings = start.settings
    root = start.cwd.resolve()
    if surroundings is None:
        surroundings = Surroundings(root, start.environ)
        surroundings.begin()  # git may take longer than what follows

    skills: Mapping[str, Skill] = {}  # those of the project as it was read last

    def project() -> Project:
        nonlocal skills
        loaded = load_project(start, start.read_trust(), window=agent.model.profile.window)
        skills = loaded.skills
        return loaded

    prompt = load_prompt("system", model.profile.window)

    def instructions() -> str:
        return f"{prompt}\n{project().text}"

    toolkit, tool_notices = Toolkit.open(
        start,
        sessions,
        ask,
        open_memory=lambda: runtime.open_memory(),
        open_sandbox=lambda: runtime.open_sandbox(),
        changes=_LateRecorder(lambda: runtime.history) if sessions.database.path else None,
        jobs=Jobs(),
        skills=lambda: skills,
        below=InstructionsBelow(root, start.read_trust),
    )
    condense_model = None
    problem = ""
    if settings.condense_model:
        condense_model, problem = try_make_model(settings.condense_model, settings, start.environ)
    agent = Agent(
        model,
        toolkit,
        RequestBuilder(
            sessions,
            settings,
            root,
            prompt,
            StaleStrategies(),
            lambda: project().text,
            surroundings=surroundings,
            deny_reading=lambda path: toolkit.guard.access(path).read_denial,
            folders=lambda: toolkit.permissions.usable_folders,
        ),
        counter=counter,
        condense_model=condense_model,
        make_model=lambda name: make_model(name, runtime.settings, start.environ),
    )
    notices = [*project().notices, *tool_notices]
    if problem:
        notices.append(
            f"{settings.condense_model} cannot summarise, so {model.name} does: {problem}"
        )
    notices += agent.model_warnings()
    runtime = Runtime(start, settings, sessions, agent, instructions, start.choice, notices)
    runtime.auto_confirmed = settings.mode == "auto"  # which no file of the project can set
    notices += _finish_undo(runtime)
    notices += _check_reflector(runtime)
    if sessions.current_session is not None:
        runtime.restore_todos(sessions.session)
        runtime.is_open_elsewhere = sessions.enter()
        notices += runtime.resumed_lines()
    elif start.resume is None:
        runtime.new_session()
    else:
        runtime.resume(start.resume or None)
        notices += runtime.resumed_lines()
        if settings.origins.get("window") == "flags":  # the flag overrides the session's window
            sessions.set_window(settings.window)
    runtime.add_folders_of_run()
    notices[:0] = sessions.database.notices  # one may ask whose memory the folder has
    notices += runtime.follow_shared_files()
    return runtime


class _LateRecorder:
    """Records what calls change: the recorder is loaded with the first call, and takes this one's place."""

    def __init__(self, open_history: Callable[[], TurnHistory | None]) -> None:
        self._open_history = open_history
        self._has_recorded = False

    def around(self, paths: Sequence[str]) -> AbstractAsyncContextManager[list[str]]:
        self._has_recorded = True
        return self._recorder.around(paths)

    def take_notices(self) -> list[str]:
        return self._recorder.take_notices()

    async def changed_files(
        self, session_id: str, number: int, *, is_cancelled: bool
    ) -> list[ChangedFile]:
        if not self._has_recorded:
            return []
        return await self._recorder.changed_files(session_id, number, is_cancelled=is_cancelled)

    @property
    def _recorder(self) -> ChangeRecorder:
        history = self._open_history()
        assert history is not None, "the database is a file"
        return history.recorder


def _finish_undo(runtime: Runtime) -> list[str]:
    """Finish the undos and redos in this folder that were cut off. Returns lines for the user. Raises StoreError."""
    sessions = runtime.sessions
    if sessions.database.path is None or sessions.database.is_read_only:
        return []
    if not sessions.file_changes.unfinished_steps(str(runtime.agent.ctx.root)):
        return []
    return runtime.history.finish_interrupted() if runtime.history is not None else []


def _check_reflector(runtime: Runtime) -> list[str]:
    """Return, as a line for the user, why the model of the settings cannot reflect, if it cannot."""
    if not runtime.settings.reflect_with_model or not runtime.settings.reflect_model:
        return []
    missing_reason = runtime.learning.reflector.missing_reason
    if not missing_reason:
        return []
    runtime.learning.mark_reported(missing_reason)
    return [
        f"no model can reflect: only rules are applied, and turns are queued until one can: {missing_reason}"
    ]
