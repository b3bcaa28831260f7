"""One session of an editor: its runtime, the turn that runs, and what it learns meanwhile."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine, Sequence
from contextlib import aclosing
from pathlib import Path
from tempfile import NamedTemporaryFile, TemporaryDirectory

from acp.helpers import update_available_commands, update_current_mode
from acp.schema import ConfigOptionUpdate, SessionInfoUpdate

from swecli.acp.commands import EditorCommands, EditorFace, perform_command, to_markdown
from swecli.acp.editor import Editor
from swecli.acp.options import options_of
from swecli.acp.prompt import Block, EditorPrompt, read_prompt
from swecli.acp.questions import Questions
from swecli.acp.turn_view import StopReason, TurnView
from swecli.actions.in_session import works_on_session
from swecli.actions.project_commands import ProjectCommand
from swecli.app import Runtime
from swecli.models.errors import BadInput, BusyElsewhere, ContinuedElsewhere, SwecliError
from swecli.models.events import Event
from swecli.models.mode import Mode
from swecli.models.typed_line import parse_line

_WAIT_INTERVAL = 0.5  # seconds between two looks at what another process does
_CLOSE_TIMEOUT = 0.5  # seconds that background work gets to stop
_log = logging.getLogger(__name__)


class EditorSession:
    """A session that is open in the editor."""

    def __init__(self, runtime: Runtime, questions: Questions, editor: Editor) -> None:
        self.runtime = runtime
        self.editor = editor
        self.view = TurnView(editor, runtime)
        questions.view = self.view
        self.commands = EditorCommands({})  # as the editor knows them
        self._turn: asyncio.Task[StopReason] | None = None
        self._background: set[asyncio.Task[None]] = set()
        self._reflecting = asyncio.Lock()
        self._pictures = TemporaryDirectory(prefix="swecli-")
        self._mode: Mode = runtime.agent.permissions.mode  # as the editor knows it
        self._title = runtime.session.title

    def announce(self, notices: Sequence[str], *, is_first: bool) -> None:
        """Tell the editor, which knows the session now, what it offers and what its user has to know. With the first
        session of the program, reflect on what earlier ones left."""
        self._tell_commands()
        for line in (*self.runtime.opening_lines(), *notices):
            self.editor.warn(line)
        self._tell_title()
        self._start(self._watch_jobs())
        if is_first:
            self._start(self._catch_up())

    async def prompt(self, blocks: Sequence[Block]) -> StopReason:
        """Run a command or a turn, and return why it ended. Raises SwecliError."""
        if self._turn is not None:
            raise BadInput("A turn of this session runs already.", "Wait for its end or cancel it.")
        self._turn = asyncio.get_running_loop().create_task(self._answer(blocks))
        try:
            await asyncio.wait([self._turn])
            return "cancelled" if self._turn.cancelled() else self._turn.result()
        finally:
            await self.cancel()  # if this wait was cancelled: the program ends
            self._turn = None

    async def cancel(self) -> None:
        """Stop the turn that runs, and wait until its end is stored."""
        turn = self._turn
        if turn is None or turn.done():
            return
        if not turn.cancelling():  # a second time would cut off how it ends
            turn.cancel()
        await asyncio.wait([turn])

    async def close(self) -> None:
        """Stop what runs and close the session, which stays stored."""
        await self.cancel()
        for task in self._background:
            task.cancel()
        if self._background:
            await asyncio.wait(set(self._background), timeout=_CLOSE_TIMEOUT)
        agent = self.runtime.agent
        if agent.toolkit.hooks is not None:
            await agent.toolkit.hooks.end_session("other")
        await agent.ctx.commands.jobs.close()
        self.runtime.close()
        self._pictures.cleanup()

    def tell_changes(self) -> None:
        """Tell the editor the mode and the options, if they are not as it knows them."""
        mode = self.runtime.agent.permissions.mode
        if mode == self._mode:
            return
        self._mode = mode
        self.editor.update(update_current_mode(mode))
        self.tell_options()

    def tell_options(self) -> None:
        """Tell the editor the values of all options."""
        self.editor.update(
            ConfigOptionUpdate(
                session_update="config_option_update", config_options=[*options_of(self.runtime)]
            )
        )

    async def _answer(self, blocks: Sequence[Block]) -> StopReason:
        self.view.begin()
        prompt = read_prompt(blocks, self.runtime.agent.ctx.root, self._save_picture)
        line = parse_line(prompt.text)
        if line.kind == "command" and prompt.text.startswith("/"):
            command = self.commands.get(line.name)
            if isinstance(command, ProjectCommand):
                text = command.expand(line.text)
                return await self._run_turn(EditorPrompt(text, prompt.attached))
            if works_on_session(command):
                await self._load_foreign_turns()
            face = EditorFace(self.view)
            result = await perform_command(self.view, command, line.text, face)
            self._keep_session()
            self.editor.say(to_markdown(result))
            self._tell_commands()
            self.tell_changes()
            self._tell_title()
            return "end_turn"
        return await self._run_turn(prompt)

    async def _run_turn(self, prompt: EditorPrompt) -> StopReason:
        """Run a turn. Raises SwecliError if it cannot begin or fails."""
        runtime, view = self.runtime, self.view
        agent = runtime.agent
        await self._store(prompt.text)
        try:
            await agent.admit(prompt.text)
            turn = agent.prepare(prompt.text, prompt.attached)
        except BadInput:  # nothing was sent
            runtime.sessions.drop_query()
            raise
        try:
            async with aclosing(agent.run(turn)) as events:
                async for event in events:
                    view.show(event)
                    self.tell_changes()
        finally:
            view.end()
            if view.interaction:
                self._learn(view.interaction)
        self._tell_title()
        if view.failed is not None:
            raise SwecliError(view.failed.error, view.failed.hint)
        return view.stop

    async def _store(self, query: str) -> None:
        """Store a query behind the turns of other processes in the session, if there are any. Raises StoreError."""
        reported: set[str] = set()

        async def wait(busy: BusyElsewhere) -> None:
            if busy.message not in reported:
                reported.add(busy.message)
                self.editor.warn(f"{busy.message} Waiting for its end.")
            await asyncio.sleep(_WAIT_INTERVAL)

        async def load() -> None:
            for line in self.runtime.load_again():
                self.editor.warn(line)

        await self.runtime.store_query(query, wait, load)

    async def _load_foreign_turns(self) -> None:
        """Load what another process did in the session, unless a turn of its runs: then changes are refused."""
        try:
            self.runtime.sessions.require_current()
        except ContinuedElsewhere:
            for line in self.runtime.load_again():
                self.editor.warn(line)
        except BusyElsewhere:
            return

    def _save_picture(self, data: bytes, suffix: str) -> Path:
        """Save a picture until the session is closed; what is sent of it is stored with its message."""
        try:
            with NamedTemporaryFile(
                "wb", dir=self._pictures.name, suffix=suffix, delete=False
            ) as file:
                file.write(data)
        except OSError as error:
            raise BadInput(f"The picture cannot be saved: {error.strerror}.") from error
        return Path(file.name)

    def _keep_session(self) -> None:
        """Go on in the session that the editor shows: a command may have opened a copy of it."""
        if self.runtime.session.id != self.editor.session_id:
            self.runtime.resume(self.editor.session_id)

    def _tell_commands(self) -> None:
        """Tell the editor the commands, if there are other ones than it knows."""
        commands = EditorCommands.find(self.runtime.start.read_trust(), self.runtime.start.paths)
        if commands != self.commands:
            self.commands = commands
            self.editor.update(update_available_commands(commands.describe()))

    def _tell_title(self) -> None:
        session = self.runtime.session
        if not session.title or session.title == self._title:
            return
        self._title = session.title
        self.editor.update(
            SessionInfoUpdate(session_update="session_info_update", title=session.title)
        )

    # --- beside the turns, as in a terminal

    def _start(self, work: Coroutine[object, object, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._background.add(task)
        task.add_done_callback(self._end)

    def _end(self, task: asyncio.Task[None]) -> None:
        self._background.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            _log.error("background work failed", exc_info=error)
            self.editor.warn(f"{error}")

    def _learn(self, interaction: int) -> None:
        """Learn from a turn by the rules, and in the background by the model from those before it."""
        learning = self.runtime.learning
        self._remark(learning.after_turn(interaction).events)
        if due_turns := learning.due_turns():
            self._start(self._reflect(due_turns))
        if self.runtime.agent.condense_model is not None:
            self._start(self._find_title())

    async def _reflect(self, numbers: Sequence[int]) -> None:
        async with self._reflecting:
            self._remark(await self.runtime.learning.reflect(*numbers))

    async def _catch_up(self) -> None:
        """Check the anchors, and reflect on turns that earlier runs left."""
        learning = self.runtime.learning
        pending = await asyncio.to_thread(learning.pending_by_session)
        self._remark(await learning.check_anchors())
        for session_id, numbers in pending:
            async with self._reflecting:
                self._remark(await learning.resume(session_id, numbers))

    async def _find_title(self) -> None:
        await self.runtime.agent.generate_title()
        self._tell_title()

    async def _watch_jobs(self) -> None:
        while True:
            self.editor.warn(await self.runtime.agent.ctx.commands.jobs.finished.get())

    def _remark(self, events: Sequence[Event]) -> None:
        for event in events:
            self.view.remark(event)
