"""Turns without a screen: prompts from the command line or a pipe, one JSON object a line. Nothing is approved that the
configuration does not allow, and the exit code is that of the last failed turn."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import select
import signal
import threading
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import aclosing, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from swecli.llm.base import BUDGET_HINT, budget_problem
from swecli.models.errors import BadInput, LimitReached, SwecliError
from swecli.models.message import AskRequest, Decision

if TYPE_CHECKING:  # the first prompt is read, and sent, before these are loaded
    from swecli.agent.request_builder import Turn
    from swecli.app import Runtime
    from swecli.config.settings import Settings
    from swecli.headless.writers.base import Writer
    from swecli.llm.base import ChatModel

HEADLESS_REASON = (
    "nobody can be asked in this run; allow it beforehand with a rule (for example "
    'allow = ["run(pytest*)"] in the configuration) or --mode edits|auto'
)
CAPS = ("max_turns", "max_budget", "loop", "length")
_WITHHELD = ("refusal", "content_filter")
_Result = TypeVar("_Result")
_log = logging.getLogger(__name__)
MAX_BYTES = 10_000_000  # of piped input, or of one line of it
PATIENCE = 2.0  # seconds without a byte before the wait is reported


@dataclass(frozen=True, slots=True)
class Prompt:
    """A prompt as typed, and the text that was piped in with it."""

    text: str
    attached: str = ""

    @property
    def enclosed(self) -> str:
        """Return the attached text as it is sent to the model, or ""."""
        return f"<piped>\n{self.attached}\n</piped>" if self.attached else ""


def read_piped(
    descriptor: int,
    warn: Callable[[str], None],
    *,
    max_bytes: int = MAX_BYTES,
    patience: float = PATIENCE,
) -> str:
    """Read stdin to its end; invalid UTF-8 becomes U+FFFD. `warn` gets a line if no byte arrives within `patience`
    seconds. Raises BadInput if the input cannot be read or is longer than `max_bytes`."""
    pieces, length = [], 0
    try:
        if not select.select([descriptor], [], [], patience)[0]:
            warn("swecli: Waiting for the piped input to end.  (To run without any: </dev/null)")
        while piece := _read_some(descriptor):
            pieces.append(piece)
            length += len(piece)
            if length > max_bytes:
                raise BadInput(
                    f"The piped input is longer than {max_bytes:,} bytes.", "Name a file instead."
                )
    except OSError as error:
        raise BadInput(f"The piped input cannot be read: {error.strerror}.") from error
    return b"".join(pieces).decode("utf-8", "replace").strip()


def _read_some(descriptor: int) -> bytes:
    """Read the next bytes, or b"" at the end. Not through `sys.stdin`: a blocked thread would hold its lock, which
    keeps the interpreter from exiting, and it reads nothing from a pipe that another process has made non-blocking."""
    while True:
        try:
            return os.read(descriptor, 65536)
        except BlockingIOError:
            select.select([descriptor], [], [])


async def read_prompts(
    first: Prompt,
    descriptor: int | None = None,
    *,
    max_bytes: int = MAX_BYTES,
    check: Callable[[str], None] = lambda text: None,
) -> AsyncIterator[Prompt]:
    """Yield `first`, unless it is empty, then a prompt for each line `{"type": "user", "text": "..."}` of a file, pipe
    or socket as it arrives. Raises BadInput for an invalid line, or without any prompt, and what `check` raises
    for a line's text."""
    is_any, number = bool(first.text.strip()), 0
    if is_any:
        yield first
    if descriptor is None:
        return
    async for line in _read_lines(descriptor, max_bytes):
        number += 1
        if line.strip():
            is_any, text = True, _parse_line(line, number)
            check(text)
            yield Prompt(text)
    if not is_any:
        raise BadInput("There is no prompt.", _SHAPE)


def _parse_line(line: bytes, number: int) -> str:
    """Return the text of one line. Raises BadInput."""
    try:
        value = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise BadInput(f"Line {number} of the input is not JSON: {error}.", _SHAPE) from error
    text = value.get("text") if isinstance(value, dict) and value.get("type") == "user" else None
    if not isinstance(text, str) or not text.strip():
        raise BadInput(
            f"Line {number} of the input is not an object of type user with a text.", _SHAPE
        )
    return text


_SHAPE = 'Write lines like {"type": "user", "text": "list files"}.'


async def _read_lines(descriptor: int, max_bytes: int) -> AsyncIterator[bytes]:
    """Yield the lines of a file, pipe or socket. A daemon thread reads them: a read that never returns must not delay
    the exit. Raises BadInput if the input cannot be read or a line is longer than `max_bytes`."""
    pieces: asyncio.Queue[bytes | OSError] = asyncio.Queue()
    loop = asyncio.get_running_loop()
    try:
        duplicate = os.dup(
            descriptor
        )  # the number may be reused for another file while the thread still reads
    except OSError as error:
        raise BadInput(f"The input cannot be read: {error.strerror}.") from error
    threading.Thread(target=_put_pieces, args=(duplicate, loop, pieces), daemon=True).start()
    rest = b""
    while piece := await pieces.get():
        if isinstance(piece, OSError):
            raise BadInput(f"The input cannot be read: {piece.strerror}.") from piece
        *lines, rest = (rest + piece).split(b"\n")
        for line in lines:
            yield line
        if len(rest) > max_bytes:
            raise BadInput(
                f"A line of the input is longer than {max_bytes:,} bytes.", "Name a file instead."
            )
    if rest:
        yield rest


def _put_pieces(
    descriptor: int, loop: asyncio.AbstractEventLoop, pieces: asyncio.Queue[bytes | OSError]
) -> None:
    """Put each piece into the queue, last the empty one or the error that ended them; close the descriptor."""
    piece: bytes | OSError = b" "
    with suppress(RuntimeError):  # the loop is closed
        while piece and not isinstance(piece, OSError):
            try:
                piece = _read_some(descriptor)
            except OSError as error:
                piece = error
            loop.call_soon_threadsafe(pieces.put_nowait, piece)
    os.close(descriptor)


def refuse_unpriced(model: ChatModel, settings: Settings) -> None:
    """Raise BadInput for a cost limit that cannot be kept: nobody could stop the run."""
    if problem := budget_problem(model, settings):
        raise BadInput(problem, BUDGET_HINT)


async def refuse(request: AskRequest) -> Decision:
    """Deny the request: there is nobody to ask."""
    reason = HEADLESS_REASON
    if request.remedy:
        why = request.why.rstrip(".")
        reason = (
            f"nobody can be asked in this run, and every mode asks here: {why}; {request.remedy}"
        )
    return Decision(False, reason=reason, by="headless")


async def run_prompts(
    runtime: Runtime, prompts: AsyncIterator[Prompt], writer: Writer, prefetched: Turn | None = None
) -> int:
    """Run and write a turn for each prompt, also after one that failed; `prefetched` is the first one. Returns the exit
    code of the last turn that did not end well, else 0; 128 plus the signal's number if SIGINT, SIGTERM or SIGHUP ended
    the run."""
    code, stopped = await until_signal(_run_turns(runtime, prompts, writer, prefetched))
    if code is None:
        writer.close(stopped)
    return stopped or code or 0


async def until_signal(work: Coroutine[Any, Any, _Result]) -> tuple[_Result | None, int]:
    """Await the work. Returns its result and 0; or None and 128 plus the signal's number if SIGINT, SIGTERM or SIGHUP
    cancelled it."""
    task = asyncio.ensure_future(work)
    caught: list[int] = []

    def stop(number: int) -> None:
        caught.append(number)
        task.cancel()

    loop = asyncio.get_running_loop()
    hangup = (
        {signal.SIGHUP} if signal.getsignal(signal.SIGHUP) != signal.SIG_IGN else set()
    )  # nohup ignores it
    for number in {signal.SIGINT, signal.SIGTERM} | hangup:
        loop.add_signal_handler(number, stop, number)
    try:
        return await task, 0
    except asyncio.CancelledError:
        return None, 128 + (caught[0] if caught else signal.SIGINT)


async def _run_turns(
    runtime: Runtime, prompts: AsyncIterator[Prompt], writer: Writer, prefetched: Turn | None
) -> int:
    code = 0
    writer.begin()
    is_first = True
    try:
        async for prompt in prompts:
            writer.begin()
            runtime.sessions.store_query(
                prompt.text
            )  # before anything is awaited: it must survive a kill
            if is_first:
                is_first = False
                for event in await runtime.learning.check_anchors():
                    writer.write(event)
            turn, prefetched = (
                prefetched or runtime.agent.prepare(prompt.text, prompt.enclosed),
                None,
            )
            ended = await _run_turn(runtime, turn, writer)
            writer.close(ended)
            writer.begin()  # an error while the next prompt is awaited does not belong to this turn
            code = ended or code
    except SwecliError as error:
        if isinstance(error, BadInput):  # the waiting prompt was not sent
            runtime.sessions.drop_query()
        writer.refuse(error)
        code = error.exit_code
    await _reflect(
        runtime, writer, ask=code == 0
    )  # not after an interrupt, nor with a provider that has just failed
    return code


async def _reflect(runtime: Runtime, writer: Writer, *, ask: bool) -> None:
    """Reflect on this run's turns at the end of the process, within the budget; the rest is noted and stays queued."""
    session, learning = runtime.sessions.current_session, runtime.learning
    if session is None or not runtime.settings.learn:
        return
    try:
        if ask and runtime.settings.reflect_at_end:
            pending = runtime.sessions.turns.pending(session.id)
            numbers = [one.interaction for one in pending]
            for event in await learning.reflect(*numbers, ended=True):
                writer.write(event)
        waiting = runtime.sessions.turns.pending(session.id)
    except Exception:  # noqa: BLE001 - a boundary
        _log.exception("reflecting failed")  # the answer is written: the exit code must not change
        return
    if waiting:
        turns = "1 turn waits" if len(waiting) == 1 else f"{len(waiting)} turns wait"
        writer.note(
            f"{turns} to be reflected on: start swecli in a terminal, or run swecli learn --from here"
        )


async def _run_turn(runtime: Runtime, prepared: Turn, writer: Writer) -> int:
    """Run and write one turn; return its exit code."""
    try:
        async with aclosing(runtime.agent.run(prepared)) as events:
            async for event in events:
                writer.write(event)
    finally:  # nobody could see or stop the jobs that it started
        if ended := await runtime.agent.ctx.jobs.close():
            writer.note(ended)
    for learned in runtime.learning.after_turn().events:  # the model reflects at the end of the run
        writer.write(learned)
    turn = writer.turn
    if turn.failed:
        return turn.failed.exit_code
    reason = turn.finished.reason if turn.finished else "done"
    return LimitReached.exit_code if reason in CAPS else 1 if reason in _WITHHELD else 0
