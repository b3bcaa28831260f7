"""Prompts for runs without a screen: one from the command line, or one JSON object a line from a pipe."""

from __future__ import annotations

import asyncio
import json
import os
import select
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from dataclasses import dataclass

from swecli.models.errors import BadInput

LONGEST = 10_000_000  # bytes of what is piped in, or of one line of it
PATIENCE = 2.0  # seconds without a byte before the wait is reported


@dataclass(frozen=True, slots=True)
class Prompt:
    """What the user says, and text that goes with it and is not the user's own words."""

    text: str
    attached: str = ""

    @property
    def enclosed(self) -> str:
        """The attached text as the model gets it, "" for none."""
        return f"<piped>\n{self.attached}\n</piped>" if self.attached else ""


def read_piped(
    descriptor: int, say: Callable[[str], None], *, longest: int = LONGEST, patience: float = PATIENCE
) -> str:
    """Everything that is piped in, "" for nothing. Bytes that are no UTF-8 become U+FFFD. Waits for its end, as nothing
    else shows that it is whole; `say` gets a line about that when it takes long. Raises BadInput: it cannot be read, or
    is longer than `longest` bytes."""
    pieces, length = [], 0
    try:
        if not select.select([descriptor], [], [], patience)[0]:
            say("swecli: Waiting for the piped input to end.  (To run without any: </dev/null)")
        while piece := _read_some(descriptor):
            pieces.append(piece)
            length += len(piece)
            if length > longest:
                raise BadInput(f"The piped input is longer than {longest:,} bytes.", "Name a file instead.")
    except OSError as error:
        raise BadInput(f"The piped input cannot be read: {error.strerror}.") from error
    return b"".join(pieces).decode("utf-8", "replace").strip()


def _read_some(descriptor: int) -> bytes:
    """The next bytes, none at the end. Not through `sys.stdin`: its lock, held by a blocked thread, would keep the
    interpreter from ending, and of a pipe that another process has set to not blocking it would read nothing."""
    while True:
        try:
            return os.read(descriptor, 65536)
        except BlockingIOError:
            select.select([descriptor], [], [])


async def just(prompt: Prompt) -> AsyncIterator[Prompt]:
    """This one."""
    yield prompt


async def from_lines(
    descriptor: int, first: str = "", *, longest: int = LONGEST, check: Callable[[str], None] = lambda text: None
) -> AsyncIterator[Prompt]:
    """One prompt for each line `{"type": "user", "text": "..."}`, as it comes; `first` before them, if there is one.
    Raises BadInput: at a line that is none, naming its number; at the end, when there was not one prompt. SwecliError:
    `check` raised it for the text of a line."""
    if first.strip():
        yield Prompt(first)
    seen, number = bool(first.strip()), 0
    async for line in _lines(descriptor, longest):
        number += 1
        if line.strip():
            seen, prompt = True, Prompt(parse_line(line, number))
            check(prompt.text)
            yield prompt
    if not seen:
        raise BadInput("There is no prompt.", _SHAPE)


def parse_line(line: bytes, number: int) -> str:
    """The text of one line. Raises BadInput."""
    try:
        value = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise BadInput(f"Line {number} of the input is not JSON: {error}.", _SHAPE) from error
    text = value.get("text") if isinstance(value, dict) and value.get("type") == "user" else None
    if not isinstance(text, str) or not text.strip():
        raise BadInput(f"Line {number} of the input is not an object of type user with a text.", _SHAPE)
    return text


_SHAPE = 'Write lines like {"type": "user", "text": "list files"}.'


async def _lines(descriptor: int, longest: int) -> AsyncIterator[bytes]:
    """Lines of a file, pipe or socket, read by a thread of its own: a read that never ends must not hold up the exit.
    Raises BadInput when it cannot be read, or for a line without end."""
    pieces: asyncio.Queue[bytes | OSError] = asyncio.Queue()
    loop = asyncio.get_running_loop()
    try:
        own = os.dup(descriptor)  # the number may be closed and given to another file while the thread still reads
    except OSError as error:
        raise BadInput(f"The input cannot be read: {error.strerror}.") from error
    threading.Thread(target=_read, args=(own, loop, pieces), daemon=True).start()
    held = b""
    while piece := await pieces.get():
        if isinstance(piece, OSError):
            raise BadInput(f"The input cannot be read: {piece.strerror}.") from piece
        *whole, held = (held + piece).split(b"\n")
        for line in whole:
            yield line
        if len(held) > longest:
            raise BadInput(f"A line of the input is longer than {longest:,} bytes.", "Name a file instead.")
    if held:
        yield held


def _read(descriptor: int, loop: asyncio.AbstractEventLoop, pieces: asyncio.Queue[bytes | OSError]) -> None:
    """Hand on each piece, and last what ended them: the empty one, or an error; and close the descriptor."""
    piece: bytes | OSError = b" "
    with suppress(RuntimeError):  # the loop is closed: nobody waits for it any more
        while piece and not isinstance(piece, OSError):
            try:
                piece = _read_some(descriptor)
            except OSError as error:
                piece = error
            loop.call_soon_threadsafe(pieces.put_nowait, piece)
    os.close(descriptor)
