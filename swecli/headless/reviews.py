"""A review without a screen: progress for people on one side, the result for programs on the other."""

from __future__ import annotations

from contextlib import aclosing
from typing import TextIO

from swecli.headless.plain import dumps, one_line
from swecli.headless.runner import until_signal
from swecli.headless.writers.base import line_for_people
from swecli.models.events import ContextReduced, Event, Notice, StepRetried, to_json
from swecli.models.finding import counted
from swecli.models.review_events import FindingsAccumulated, ReviewEvent, ReviewFinished, ReviewPlanned
from swecli.review.publish.exports import as_markdown, as_sarif, as_seed
from swecli.review.publish.view import brief, event_lines, planned_lines
from swecli.review.read.run import Review


class ReviewWriter:
    """Writes a review's events: lines for people to `err`, with `stream` one JSON object a line to `out`."""

    def __init__(self, out: TextIO, err: TextIO, *, stream: bool = False) -> None:
        self._out, self._err, self._stream = out, err, stream

    def write(self, event: Event) -> None:
        """Take one event."""
        if self._stream:
            self._out.write(dumps(to_json(event)) + "\n")
            self._out.flush()
        match event:
            case ReviewFinished():
                lines = _end_lines(event)
            case FindingsAccumulated():
                lines = [f"found: {brief(finding).line}" for finding in event.findings]
            case ReviewEvent():
                lines = event_lines(event)
            case Notice() | StepRetried() | ContextReduced():
                lines = [line_for_people(event)]
            case _:
                lines = []
        for line in lines:
            self.say(line)

    def say(self, text: str) -> None:
        """One line for people."""
        self._err.write(one_line(text) + "\n")
        self._err.flush()


def _end_lines(event: ReviewFinished) -> list[str]:
    lost = [f"lost: {line}" for line in event.lost]
    found = f"{counted(event.unique, 'finding')} of {counted(event.total, 'report')}"
    left = [] if event.complete else ["the review is incomplete: what was not read may hold more"]
    return [*lost, f"{event.end}: {found} in {counted(event.loops, 'loop')}", *event_lines(event), *left]


def result_text(
    end: ReviewFinished, style: str, code: int, least: str = "any", posted: tuple[int, int] = (0, 0)
) -> str:
    """The result in that format; "" where it was streamed. `code` is what the program will exit with, `least` the
    verdict that a result of SARIF needs, `posted` how many findings were posted and how many could not be."""
    if style == "seed":
        return dumps(as_seed(end, *posted), indent=2)
    if style == "json":
        return dumps(to_json(end), indent=2)
    if style == "markdown":
        return as_markdown(end.findings, end=end)
    if style == "sarif":
        return dumps(as_sarif([finding for finding in end.findings if finding.sure(least)], end, code), indent=2)
    shown = [brief(finding).line for finding in end.findings if finding.state != "refuted"]
    nothing = "No findings." if end.complete else "No findings in what was read; the review is incomplete."
    return "" if style == "stream-json" else "\n".join(shown) or nothing


def plan_text(head: list[str], event: ReviewPlanned, *, json: bool) -> str:
    """What a review would read and take, under some lines."""
    return dumps(to_json(event), indent=2) if json else "\n".join(map(one_line, [*head, *planned_lines(event)]))


async def run_review(review: Review, writer: ReviewWriter) -> tuple[ReviewFinished, int]:
    """Run it to its end; SIGINT and SIGTERM end it with what it has. Returns the sum and 0, 130 or 143."""

    async def whole() -> ReviewFinished:
        async with aclosing(review.run()) as events:
            async for event in events:
                writer.write(event)
        return review.finish("done")

    end, stopped = await until_signal(whole())
    if end is None:
        end = review.finish("interrupted")
        writer.write(end)
    return end, stopped
