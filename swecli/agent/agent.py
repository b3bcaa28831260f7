"""The agent as faces hold it: prepares a turn, runs it, and shows beforehand exactly what would be sent."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing, suppress
from dataclasses import replace
from functools import partial

from swecli.agent.calls import CallRunner
from swecli.agent.composing import Composer
from swecli.agent.condensing import Condenser
from swecli.agent.fitting import Fitting, Rules
from swecli.agent.keeper import Keeper
from swecli.agent.loop import Loop
from swecli.agent.proved import Proved
from swecli.agent.repeats import Repeats
from swecli.agent.step import Sleep
from swecli.agent.stops import Stops
from swecli.agent.summing_up import SummingUp
from swecli.agent.turn import Turn
from swecli.config.settings import Settings
from swecli.context.budget import effective_threshold
from swecli.context.mentions import expand_mentions
from swecli.context.tokens import TokenCounter
from swecli.llm.base import ChatModel
from swecli.models.errors import BadInput
from swecli.models.events import Event
from swecli.models.session import Session
from swecli.models.tool import Ask
from swecli.models.window import WindowSpec
from swecli.store.session_manager import SessionManager
from swecli.tools.base import ToolContext, ToolError
from swecli.tools.files import digest, read_bytes
from swecli.tools.permissions import Permissions
from swecli.tools.registry import ToolRegistry

LOOP_PROFILE = "review"
RESULT_LIMIT = 30_000


class Agent:
    """One model, one workspace, one set of tools.

    `composer` puts requests together; `condense_prompt` asks for a summary, of `condense_model` where the session's
    own model is not to be asked.
    """

    def __init__(
        self,
        model: ChatModel,
        tools: ToolRegistry,
        permissions: Permissions,
        ctx: ToolContext,
        sessions: SessionManager,
        settings: Settings,
        ask: Ask,
        *,
        composer: Composer,
        condense_prompt: str,
        condense_model: ChatModel | None = None,
        sleep: Sleep = asyncio.sleep,
    ) -> None:
        self.model, self.tools, self.permissions, self.ctx = model, tools, permissions, ctx
        self.sessions, self.settings = sessions, settings
        self.composer, self.condense_prompt, self.condense_model = composer, condense_prompt, condense_model
        self.counter = TokenCounter(model.encoding)
        self.proved = Proved()
        self._ask, self._sleep = ask, sleep
        self._notes: list[str] = []

    @property
    def system_prompt(self) -> str:
        """The static part of the system message."""
        return self.composer.system_prompt

    def use_model(self, model: ChatModel) -> None:
        """Answer with another model from the next turn on."""
        self.model = model
        self.counter = TokenCounter(model.encoding)

    def add_note(self, text: str) -> None:
        """Text that goes with the next query: the output of a shell line the user shared."""
        self._notes.append(text)

    def prepare(self, query: str, attached: str = "", window: WindowSpec | None = None) -> Turn:
        """The turn for a query: its @files read, the window applied, the playbook chosen. Nothing is stored.

        `attached` is text that goes with it and is not the user's own words: what was piped in. `window` looks at
        what another window would hold (of what is loaded).
        """
        session = self.sessions.current_session or Session(id="", working_directory=str(self.ctx.root))
        self.sessions.playbook.renew(session)  # another process may have changed it
        if window is not None:
            session = replace(session, window=window)
        expansion = expand_mentions(query, self.ctx.root)
        text = "\n\n".join([expansion.text, *self._notes, *([attached] if attached else [])])
        prepared = self.composer.prepare(session, query, text, self.model, self.counter)
        notes, files, chosen = [*expansion.notes, *self.composer.noticed()], expansion.files, self.composer.chosen
        if chosen is None:
            return Turn(query, prepared.enhanced, prepared.shown, prepared, notes, files)
        choice = partial(chosen.to_json, self.counter.count)
        return Turn(query, prepared.enhanced, prepared.shown, prepared, notes, files, chosen.ablation, choice)

    async def shell(self, command: str) -> tuple[str, int]:
        """Run the user's own command line with the tool's limits, unasked; its output and exit code.

        Raises BadInput when it could not be started.
        """
        tool = self.tools.get("run_command")
        if tool is None:
            raise BadInput("There is no tool that runs commands.")
        params = tool.params.model_validate({"command": command})
        try:
            result = await tool.run(params, self.ctx, tool.plan(params, self.ctx))
        except ToolError as error:
            raise BadInput(str(error)) from error
        return result.for_user.body, result.exit_code or 0

    async def run(self, turn: Turn) -> AsyncGenerator[Event, None]:
        """Do the turn; see `Loop.run`."""
        self._notes.clear()
        self.composer.told()
        for path in turn.files:
            with suppress(ToolError):  # gone since it was read: then it is not known, and that is safe
                self.ctx.seen[path] = digest(read_bytes(self.ctx.root, path))
        async with aclosing(self._loop().run(turn)) as events:
            async for event in events:
                yield event

    def _loop(self) -> Loop:
        """Made anew each turn: model, limits and counter may have changed since the last one."""
        limit = self._result_limit()
        self.ctx.page_limit = limit * 4 // 5  # a page must never be cut as if it were too long a result
        keeper = Keeper(self.sessions, self.counter)
        fitting = self.fitting()
        repeats = Repeats(lambda: fitting.request.messages)
        runner = CallRunner(
            self.tools, self.ctx, self.permissions, self._ask, self.sessions, limit, self.counter, repeats
        )
        stops = Stops(self.settings.max_turns, self.settings.max_budget_usd)
        return Loop(self.model, runner, self.sessions, stops, fitting, keeper, sleep=self._sleep)

    def fitting(self) -> Fitting:
        """The ladder for the next turn."""
        settings, specs = self.settings, self.tools.specs()
        threshold = effective_threshold(settings.auto_condense_context_percent, settings.thresholds, settings.profile)
        session = self.sessions.current_session
        if session is not None and not self.model.offline:
            self.proved.resumed(
                session.context.asked_model, session.context.asked_prompt, session.context.asked_counted
            )
        loop = settings.profile == LOOP_PROFILE
        rules = Rules(threshold, settings.auto_condense_context, settings.max_tokens, loop)
        return Fitting(self.model, specs, self.counter, self.sessions, self.summing_up(), self.proved, rules)

    def summing_up(self) -> SummingUp:
        """What condenses, with the model that is asked for it."""
        model = self.condense_model or self.model
        condenser = Condenser(model, self.condense_prompt, self.counter, self._sleep)
        return SummingUp(condenser, self.composer.head, self.tools.specs(), self.settings.max_tokens)

    def _result_limit(self) -> int:
        """Characters of one result: a tenth of the model's window at 4 characters a token, or the fixed cap."""
        window = self.model.context_window
        return min(RESULT_LIMIT, window * 4 // 10) if window else RESULT_LIMIT
