"""Read prompts: the piped text of one, or one JSON object a line as it arrives."""

from __future__ import annotations

import asyncio
import json
import os
import select
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from pathlib import Path

from swecli.models.errors import BadInput
from swecli.values import dataclass

MAX_BYTES = 10_000_000  # of piped input, or of one line of it
PATIENCE = 3.0  # seconds without a byte: then the wait is reported, or ends if there is a prompt
_PIPELINE_PATIENCE = 20.0  # the same where a program of a pipeline may still work before it writes
_WAITING = "swecli: Waiting for the piped input to end.  (To run without any: </dev/null)"
_LINE_HINT = 'Write lines like {"type": "user", "text": "list files"}.'


@dataclass(frozen=True, slots=True)
class Prompt:
    """A prompt as typed, and the text that was piped in with it."""

    text: str
    attachment: str = ""  # "" for none

    @property
    def tagged_attachment(self) -> str:
        """The attachment as it is sent to the model, "" if there is none."""
        return f"<piped>\n{self.attachment}\n</piped>" if self.attachment else ""


def read_piped(
    descriptor: int,
    warn: Callable[[str], None],
    *,
    is_needed: bool = True,
    max_bytes: int = MAX_BYTES,
    patience: float = PATIENCE,
) -> str:
    """Read stdin to its end; invalid UTF-8 becomes U+FFFD. After `patience` seconds without a byte `warn` gets a line,
    once. The first byte is waited for only if it is needed, for there is no other prompt: who starts this program may
    have left a pipe open that nobody writes to. Behind it more may come, which must not be missing. Raises BadInput if
    the input cannot be read or is longer than `max_bytes`."""
    pieces = []
    length = 0
    try:
        is_silent = not select.select([descriptor], [], [], patience)[0]
        if is_silent and not is_needed:
            more = _PIPELINE_PATIENCE - patience if _has_other_writer(descriptor) else 0
            if not select.select([descriptor], [], [], more)[0]:
                warn(
                    f"swecli: Nothing was piped in within {patience + more:.0f} s: goes on without.  "
                    "(To say that there is nothing: </dev/null)"
                )
                return ""
        elif is_silent:
            warn(_WAITING)
        has_warned = is_silent
        while piece := _read_some(descriptor):
            pieces.append(piece)
            length += len(piece)
            if length > max_bytes:
                raise BadInput(
                    f"The piped input is longer than {max_bytes:,} bytes.", "Name a file instead."
                )
            if not has_warned and not select.select([descriptor], [], [], patience)[0]:
                has_warned = True
                warn(_WAITING)
    except OSError as error:
        raise BadInput(f"The piped input cannot be read: {error.strerror}.") from error
    return b"".join(pieces).decode("utf-8", "replace").strip()


def _has_other_writer(descriptor: int) -> bool:
    """Return whether a program beside this one may write to a pipe, as in a pipeline of a shell: none of those that
    have started this one. False also where the system does not tell."""
    processes = Path("/proc")
    try:
        pipe = (processes / f"self/fd/{descriptor}").readlink()
        ancestors = {os.getpid()}
        parent = os.getppid()
        while parent and parent not in ancestors:
            ancestors.add(parent)
            status = (processes / str(parent) / "stat").read_text(errors="replace")
            parent = int(status.rpartition(")")[2].split()[1])
    except (OSError, ValueError):
        return False
    others = (process for process in processes.glob("[0-9]*") if int(process.name) not in ancestors)
    return any(_writes_to(process, pipe) for process in others)


def _writes_to(process: Path, pipe: Path) -> bool:
    with suppress(OSError, ValueError):  # another user's, or it has ended
        for opened in (process / "fd").iterdir():
            if opened.readlink() == pipe:
                status = (process / "fdinfo" / opened.name).read_text()
                flags = int(status.partition("flags:")[2].split()[0], 8)
                return flags & os.O_ACCMODE != os.O_RDONLY
    return False


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
    is_any = bool(first.text.strip())
    number = 0
    if is_any:
        yield first
    if descriptor is None:
        return
    async for line in _read_lines(descriptor, max_bytes):
        number += 1
        if line.strip():
            is_any = True
            text = _parse_line(line, number)
            check(text)
            yield Prompt(text)
    if not is_any:
        raise BadInput("There is no prompt.", _LINE_HINT)


def _parse_line(line: bytes, number: int) -> str:
    """Return the text of one line. Raises BadInput."""
    try:
        value = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise BadInput(f"Line {number} of the input is not JSON: {error}.", _LINE_HINT) from error
    text = value.get("text") if isinstance(value, dict) and value.get("type") == "user" else None
    if not isinstance(text, str) or not text.strip():
        raise BadInput(
            f"Line {number} of the input is not an object of type user with a text.", _LINE_HINT
        )
    return text


async def _read_lines(descriptor: int, max_bytes: int) -> AsyncIterator[bytes]:
    """Yield the lines of a file, pipe or socket. A daemon thread reads them: a read that never returns must not delay
    the exit. Raises BadInput if the input cannot be read or a line is longer than `max_bytes`."""
    pieces: asyncio.Queue[bytes | OSError] = asyncio.Queue()
    loop = asyncio.get_running_loop()
    try:
        # the number may be reused for another file while the thread still reads
        duplicate = os.dup(descriptor)
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
