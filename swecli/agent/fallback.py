"""Goes on with another model of the settings when the one that a turn asks is overloaded or cannot be reached."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import field

from swecli.agent.context_fitter import ContextFitter
from swecli.context.tokens import TokenCounter
from swecli.llm.base import ChatModel, budget_problem
from swecli.models.errors import (
    AuthFailed,
    ModelNotFound,
    OutputLimitReached,
    ProviderError,
    SwecliError,
    Unavailable,
    UnsupportedFeature,
)
from swecli.models.events import Event, ModelChanged, PassedOver
from swecli.models.message import ModelRequest, ToolSpec
from swecli.values import dataclass

MakeModel = Callable[[str], ChatModel]
"""Returns the model of a name. Raises SwecliError if there is none, or it lacks its key."""


@dataclass(frozen=True, slots=True)
class GoOn:
    """How a turn goes on after a failure."""

    model: ChatModel | None  # that is asked next; None: the turn fails
    failure: ProviderError  # with which it fails then
    events: tuple[Event, ...] = ()  # to report before


@dataclass(slots=True)
class Fallback:
    """The models that one turn may go on with, in their order."""

    names: Sequence[str]
    make: MakeModel
    fitter: ContextFitter
    """Of the turn's requests, which it fits to another model from then on."""
    specs_of: Callable[[ChatModel], list[ToolSpec]]
    """The tools that a model is offered."""
    overloaded: set[str]
    """The names of models that were overloaded when they were asked last, in this turn or an earlier one."""
    _next: int = 0
    _first: ProviderError | None = None
    """Why the turn's own model could not go on; None: it could."""
    _passed_over: list[PassedOver] = field(default_factory=list)

    def attempts(self, model: ChatModel, usual: int) -> int:
        """Return how often a model is asked before the next one is: once if it was overloaded the last time."""
        return 1 if model.name in self.overloaded else usual

    def note_answer(self, model: ChatModel) -> None:
        """Note that a model has answered."""
        self.overloaded.discard(model.name)

    async def after(self, model: ChatModel, failure: ProviderError) -> GoOn:
        """Return how a turn goes on after the failure of a request."""
        if self._was_asked_once(model, failure):
            self.overloaded.discard(model.name)
            return GoOn(model, failure)
        is_overload = isinstance(failure, Unavailable) and failure.is_overload
        if is_overload:
            self.overloaded.add(model.name)
        cannot_be_used = isinstance(failure, Unavailable | AuthFailed | ModelNotFound)
        if not is_overload and (self._first is None or not cannot_be_used):
            return GoOn(None, failure)
        self._first = self._first or failure
        other, change_event = await self._change(model, failure)
        return GoOn(other, self._first, (change_event,))

    def _was_asked_once(self, model: ChatModel, failure: ProviderError) -> bool:
        """Return whether a failure that is no overload would have been answered by another request, if the model had
        been asked as usual."""
        if model.name not in self.overloaded:
            return False
        if isinstance(failure, Unavailable):
            return not failure.is_overload and failure.tries > 1
        return isinstance(failure, UnsupportedFeature | OutputLimitReached)

    async def _change(
        self, failed: ChatModel, error: ProviderError
    ) -> tuple[ChatModel | None, ModelChanged]:
        """Return the next model that can answer the request, None if there is none, and the event that says so. The
        fitter fits the turn's requests to it from now on."""
        self._passed_over = []
        request = self.fitter.last_request
        while self._next < len(self.names) and request is not None:
            name = self.names[self._next]
            self._next += 1
            try:
                # in a thread: a server on this machine is asked for its models
                model = await asyncio.to_thread(self.make, name)
            except SwecliError as problem:
                self._passed_over.append(PassedOver(name, problem.message))
                continue
            if reason := self._why_not(model, failed, request):
                self._passed_over.append(PassedOver(name, reason))
                continue
            counter = TokenCounter(model.profile.encoding, exact=False)
            self.fitter.use(model, counter, self.specs_of(model))
            return model, self._report(failed, error, model.name)
        return None, self._report(failed, error, "")

    def _why_not(self, model: ChatModel, failed: ChatModel, request: ModelRequest) -> str:
        """Return why a model cannot go on with a request, "" if it can. Nothing is removed from a conversation for it:
        the turns that follow are the first model's again."""
        if model.name in (failed.name, self.fitter.model.name):
            return "it is the one that failed"
        if request.tools and not model.profile.tools:
            return "it has no tools"
        if problem := budget_problem(model, self.fitter.builder.settings):
            return problem
        size = self.fitter.measure_for(model, request.messages, self.specs_of(model))
        if not size.fits:
            return f"the request has {size.tokens:,} tokens, and it takes {size.limit or 0:,}"
        return ""

    def _report(self, failed: ChatModel, error: ProviderError, name: str) -> ModelChanged:
        return ModelChanged(failed.name, name, error.message, tuple(self._passed_over))
