"""The agent: prepares a turn, runs it, and previews the exact request."""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncGenerator, Collection, Iterator
from contextlib import aclosing, contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from swecli.agent.calls import CallRunner, Toolkit
from swecli.agent.chat import Chat
from swecli.agent.context_fitter import ContextFitter
from swecli.agent.fallback import Fallback, MakeModel
from swecli.agent.request_builder import Query, RequestBuilder, Turn
from swecli.agent.sender import send
from swecli.agent.turn import TurnRecord
from swecli.context.budget import SMALL_WINDOW, is_lean, long_query, request_limit
from swecli.context.keyed_messages import strip_keys
from swecli.context.observed_limits import ModelLimits
from swecli.context.system_message import cache_marks, load_prompt
from swecli.context.tokens import TokenCounter
from swecli.llm.base import BUDGET_HINT, ChatModel, budget_doubt, budget_problem, end_of_service
from swecli.models.api_message import ApiMessage
from swecli.models.approval import AskRequest, Decision
from swecli.models.errors import BadInput
from swecli.models.events import Event, ToolStarted, UsageReported
from swecli.models.json_value import JsonObject
from swecli.models.message import (
    ChatMessage,
    ModelReply,
    ModelRequest,
    Purpose,
    Role,
    ToolResult,
    ToolSpec,
)
from swecli.models.session import Session
from swecli.tools.base import CommandAccess, FileAccess, ModelAccess, ToolContext
from swecli.tools.mcp.names import is_remote
from swecli.tools.offers import PRESENT_PLAN, lean_specs, usable_specs
from swecli.tools.registry import ToolRegistry

if TYPE_CHECKING:  # few questions are asked beside the conversation
    from swecli.agent.aside import AsideRequest

_MAX_RESULT = 30_000  # characters
_MIN_RESULT = 500  # characters
_MIN_ROOM = 500  # tokens


class Agent:
    """One model, one workspace, one set of tools. `condense_model`, if set, writes summaries and titles; `thinking` is
    the reasoning effort that the user set in this run, or ""; `counter` replaces one of the model's encoding;
    `make_model` makes the models of the setting `fallback` (None: none of them is asked)."""

    def __init__(
        self,
        model: ChatModel,
        toolkit: Toolkit,
        builder: RequestBuilder,
        *,
        counter: TokenCounter | None = None,
        condense_model: ChatModel | None = None,
        thinking: str = "",
        make_model: MakeModel | None = None,
    ) -> None:
        self.model = model
        access = ModelAccess(self._is_offered, lambda text: self.counter.count(text))
        self.ctx = replace(toolkit.ctx, model=access, do_task=self.do_task)
        self.toolkit = replace(toolkit, ctx=self.ctx)
        self.builder = builder
        self.tools = toolkit.tools
        self.permissions = toolkit.permissions
        self.sessions = builder.sessions
        self.settings = builder.settings
        self.condense_model = condense_model
        self.counter = counter or TokenCounter(model.profile.encoding, exact=False)
        self.observed = ModelLimits()
        self.notes: list[str] = []  # for the next query, such as the output of a shared shell line
        self.thinking = thinking
        self._make_model = make_model
        self._overloaded: set[str] = set()  # names of models that were so when asked last
        self._reopen = ""
        self._has_more = False  # strategies that the prompt has no room for
        self._steering: deque[str] = deque()
        self._running: ContextFitter | None = None  # of the running turn's requests
        self._cost_before: float | None = 0.0

    def use_model(self, model: ChatModel) -> None:
        """Use another model from the next turn on."""
        self.model = model
        prompt = load_prompt("system", model.profile.window)
        if prompt != self.builder.system_prompt:
            self.builder = replace(self.builder, system_prompt=prompt)
            self.begin_epoch("the model has other tools")
        self.counter = TokenCounter(model.profile.encoding, exact=False)
        self.observed = ModelLimits()

    def count_exactly(self) -> None:
        """Count tokens exactly from now on, if there is a table; not while a turn runs, which compares its counts."""
        if not self.is_running and self.counter.estimated and self.counter.load():
            self.observed = self.observed.forget_counts()

    def _is_offered(self, tool: str) -> bool:
        return any(spec.name == tool for spec in self.specs())

    def begin_epoch(self, reason: str) -> None:
        """Begin a new epoch, with a new system message, with the next turn."""
        self._reopen = reason

    @property
    def is_running(self) -> bool:
        """Return whether a turn is running, to which lines can be added."""
        return self._running is not None

    def steer(self, text: str) -> bool:
        """Add a line of the user's to the next request of the running turn; return False if no turn is running."""
        if self.is_running:
            self._steering.append(text)
        return self.is_running

    async def admit(self, query: str) -> None:
        """Ask the hooks on a query before its turn is prepared; what they add is sent with it. Raises BadInput if one
        refuses it."""
        if self.toolkit.hooks is not None:
            self.notes += await self.toolkit.hooks.admit(query)

    def prepare(
        self, query: str, attached: str = "", session: Session | None = None, *, enhanced: str = ""
    ) -> Turn:
        """Prepare the turn for a query: read its @files, apply the window, select strategies. Nothing is stored.
        `attached` is piped input; `session` replaces the current one, for previews. `enhanced` is the query with the
        contents of its @files, which are then not read."""
        jobs = self.ctx.commands.jobs
        texts = [*self.notes, *(job.report for job in jobs.ended)]
        if attached:
            texts.append(attached)
        inputs = Query(
            text=query,
            attached=tuple(texts),
            session=session,
            reopen=self._reopen,
            sent_text=enhanced,
            jobs=jobs.names,
            running_jobs=tuple(str(job) for job in jobs.running),
            ended_jobs=tuple(job.name for job in jobs.ended),
            folders=self.permissions.usable_folders,
            mode=self.permissions.mode,
            plan_tool=PRESENT_PLAN if self._is_offered(PRESENT_PLAN) else "",
        )
        return self.builder.prepare(inputs, self.model, self.counter)

    def require_room(self, turn: Turn) -> None:
        """Raise BadInput if the query of a prepared turn is longer than a request may be: reductions keep it."""
        limit = self.make_fitter().limits.limit
        tokens = self.counter.count_message(turn.request.messages[-1])
        if limit is not None and tokens > limit:
            raise long_query(f"{tokens:,} tokens", f"{limit:,}")

    def warm(self) -> None:
        """Do the slow parts of a first turn in advance, in a thread: load the tools, prepare a request, and load what
        the store needs for the lessons of a turn."""
        self.tools.load()
        self.counter.count_tools(self.specs())
        if self.sessions.current_session is not None:
            self.prepare("")
        self.sessions.warm()

    def run(self, turn: Turn, schema: JsonObject | None = None) -> AsyncGenerator[Event, None]:
        """Run a prepared turn, from now on. `schema` is the JSON schema of its answer; None: it is free."""
        self.notes.clear()
        if self.toolkit.hooks is not None:
            self.toolkit.hooks.begin_turn()
        jobs = self.ctx.commands.jobs
        jobs.ended = [job for job in jobs.ended if job.name not in turn.ended_jobs]
        self._reopen = ""
        if self.builder.stale is not None:
            self.builder.stale.mark_reported()
        self.toolkit.note_read(turn.files)
        if self.settings.max_budget_usd is not None:
            self._cost_before = self.sessions.totals().cost
        self._has_more = turn.selection.more
        fitter = self.make_fitter(schema)
        # new for each turn: model, settings and counter may have changed
        chat = Chat(
            model=self.model,
            calls=self.make_runner(self.result_limit()),
            fitter=fitter,
            record=TurnRecord(self.sessions, self.counter),
            settings=self.settings,
            steering=self._steering,
            running=self._run_with(fitter),
            fallback=self._make_fallback(fitter),
        )
        return chat.run(turn)

    def _make_fallback(self, fitter: ContextFitter) -> Fallback | None:
        names = self.settings.fallback
        if self._make_model is None or not names:
            return None
        return Fallback(names, self._make_model, fitter, self._specs_of, self._overloaded)

    @contextmanager
    def _run_with(self, fitter: ContextFitter) -> Iterator[None]:
        """Take lines for the running turn, and keep what the fitter learned in it."""
        self._running = fitter
        try:
            yield
        finally:
            self._running = None
            self.observed = fitter.observed

    @contextmanager
    def limit_cost(self, dollars: float | None) -> Iterator[None]:
        """Inside, let turns cost no more than this, nor than the settings say; None: than these say."""
        before = self.settings.max_budget_usd
        limits = [limit for limit in (before, dollars) if limit is not None]
        self.settings = replace(self.settings, max_budget_usd=min(limits, default=None))
        try:
            yield
        finally:
            self.settings = replace(self.settings, max_budget_usd=before)

    async def do_task(
        self, title: str, prompt: str, tools: Collection[str], ctx: ToolContext
    ) -> ToolResult:
        """Run a task in a child session with the reading tools and those named in `tools`; its last message is the
        result. `ctx` is the context of the call. Raises ToolError if the task fails."""
        sessions = self.sessions.start_task(title)
        ask_user = self.toolkit.ask

        async def ask(request: AskRequest) -> Decision:
            reason = f"{request.why} Asked for the task {title!r}.".strip()
            with self.toolkit.user_time.counting():
                return await ask_user(replace(request, why=reason))

        task_tools = [
            tool
            for tool in self.tools.values()
            if (tool.kind.is_read_only and tool.offer.in_tasks) or tool.name in tools
        ]
        task_ctx = ToolContext(
            ctx.root,
            FileAccess(changes=ctx.files.changes),
            CommandAccess(ctx.commands.timeout, ctx.commands.environ, ctx.commands.open_sandbox),
            sessions=sessions,
            skills=ctx.skills,
        )
        hooks = self.toolkit.hooks.for_task() if self.toolkit.hooks else None
        toolkit = Toolkit(ToolRegistry(task_tools), self.permissions, task_ctx, ask, hooks=hooks)
        builder = replace(
            self.builder,
            sessions=sessions,
            settings=replace(self.settings, max_budget_usd=self._budget_left()),
            stale=None,
        )
        child = Agent(
            self.model,
            toolkit,
            builder,
            condense_model=self.condense_model,
            thinking=self.thinking,
            make_model=self._make_model,
        )
        child._overloaded = self._overloaded
        # late: most turns start no task
        from swecli.agent.task import task_prompt, task_result

        prompt_of_task = task_prompt(spec.name for spec in child.specs())
        child.builder = replace(builder, system_prompt=prompt_of_task)
        event: Event | None = None
        try:
            async with aclosing(child.run(child.prepare(prompt))) as events:
                async for event in events:
                    if isinstance(event, ToolStarted):
                        ctx.progress.report(f"{event.summary}\n")
                    elif isinstance(event, UsageReported):
                        ctx.progress.on_usage(event.usage, event.cost)
        finally:
            await task_ctx.commands.jobs.close()
        return task_result(event, sessions.session)

    def _budget_left(self) -> float | None:
        """Return the turn's remaining budget in US dollars, or None if no budget is set or a cost is unknown."""
        max_cost = self.settings.max_budget_usd
        before = self._cost_before
        now = self.sessions.totals().cost
        if max_cost is None or before is None or now is None:
            return max_cost
        return max(0.0, max_cost - (now - before))

    def pop_unsent_lines(self) -> list[str]:
        """Remove and return the lines that were sent to the running turn too late."""
        lines = [*self._steering]
        self._steering.clear()
        return lines

    async def generate_title(self) -> None:
        """Generate a title for a new session, with the small model if there is one."""
        # late: an answer is shown before
        from swecli.agent.title import generate_title

        if self.condense_model is not None:
            await generate_title(self.sessions, self.condense_model)

    async def ask_once(self, keyed_messages: list[ApiMessage], interaction: int) -> ModelReply:
        """Send a request that belongs to an interaction, and return its answer, whose calls are not run; what it took
        is recorded as "try". Raises BadInput if it is too long for the model, ProviderError if it fails."""
        request = self._make_request(keyed_messages, "try", f"The request of T{interaction}")
        keep = self.sessions.record_request
        return await send(self.model, request, keep, interaction=interaction)

    def _make_request(
        self, keyed_messages: list[ApiMessage], purpose: Purpose, name: str
    ) -> ModelRequest:
        """Make a request as it is, without reductions. Raises BadInput, which calls it by this name, if it is too long
        for the model."""
        limits = self.make_fitter().limits
        size = limits.measure(keyed_messages, self.counter)
        if not size.fits:
            raise BadInput(
                f"{name} has {size.tokens:,} tokens: too many for {self.model.name}.",
                "Choose a model with a larger window: /model",
            )
        messages = strip_keys(keyed_messages)
        return ModelRequest(
            self.model.name,
            messages,
            self.specs(),
            limits.reserve,
            purpose,
            thinking=self.thinking,
            marks=cache_marks(messages),
        )

    async def prepare_aside(self, question: str) -> AsideRequest:
        """Prepare the request that asks a question beside the conversation, after what that says so far: while a turn
        runs, after its last request. Nothing is stored. Raises BadInput if a hook refuses it, if it is too long, or if
        the running turn has sent no request yet."""
        if self.toolkit.hooks is not None:
            await self.toolkit.hooks.judge(question)
        # late: few questions are asked like this
        from swecli.agent.aside import INSTRUCTION, AsideRequest, beside

        number = self.sessions.session.interactions
        if self._running is None:
            turn = self.prepare(question, attached=INSTRUCTION)
            request = self._make_request(turn.request.keyed_messages, "aside", "This question")
            return AsideRequest(question, request, self.model, number, turn.notices)
        last = self._running.last_request
        if last is None:
            raise BadInput(
                "The turn has sent no request yet, after which the question could be asked.",
                "Ask it again in a moment.",
            )
        aside_message = ChatMessage(Role.USER, f"{question}\n\n{INSTRUCTION}")
        notices = tuple[str, ...]()
        mentions = self.builder.read_mentions(question, self._running.model)
        if mentions is not None:
            aside_message.content = f"{mentions.text}\n\n{INSTRUCTION}"
            aside_message.images = mentions.images or None
            notices = tuple(mentions.notes)
        model = self._running.model  # may be another one than the session's
        return AsideRequest(question, beside(last, aside_message), model, number, notices)

    def make_runner(self, limit: int) -> CallRunner:
        """Make the runner of a turn's calls, with the maximum length of a result in characters."""
        return CallRunner(self.toolkit, self.sessions, limit, self.counter)

    def make_fitter(self, schema: JsonObject | None = None) -> ContextFitter:
        """Make the context fitter for the next turn of the current session, whose answer follows the `schema`."""
        session = self.sessions.session
        # observed limits are valid for one session and model
        if self.observed.session != session.id:
            self.observed = ModelLimits(session.id)
        if not self.model.profile.offline:
            last = session.context
            self.observed = self.observed.restore_scale(
                last.asked_model, last.asked_prompt, last.asked_counted
            )
        return ContextFitter(
            model=self.model,
            specs=self.specs(),
            counter=self.counter,
            session=session,
            builder=self.builder,
            condense_model=self.condense_model or self.model,
            observed=self.observed,
            thinking=self.thinking,
            schema=schema,
            hooks=self.toolkit.hooks,
        )

    def specs(self) -> list[ToolSpec]:
        """Return the tools that the next request offers: fewer in a small window, and none without use."""
        return self._specs_of(self.model)

    def _specs_of(self, model: ChatModel) -> list[ToolSpec]:
        if is_lean(model.profile.window) or model.name in self.observed.without_room:
            return lean_specs(self.tools.specs())
        usable = usable_specs(
            self.tools.specs(),
            more=self._has_more,
            skills=self.ctx.skills(),
            settings=self.settings,
        )
        if not any(is_remote(spec.name) for spec in usable):
            return usable
        # late: few use servers
        from swecli.tools.mcp.finding import defer

        return defer(usable, model.profile.window)

    def result_limit(self) -> int:
        """Return the maximum characters of one result: at 4 characters a token the least of a tenth of the model's
        window (a twentieth of a small one), a fifth of the room for the conversation, and the fixed maximum."""
        window = self.model.profile.window
        room = self._room
        if not window or room is None:
            return _MAX_RESULT
        share_of_window = window * 4 // (20 if is_lean(window) else 10)
        return max(_MIN_RESULT, min(_MAX_RESULT, share_of_window, room * 4 // 5))

    @property
    def _room(self) -> int | None:
        """Tokens left for the conversation besides tools, system prompt and reserve; None if the window is unknown."""
        profile = self.model.profile
        limit = request_limit(profile.window, profile.reserve(self.settings.max_tokens))
        if limit is None:
            return None
        tools = self.counter.count_tools(self.specs())
        return limit - tools - self.counter.count(self.builder.system_prompt)

    def model_warnings(self) -> list[str]:
        """Return what a user has to know about the model before the first request."""
        lines: list[str] = []
        window = self.model.profile.window
        if window and window <= SMALL_WINDOW:
            room = self._room or 0
            if room < _MIN_ROOM:  # too small for a turn with a call
                lines.append(
                    f"{self.model.name} has a window of {window:,} tokens: too small, tools and system prompt leave "
                    f"{max(0, room):,} for the conversation. Choose a model with a larger window (/model)"
                )
        problem = budget_problem(self.model, self.settings)
        problem = problem or budget_doubt(self.model, self.settings)
        if problem:
            lines.append(f"{problem} {BUDGET_HINT}")
        if ended := end_of_service(self.model):
            lines.append(ended)
        return lines
