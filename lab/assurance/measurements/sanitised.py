"""Control sequences and invisible characters in text that is shown."""

from __future__ import annotations

import asyncio
import random
import unicodedata
from pathlib import Path

from lab.assurance.measurements.rows import Measurement, Row
from swecli.text import sanitize
from tests.support.runtime import calls
from tests.support.screenless import play
from tests.support.scripted import Reply
from tests.support.shown_places import ESCAPING, EVERY, JOINERS, REMOVING, VISIBLE_FORMATS

_SEED = 1
# control characters, format characters without a shape, surrogates, line and paragraph separators
_HIDDEN = {"Cc", "Cf", "Cs", "Zl", "Zp"}
_ORDINARY = ("word", "日本", "می\u200cخواهم", "😀", " ", "[0m", "]", "\n", "\t")
_BLANK_LETTERS = "\u115f\u1160\u3164\uffa0"  # letters for Unicode, and nothing for the eye
# sequences that swecli itself never writes, so that one on the screen comes from the text
_FOREIGN = (
    *(
        "\x1b[38;5;199m",
        "\x1b]0;title\x07",
        "\x1b]52;c;aGk=\x07",
        "\x1b[5i",
        "\x1bPq#0\x1b\\",
        "\x1b(0",
    ),
    *("\x9b38;5;199m", "\x9d0;title\x9c", "\x07", "\x08", "\x0e", "\x7f", "\x85"),
    *("\u202e", "\u2066", "\u200b", "\u2060", "\ufeff", "\xad", "\u3164", "\U000e0041", "\ud800"),
)


def measure(count: int) -> list[Row]:
    """Send all hidden characters and `count` others through each place, a fiftieth of it of random texts through the
    sanitiser, and a ten thousandth through sessions."""
    step = max(1, len(EVERY) // count)
    chosen = [char for at, char in enumerate(EVERY) if at % step == 0 or _is_hidden(char)]
    rows = []
    for place, show in REMOVING.items():
        failures = [f"U+{ord(char):04X}" for char in chosen if _hidden_in(show(f"a{char}b"))]
        rows.append(Row(f"characters through {place}", len(chosen), failures))
    visible = [char for char in chosen if unicodedata.category(char)[0] in "LNPS"]
    failures = [
        f"U+{ord(char):04X}"
        for char in visible
        if char not in sanitize(f"a{char}b") and char not in _BLANK_LETTERS
    ]
    rows.append(Row("letters, digits and signs kept on the screen", len(visible), failures))
    for place, show in ESCAPING.items():
        hidden = [char for char in chosen if _is_hidden(char)]
        failures = [f"U+{ord(char):04X}" for char in hidden if char in show(f"a{char}b")]
        rows.append(Row(f"hidden characters spelled out in {place}", len(hidden), failures))
    chance = random.Random(_SEED)
    texts = [_make_text(chance) for _ in range(count // 50)]
    failures = [ascii(text) for text in texts if not _is_safe(sanitize(text))]
    rows.append(Row("random texts of sequences, halves of them and words", len(texts), failures))
    sessions = [_make_text(chance) for _ in range(max(1, count // 10_000))]
    failures = [ascii(text) for text in sessions if _passes(text)]
    rows.append(Row("sessions that show such a text", len(sessions), failures))
    return rows


def _is_hidden(char: str) -> bool:
    return (
        unicodedata.category(char) in _HIDDEN and char not in "\n\t" and char not in VISIBLE_FORMATS
    )


def _hidden_in(text: str) -> list[str]:
    return [char for char in text if _is_hidden(char)]


def _is_safe(text: str) -> bool:
    """Return whether a sanitised text has nothing hidden, but for joiners, and would not change a second time."""
    return not set(_hidden_in(text)) - set(JOINERS) and sanitize(text) == text


def _make_text(chance: random.Random) -> str:
    """Return whole and cut-off control sequences, invisible characters and words, in any order."""
    pieces = []
    for _ in range(chance.randint(3, 30)):
        piece = chance.choice(chance.choice((_FOREIGN, _ORDINARY)))
        pieces.append(piece[: chance.randint(1, len(piece))] if chance.random() < 0.2 else piece)
    return "".join(pieces)


def _passes(text: str) -> list[str]:
    """Show a text as thought, answer, file, name of a file and output of a command in a session. Returns the sequences
    of it that reached the terminal."""
    name = text.replace("\n", "").replace("/", "").replace("\ud800", "")[:40] or "name"
    folder = Path("shown")
    folder.mkdir(exist_ok=True)
    for old in folder.iterdir():
        old.unlink()
    (folder / name).write_text(text.replace("\ud800", ""), encoding="utf-8")
    looks = calls(
        ("list_files", {"path": "shown"}),
        ("read_file", {"path": f"shown/{name}"}),
        ("run_command", {"command": "cat shown/*; ls shown"}),
        text=text,
    )
    replies = [looks, Reply(f"{text}\nDone.", reasoning=text)]
    played = asyncio.run(play("hello\rexit\r", replies))
    if "Done." not in played.text:
        return ["nothing was shown"]
    return [piece for piece in _FOREIGN if piece in played.text]


_METHOD = """\
Every code point of Unicode that is a control, a format character without a shape, a surrogate or a separator goes,
between two letters, through each place that shows foreign text; it must be gone or spelled out. What a hidden
character is, is asked of Unicode's categories, not of the program's own list. Beside them go all other code points,
random texts, and whole sessions in which such a text is the model's thought and answer, a file, its name and the
output of a command."""

SANITISED = Measurement(
    "Control and invisible characters",
    _METHOD,
    measure,
    quick=10_000,
    whole=len(EVERY),
)
