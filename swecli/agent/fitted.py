"""What the ladder is given for a step, and the request that it makes of it."""

from __future__ import annotations

from dataclasses import dataclass

from swecli.config.settings import Settings
from swecli.context.budget import MAX_CONDENSE_THRESHOLD, effective_threshold
from swecli.context.fit import Measured
from swecli.context.system_message import cache_marks
from swecli.llm.base import ChatModel
from swecli.models.context import Reduction
from swecli.models.errors import ContextFull
from swecli.models.events import Notice
from swecli.models.message import ApiMessage, ModelRequest, RequestRecord, ToolSpec


@dataclass(frozen=True, slots=True)
class FitRules:
    """When the ladder is climbed: `threshold` in percent of the model's window; `condense`: whether a model may be
    asked for a summary; `max_tokens` of one answer; `thinking` as a request has it."""

    threshold: int = MAX_CONDENSE_THRESHOLD
    condense: bool = True
    max_tokens: int | None = None
    thinking: str = ""

    @classmethod
    def of(cls, settings: Settings, thinking: str = "") -> FitRules:
        """As the settings have them."""
        threshold = effective_threshold(settings.auto_condense_context_percent, settings.thresholds, settings.profile)
        return cls(threshold, settings.auto_condense_context, settings.max_tokens, thinking)

    def request(
        self, model: ChatModel, messages: list[ApiMessage], specs: list[ToolSpec], reserve: int | None
    ) -> ModelRequest:
        """The request with these messages, as they are sent; `reserve` tokens are asked for."""
        marks = cache_marks(messages)
        return ModelRequest(model.name, messages, specs, reserve, thinking=self.thinking, marks=marks)


@dataclass(frozen=True, slots=True)
class StepPlace:
    """Where a request is made: a step of an interaction (0: between turns), which is about `query`. `refused`: the
    request before it was too long after all; it is made smaller by rules alone: a summary would be asked for in vain.
    """

    interaction: int
    step: int
    query: str
    refused: bool = False


Happened = Reduction | RequestRecord | Notice


@dataclass(frozen=True, slots=True)
class Fitted:
    """A request that fits. A turn goes on from `keyed`: what was taken out stays out, so that later requests only add.

    `happened` holds, in their order, the reductions to store before it is sent, the bills of summaries, and lines for
    the user. With `failure` there is no such request. `counted` is the whole by our own count, tools included.
    """

    request: ModelRequest
    keyed: list[ApiMessage]
    measured: Measured
    counted: int
    happened: tuple[Happened, ...] = ()
    failure: ContextFull | None = None

    @property
    def bills(self) -> list[RequestRecord]:
        """What summaries took."""
        return [one for one in self.happened if isinstance(one, RequestRecord)]
