"""The next request, made to fit what the model takes, also where the provider knows better than we do."""

from __future__ import annotations

from swecli.context.budget import request_limit
from swecli.context.fit import fit
from swecli.context.tokens import TokenCounter
from swecli.llm.base import ChatModel
from swecli.models.errors import ContextOverflow
from swecli.models.events import ContextMeasured, ContextReduced, Event
from swecli.models.message import ApiMessage
from swecli.models.model_io import ModelRequest
from swecli.models.tool import ToolSpec

SMALLER = 0.75  # of what was refused, each time


class Fitting:
    """Makes requests that fit one model.

    `limits` maps a model's name to the tokens it proved to take: a refusal corrects it for as long as the
    dictionary lives, which is the session's.
    """

    def __init__(
        self,
        model: ChatModel,
        specs: list[ToolSpec],
        counter: TokenCounter,
        max_tokens: int | None,
        limits: dict[str, int],
    ) -> None:
        self.model, self.specs, self.counter, self.max_tokens, self.limits = model, specs, counter, max_tokens, limits
        self._sent = 0

    def fit(self, messages: list[ApiMessage]) -> tuple[ModelRequest, list[Event]]:
        """The request for these messages, and what there is to say about it. Raises ContextFull."""
        window, output = self.model.context_window, self.max_tokens or self.model.max_output
        if proved := self.limits.get(self.model.name):
            window, output = round(proved / 0.9) + 2, 1  # as a window whose allowed part is what was proved
        fitted = fit(
            messages,
            tools_tokens=self.counter.count_tools(self.specs),
            counter=self.counter,
            context_window=window,
            max_output=output,
        )
        self._sent = fitted.tokens
        told: list[Event] = [ContextReduced(r.how, r.before, r.after, r.detail) for r in fitted.reduced]
        told.append(ContextMeasured(fitted.tokens, fitted.limit, self.counter.estimated))
        return ModelRequest(self.model.name, fitted.messages, self.specs, self.max_tokens), told

    def refused(self, error: ContextOverflow) -> None:
        """The last request was too long after all: the next one is smaller, by what the provider said or by a part."""
        smaller = int(self._sent * SMALLER)
        said = request_limit(error.limit, self.max_tokens or self.model.max_output)
        self.limits[self.model.name] = min(smaller, said) if said else smaller
