"""The agent as faces hold it: prepares a turn, runs it, and shows beforehand exactly what would be sent."""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncGenerator, Collection
from contextlib import aclosing
from dataclasses import replace

from swecli.agent.calls import CallRunner, Toolkit
from swecli.agent.context_fitter import ContextFitter
from swecli.agent.loop import Loop
from swecli.agent.request_builder import Query, RequestBuilder, Turn
from swecli.agent.turn_record import TurnRecord
from swecli.context.budget import SMALL_WINDOW, ModelLimits, is_lean, request_limit
from swecli.context.system_message import system_prompt
from swecli.context.tokens import TokenCounter
from swecli.llm.base import ChatModel
from swecli.models.events import Event, ToolStarted, TurnFailed, TurnFinished, UsageReported
from swecli.models.message import AskRequest, Decision, Display, ToolResult, ToolSpec
from swecli.models.window import WindowSpec
from swecli.tools.base import ToolContext, ToolError
from swecli.tools.execute import ToolRegistry
from swecli.tools.schemas import lean_specs, usable_specs

_RESULT_LIMIT, _LEAST_RESULT = 30_000, 500  # characters
_LEAST_ROOM = 500  # tokens
_NOT_IN_TASKS = ("recall", "remember", "search_session", "task", "todo")  # what is about the user's own session
_TASK = (
    "[Another assistant, which talks with the user, gives you this task. It sees your last message and nothing else of "
    "what you do: put the whole result into it, with paths and line numbers. You cannot ask back.]"
)


class Agent:
    """One model, one workspace, one set of tools. `builder` puts requests together; `condense_model` sums up where the
    session's own model is not to be asked."""

    def __init__(self, model: ChatModel, kit: Toolkit, builder: RequestBuilder) -> None:
        self.model, self.kit, self.builder = model, kit, builder
        self.tools, self.permissions, self.ctx = kit.tools, kit.permissions, kit.ctx
        self.sessions, self.settings = builder.sessions, builder.settings
        self.condense_model: ChatModel | None = None
        self.counter = TokenCounter(model.profile.encoding)
        self.known = ModelLimits()
        self._notes: list[str] = []
        self.thinking = ""  # how much the model thinks, where the user set that in this run
        self._reopen = ""
        self._more = False  # whether there are strategies that the prompt has no room for
        self._steering: deque[str] = deque()
        self._running = False
        self._cost_before: float | None = 0.0
        self.ctx.tasks = self

    @property
    def system_prompt(self) -> str:
        """The static part of the system message."""
        return self.builder.system_prompt

    def use_model(self, model: ChatModel) -> None:
        """Answer with another model from the next turn on."""
        self.model = model
        prompt = system_prompt(model.profile.window)
        if prompt != self.builder.system_prompt:
            self.builder = replace(self.builder, system_prompt=prompt)
            self.begin_epoch("the model has other tools")
        self.counter, self.known = TokenCounter(model.profile.encoding), ModelLimits()

    def add_note(self, text: str) -> None:
        """Text that goes with the next query: the output of a shell line the user shared."""
        self._notes.append(text)

    def begin_epoch(self, reason: str) -> None:
        """Let the next turn begin a new epoch, its system message composed anew."""
        self._reopen = reason

    def steer(self, text: str) -> bool:
        """Put a line of the user's into the running turn, before its next request; False when no turn runs."""
        if self._running:
            self._steering.append(text)
        return self._running

    def prepare(self, query: str, attached: str = "", window: WindowSpec | None = None) -> Turn:
        """The turn for a query: its @files read, the window applied, the playbook selected. Nothing is stored.
        `attached` is what was piped in; `window` looks at what another one would hold."""
        texts = (*self._notes, *self.ctx.jobs.notices, *([attached] if attached else []))
        return self.builder.prepare(Query(query, texts, window, self._reopen), self.model, self.counter)

    def warm(self) -> None:
        """Do beforehand, in a thread, what the first request would take longest for: token table, tools' schemas, and
        the beginning of a turn in a database in memory, whose statements are compiled then for every database."""
        self.counter.count_tools(self.specs())
        rehearsed = self.sessions.open(":memory:")
        rehearsed.start(str(self.ctx.root), self.model.name)
        rehearsed.store_query("hello")
        builder = replace(self.builder, sessions=rehearsed, stale=None)
        TurnRecord(rehearsed, self.counter).open(builder.prepare(Query("hello"), self.model, self.counter))
        rehearsed.database.close()
        session = self.sessions.current_session
        if session is not None and session.get_playbook().bullets:
            self.prepare("")

    async def run(self, turn: Turn) -> AsyncGenerator[Event, None]:
        """Do the turn; see `Loop.run`."""
        self._notes.clear()
        self.ctx.jobs.notices[:] = [line for line in self.ctx.jobs.notices if line not in turn.request.enhanced]
        self._reopen = ""
        if self.builder.stale is not None:
            self.builder.stale.found.clear()
        self.kit.note_read(turn.files)
        self._cost_before = self.sessions.totals().cost if self.settings.max_budget_usd is not None else None
        self._more = turn.selection.more
        limit, fitter, record = self._result_limit(), self.fitter(), TurnRecord(self.sessions, self.counter)
        self.ctx.page_limit = limit * 4 // 5  # a page must never be cut as if it were too long a result
        # made for each turn: model, settings and counter may have changed since the last one
        loop = Loop(self.model, self.runner(limit), fitter, record, self.settings, self._steering)
        self._running = True
        try:
            async with aclosing(loop.run(turn)) as events:
                async for event in events:
                    yield event
        finally:
            self._running, self.known = False, fitter.known

    async def do_task(self, title: str, prompt: str, tools: Collection[str], ctx: ToolContext) -> ToolResult:
        """Have a task done in a session of its own, a child of this one, with the tools that only read and those named
        in `tools`; its last message is the result. `ctx` is that of the call. Raises ToolError when it failed."""
        sessions, asking = self.sessions.start_task(title), self.kit.ask

        async def ask(request: AskRequest) -> Decision:
            return await asking(replace(request, why=f"{request.why} Asked for the task {title!r}.".strip()))

        own = [
            one for one in self.tools if one.name in tools or (one.kind.is_read_only and one.name not in _NOT_IN_TASKS)
        ]
        inner = ToolContext(ctx.root, sessions, timeout=ctx.timeout, environ=ctx.environ, changes=ctx.changes)
        inner.skills = ctx.skills
        kit = Toolkit(ToolRegistry(own), self.permissions, inner, ask)
        settings = replace(self.settings, max_budget_usd=self._budget_left())
        root, instructions = self.builder.root, self.builder.instructions
        builder = RequestBuilder(sessions, settings, root, self.system_prompt, instructions=instructions)
        child = Agent(self.model, kit, builder)
        child.condense_model, child.thinking = self.condense_model, self.thinking
        event: Event | None = None
        try:
            async with aclosing(child.run(child.prepare(prompt, _TASK))) as events:
                async for event in events:
                    if isinstance(event, ToolStarted):
                        ctx.report(f"{event.summary}\n")
                    elif isinstance(event, UsageReported):
                        ctx.spent(event.usage, event.cost)
        finally:
            await inner.jobs.close()
        if not isinstance(event, TurnFinished):
            raise ToolError(f"The task failed: {event.error if isinstance(event, TurnFailed) else 'it did not start'}")
        session, early = child.sessions.current_session, "" if event.reason == "done" else f" · ended by {event.reason}"
        title = (
            f"{event.steps} {'step' if event.steps == 1 else 'steps'}{early} · session {session.id if session else ''}"
        )
        text = f"{event.text or '(no answer)'}" + (f"\n[It was not finished: {event.reason}.]" if early else "")
        return ToolResult(not early, text, Display(title, event.text))

    def _budget_left(self) -> float | None:
        """What of the turn's budget is left, in US dollars; None where there is none, or what was spent is unknown."""
        most, before, now = self.settings.max_budget_usd, self._cost_before, self.sessions.totals().cost
        return most if most is None or before is None or now is None else max(0.0, most - (now - before))

    def take_unsent(self) -> list[str]:
        """The lines that came too late for the turn; they are forgotten here."""
        return [self._steering.popleft() for _ in range(len(self._steering))]

    def runner(self, limit: int) -> CallRunner:
        """What runs the calls of a turn, each result cut at so many characters."""
        return CallRunner(self.kit, self.sessions, limit, self.counter)

    def fitter(self) -> ContextFitter:
        """The ladder for the next turn of the session in use."""
        session = self.sessions.current_session
        assert session is not None, "a turn runs in a session"
        if self.known.session != session.id:  # what was learned holds for the session and the model it was learned of
            self.known = ModelLimits(session.id)
        if not self.model.profile.offline:
            asked = session.context
            self.known = self.known.resumed(asked.asked_model, asked.asked_prompt, asked.asked_counted)
        own = (self.specs(), self.counter, session, self.builder)
        return ContextFitter(self.model, *own, self.condense_model or self.model, self.known, self.thinking)

    def specs(self) -> list[ToolSpec]:
        """The tools that the next request offers: `recall` and `skill` only where there is something to look up, few in
        a small window."""
        if is_lean(self.model.profile.window) or self.model.name in self.known.small:
            return lean_specs(self.tools.specs())
        return usable_specs(self.tools.specs(), more=self._more, skills=self.ctx.skills)

    def _result_limit(self) -> int:
        """Characters of one result: a tenth of the model's window at 4 characters a token (a twentieth of a small
        one), a fifth of the room for the conversation where that is less, or the fixed cap."""
        window, room = self.model.profile.window, self._room
        if not window or room is None:
            return _RESULT_LIMIT
        return max(_LEAST_RESULT, min(_RESULT_LIMIT, window * 4 // (20 if is_lean(window) else 10), room * 4 // 5))

    @property
    def _room(self) -> int | None:
        """Tokens for the conversation beside tools, system prompt and reserve; None where the window is unknown."""
        profile = self.model.profile
        limit = request_limit(profile.window, profile.reserve(self.settings.max_tokens))
        fixed = self.counter.count_tools(self.specs()) + self.counter.count(self.system_prompt)
        return None if limit is None else limit - fixed

    def too_small(self) -> str:
        """A line for a model whose window holds no turn with a call; "" for any other."""
        window = self.model.profile.window
        if not window or window > SMALL_WINDOW or (room := self._room or 0) >= _LEAST_ROOM:
            return ""
        return (
            f"{self.model.name} has a window of {window:,} tokens: too small, tools and system prompt leave "
            f"{max(0, room):,} for the conversation. Choose a model with a larger one (/model)"
        )
