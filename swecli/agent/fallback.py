"""Goes on with another model of the settings when the one that a turn asks is overloaded or cannot be reached."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from swecli.agent.context_fitter import ContextFitter
from swecli.context.tokens import TokenCounter
from swecli.llm.base import ChatModel, budget_problem
from swecli.models.errors import (
    AuthFailed,
    ModelNotFound,
    ProviderError,
    SwecliError,
    Unavailable,
)
from swecli.models.events import ModelChanged, PassedOver
from swecli.models.message import ModelRequest, ToolSpec

MakeModel = Callable[[str], ChatModel]
"""Returns the model of a name. Raises SwecliError if there is none, or it lacks its key."""


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
    _passed_over: list[PassedOver] = field(default_factory=list)

    def attempts(self, model: ChatModel, usual: int) -> int:
        """Return how often a model is asked before the next one is: once if it was overloaded the last time."""
        return 1 if model.name in self.overloaded else usual

    def note_answer(self, model: ChatModel) -> None:
        """Note that a model has answered."""
        self.overloaded.discard(model.name)

    def takes(self, error: ProviderError, *, is_first: bool) -> bool:
        """Return whether another model may help: the first one is overloaded, or one of the others cannot be used."""
        if isinstance(error, Unavailable) and error.is_overload:
            return True
        return not is_first and isinstance(error, Unavailable | AuthFailed | ModelNotFound)

    async def change(
        self, failed: ChatModel, error: ProviderError
    ) -> tuple[ChatModel | None, ModelChanged]:
        """Return the next model that can answer the request, None if there is none, and the event that says so. The
        fitter fits the turn's requests to it from now on."""
        if isinstance(error, Unavailable):
            self.overloaded.add(failed.name)
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
