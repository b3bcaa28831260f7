"""The prompt for screen readers, and for terminals that cannot move their cursor: reads and runs one line at a time."""

from __future__ import annotations

import asyncio
import codecs
import os
import select
import shutil
import signal
import sys
import termios
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from prompt_toolkit.output.plain_text import PlainTextOutput

from swecli.actions.editor import run_editor
from swecli.models.errors import BadInput
from swecli.repl.input.action_list import ActionList
from swecli.repl.input.bursts import Burst
from swecli.repl.input.history import LineHistory
from swecli.repl.input.question import Option
from swecli.repl.key_map import KeyMap
from swecli.repl.program import Program
from swecli.repl.render.theme import Theme
from swecli.text import one_line, sanitize, truncate

if TYPE_CHECKING:
    from swecli.config.settings import Start

_PROMPT = "> "
TERMS_WITHOUT_CURSOR = ("", "dumb", "unknown")
_CONTINUED = "\\\n"  # ends a line that goes on in the next one
_GOES_ON = "… "
_MAX_READ = 1 << 16
_MAX_LINE = 4095  # bytes that a terminal keeps of a line: what is typed behind them is lost
_CUT = "Nothing was sent: the terminal cuts lines at 4,095 characters. Put long text in a file: @FILE sends it.\n"
# Bracketed paste: the terminal marks what is pasted. Nothing is drawn by these.
_BRACKETS_ON, _BRACKETS_OFF = "\x1b[?2004h", "\x1b[?2004l"
_PASTE_START, _PASTE_END = "\x1b[200~", "\x1b[201~"
# seconds without a byte after which the end of a paste is lost: terminals send one in a go
_PASTE_GAP = 2.0
# The same for the next one of several lines that come at once: as long as the other prompt waits for the rest of a key.
_BURST_GAP = 0.05
_NO_END = (
    "Nothing was sent: the end of the paste was lost. Put long text in a file: @FILE sends it.\n"
)
# seconds for a second Ctrl+C: a screen reader needs two of them to read the line that asks for it, and a later one
# clears half a line
_LEAVING_SECONDS = 5.0
_CONFIRM = "y"  # as a line, after an answer that lasts


def _has_input() -> bool:
    return bool(select.select([sys.stdin], [], [], 0)[0])


def _give_out_lines(is_whole: bool) -> None:
    """Let the terminal keep a line until it is complete, as it is edited there, or give out all that has come. Nothing
    happens if it is no terminal."""
    stdin = sys.stdin.fileno()
    with suppress(termios.error):
        modes = termios.tcgetattr(stdin)
        modes[3] = modes[3] | termios.ICANON if is_whole else modes[3] & ~termios.ICANON
        termios.tcsetattr(stdin, termios.TCSANOW, modes)


def _without_marks(text: str) -> str:
    return text.replace(_PASTE_START, "").replace(_PASTE_END, "")


def _lines(text: str) -> list[str]:
    """Split whole lines, each with its end."""
    return [f"{line}\n" for line in text.split("\n")[:-1]]


def _join_continued(text: str) -> str:
    """Return a message whose lines all end in a backslash, but for the last one, without these."""
    lines = _lines(text)
    is_continued = all(line.endswith(_CONTINUED) for line in lines[:-1])
    return text.replace(_CONTINUED, "\n", len(lines) - 1) if is_continued else text


class DumbPrompt:
    """Has the methods of `PromptLine`; the terminal driver itself edits the line."""

    color = False
    link_root = None
    has_lists = False  # `choose` takes a number, and no key acts on a line
    has_terminal = True  # which another program could be given
    is_asking = False  # no live line hides what it asks

    def __init__(self, program: Program, start: Start) -> None:
        self.keys = KeyMap.without_keys()
        self.history = LineHistory(start.paths.history, start.cwd)
        self.theme = Theme("none", {})
        self._program = program
        self._start = start
        self._output = PlainTextOutput(sys.stdout)
        self._typed: asyncio.Queue[str] = asyncio.Queue()  # lines; "" at end of input
        # a terminal that knows no control sequences would print them
        self._brackets_pastes = start.environ.get("TERM", "") not in TERMS_WITHOUT_CURSOR
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._pieces: list[str] = []  # of what was typed or pasted, until its last line is complete
        self._is_in_paste = False  # its end has not come
        self._is_cut = False  # one of its lines was
        self._gives_lines = True  # the terminal keeps a line until it is complete
        self._timer: asyncio.TimerHandle | None = None  # until nothing has followed the pieces
        self._reader: asyncio.Task[None] | None = None
        self._error: Exception | None = None
        self._is_prompting = False  # the sign of the prompt is the last that was written
        self._continued = ""  # a message whose last line is still to come
        self._leaving_until = 0.0  # seconds of the loop: until then, a second Ctrl+C quits

    async def run(self) -> None:
        """Read lines until `end` or end of input. Raises the error passed to `end`."""
        loop = asyncio.get_running_loop()
        self._reader = loop.create_task(self._submit_lines())
        loop.add_reader(sys.stdin.fileno(), self._read)
        loop.add_signal_handler(signal.SIGINT, self._handle_sigint)
        self._program.start_loading()
        if self._brackets_pastes:
            self.write(_BRACKETS_ON)
        await asyncio.wait([self._reader])
        self._give_out(whole_lines=True)
        if self._brackets_pastes:
            self.write(_BRACKETS_OFF)
        if self._error is not None:
            raise self._error

    async def _submit_lines(self) -> None:
        while True:
            await self._program.queue.needs_line.wait()
            self.write(_PROMPT)
            self._is_prompting = True
            line = await self._typed.get()
            self._is_prompting = False
            self._leaving_until = 0.0
            while line.endswith(_CONTINUED):
                self._continued = line.removesuffix(_CONTINUED) + "\n"
                self.write(_GOES_ON)
                next_line = await self._typed.get()
                line = self._continued + next_line  # Ctrl+C may have taken what came before
                self._continued = ""
                self._is_prompting = False
            if not line:
                return
            self.history.append_string(line.rstrip("\n"))
            self._program.submit(line)

    def _read(self) -> None:
        data = b""
        is_at_end = False
        try:
            # asked before each read, also the first: Ctrl+C makes a terminal forget what it was about to give, and a
            # read that waits would hold up the program
            while len(data) < _MAX_READ and not is_at_end and _has_input():
                piece = os.read(sys.stdin.fileno(), _MAX_READ)
                is_at_end = not piece
                data += piece
                # many lines are no typed one: the last of them may be longer than the terminal keeps
                if self._gives_lines and data.count(b"\n") > 1:
                    self._note_cut_lines(data)
                    self._give_out(whole_lines=False)
        except OSError:  # the terminal is closed
            asyncio.get_running_loop().remove_reader(sys.stdin.fileno())
            is_at_end = True
        if self._gives_lines:
            self._note_cut_lines(data)
        if text := self._decoder.decode(data):
            self._collect(text)
        if is_at_end:
            self._send_pieces()
            self._typed.put_nowait("")

    def _note_cut_lines(self, data: bytes) -> None:
        if any(len(line) >= _MAX_LINE for line in data.split(b"\n")):
            self._is_cut = True

    def _give_out(self, *, whole_lines: bool) -> None:
        if whole_lines != self._gives_lines:
            self._gives_lines = whole_lines
            _give_out_lines(whole_lines)

    def _collect(self, text: str) -> None:
        """Take what was read. A paste may come in many pieces, and ends with the line that it is in; lines without its
        marks end when nothing follows them."""
        # a mark may have begun in the pieces before
        before = "".join(self._pieces[-len(_PASTE_END) :])
        marks = before[1 - len(_PASTE_END) :] + text
        start = marks.rfind(_PASTE_START)
        end = marks.rfind(_PASTE_END)
        if start != end:
            self._is_in_paste = start > end
        self._pieces.append(text)
        if self._timer is not None:
            self._timer.cancel()
        loop = asyncio.get_running_loop()
        if self._is_in_paste:
            self._give_out(whole_lines=False)
            self._timer = loop.call_later(_PASTE_GAP, self._drop_paste)
        else:
            self._timer = loop.call_later(_BURST_GAP, self._end_burst)

    def _end_burst(self) -> None:
        """Send what has come, if its last line is complete."""
        self._give_out(whole_lines=True)
        if self._pieces[-1].endswith("\n"):
            self._send_pieces()

    def _send_pieces(self) -> None:
        """Pass on what has come, as one message and the commands around it."""
        was_cut = self._is_cut
        text = self._take_pieces()
        if was_cut:
            self.write(_CUT)
        elif _PASTE_START in text:
            # Enter ends the message, not the lines of what was pasted
            self._typed.put_nowait(_without_marks(text))
        else:
            burst = Burst.split(text, "\n", self._program.is_command)
            for line in (
                *_lines(burst.before),
                _join_continued(burst.message),
                *_lines(burst.after),
            ):
                if line:
                    self._typed.put_nowait(line)

    def _take_pieces(self) -> str:
        if self._timer is not None:
            self._timer.cancel()
        self._give_out(whole_lines=True)
        text = "".join(self._pieces)
        self._pieces.clear()
        self._is_in_paste = False
        self._is_cut = False
        return text

    def _drop_paste(self) -> None:
        """Forget a paste whose end was in a line that the terminal has cut: it would take all that is typed."""
        self._take_pieces()
        self.write(_NO_END)

    def _handle_sigint(self) -> None:
        """Interrupt what runs, else give back what has not begun yet, else quit if the user asked before."""
        if not self._is_prompting:  # else it is done with what is written next
            self.write("\n")  # the terminal has printed ^C
        now = asyncio.get_running_loop().time()
        if self._program.working:
            self._program.interrupt()
        elif not_begun := self._take_not_begun():
            self.set_draft(not_begun)
        elif now < self._leaving_until:
            self._program.quit()
        else:
            self._leaving_until = now + _LEAVING_SECONDS
            self.write("Press Ctrl+C again to quit.\n")

    def _take_not_begun(self) -> str:
        """Return what was typed or pasted and has not begun, "" for nothing."""
        queued = [f"{line}\n" for line in self._program.queue.lines]
        self._program.queue.clear()
        text = "".join([*queued, self._continued, _without_marks(self._take_pieces())])
        if self._continued:  # its next line would be asked for
            self._continued = ""
            self._is_prompting = True
        return text.rstrip("\n")

    def end(self, error: Exception | None = None) -> None:
        self._error = self._error or error
        if self._reader is not None:
            self._reader.cancel()

    @property
    def size(self) -> tuple[int, int]:
        """Return the terminal's columns and rows."""
        return shutil.get_terminal_size()

    def set_draft(self, text: str, offered: bool = False) -> None:
        """Print a line that can be sent again: this terminal's line cannot be filled."""
        self.write(f"to send again: {truncate(sanitize(text), _MAX_LINE)}\n")

    def write(self, text: str) -> None:
        """Print text; lines that come while the user may be typing stand below the prompt, which is printed again."""
        if self._is_prompting and text:
            text = f"\n{text}"
            if text.endswith("\n"):
                text += _PROMPT
        self._output.write_raw(text)
        self._output.flush()

    def close_output(self) -> None:
        self.write("\n")

    def _ignore(self, *_: object) -> None:
        """Do nothing: the terminal echoes lines itself, may print control sequences, and cannot remove text."""

    echo = notify = show_live = redraw = _ignore

    async def choose(
        self,
        title: str,
        options: Sequence[Option],
        details: Sequence[Sequence[str]] = (),
        *,
        guarded: bool = False,
        default: int | None = None,
        escape: str = "",
    ) -> int | None:
        """Ask the user to type an option's key, number or letter; return its index, or `default` for an empty line. An
        answer with a confirmation takes a second line. `escape` is about a key that this prompt does not see."""
        keys = [option.key or str(number) for number, option in enumerate(options, 1)]
        rows = [
            f"{key} {one_line(option.label)}" for key, option in zip(keys, options, strict=True)
        ]
        self.write("\n".join([sanitize(title), *rows]) + "\n")
        if guarded:  # discard what was typed before the question was shown
            with suppress(termios.error):
                termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)
            self._typed = asyncio.Queue()
            self._take_pieces()
        answers = {option.letter: index for index, option in enumerate(options)}
        answers |= {key: index for index, key in enumerate(keys)}
        proposed: int | None = None  # index of the option that the next line may confirm
        while typed := await self.ask_text(_PROMPT.strip()):
            if proposed is not None and typed == _CONFIRM:
                return proposed
            index = answers.get(typed)
            if index is not None and not options[index].confirmation:
                return index
            proposed = index
            if index is not None:
                self.write(f"{one_line(options[index].confirmation)} {_CONFIRM} to confirm\n")
        return default

    async def choose_action(self, actions: ActionList) -> tuple[int, str] | None:
        """Choose nothing: see `has_lists`."""
        return None

    async def ask_text(self, label: str, text: str = "") -> str | None:
        """Return a line that the user types, or None for an empty one. `text`, which it may begin with, is shown: this
        prompt cannot put it into the line."""
        before = f" ({sanitize(text)})" if text else ""
        self.write(f"{sanitize(label)}{before} ")
        return (await self._typed.get()).strip() or None

    async def run_in_foreground(self, command: str) -> int:
        """Give the terminal to a command line of the user; return its exit code. Raises BadInput."""
        # late: few lines are such
        from swecli.repl.foreground import run_in_foreground

        loop = asyncio.get_running_loop()
        stdin = sys.stdin.fileno()
        start = self._start
        loop.remove_reader(stdin)  # the command reads what is typed
        try:
            return await asyncio.to_thread(run_in_foreground, command, start.cwd, start.environ)
        finally:
            loop.add_reader(stdin, self._read)

    async def ask_secret(self, label: str) -> str | None:
        """Refuse to ask: what is typed here is shown. Raises BadInput."""
        raise BadInput(
            f"{label.partition(' (')[0]}: it would be shown here as you type.",
            "Set the variable of the service, or start without --plain.",
        )

    async def open_editor(self, environ: Mapping[str, str], path: Path, line: int) -> None:
        loop = asyncio.get_running_loop()
        stdin = sys.stdin.fileno()
        loop.remove_reader(stdin)  # the editor reads what is typed
        try:
            await asyncio.to_thread(run_editor, environ, path, line)
        finally:
            loop.add_reader(stdin, self._read)
