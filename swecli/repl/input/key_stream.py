"""The bytes of a terminal as a stream: text that comes in one burst is one paste, and no sequence is typed as text.

What prompt-toolkit knows is passed on to it. Keys in the encodings that another program may have left switched on are
translated to the usual ones. All other sequences are replies to somebody's questions, and are left out.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator

from prompt_toolkit.input.ansi_escape_sequences import ANSI_SEQUENCES
from prompt_toolkit.key_binding import KeyPress
from prompt_toolkit.keys import Keys

from swecli.repl.input.bursts import Burst

# Switched off at the start, as another program may have ended without doing so: reports of the mouse and of the focus.
RESET_REPORTS = "\x1b[?1000;1002;1003;1004;1005;1006;1015l"
# The same for the keyboard: the protocol of kitty, and xterm's modifyOtherKeys. Only for terminals that know it.
RESET_KEYBOARD = "\x1b[=0u\x1b[>4;0m"

_SEQUENCE = re.compile(
    "\x1b\\[\\[[A-E]"  # F1 to F5 of the Linux console
    "|\x1b\\[M[^\x1b]{3}"  # the mouse, as in the first xterm
    "|\x1b\\[(?P<parameters>[0-?]*)[ -/]*(?P<final>[@-~])"  # CSI
    "|\x1bO[ -~]"  # SS3
    "|\x1b[\\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\\\)"  # OSC, DCS, SOS, PM, APC
    "|\x1b(?:\\[[0-?]+[ -/]*|[\\]PX^_][^\x07\x1b]+)(?=\x1b[^\\\\])"  # one that is broken off by the next
)
_UNFINISHED = re.compile(
    "\x1b(?:\\[\\[|\\[M[^\x1b]{0,2}|\\[[0-?]*[ -/]*|O|[\\]PX^_][^\x07\x1b]*\x1b?)?\\Z"
)
_ALT_LENGTH = 2  # of an unfinished sequence that was a key with Alt
_PATIENCE = 2.0  # seconds for the rest of a sequence: what TCP needs to send lost bytes again
_PASSED = re.compile("\x1b\\[(?:\\d+;\\d+R|<?[\\d;]+[mM]|M...)\\Z", re.DOTALL)  # cursor, mouse
_TEXT = re.compile("[^\x00-\x08\x0b\x0c\x0e-\x1f\x7f]+")
# Enter between two texts. After a backslash it is a new line in any case.
_INNER_ENTER = re.compile(r"[^\r\n\\]\r(?=[\s\S])")
_ENTER_KEY = "\r"
# Characters. Longer text of one read is pasted: nobody types so much while a key is handled, and as keys 100 KB take
# seconds.
_MAX_TYPED = 1000
_RELEASED = "3"  # the event of a key, behind its modifiers
_SHIFT, _ALT, _CTRL = 1, 2, 4
_LOCKS = 64 | 128
_SHIFT_ENTER = "\x1b[27;2;13~"  # prompt-toolkit takes it for Enter
_ENTER, _TAB, _ESCAPE, _BACKSPACE = 13, 9, 27, 127
_FIRST_CHARACTER = 32  # before it are control characters, which no other key has
_FIRST_FUNCTIONAL, _LAST_FUNCTIONAL = 57344, 63743  # kitty's codes of keys without a character


class KeyStream:
    """Takes what was read, and returns what is typed by it: text for the parser of keys, or a whole paste. `is_command`
    tells whether a line is a slash command: see `Burst`."""

    def __init__(self, is_command: Callable[[str], bool] = lambda _: False) -> None:
        self._is_command = is_command
        self._unfinished = ""  # the beginning of a sequence
        self._begun = 0.0  # when that was read; 0.0 if there is none
        self._burst: list[str] = []  # text that may go on in the next read
        self._line = ""  # what was typed of the current line; "" also behind other keys

    def join(self, data: str) -> str:
        """Return what was read with the beginning of a sequence that was kept before it."""
        if time.monotonic() - self._begun > _PATIENCE:
            self._begun = 0.0
            self._unfinished = ""
        joined = self._unfinished + data
        self._unfinished = ""
        return joined

    def feed(self, data: str) -> Iterator[str | KeyPress]:
        """Yield what was typed. What may go on in the next read is kept, for `join` or `flush`."""
        partial = _UNFINISHED.search(data)
        if partial is None:
            self._begun = 0.0
        else:
            self._begun = self._begun or time.monotonic()
            self._unfinished = partial[0]
            data = data[: partial.start()]
        position = 0
        for match in _SEQUENCE.finditer(data):
            yield from self._feed_text(data[position : match.start()])
            position = match.end()
            if key := _read_sequence(match):
                yield from self._feed_keys(key)
        yield from self._feed_text(data[position:])

    def flush(self) -> Iterator[str | KeyPress]:
        """Yield what was kept, as nothing has followed it: but for the beginning of what is no key. Its rest may come
        later, on a slow connection."""
        yield from self._end_burst()
        if len(self._unfinished) <= _ALT_LENGTH:
            yield self._unfinished
            self._unfinished = ""

    def _feed_text(self, data: str) -> Iterator[str | KeyPress]:
        position = 0
        for match in _TEXT.finditer(data):
            yield from self._feed_keys(data[position : match.start()])
            position = match.end()
            text = match[0]
            if self._burst:
                self._burst.append(text)
            elif len(text) > _MAX_TYPED or _INNER_ENTER.search(text):
                burst = text.lstrip("\r")
                yield from self._type(text[: len(text) - len(burst)])  # Enter before it is one
                self._burst.append(burst)
            else:
                yield from self._type(text)
        yield from self._feed_keys(data[position:])

    def _feed_keys(self, keys: str | KeyPress) -> Iterator[str | KeyPress]:
        """Yield other keys: they may change the line, which is not known then."""
        if keys:
            yield from self._end_burst()
            self._line = ""
            yield keys

    def _type(self, text: str) -> Iterator[str]:
        self._line = (self._line + text).rpartition(_ENTER_KEY)[2]
        yield text

    def _end_burst(self) -> Iterator[str | KeyPress]:
        """Yield the burst as a paste between the commands; Enter at its end is one."""
        text = "".join(self._burst)
        self._burst.clear()
        if not text:
            return
        burst = Burst.split(text, _ENTER_KEY, self._is_command, self._line)
        yield from self._type(burst.before)
        pasted = burst.message.removesuffix(_ENTER_KEY)
        if pasted:
            self._line = ""
            yield KeyPress(Keys.BracketedPaste, pasted)
        yield burst.message[len(pasted) :]
        yield from self._type(burst.after)


def _read_sequence(match: re.Match[str]) -> str | KeyPress:
    """Return what a sequence is for the parser, "" if nothing was typed."""
    sequence = match[0]
    is_known = sequence in ANSI_SEQUENCES and sequence != _SHIFT_ENTER
    if is_known or _PASSED.match(sequence):
        return sequence
    final = match["final"]
    fields = [field.split(":") for field in (match["parameters"] or "").split(";")]
    if final == "u":
        return _read_key(fields[0], fields[1:2], fields[2:3])
    if final == "~" and fields[0] == ["27"] and len(fields) == 3:  # modifyOtherKeys
        return _read_key(fields[2], fields[1:2], [])
    return _without_locks(fields, final) if final and len(fields) == 2 else ""


def _without_locks(fields: list[list[str]], final: str) -> str:
    """Return the sequence of an arrow or function key without what kitty's protocol adds to it: whether the key is
    pressed, repeated or released, and the locks of the keyboard. "" if it is released, or unknown then too."""
    (number, *_), (held, *event) = fields
    mask = max(0, _number(held) - 1) & (_SHIFT | _ALT | _CTRL)
    if event == [_RELEASED]:
        return ""
    alone = "" if number == "1" else number
    sequence = f"\x1b[{number};{mask + 1}{final}" if mask else f"\x1b[{alone}{final}"
    return sequence if sequence in ANSI_SEQUENCES else ""


def _read_key(
    codes: list[str], modifiers: list[list[str]], texts: list[list[str]]
) -> str | KeyPress:
    """Return a key by its code, its modifiers and the text that it types, as kitty's protocol gives them."""
    held, *events = modifiers[0] if modifiers else [""]
    numbers = [_number(code) for code in codes]
    code = numbers[0]
    if _RELEASED in events or not code or _FIRST_FUNCTIONAL <= code <= _LAST_FUNCTIONAL:
        return ""
    mask = max(0, _number(held) - 1) & ~_LOCKS
    if mask > (_SHIFT | _ALT | _CTRL):  # with a key of the window system
        return ""
    if code == _ENTER:
        # a paste is text whatever the keys are bound to
        return KeyPress(Keys.BracketedPaste, "\n") if mask & _SHIFT else _alt(mask, "\r")
    if code == _TAB and mask & _SHIFT:
        return "\x1b[Z"
    if code in (_ESCAPE, _TAB, _BACKSPACE):
        return _alt(mask, chr(code))
    if code < _FIRST_CHARACTER:
        return ""
    text = "".join(chr(number) for field in texts for number in map(_number, field) if number)
    if text and not mask & (_CTRL | _ALT):
        return text
    if mask & _SHIFT:
        shifted = numbers[1] if len(numbers) > 1 else 0
        code = shifted or ord(chr(code).upper()[0])
    if mask & _CTRL:
        if not 0x40 <= ord(chr(code).upper()[0]) <= 0x5F and code != ord(" "):
            return ""
        return _alt(mask, chr(ord(chr(code).upper()[0]) & 0x1F))
    return _alt(mask, chr(code))


def _alt(mask: int, key: str) -> str:
    return f"\x1b{key}" if mask & _ALT else key


def _number(field: str) -> int:
    """Return the number of a field, 0 if it is empty or no character."""
    number = int(field) if field.isdecimal() else 0
    return number if number <= 0x10FFFF else 0
