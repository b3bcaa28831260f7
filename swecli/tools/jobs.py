"""Commands that go on in the background, with what they print, until they end or the program does."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Collection
from dataclasses import dataclass, field

from swecli.tools.limits import HeadTail, one_line, strip_terminal_codes
from swecli.tools.processes import ProcessExit

_MOST = 16  # at once


@dataclass(slots=True, eq=False)
class Job:
    """A command, on one line, that runs in the background. `begun` and `over` are seconds of the monotonic clock."""

    number: int
    command: str
    output: HeadTail
    task: asyncio.Task[ProcessExit]
    begun: float = field(default_factory=time.monotonic)
    over: float = 0.0

    @property
    def state(self) -> str:
        """`running for 12 s`, or how it ended."""
        seconds = f"{(self.over or time.monotonic()) - self.begun:,.0f} s"
        if not self.over:
            return f"running for {seconds}"
        if self.task.cancelled():
            return f"stopped after {seconds}"
        error = self.task.exception()
        return f"{f'failed ({error})' if error else f'exit code {self.task.result().code}'} after {seconds}"

    @property
    def text(self) -> str:
        """What it has printed so far, as plain lines."""
        return strip_terminal_codes(self.output.text())

    def __str__(self) -> str:
        return f"job {self.number} ({self.command[:60]})"


class Jobs:
    """The background commands of a run. `notices` are lines on those that have ended, for the model's next request;
    `ended` has the same lines for who waits for them."""

    def __init__(self) -> None:
        self.all: list[Job] = []
        self.notices: list[str] = []
        self.finished: asyncio.Queue[str] = asyncio.Queue()

    @property
    def running(self) -> list[Job]:
        """Those that have not ended."""
        return [job for job in self.all if not job.over]

    @property
    def is_full(self) -> bool:
        """Whether no more may be added."""
        return len(self.running) >= _MOST

    def find(self, name: str) -> Job | None:
        """The job of a name, `job-3`."""
        return next((job for job in self.all if f"job-{job.number}" == name), None)

    def add(self, command: str, output: HeadTail, task: asyncio.Task[ProcessExit]) -> Job:
        """Take over a command that runs."""
        job = Job(len(self.all) + 1, one_line(command), output, task)
        self.all.append(job)
        task.add_done_callback(lambda _: self._note_end(job))
        return job

    def _note_end(self, job: Job) -> None:
        job.over = time.monotonic()
        line = f"background {job}: {job.state}"
        self.notices.append(f'[{line}; its output: read_result(call_id="job-{job.number}")]')
        self.finished.put_nowait(line)

    def pop_notices(self) -> list[str]:
        """The lines for the model; they are forgotten here."""
        notices, self.notices = self.notices, []
        return notices

    async def stop(self, jobs: Collection[Job]) -> None:
        """End these with all that they started, and wait for it: asked first, killed after a moment."""
        for job in jobs:
            job.task.cancel()
        if jobs:
            await asyncio.wait([job.task for job in jobs])

    async def close(self) -> str:
        """End them all; a line that names those that ran, "" where none did."""
        running = self.running
        await self.stop(running)
        return f"ended in the background: {', '.join(map(str, running))}" if running else ""
