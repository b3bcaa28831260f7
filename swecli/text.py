"""Foreign text made safe to show and to store: which characters are invisible, and what becomes of them; one line, a
fence, valid UTF-8. Standard library only: errors at the start need it too."""

from __future__ import annotations

import re
from functools import cache

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pathlib import Path

# Control sequences are removed whole, so that no printable rest ("[31m") remains. Each is bounded: an unterminated one
# must not remove the text that follows. The first characters stand in one class, for which `re` scans seven times
# faster than for alternatives: a paste may have 10 MB.
CONTROL_SEQUENCE = re.compile(
    "[\x1b\x90\x98\x9b\x9d-\x9f](?:"
    "(?:(?<=\x1b)\\[|(?<=\x9b))[0-?]{0,64}[ -/]{0,8}[@-~]"
    "|(?:(?<=\x1b)[\\]PX^_]|(?<![\x1b\x9b]))[^\x1b\x07\x9c\n]{0,2000}(?:\x07|\x1b\\\\|\x9c)"
    "|(?<=\x1b)[ -/]{0,4}[0-Z\\\\^-~])"
)
# The one definition of an invisible character, as the inside of a class of a pattern. The joiners, line separators and
# lone surrogates beside it are not in it, because they are replaced or kept by rules of their own.
INVISIBLE = (
    "\x00-\x08\x0b-\x1f\x7f-\x9f"  # C0 without tab and newline, DEL, C1
    # Default_Ignorable_Code_Point of the Unicode Character Database: soft hyphen, fillers, bidi controls, zero width,
    # variation selectors, shorthand and musical controls, tag letters
    "\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\u3164"
    "\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufff8\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
    "\u070f\ufff9-\ufffb\U00013430-\U0001343f"  # other format characters without a shape: annotations, hieroglyphs
    "\ufdd0-\ufdef" + "".join(f"{chr(plane | 0xFFFE)}{chr(plane | 0xFFFF)}" for plane in range(0, 0x110000, 0x10000))
)  # fmt: skip
_JOINERS = "\u200c\u200d"
_SURROGATES = "\ud800-\udfff"
_SPACES = "\xa0\u1680\u2000-\u200a\u202f\u205f\u2800\u3000"  # what looks like a space and is none
_PRIVATE = (
    "\ue000-\uf8ff\U000f0000-\U000ffffd\U00100000-\U0010fffd"  # only a font knows their shape
)
# Zero-width joiners shape words in Arabic, Persian and Indic scripts; anywhere else they are only invisible.
_JOINING = "\u0620-\u06ff\u0750-\u077f\u08a0-\u08ff\u0900-\u0dff\u0f00-\u0fff\u1000-\u109f"

# in ordinary text: a variation selector (a run of them shapes nothing), a soft hyphen, a byte order mark
_SHAPING = re.compile("(?<![\ufe00-\ufe0f])[\ufe00-\ufe0f](?![\ufe00-\ufe0f])|[\xad\ufeff]")
_LONE_SURROGATE = re.compile(f"[{_SURROGATES}]")
_LINE_END = re.compile("\r\n|[\r\u2028\u2029]")
# Unicode Technical Standard 51: U+FE0F colours a pictograph, a joiner makes one of several, a keycap has a digit.
_PICTOGRAPH = (
    "[\xa9\xae\u203c\u2049\u2122\u2139\u2190-\u21ff\u2300-\u27bf\u2900-\u297f\u2b00-\u2bff\u3030\u303d\u3297\u3299"
    "\U0001f000-\U0001faff]+\ufe0f?"
)
_EMOJI = f"{_PICTOGRAPH}(?:\u200d{_PICTOGRAPH})*|[#*0-9]\ufe0f\u20e3"
# a text, because compiling it takes a millisecond, which ordinary text does not need
_EMOJI_OR_STRAY = (
    f"(?P<emoji>{_EMOJI})|\ufe0f"
    f"|(?<![{_JOINING}])[{_JOINERS}]+|[{_JOINERS}]+(?![{_JOINING}])|[{_JOINERS}]{{2,}}"
)


def sanitize(text: str, keep_newlines: bool = True) -> str:
    """Remove control sequences and invisible characters, except tabs and newlines.

    Line ends of every kind become "\\n", lone surrogates U+FFFD. Without `keep_newlines`, newlines and tabs become
    spaces. Idempotent.
    """
    letters = text.replace("\n", "").replace("\t", "")
    if not (letters.isascii() and letters.isprintable()):
        text = _LINE_END.sub("\n", CONTROL_SEQUENCE.sub("", text))
        text = _LONE_SURROGATE.sub("\ufffd", _hidden_run().sub("", text))
        text = re.sub(_EMOJI_OR_STRAY, lambda match: match["emoji"] or "", text)
    return text if keep_newlines else text.replace("\n", " ").replace("\t", " ")


def decode_text(data: bytes) -> str:
    """Return the UTF-8 text of a file that instructs the model: line ends become "\\n", invalid bytes are replaced, and
    what a person who trusts the file cannot see is left out."""
    return sanitize(data.decode("utf-8-sig", "replace"))


def count_hidden(text: str) -> int:
    """Return how many invisible characters a text has that shape no visible one: they may be a text of their own."""
    visible = _SHAPING.sub("", _LINE_END.sub("\n", text))
    return sum(map(len, _invisible_run().findall(visible)))


@cache  # compiling takes 4 ms, which a start without such a character does not need
def _invisible_run() -> re.Pattern[str]:
    return re.compile(f"[{INVISIBLE}]+")


@cache  # as above
def _hidden_run() -> re.Pattern[str]:
    """Return the pattern of the same without U+FE0F, which belongs to what precedes it."""
    return re.compile(f"(?:(?!\ufe0f)[{INVISIBLE}])+")


@cache  # as above
def unclear_character() -> re.Pattern[str]:
    """Return the pattern of a character that is spelled out where a person decides, because it cannot be seen or not be
    told from a space. Tabs and newlines are not."""
    return re.compile(f"[{INVISIBLE}{_SURROGATES}{_JOINERS}\u2028\u2029{_SPACES}{_PRIVATE}]")


def escape_hidden(text: str, keep: str = "\n\t") -> str:
    """Return `text` with the characters that cannot be seen, and unusual spaces, as escapes (`\\x1b`,
    `\\u202e`). `keep` are tabs and newlines, or nothing."""
    if text.isascii() and text.isprintable():
        return text
    escaped = unclear_character().sub(lambda match: _escape(match[0]), text)
    for char in "\t\n":
        if char not in keep:
            escaped = escaped.replace(char, _escape(char))
    return escaped


def _escape(char: str) -> str:
    code = ord(char)
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def truncate(text: str, limit: int) -> str:
    """Return at most `limit` characters of the text; if it is longer, the last one is an ellipsis."""
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


def shorten(text: str, limit: int) -> str:
    """Collapse whitespace and truncate to `limit` characters, with an ellipsis."""
    line = " ".join(text.split())
    return line if len(line) <= limit else f"{line[: limit - 1].rstrip()}…"


def one_line(text: str, limit: int = 400) -> str:
    """Sanitize and join into one line, truncated to `limit` characters with an ellipsis."""
    line = " ".join(sanitize(text[: limit * 4], keep_newlines=False).split())
    return truncate(line, limit)


def fence(text: str, language: str = "") -> str:
    """Return text as a Markdown code block whose fence is longer than any in it, so that it cannot end the block."""
    longest = max(map(len, re.findall("`+", text)), default=0)
    ticks = "`" * max(3, longest + 1)
    return f"{ticks}{language}\n{text}\n{ticks}"


def join_surrogates(text: str) -> str:
    """Return text that can be encoded: surrogate pairs that were split are joined, lone surrogates become U+FFFD."""
    if text.isascii():
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def short_path(path: Path) -> str:
    """Return the path with the home folder as `~`."""
    try:
        inside = path.relative_to(path.home())
    except (ValueError, RuntimeError):  # elsewhere, or there is no home folder
        return str(path)
    return f"~/{inside}" if inside.parts else "~"


LONGEST_ERROR = 2000  # characters of its line


def complaint(message: str, hint: str) -> str:
    """Format an error as one line: what is wrong and what to do."""
    return f"swecli: {one_line(message, LONGEST_ERROR)}  {one_line(hint, LONGEST_ERROR)}".rstrip()
