"""The background commands of a run, the names in which a session keeps them, and those that an earlier run lost."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Collection, Iterable
from dataclasses import field
from typing import TYPE_CHECKING

from swecli.models.message import ChatMessage
from swecli.models.notes import LostJobNote
from swecli.tools.limits import (
    TIMEOUT_CODE,
    HeadTail,
    escape_invalid_bytes,
    excess,
    one_line,
    strip_terminal_codes,
)
from swecli.values import dataclass

if TYPE_CHECKING:
    from swecli.models.session import Session
    from swecli.tools.processes import ProcessExit

_MAX_COMMAND = 60  # characters


def job_name(number: int, command: str) -> str:
    """Return a job's name: `job 3 (make watch)`."""
    words = " ".join(one_line(command).split())  # as in a note, which has no other whitespace
    return f"job {number} ({words[:_MAX_COMMAND].rstrip()})"


@dataclass(frozen=True, slots=True)
class EndedJob:
    """The end of a job: its name, and the line that reports it to the model."""

    name: str
    report: str


def lost_jobs(messages: Iterable[ChatMessage], present: Collection[str]) -> list[str]:
    """Return the names of the jobs that were started in these messages and whose end was never reported, without those
    `present` in this run: they ended with the run that had started them."""
    started: dict[str, None] = {}
    for message in messages:
        for call in message.tool_calls:
            if call.effects.job:
                started[job_name(call.effects.job, call.effects.ran)] = None
        for name in [name for name in started if _tells_end(message, name)]:
            del started[name]
    return [name for name in started if name not in present]


def _tells_end(message: ChatMessage, name: str) -> bool:
    """Return whether a message told the model that a job ended."""
    if LostJobNote(name) in message.notes or name in message.ended_jobs:
        return True
    return any(name in call.ended_jobs for call in message.tool_calls)


@dataclass(slots=True)
class Watch:
    """What is done at a look at a background command: `restore` puts back what it did to protected files, and returns a
    line for each; nothing for one that runs in no sandbox."""

    restore: Callable[[], list[str]] = list


@dataclass(slots=True, eq=False)
class Job:
    """A background command, started by a turn of a session. Times are seconds of the monotonic clock, or nanoseconds
    since 1970 as of files; those of the end are 0 while it runs."""

    number: int
    command: str  # on one line
    output: HeadTail
    task: asyncio.Task[ProcessExit]
    limit: float | None  # seconds
    watch: Watch = field(default_factory=Watch)
    session_id: str = ""
    interaction: int = 0
    started_at: float = field(default_factory=time.monotonic)
    ended_at: float = 0.0
    began_ns: int = field(default_factory=time.time_ns)
    ended_ns: int = 0
    size_read: int = -1  # characters of output when the model last read it; -1: never

    @property
    def state(self) -> str:
        """`running for 12 s`, `exit code 0 after 3 s`, or `stopped: it took longer than 5 s (exit code 124)`."""
        seconds = f"{(self.ended_at or time.monotonic()) - self.started_at:,.0f} s"
        if not self.ended_at:
            return f"running for {seconds}"
        if self.task.cancelled():
            return f"stopped after {seconds}"
        if error := self.task.exception():
            return f"failed ({error}) after {seconds}"
        end = self.task.result()
        if end.reason == "timeout":
            return f"stopped: {excess(self.limit)} (exit code {TIMEOUT_CODE})"
        return f"exit code {end.code} after {seconds}"

    async def look(self) -> None:
        """Put back what it did to protected files so far; its output names that. At its end that is done anyway."""
        if self.ended_at:
            return
        for line in await asyncio.to_thread(self.watch.restore):
            self.output.add(f"[{escape_invalid_bytes(line)}]\n")

    @property
    def text(self) -> str:
        """The output so far as plain lines, after a note if it is not whole."""
        text = strip_terminal_codes(self.output.text())
        return f"{self.output.loss}\n{text}" if self.output.loss else text

    def __str__(self) -> str:
        return job_name(self.number, self.command)


class Jobs:
    """The background commands of a run. Each that ends is in `ended` until the model is told, and its line for the
    screen in the queue `finished`."""

    def __init__(self) -> None:
        self.all: list[Job] = []
        self.ended: list[EndedJob] = []
        self.finished: asyncio.Queue[str] = asyncio.Queue()

    @property
    def running(self) -> list[Job]:
        return [job for job in self.all if not job.ended_at]

    @property
    def names(self) -> frozenset[str]:
        return frozenset(map(str, self.all))

    def running_of(self, session_id: str, first: int) -> list[Job]:
        """Return the running jobs that the turns of a session from `first` on have started."""
        return [
            job for job in self.running if job.session_id == session_id and job.interaction >= first
        ]

    def find(self, name: str) -> Job | None:
        """Return the job with a name like `job-3`."""
        return next((job for job in self.all if f"job-{job.number}" == name), None)

    def add(
        self,
        command: str,
        output: HeadTail,
        task: asyncio.Task[ProcessExit],
        limit: float | None,
        watch: Watch,
        session: Session | None = None,
    ) -> Job:
        """Add a running command, started by the newest turn of a session."""
        job = Job(len(self.all) + 1, one_line(command), output, task, limit, watch)
        if session is not None:
            job.session_id = session.id
            job.interaction = session.interactions
        self.all.append(job)
        task.add_done_callback(lambda _: self._record_end(job))
        return job

    def _record_end(self, job: Job) -> None:
        job.ended_at = time.monotonic()
        job.ended_ns = time.time_ns()
        line = f"background {job}: {job.state}"
        report = f'[{line}; its output: read_result(call_id="job-{job.number}")]'
        self.ended.append(EndedJob(str(job), report))
        self.finished.put_nowait(line)

    def take_ended(self) -> list[EndedJob]:
        """Remove and return the jobs whose end the model was not told."""
        ended = self.ended
        self.ended = []
        return ended

    async def stop(self, jobs: Collection[Job]) -> None:
        """Terminate jobs with all their processes, and wait for their end."""
        for job in jobs:
            job.task.cancel()
        if jobs:
            await asyncio.wait([job.task for job in jobs])

    async def close(self) -> str:
        """Stop all jobs. Return a line that names those that were running, "" if none was."""
        running = self.running
        await self.stop(running)
        return f"stopped in the background: {', '.join(map(str, running))}" if running else ""
