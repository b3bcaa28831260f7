"""The calls of one reply: asked for in order, run together where they only read, answered in order. Where they repeat
themselves the model is shown the result it has, then the user is asked, then the turn ends."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import AsyncGenerator, Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import groupby
from pathlib import Path

from pydantic import ValidationError

from swecli.config.load import Start
from swecli.context.tokens import TokenCounter
from swecli.models.errors import BadInput
from swecli.models.events import Event, Notice, ToolFinished, ToolProgress, ToolStarted, UsageReported
from swecli.models.message import (
    INTERRUPTED_RESULT,
    UNCHANGED,
    ApiMessage,
    Ask,
    AskRequest,
    Decision,
    Display,
    ToolCall,
    ToolResult,
)
from swecli.store.session_manager import SessionManager
from swecli.tools.base import ToolContext, ToolError
from swecli.tools.execute import ToolRegistry, execute
from swecli.tools.files import digest, read_bytes
from swecli.tools.limits import HeadTail, cap, readable
from swecli.tools.permissions import Permissions, load_permissions

_Outcome = tuple[ToolCall, str, ToolResult]
_LONGEST_CYCLE = 6
_READS = ("read_file", "list_files", "search_files")
_WORTH_IT = 400  # characters; a shorter result is no longer than the line that would stand for it
_HINT, _ASK = 2, 3  # how often a cycle has come when something is done about it
ASK_UNCHANGED = 10  # times that one call is made in a row, whatever comes of it


@dataclass(frozen=True, slots=True)
class Toolkit:
    """What calls are made with: the tools, what decides whether one may be made, where they work, and who is asked."""

    tools: ToolRegistry
    permissions: Permissions
    ctx: ToolContext
    ask: Ask

    @classmethod
    def open(cls, start: Start, results: SessionManager, ask: Ask) -> tuple[Toolkit, list[str]]:
        """All tools at work in the run's folder, and notices on rules that do not count."""
        tools, root = ToolRegistry.discover(), start.cwd.resolve()
        permissions, notices = load_permissions(start, root, tools)
        ctx = ToolContext(root, results=results, timeout=float(start.settings.command_timeout), environ=start.environ)
        return cls(tools, permissions, ctx, ask), notices

    def note_read(self, paths: Iterable[Path]) -> None:
        """The model has seen these files."""
        for path in paths:
            with suppress(ToolError):  # gone since it was read: then it is not known, and that is safe
                self.ctx.seen[path] = digest(read_bytes(self.ctx.root, path))

    async def shell(self, command: str, output: HeadTail | None = None) -> tuple[str, int]:
        """Run the user's own command line with the tool's limits, unasked; its output and exit code. `output` collects
        what it prints, as it comes. Raises BadInput when it could not be started."""
        tool = self.tools.get("run_command")
        if tool is None:
            raise BadInput("There is no tool that runs commands.")
        ctx = replace(self.ctx, output=output)
        try:
            params = tool.params.model_validate({"command": command})
            result = await tool.run(params, ctx, tool.plan(params, ctx))
        except ToolError as error:
            raise BadInput(str(error)) from error
        except ValidationError as error:  # empty, or letters that are no text
            raise BadInput(f"This cannot be run: {error.errors(include_url=False)[0]['msg']}.") from error
        return result.for_user.body, result.exit_code or 0


class CallRunner:
    """Runs one turn's calls and stores what came of them. `limit` is a result's cap in characters; `used_ids` are call
    ids that no new call may have."""

    def __init__(self, kit: Toolkit, sessions: SessionManager, limit: int, counter: TokenCounter) -> None:
        self._kit, self._sessions, self.limit, self._counter = kit, sessions, limit, counter
        self.used_ids: set[str] = set()
        self._sent: Sequence[ApiMessage] = ()
        self._guard = LoopGuard()
        self._running: dict[str, HeadTail] = {}
        self._seen: dict[str, int] = {}
        self._asking = asyncio.Lock()

    async def run(
        self, calls: list[ToolCall], problems: dict[str, str], sent: Sequence[ApiMessage] = ()
    ) -> AsyncGenerator[Event, None]:
        """Run them all; each result is stored before its `ToolFinished` goes up. Cancelled, calls that had begun still
        get theirs, with what was printed until then. `problems` maps a call's id to what is wrong with its arguments;
        `sent` is the request that asked for them: a result that it holds already need not be sent again."""
        self._sent = sent
        self._guard.begin_reply()
        self.used_ids.update(call.id for call in calls)
        tools = self._kit.tools
        for reads, neighbours in groupby(calls, lambda call: bool((tool := tools.get(call.name)) and tool.kind.reads)):
            together = list(neighbours)
            for batch in [together] if reads else [[call] for call in together]:  # what changes things goes alone
                async for event in self._run_batch(batch, problems):
                    yield event
                for line in self._kit.ctx.changes.take_notices() if self._kit.ctx.changes else ():
                    yield Notice(line, "warning")

    async def _run_batch(self, batch: list[ToolCall], problems: dict[str, str]) -> AsyncGenerator[Event, None]:
        happened: asyncio.Queue[Event | None] = asyncio.Queue()
        tasks = [asyncio.create_task(self._run_one(call, problems.get(call.id), happened.put_nowait)) for call in batch]
        for task in tasks:
            task.add_done_callback(lambda _: happened.put_nowait(None))
        running, stopped = len(tasks), False
        try:
            while running and not stopped:
                try:
                    event = await happened.get()
                except asyncio.CancelledError:
                    stopped = True
                    await _end(tasks)
                    continue
                if event is not None:
                    yield event
                else:
                    running -= 1
            for task in tasks:
                if task.cancelled():  # before it had begun
                    continue
                call, summary, result = task.result()
                stopped = stopped or result.cancelled
                if summary:
                    yield ToolFinished(call, summary, result)
            if stopped:
                raise asyncio.CancelledError
        finally:
            await _end(tasks)

    async def _run_one(self, call: ToolCall, problem: str | None, tell: Callable[[Event], None]) -> _Outcome:
        kept, begun = HeadTail(), ""

        def started(call: ToolCall, summary: str) -> None:
            nonlocal begun
            begun, self._running[call.id] = summary, kept
            tell(ToolStarted(call, summary))

        kit = self._kit
        ctx = replace(kit.ctx, report=lambda text: tell(ToolProgress(call.id, text)), output=kept, started=started)
        ctx.spent = lambda usage, cost: tell(UsageReported(usage, cost))
        try:
            result, summary = await execute(call, kit.tools, ctx, kit.permissions, self._ask, problem=problem)
        except asyncio.CancelledError:  # the call says by now how far it came
            whole = call.result or INTERRUPTED_RESULT
            self._record(call, whole)
            title = f"stopped by the user after {(call.duration_ms or 0) / 1000:.0f} s"
            shown = Display(title, readable(kept.text()))
            return call, begun, ToolResult(False, whole, shown, cancelled=True)
        finally:
            self._running.pop(call.id, None)
        notes = [self._guard.take(call, result.for_model), *kit.ctx.jobs.take_news()]
        self._record(call, result.for_model, "\n".join(note for note in notes if note))
        return call, summary, result

    def _record(self, call: ToolCall, whole: str, note: str = "") -> None:
        """Commit what the model gets of a result, with a note to it, and all of it where that is more."""
        text, was_cut = cap(whole, self.limit, call.id)
        if line := _repeated(call, text, self._sent):
            text, was_cut = line, True
        call.result = f"{text}\n\n{note}" if note else text
        call.tokens = self._counter.count(call.result) if self._counter.label else None
        self._sessions.record_call(call, whole if was_cut else None)

    def printed(self) -> list[tuple[int, str, str]]:
        """What running calls have printed, of those that printed something since this was last asked: the call's key in
        the store, its id, the text."""
        grown = {name: kept for name, kept in self._running.items() if kept.size != self._seen.get(name, 0)}
        self._seen |= {name: kept.size for name, kept in grown.items()}
        keys = {name: self._sessions.open_call(name) for name in grown}
        return [(key, name, grown[name].text()) for name, key in keys.items() if key is not None]

    async def going_on(self) -> bool:
        """Whether the turn may go on: False when it goes round in circles and nobody wants that."""
        return await self._guard.going_on(self._ask)

    async def _ask(self, request: AskRequest) -> Decision:
        async with self._asking:  # one question at a time, however many calls run
            return await self._kit.ask(request)


async def _end(tasks: list[asyncio.Task[_Outcome]]) -> None:
    """Cancel what still runs, and wait until it has tidied up."""
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


def _canonical(parameters: object) -> str:
    """Arguments as one text, whatever their order."""
    return json.dumps(parameters, ensure_ascii=False, sort_keys=True, default=str)


def fingerprint(call: ToolCall, result: str = "") -> str:
    """Tool, canonical arguments and result as one short text: two equal ones taught the model nothing new."""
    parts = (call.name, _canonical(call.parameters), result)
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:16]


def newest_cycle(prints: list[str], longest: int = _LONGEST_CYCLE) -> tuple[int, int]:
    """The length of the newest cycle of 1 to `longest` calls, and how often it has come in a row; (1, 1) for what is
    new."""
    best = (1, 1)
    for length in range(1, longest + 1):
        cycle, count = prints[-length:], 1
        while cycle and prints[-length * (count + 1) : -length * count] == cycle:
            count += 1
        if count > best[1]:
            best = (length, count)
    return best


@dataclass(slots=True)
class LoopGuard:
    """Watches the calls of one turn. It keeps its own list, so that no reduction of the request can hide a loop."""

    prints: list[str] = field(default_factory=list)
    _calls: list[ToolCall] = field(default_factory=list)
    _allowed: int = 0
    _answered: bool = False
    _reply: set[str] = field(default_factory=set)

    def begin_reply(self) -> None:
        """Another reply: equal calls within one count once, the model has seen none of their results."""
        self._reply = set()

    def take(self, call: ToolCall, result: str) -> str:
        """Note a call's result; the line for the model to go with it, "" when nothing repeats itself."""
        mark = fingerprint(call, result)
        if mark in self._reply:
            return ""
        self._reply.add(mark)
        before = [known.id for known, made in zip(self._calls, self.prints, strict=True) if made == mark]
        self.prints.append(mark)
        self._calls.append(call)
        if not before or newest_cycle(self.prints)[1] < _HINT:
            return ""
        return (
            f"[This is the result of call {before[-1]} again: the same call, the same outcome. Repeating it will not "
            "change it. Use what you have, do something else, or say what is missing.]"
        )

    async def going_on(self, ask: Ask) -> bool:
        """Whether the turn may go on. The user is asked; a yes holds until it has come as often again. A circle that
        goes on after a yes ends the turn."""
        length, count = newest_cycle(self.prints[self._allowed :])
        same = count >= _ASK
        if not same:
            length, count = newest_cycle([fingerprint(call) for call in self._calls[self._allowed :]], 1)
            if count < ASK_UNCHANGED:
                return True
        elif self._answered:
            return False
        call = self._calls[-1]
        words = f"{call.name} was called {count} times in a row with the same {'result' if same else 'arguments'}"
        if length > 1:
            names = ", ".join(dict.fromkeys(one.name for one in self._calls[-length:]))
            words = f"The same {length} calls ({names}) were made {count} times with the same results"
        shown = Display(body=f"{words}. Continue?")
        decision = await ask(AskRequest(call, "allow", f"Continue repeating {call.name}", shown))
        self._allowed, self._answered = len(self.prints), self._answered or same
        return decision.allow


def _repeated(call: ToolCall, result: str, sent: Iterable[ApiMessage]) -> str:
    """The line to send in place of a result that the request `sent` holds in full already; "" when it does not. The
    call is made all the same: so what is said to be unchanged is unchanged."""
    if call.name not in _READS or len(result) < _WORTH_IT:
        return ""
    wanted, made = _canonical(call.parameters), set[str]()
    for message in sent:
        for one in message.get("tool_calls") or ():
            if one["function"]["name"] == call.name and _canonical(json.loads(one["function"]["arguments"])) == wanted:
                made.add(one["id"])
        known = str(message.get("tool_call_id") or "")
        if known in made and message.get("content") == result:
            return f"{UNCHANGED}this is exactly the result of call {known}, which you have above.]"
    return ""
