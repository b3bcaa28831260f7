"""A goal: the assistant takes turns until a command that the user names exits with 0, or a limit is reached."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, aclosing, nullcontext, suppress
from dataclasses import field, replace
from typing import TYPE_CHECKING, Protocol

from swecli.agent.goal_command import CommandRun, GoalCommand, require_command
from swecli.config.settings import SETTINGS, Settings
from swecli.llm.base import BUDGET_HINT, budget_problem
from swecli.models.approval import Ask
from swecli.models.changed_files import ChangedFile, LineCounts
from swecli.models.errors import BadInput, LimitReached, StoreError, SwecliError, UsageError
from swecli.models.events import (
    Event,
    FilesChanged,
    FinishReason,
    Notice,
    TurnFailed,
    TurnFinished,
    TurnStarted,
    UsageReported,
)
from swecli.models.goal_events import GoalChecked, GoalEnded, GoalOutcome
from swecli.models.ids import uuid7
from swecli.models.message import GOAL
from swecli.text import one_line
from swecli.values import dataclass

if TYPE_CHECKING:
    from swecli.agent.request_builder import Turn
    from swecli.app import Runtime

# a flag of the line, and the setting that it takes the place of
_FLAGS = {
    "--turns": "goal_turns",
    "--budget-usd": "goal_budget_usd",
    "--minutes": "goal_minutes",
}
_MAX_QUOTED = 80  # characters of a flag or a command in a line
# A turn that ended like this is followed by another one; after the others, which the service, a hook or the user ended,
# another one would end alike.
_GOES_ON: tuple[FinishReason, ...] = ("done", "max_turns", "max_budget", "loop", "length")
_GOAL_SET = "The user has set a goal"
_NOT_MET = "The goal is not met yet"
_TASK = (
    "{state}: the command `{command}` has to exit with 0. It is run in the workspace after each of your turns, and you "
    "get its output, until it passes or a limit is reached. Only the command decides whether the goal is met: do not "
    "say that it is. Make it pass by what it checks. Files that you delete or make shorter on the way are named to the "
    "user, tests too, so do not remove or weaken what it runs."
)
_REQUEST = "The goal began with this message of the user:"
_FLAPPED = "It passed once and failed when it was run again, and it has to pass twice in a row."
_RESULT = "Its result now:"


@dataclass(frozen=True, slots=True)
class Goal:
    """A goal as the user set it. `line` is what he typed; `prompt` is the message of the first turn in his words, with
    the text that was piped in as `attachment`, both "" if he only named the command."""

    command: str
    line: str
    turns: int
    budget: float  # in US dollars
    minutes: float
    has_own_budget: bool = False  # it was set, and has to be kept
    prompt: str = ""
    attachment: str = ""

    @classmethod
    def of(
        cls, command: str, line: str, settings: Settings, *, prompt: str = "", attachment: str = ""
    ) -> Goal:
        """Return the goal with the limits of the settings."""
        return cls(
            command.strip(),
            line,
            settings.goal_turns,
            settings.goal_budget_usd,
            settings.goal_minutes,
            "goal_budget_usd" in settings.origins,
            prompt,
            attachment,
        )

    @classmethod
    def read(cls, args: str, settings: Settings) -> Goal:
        """Read the arguments of `/goal`: flags, then the command. Raises UsageError, ConfigError."""
        rest = args.strip()
        flags: dict[str, object] = {}
        while rest.startswith("--"):
            flag, _, rest = rest.partition(" ")
            name = _FLAGS.get(flag)
            if name is None:
                raise UsageError(
                    f"/goal has no flag {flag[:_MAX_QUOTED]}.", f"It has {', '.join(_FLAGS)}."
                )
            value, _, rest = rest.lstrip().partition(" ")
            if not value:
                raise UsageError(f"{flag} has no value.", f"For example: {flag} 5")
            flags[name] = SETTINGS[name].parse_words([value])
            rest = rest.lstrip()
        origins = settings.origins | dict.fromkeys(flags, "flags")
        changed_settings = replace(settings, **flags, origins=origins)  # type: ignore[arg-type]  # parsed
        return cls.of(rest, f"/goal {args.strip()}", changed_settings)


class GoalFace(Protocol):
    """Who shows a goal, and does what belongs to a turn there."""

    def show(self, event: Event) -> None:
        """Show an event."""

    def working(self, label: str) -> AbstractContextManager[None]:
        """Show inside that something takes its time."""

    async def store_query(self, query: str, fields: Mapping[str, str]) -> None:
        """Store the query of the next turn, whose message has these fields, behind the turns of other processes."""

    async def end_turn(self, interaction: int) -> None:
        """Do what follows a turn that has ended, however it did: learn from it."""


@dataclass(slots=True)
class _TurnReport:
    """What the events of a turn say."""

    cost_before: float | None  # of the turns before it, in US dollars
    interaction: int = 0
    files: tuple[ChangedFile, ...] = ()
    failed: TurnFailed | None = None
    finished: TurnFinished | None = None

    @property
    def is_last(self) -> bool:
        """Whether no other turn can follow, as its own last event has said."""
        return self.finished is None or self.finished.reason not in _GOES_ON


@dataclass(slots=True)
class GoalRun:
    """Takes the turns of one goal. Which turns they are is stored with their queries, before anything runs."""

    runtime: Runtime
    goal: Goal
    face: GoalFace
    id: str = field(default_factory=uuid7)
    failure: TurnFailed | None = None  # of the turn that ended it
    _cost: float | None = 0.0
    _turns: int = 0
    _first: int = 0  # the number of the first turn
    _began: float = field(default_factory=time.monotonic)
    _outputs: list[str] = field(default_factory=list)  # of the command when it failed
    _is_waiting: bool = False  # a query is stored whose turn has not begun

    async def run(self) -> GoalEnded:
        """Take turns until the goal is met or ended otherwise, and show its events, the last of which is returned.
        Raises SwecliError if it cannot begin, CancelledError when its end is shown."""
        await self._check_settings()
        command = GoalCommand(self.runtime.agent, self.goal.command, self._ask)
        try:
            async with asyncio.timeout(self.goal.minutes * 60) as limit:
                ended = await self._take_turns(command)
        except TimeoutError:
            if not limit.expired():
                raise
            ended = self._end(GoalOutcome.TIME)
        except SwecliError as error:
            self.failure = TurnFailed(error.message, error.hint, error.exit_code)
            ended = self._end(GoalOutcome.FAILED, str(error))
        except asyncio.CancelledError:
            self._drop_query()
            self.face.show(self._end(GoalOutcome.STOPPED))
            raise
        self._drop_query()
        self.face.show(ended)
        return ended

    @property
    def _ask(self) -> Ask:
        return self.runtime.agent.toolkit.ask

    async def _check_settings(self) -> None:
        """Raise SwecliError for a goal that cannot be pursued."""
        runtime = self.runtime
        await require_command(self.goal.command, runtime.agent.ctx.root, runtime.start.environ)
        if runtime.agent.permissions.mode == "plan":
            raise BadInput(
                "In mode plan nothing is changed, so no goal can be reached.",
                "/mode edits ends it.",
            )
        settings = replace(runtime.settings, max_budget_usd=self.goal.budget)
        if not budget_problem(runtime.agent.model, settings):
            return
        price = f"The price of {runtime.agent.model.name} is unknown"
        if self.goal.has_own_budget:
            raise BadInput(f"{price}: the limit of dollars cannot be kept.", BUDGET_HINT)
        self.face.show(Notice(f"{price}: only the limits of turns and minutes hold", "warning"))

    async def _take_turns(self, command: GoalCommand) -> GoalEnded:
        goal = self.goal
        await self._store_query(goal.prompt or goal.line, is_own=bool(goal.prompt))
        run = await self._check(command)
        if run.refusal:
            return self._end(GoalOutcome.REFUSED, run.refusal)
        self._show_check(run)
        if run.passed:
            return self._end(GoalOutcome.MET_BEFORE)
        while True:
            report = await self._take_turn(self._prepare(run))
            if report.is_last:
                self.failure = report.failed
                return self._end(GoalOutcome.FAILED)
            run = await self._check(command)
            if run.refusal:
                return self._end(GoalOutcome.REFUSED, run.refusal)
            self._show_check(run, report.files)
            if run.passed:
                return self._end_met()
            if self._turns >= goal.turns:
                return self._end(GoalOutcome.TURNS)
            if self._cost is not None and self._cost >= goal.budget:
                return self._end(GoalOutcome.BUDGET)
            await self._store_query(goal.line, is_own=False)

    async def _store_query(self, query: str, *, is_own: bool) -> None:
        fields = {"goal": self.id} if is_own else {"goal": self.id, "status": GOAL}
        await self.face.store_query(query, fields)
        self._is_waiting = True

    def _drop_query(self) -> None:
        """Take back the query of a turn that does not begin. If that cannot be stored, it is one that was cut off."""
        if self._is_waiting:
            self._is_waiting = False
            with suppress(StoreError):
                self.runtime.sessions.drop_query()

    async def _check(self, command: GoalCommand) -> CommandRun:
        """Run the command, and keep what it says when it fails."""
        label = f"Running {one_line(self.goal.command, _MAX_QUOTED)}"
        with self.face.working(label), self._recorded():
            run = await command.check()
        if not run.passed:
            self._outputs.append(run.text)
        return run

    def _recorded(self) -> AbstractContextManager[None]:
        """Return what lets the changes of the command belong to the first turn, if that has not begun."""
        history = self.runtime.history
        if history is None or not self._is_waiting:
            return nullcontext()
        return history.recorder.before_turn(self.runtime.session.interactions + 1)

    def _show_check(self, run: CommandRun, files: Sequence[ChangedFile] = ()) -> None:
        self.face.show(
            GoalChecked(
                turn=self._turns,
                turns=self.goal.turns,
                command=self.goal.command,
                passed=run.passed,
                exit_code=run.exit_code,
                line="" if run.passed else run.line,
                files=tuple(files),
                cost=self._cost,
                has_flapped=run.has_flapped,
                is_confined=run.is_confined,
            )
        )

    def _prepare(self, run: CommandRun) -> Turn:
        """Return the next turn, whose message holds the output of the command."""
        goal = self.goal
        state = _NOT_MET if self._turns else _GOAL_SET
        parts = [_TASK.format(state=state, command=goal.command)]
        if self._turns and goal.prompt:  # which may have left the window
            parts += [_REQUEST, goal.prompt]
        if run.has_flapped:
            parts.append(_FLAPPED)
        parts += [_RESULT, run.text]
        text = "\n".join(parts)
        agent = self.runtime.agent
        if self._turns or not goal.prompt:
            return agent.prepare(goal.line, enhanced=text)
        attached = "\n\n".join(filter(None, (goal.attachment, text)))
        return agent.prepare(goal.prompt, attached)

    async def _take_turn(self, turn: Turn) -> _TurnReport:
        """Run a turn, which may cost what is left of the budget."""
        agent = self.runtime.agent
        report = _TurnReport(self._cost)
        budget_left = None if self._cost is None else max(0.0, self.goal.budget - self._cost)
        self._turns += 1
        self._is_waiting = False
        try:
            with self.face.working("Working"), agent.limit_cost(budget_left):
                async with aclosing(agent.run(turn)) as events:
                    async for event in events:
                        self._note(event, report)
                        self.face.show(event)
        finally:
            await self.face.end_turn(report.interaction)
        return report

    def _note(self, event: Event, report: _TurnReport) -> None:
        match event:
            case TurnStarted():
                report.interaction = event.interaction
                self._first = self._first or event.interaction
            case FilesChanged():
                report.files = event.files
            case UsageReported():
                self._cost = _add(self._cost, event.cost)
            case TurnFinished():
                report.finished = event
                self._cost = _add(report.cost_before, event.cost)  # with all that it took
            case TurnFailed():
                report.failed = event
            case _:
                pass

    def _end_met(self) -> GoalEnded:
        """Return the end of a goal that is met, with the files that the user may want to look at."""
        counts = self._count_lines()
        lost_counts = tuple(count for count in counts if count.is_smaller)
        printed = "\n".join(self._outputs)
        named_files = tuple(
            count.name
            for count in counts
            if count.before is not None and count not in lost_counts and _names(printed, count.name)
        )
        return replace(self._end(GoalOutcome.MET), lost=lost_counts, named=named_files)

    def _count_lines(self) -> list[LineCounts]:
        history = self.runtime.history
        if history is None or not self._first:
            return []
        return history.files.count_lines(self._first, self.runtime.session.interactions)

    def _end(self, outcome: GoalOutcome, reason: str = "") -> GoalEnded:
        seconds = time.monotonic() - self._began
        return GoalEnded(
            outcome,
            self.goal.command,
            self._turns,
            self._cost,
            round(seconds * 1000),
            reason,
        )


def _add(cost: float | None, more: float | None) -> float | None:
    """Return the sum of two costs, None if one is unknown."""
    return None if cost is None or more is None else cost + more


def _names(printed: str, name: str) -> bool:
    """Return whether an output names a file, also by a longer path."""
    return re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", printed) is not None


def exit_code(ended: GoalEnded, failure: TurnFailed | None) -> int:
    """Return the exit code of a run that ended with a goal; `failure` is that of its last turn, None for none."""
    if ended.is_met:
        return 0
    if failure is not None:
        return failure.exit_code
    if ended.outcome is GoalOutcome.REFUSED:
        return BadInput.exit_code
    if ended.outcome is GoalOutcome.FAILED:
        return SwecliError.exit_code
    return LimitReached.exit_code
