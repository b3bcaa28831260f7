"""Reviews the last commit of a repository with a reviewer that answers at once or looks up code first, and counts the
tokens that are sent."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import aclosing
from dataclasses import dataclass

from swecli.context.tokens import TokenCounter
from swecli.models.message import ModelRequest
from swecli.models.review_events import Estimate, ReviewFinished
from tests.support.reviews import begin_review
from tests.support.runtime import make_runtime
from tests.support.scripted import Reply, ScriptedCall

_PATH = re.compile(r"^## ([^\s(]+)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class SentTokens:
    """What one review sent. Its `parts` have `code` tokens; the `heads` are a system message and the tools for each of
    them. `sent` is the size of all requests, and `repeated` what each of them began with like the one before, which a
    service with a cache of prefixes has already read. `looked_up` is the size of what the look-ups returned."""

    files: int
    parts: int
    requests: int
    code: int
    heads: int
    looked_up: int
    sent: int
    repeated: int
    is_complete: bool
    estimate: Estimate | None

    @property
    def floor(self) -> int:
        """The least that any reviewer sends: each part once, in a conversation of its own, and what was looked up."""
        return self.code + self.heads + self.looked_up

    @property
    def new(self) -> int:
        """What no request before had sent in the same place."""
        return self.sent - self.repeated

    def __str__(self) -> str:
        sizes = f"{self.files} files in {self.parts} parts, {self.requests} requests"
        state = "complete" if self.is_complete else "incomplete"
        announced = self.estimate.tokens if self.estimate else (0, 0)
        return "\n".join(
            [
                f"{sizes}, {state}",
                f"  code {self.code:,}, heads {self.heads:,}, looked up {self.looked_up:,}",
                f"  sent {self.sent:,}: {self.sent / self.floor:.2f} times that",
                f"  of it new {self.new:,}: {self.new / self.floor:.2f} times that",
                f"  announced {announced[0]:,} to {announced[1]:,}",
            ]
        )


async def count_tokens(look_ups: int, *paths: str, at_once: bool = False) -> SentTokens:
    """Review the last commit of the working directory, of all or of some paths. The reviewer looks up code so many
    times in each part, one call after the other or all of them `at_once`, and then reports nothing."""
    runtime = make_runtime(_make_reviewer(look_ups, at_once=at_once))
    review = await begin_review(runtime, "HEAD", *paths)
    async with aclosing(review.run()) as events:
        [end] = [event async for event in events if isinstance(event, ReviewFinished)]
    model = runtime.agent.model
    requests: list[ModelRequest] = model.requests  # type: ignore[attr-defined]
    counter = TokenCounter()
    parts = review.job.plan.parts
    head = counter.count_message(requests[0].messages[0]) + counter.count_tools(requests[0].tools)
    sizes = [_sizes(request, counter) for request in requests]
    pairs = zip(sizes, sizes[1:], strict=False)
    repeated = sum(_common(before, after) for before, after in pairs)
    looked_up = {
        str(message.get("tool_call_id")): counter.count_message(message)
        for request in requests
        for message in request.messages
        if message["role"] == "tool"
    }
    runtime.close()
    return SentTokens(
        files=len(end.coverage.files),
        parts=len(parts),
        requests=len(requests),
        code=sum(part.tokens for part in parts),
        heads=head * len(parts),
        looked_up=sum(looked_up.values()),
        sent=sum(size for request in sizes for _, size in request),
        repeated=repeated,
        is_complete=end.complete,
        estimate=end.estimate,
    )


def _make_reviewer(look_ups: int, *, at_once: bool) -> Callable[[ModelRequest], Reply]:
    asked: dict[str, int] = {}  # look-ups of each part, by the paths in it

    def review(request: ModelRequest) -> Reply:
        text = "\n".join(str(message.get("content")) for message in request.messages)
        part = text[text.rindex("Part ") :]
        number = part.partition(" of ")[0]
        paths = _PATH.findall(part)
        count = asked.setdefault(number, 0)
        if count < look_ups:
            step = look_ups if at_once else 1
            asked[number] += step
            # forty lines around a place, as a reviewer looks at a caller
            calls = (
                ScriptedCall(
                    "read_file", {"path": paths[index % len(paths)], "offset": 1, "limit": 40}
                )
                for index in range(count, count + step)
            )
            return Reply(calls=tuple(calls), usage=None)
        report = {"done": True, "findings": []}
        return Reply(calls=(ScriptedCall("report_findings", report),), usage=None)

    return review


def _sizes(request: ModelRequest, counter: TokenCounter) -> list[tuple[str, int]]:
    """Return the tools and messages of a request in their order, each as text with its tokens."""
    tools = ("".join(tool.name for tool in request.tools), counter.count_tools(request.tools))
    return [
        tools,
        *((str(message), counter.count_message(message)) for message in request.messages),
    ]


def _common(before: list[tuple[str, int]], after: list[tuple[str, int]]) -> int:
    """Return the tokens that two requests begin with alike."""
    total = 0
    for first, second in zip(before, after, strict=False):
        if first != second:
            break
        total += first[1]
    return total
