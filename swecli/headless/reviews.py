"""A review without a screen: progress for people on one side, the result for programs on the other."""

from __future__ import annotations

import asyncio
import signal
from contextlib import aclosing
from typing import TextIO

from swecli.headless.plain import dumps, one_line
from swecli.models.events import ContextReduced, Event, Notice, StepRetried, to_json
from swecli.models.finding import Finding, counted
from swecli.models.review_events import (
    FindingsAccumulated,
    FindingsJudged,
    LoopWindowApplied,
    ReviewEvent,
    ReviewFinished,
    ReviewPlanned,
    ReviewProgressed,
    ReviewStarted,
)
from swecli.review.publish.exports import as_markdown
from swecli.review.publish.sarif import as_sarif
from swecli.review.read.coverage import in_words
from swecli.review.read.estimate import in_words as estimate_in_words
from swecli.review.read.run import Review
from swecli.review.target.skips import in_words as skips_in_words


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
            case ReviewEvent():
                for line in lines_of(event):
                    self.say(line)
            case Notice():
                self.say(event.text)
            case StepRetried():
                self.say(f"retry {event.attempt} in {event.wait:.0f} s: {event.reason}")
            case ContextReduced():
                self.say(f"context: {event.how}, {event.before} to {event.after} tokens {event.detail}")
            case _:
                pass

    def say(self, text: str) -> None:
        """One line for people."""
        self._err.write(one_line(text) + "\n")
        self._err.flush()


def lines_of(event: ReviewEvent) -> list[str]:
    """What a person would want to know of it."""
    match event:
        case ReviewStarted():
            behind = f", behind loop {event.loop}" if event.loop else ""
            more = (
                f", {counted(event.leads, 'lead')}, {counted(event.checks, 'check')}"
                if event.leads or event.checks
                else ""
            )
            return [
                f"review {event.review} of {event.target}: {counted(event.files, 'file')}{more}, "
                f"{counted(event.loops, 'loop')}{behind}"
            ]
        case ReviewPlanned():
            return planned_lines(event)
        case ReviewProgressed():
            cost = "cost unknown" if event.cost is None else f"${event.cost:.4f}"
            files = ", ".join(event.paths[:2]) + (", …" if len(event.paths) > 2 else "")
            got = event.coverage
            return [
                f"loop {event.loop}/{event.loops}: part {event.part} of {event.parts} ({files}), "
                f"read {got.get('read', 0):,} of {got.get('total', 0):,} {got.get('unit', 'lines')}, "
                f"{counted(event.findings, 'finding')}, {counted(event.tokens, 'token')}, {cost}"
            ]
        case FindingsJudged():
            return [f"checked: {event.confirmed} confirmed, {event.refuted} refuted, {event.cannot_tell} cannot tell"]
        case FindingsAccumulated():
            return [f"found: {line_of(finding)}" for finding in event.findings]
        case LoopWindowApplied():
            return [f"keeping the last {counted(event.kept, 'message')} ({event.removed} older ones left out)"]
        case ReviewFinished():
            lost = [f"lost: {line}" for line in event.lost]
            found = f"{counted(event.unique, 'finding')} of {counted(event.total, 'report')}"
            left = [] if event.complete else ["the review is incomplete: what was not read may hold more"]
            return [*lost, f"{event.end}: {found} in {counted(event.loops, 'loop')}", in_words(event.coverage), *left]
    return []


def planned_lines(event: ReviewPlanned) -> list[str]:
    """What will be read, what is skipped, and what it is expected to take."""
    lines = [f"plan: {event.lines:,} {event.unit} in {counted(event.hunks, 'hunk')}, {counted(event.parts, 'part')}"]
    if event.skipped:
        lines.append(f"{skips_in_words(event.skipped)}; --include PATTERN brings them back")
    return [*lines, *([estimate_in_words(event.estimate)] if event.estimate else [])]


def line_of(finding: Finding) -> str:
    """A finding on one line."""
    mark = f" [{finding.doubt}]" if finding.doubt else ""
    state = f" [{finding.standing}]"
    return (
        f"{finding.id} {finding.place} {finding.code_smell_type} ({finding.severity}): {finding.message}{mark}{state}"
    )


def result_text(end: ReviewFinished, style: str, code: int, least: str = "any") -> str:
    """The result in that format; "" where it was streamed. `code` is what the program will exit with, `least` the
    verdict that a result of SARIF needs."""
    if style == "json":
        return dumps(to_json(end), indent=2)
    if style == "markdown":
        return as_markdown(end.findings, coverage=end.coverage)
    if style == "sarif":
        return dumps(as_sarif([finding for finding in end.findings if finding.sure(least)], end, code), indent=2)
    shown = [line_of(finding) for finding in end.findings if finding.state != "refuted"]
    nothing = "No findings." if end.complete else "No findings in what was read; the review is incomplete."
    return "" if style == "stream-json" else "\n".join(shown) or nothing


async def run_review(review: Review, writer: ReviewWriter) -> tuple[ReviewFinished, int]:
    """Run it to its end; SIGINT and SIGTERM end it with what it has. Returns the sum and 0, 130 or 143.

    Raises:
        SwecliError: it failed; the sum was written before.
    """
    task = asyncio.ensure_future(_consume(review, writer))
    caught: list[int] = []

    def stop(number: int) -> None:
        caught.append(number)
        task.cancel()

    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop, number)
    try:
        return await task, 0
    except asyncio.CancelledError:
        end = review.finish("interrupted")
        writer.write(end)
        return end, 128 + (caught[0] if caught else signal.SIGINT)


async def _consume(review: Review, writer: ReviewWriter) -> ReviewFinished:
    async with aclosing(review.run()) as events:
        async for event in events:
            writer.write(event)
    return review.finish("done")
