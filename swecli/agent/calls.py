"""Runs the tool calls of one reply: consecutive reading calls concurrently, all others one at a time."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import aclosing, contextmanager, suppress
from dataclasses import field, replace
from itertools import groupby, takewhile
from pathlib import Path
from typing import TYPE_CHECKING

from swecli.agent.path_rules import PathRules
from swecli.agent.session_rules import StoredFolders, StoredSessionRules
from swecli.config.settings import Start
from swecli.config.trust import Skill
from swecli.context.instructions import InstructionsBelow
from swecli.context.tokens import TokenCounter
from swecli.models.approval import Ask, AskRequest, Decision
from swecli.models.errors import BadInput, ConfigError
from swecli.models.events import (
    Event,
    FilesChanged,
    Notice,
    ToolFinished,
    ToolProgress,
    ToolStarted,
    UsageReported,
)
from swecli.models.message import ApiMessage, Display, ToolCall, ToolResult
from swecli.store.session_manager import SessionManager
from swecli.tools.base import (
    ChangeRecorder,
    CommandAccess,
    FileAccess,
    Memory,
    Progress,
    ToolContext,
    ToolError,
)
from swecli.tools.files import digest, read_bytes
from swecli.tools.guard import Guard
from swecli.tools.hooks.late import Hooks
from swecli.tools.hooks.run import HookedRun
from swecli.tools.jobs import Jobs
from swecli.tools.limits import (
    HeadTail,
    strip_terminal_codes,
    truncate_result,
)
from swecli.tools.mcp.late import LateServerTools
from swecli.tools.permissions import Permissions
from swecli.tools.registry import ToolRegistry
from swecli.tools.repeats import LoopGuard, unchanged_notice
from swecli.values import dataclass

if TYPE_CHECKING:
    from swecli.tools.keyboard import Keyboard
    from swecli.tools.sandbox import Sandbox
    from swecli.tools.search_provider import SearchProvider
    from swecli.tools.user_shell import UserShell

_Outcome = tuple[ToolCall, str, ToolResult]
_ORDER_SECONDS = 0.5  # after a longer wait than this a person misses a result


@dataclass(slots=True)
class UserTime:
    """The seconds in which a question waited for the user; questions at the same time count once."""

    seconds: float = 0.0
    _open_questions: int = 0
    _began_at: float = 0.0

    @contextmanager
    def counting(self) -> Iterator[None]:
        """Count the time until the end of the context."""
        if not self._open_questions:
            self._began_at = time.monotonic()
        self._open_questions += 1
        try:
            yield
        finally:
            self._open_questions -= 1
            if not self._open_questions:
                self.seconds += time.monotonic() - self._began_at


@dataclass(frozen=True, slots=True)
class Toolkit:
    """What calls need to run."""

    tools: ToolRegistry
    permissions: Permissions
    ctx: ToolContext  # of the workspace
    ask: Ask  # asks the user for approval
    user_time: UserTime = field(default_factory=UserTime)  # that questions waited
    below: InstructionsBelow | None = None  # None: the model gets none of folders below
    hooks: Hooks | None = None  # None: none are asked

    @classmethod
    def open(
        cls,
        start: Start,
        sessions: SessionManager,
        ask: Ask,
        *,
        open_memory: Callable[[], Memory],
        open_sandbox: Callable[[], Sandbox],
        changes: ChangeRecorder | None,
        jobs: Jobs,
        skills: Callable[[], Mapping[str, Skill]],
        below: InstructionsBelow,
    ) -> tuple[Toolkit, list[str]]:
        """Return all tools for the run's folder, and notices on ignored permission rules."""
        root = start.cwd.resolve()
        settings = start.settings
        servers = LateServerTools(start)
        tools = ToolRegistry.discover(servers)
        session_rules = StoredSessionRules(sessions, str(root))
        folders = StoredFolders(sessions, str(root))
        permissions, notices = Permissions.load(start, root, tools, session_rules, folders)
        notices += servers.notices()
        search: SearchProvider | None = None
        if settings.search_url:
            try:
                search = _find_search(start)
            except ConfigError as error:
                notices.append(f"web searches are not available: {error}")
        commands = CommandAccess(
            float(settings.command_timeout),
            start.environ,
            open_sandbox,
            jobs=jobs,
            diagnostics=settings.diagnostics,
        )
        ctx = ToolContext(
            root,
            FileAccess(changes=changes),
            commands,
            sessions=sessions,
            open_memory=open_memory,
            skills=skills,
            search=search,
        )
        run = HookedRun(
            start,
            sessions,
            open_sandbox,
            guard=lambda: permissions.guard(root, tools),
            mode=lambda: permissions.mode,
        )
        return cls(tools, permissions, ctx, ask, below=below, hooks=Hooks(run)), notices

    @property
    def guard(self) -> Guard:
        """What says of each path whether it may be read and changed, by the rules as they are now."""
        return self.permissions.guard(self.ctx.root, self.tools)

    @classmethod
    def for_replay(cls, root: Path) -> Toolkit:
        """Return all tools for a folder, for requests whose calls are never run."""

        async def deny(request: AskRequest) -> Decision:
            return Decision(False, reason="a replay runs nothing")

        return cls(ToolRegistry.discover(), Permissions(), ToolContext(root), deny)

    def note_read(self, paths: Iterable[Path]) -> None:
        """Record that the model has seen these files."""
        for path in paths:
            with suppress(ToolError):  # deleted meanwhile: it counts as unread
                self.ctx.files.digests[path] = digest(read_bytes(self.ctx.root, path))

    async def shell(
        self,
        command: str,
        output: HeadTail | None = None,
        keyboard: Keyboard | None = None,
        user_shell: UserShell | None = None,
    ) -> ToolResult:
        """Run the user's own command line without approval and outside the sandbox, in their shell, None for the fixed
        one. `output` collects the output while it runs, and `keyboard` is its input, None for an empty one. Raises
        BadInput if it cannot be started."""
        # late: most turns run none
        from pydantic import ValidationError

        # late: as above
        from swecli.tools.builtin.run_command import run_command

        ctx = replace(
            self.ctx,
            commands=replace(
                self.ctx.commands, open_sandbox=None, keyboard=keyboard, user_shell=user_shell
            ),
            progress=Progress(output=output),
        )
        try:
            params = run_command.params.model_validate({"command": command})
            return await run_command.run(params, ctx, run_command.plan(params, ctx))
        except ToolError as error:
            raise BadInput(str(error)) from error
        except ValidationError as error:  # empty, or not valid text
            problem = error.errors(include_url=False)[0]["msg"]
            raise BadInput(f"This cannot be run: {problem}.") from error


def _find_search(start: Start) -> SearchProvider | None:
    """Return the provider of web searches of the settings. Raises ConfigError."""
    # late: few settings name one
    from swecli.tools.search_provider import SearchProvider

    settings = start.settings
    return SearchProvider.of(
        settings.search_url, settings.search_header, settings.search_key_env, start.environ
    )


class CallRunner:
    """Runs one turn's calls and stores their results. `limit` is the maximum length of a result in characters;
    `used_ids` are the ids of all calls so far. With `repeats`, a result that the request already contains is given
    again."""

    def __init__(
        self,
        toolkit: Toolkit,
        sessions: SessionManager,
        limit: int,
        counter: TokenCounter,
        *,
        repeats: bool = False,
    ) -> None:
        self._toolkit = toolkit
        self._sessions = sessions
        self.limit = limit
        self._counter = counter
        self._repeats = repeats
        self.used_ids: set[str] = set()
        self._sent_messages: Sequence[ApiMessage] = ()
        self._loop_guard = LoopGuard()
        self._path_rules = PathRules(sessions)
        self._running: dict[str, HeadTail] = {}
        self._saved_sizes: dict[str, int] = {}  # length of the output at the last autosave
        self._question_lock = asyncio.Lock()

    @property
    def todos(self) -> list[dict[str, str]]:
        """The model's list."""
        return self._toolkit.ctx.todos

    @property
    def hooks(self) -> Hooks | None:
        """The hooks that are asked about the calls, None for none."""
        return self._toolkit.hooks

    @property
    def user_seconds(self) -> float:
        """Return the seconds in which questions of this program's calls waited for the user, so far."""
        return self._toolkit.user_time.seconds

    async def run(
        self,
        calls: list[ToolCall],
        problems: dict[str, str],
        sent_messages: Sequence[ApiMessage] = (),
    ) -> AsyncGenerator[Event, None]:
        """Run the calls. Each result is stored before its `ToolFinished` is yielded; on cancellation running calls are
        stored with their output so far. `problems` maps call ids to errors in their arguments; a result that
        `sent_messages`, those of the request, already contain is not repeated."""
        self._sent_messages = () if self._repeats else sent_messages
        self._loop_guard.begin_reply()
        self.used_ids.update(call.id for call in calls)
        if not calls:  # the tools are loaded for the first
            return
        readers = {tool.name for tool in self._toolkit.tools.values() if tool.kind.is_read_only}
        for is_reading, group in groupby(calls, lambda call: call.name in readers):
            for batch in [list(group)] if is_reading else [[call] for call in group]:
                async with aclosing(self._run_batch(batch, problems)) as events:
                    async for event in events:
                        yield event
                changes = self._toolkit.ctx.files.changes
                for line in changes.take_notices() if changes else ():
                    yield Notice(line, "warning")
                below = self._toolkit.below
                for line in below.take_notices() if below else ():
                    yield Notice(line, "warning")
                for line in self.hooks.take_notices() if self.hooks else ():
                    yield Notice(line, "warning")

    async def _run_batch(
        self, batch: list[ToolCall], problems: dict[str, str]
    ) -> AsyncGenerator[Event, None]:
        events: asyncio.Queue[Event | asyncio.Task[_Outcome]] = asyncio.Queue()
        tasks = [
            asyncio.create_task(self._run_one(call, problems.get(call.id), events.put_nowait))
            for call in batch
        ]
        for task in tasks:
            task.add_done_callback(events.put_nowait)
        results = _Results(tasks)
        is_cancelled = False
        try:
            while not results.are_all_in and not is_cancelled:
                try:
                    async with asyncio.timeout(results.patience):
                        event = await events.get()
                except TimeoutError:
                    for finished in results.take_ended():
                        yield finished
                    continue
                except asyncio.CancelledError:
                    is_cancelled = True
                    await _cancel_all(tasks)
                    continue
                if isinstance(event, asyncio.Task):
                    results.end(event)
                    for finished in results.take_first():
                        yield finished
                else:
                    yield event
            for finished in results.take_rest() if is_cancelled else ():
                yield finished
            if is_cancelled or results.has_cancelled:
                raise asyncio.CancelledError
        finally:
            await _cancel_all(tasks)

    async def _run_one(
        self, call: ToolCall, problem: str | None, emit: Callable[[Event], None]
    ) -> _Outcome:
        output = HeadTail()
        summary = ""

        def report_start(call: ToolCall, call_summary: str) -> None:
            nonlocal summary
            summary = call_summary
            self._running[call.id] = output
            emit(ToolStarted(call, call_summary))

        async def ask(request: AskRequest) -> Decision:
            nonlocal summary
            if not summary:  # nothing else names a call that is cancelled before the answer
                summary = request.summary
            return await self._ask(request)

        # late: loaded with the first call
        from swecli.tools.execute import execute

        toolkit = self._toolkit
        ctx = replace(
            toolkit.ctx,
            # so that a page is never truncated as a result
            model=replace(toolkit.ctx.model, page_limit=self.limit * 4 // 5),
            progress=Progress(
                on_start=report_start,
                report=lambda text: emit(ToolProgress(call.id, text)),
                output=output,
                on_usage=lambda usage, cost: emit(UsageReported(usage, cost)),
            ),
        )
        try:
            result, summary = await execute(
                call,
                toolkit.tools,
                ctx,
                toolkit.permissions,
                ask,
                problem=problem,
                hooks=toolkit.hooks,
            )
        except asyncio.CancelledError:  # the call holds its result so far
            if call.result is None:
                call.interrupt()
            text = call.result or ""
            self._record(call, text)
            title = "stopped by you before it ran"
            if call.duration_ms is not None:
                seconds = round(call.duration_ms / 1000)
                title = f"stopped by you after {seconds} s" if seconds else "stopped by you"
            display = Display(title, strip_terminal_codes(output.text()))
            return call, summary, ToolResult(False, text, display, cancelled=True)
        finally:
            self._running.pop(call.id, None)
        ended = toolkit.ctx.commands.jobs.take_ended()
        call.ended_jobs = tuple(job.name for job in ended)
        notes = [
            self._loop_guard.record(call, result.for_model, is_waiting=result.is_waiting),
            *(job.report for job in ended),
            self._instructions_below(call, result),
            *self._path_rules.tell(call),
        ]
        self._record(call, result.for_model, "\n".join(note for note in notes if note))
        return call, summary, result

    def _instructions_below(self, call: ToolCall, result: ToolResult) -> str:
        """Return the instructions of the folders that a call was the first to work in, "" for none."""
        below = self._toolkit.below
        if below is None or not result.ok:
            return ""
        files = (*call.effects.read, *call.effects.changed)
        return below.note(files, self._sessions.current_session)

    def _record(self, call: ToolCall, result: str, note: str = "") -> None:
        """Store a result with a note as the model gets it, and the complete result if that is longer."""
        text, is_shorter = truncate_result(result, self.limit, call.id)
        unchanged = unchanged_notice(call, text, self._sent_messages)
        if unchanged:
            text = unchanged
            is_shorter = True
        call.result = f"{text}\n\n{note}" if note else text
        call.tokens = self._counter.count(call.result)
        self._sessions.record_call(call, result if is_shorter else None)

    async def list_changes(
        self, session_id: str, number: int, *, is_cancelled: bool = False
    ) -> list[Event]:
        """Return the event on the files that a turn of a session changed, if it changed any."""
        changes = self._toolkit.ctx.files.changes
        if changes is None:
            return []
        files = await changes.changed_files(session_id, number, is_cancelled=is_cancelled)
        return [FilesChanged(tuple(files))] if files else []

    def changed_outputs(self) -> dict[str, tuple[str, str | None]]:
        """Return the results that running calls would have if they ended now, of those with new output since the last
        call of this method: the call's id to its capped and, if longer, its complete result."""
        outputs: dict[str, tuple[str, str | None]] = {}
        for name, output in self._running.items():
            if output.size != self._saved_sizes.get(name, 0):
                # late: a call that runs has loaded it
                from swecli.tools.execute import interrupted_text

                result = interrupted_text("swecli ended while this ran", output.text())
                text, is_shorter = truncate_result(result, self.limit, name)
                outputs[name] = (text, result if is_shorter else None)
                self._saved_sizes[name] = output.size
        return outputs

    async def may_continue(self) -> bool:
        """Return False if the turn repeats its calls and the user stops it."""
        return await self._loop_guard.may_continue(self._ask)

    async def _ask(self, request: AskRequest) -> Decision:
        async with self._question_lock:  # one question at a time for concurrent calls
            with self._toolkit.user_time.counting():
                return await self._toolkit.ask(request)


class _Results:
    """The results of calls that run at the same time. They are given in the order of the calls, but one that has ended
    waits only for a moment for those before it."""

    def __init__(self, tasks: Sequence[asyncio.Task[_Outcome]]) -> None:
        self._waiting = [*tasks]
        self._ended: set[asyncio.Task[_Outcome]] = set()
        self._waiting_since: float | None = None  # when a result began to wait for one before it
        self.has_cancelled = False

    @property
    def are_all_in(self) -> bool:
        """Whether all results were taken."""
        return not self._waiting

    def end(self, task: asyncio.Task[_Outcome]) -> None:
        """Note that a call has ended, and all its events are read."""
        self._ended.add(task)

    @property
    def patience(self) -> float | None:
        """For how many seconds a result may still be held back; None if none is."""
        if not self._ended.intersection(self._waiting):
            self._waiting_since = None
            return None
        now = time.monotonic()
        self._waiting_since = self._waiting_since or now
        return max(0.0, self._waiting_since + _ORDER_SECONDS - now)

    def take_first(self) -> list[ToolFinished]:
        """Remove and return the results before the first call that still runs."""
        return self._take([*takewhile(self._ended.__contains__, self._waiting)])

    def take_ended(self) -> list[ToolFinished]:
        """Remove and return the results of all calls that have ended."""
        return self._take([task for task in self._waiting if task in self._ended])

    def take_rest(self) -> list[ToolFinished]:
        """Remove and return the results of all calls, none of which runs any more."""
        return self._take(self._waiting)

    def _take(self, tasks: Sequence[asyncio.Task[_Outcome]]) -> list[ToolFinished]:
        self._waiting = [task for task in self._waiting if task not in tasks]
        events: list[ToolFinished] = []
        for task in tasks:
            if task.cancelled():  # before it started
                continue
            call, summary, result = task.result()
            self.has_cancelled = self.has_cancelled or result.cancelled
            if summary:
                events.append(ToolFinished(call, summary, result))
        return events


async def _cancel_all(tasks: list[asyncio.Task[_Outcome]]) -> None:
    """Cancel the tasks that still run, and wait for them."""
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
