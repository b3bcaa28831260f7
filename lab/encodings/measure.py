"""Measures how many comments in old encodings are read right: `python -m lab.encodings.measure`.

The comments are the translated messages of programs that are installed here, in /usr/share/locale: one word of a
message, one message, three messages in 2,000 lines of code. With `--shares` also with half and twice of each share that
`swecli/encoding_guess.py` assumes.
"""

from __future__ import annotations

import gettext
import random
import sys
from collections.abc import Iterator
from pathlib import Path

from swecli import encoding_guess
from swecli.text_files import decode

_LOCALES = Path("/usr/share/locale")
_ENCODINGS = {
    **dict.fromkeys(("ca", "da", "de", "es", "fi", "fr", "it", "nb", "nl", "pt_BR", "sv"), "cp1252"),
    **dict.fromkeys(("cs", "hr", "hu", "pl"), "cp1250"),
    **dict.fromkeys(("bg", "ru", "uk"), "cp1251"),
    **{"el": "cp1253", "tr": "cp1254", "he": "cp1255", "ar": "cp1256", "lt": "cp1257", "th": "cp874"},
    **{"zh_CN": "gb18030", "zh_TW": "big5", "ja": "cp932", "ko": "cp949"},
}  # fmt: skip
_LONGEST = 200  # characters of a message
_COMMENTS = 100  # of each kind
_CODE = "int x = 1;\n"
_SHARES = ("_ACCENTED_SHARE", "_CAPITAL_SHARE", "_FREQUENT_SHARE", "_UNLIKELY", "_LESS_LIKELY")


def _messages(language: str, encoding: str) -> list[str]:
    """Return messages that the encoding can hold, in an order that is the same in each run."""
    found = []
    for path in sorted((_LOCALES / language / "LC_MESSAGES").glob("*.mo")):
        if path.name.startswith("iso_"):  # names of countries
            continue
        try:
            with path.open("rb") as file:
                catalog = gettext.GNUTranslations(file)._catalog  # type: ignore[attr-defined]
        except UnicodeDecodeError:  # a few have a wrong header
            continue
        for text in catalog.values():
            is_message = isinstance(text, str) and len(text) < _LONGEST and not text.isascii()
            if is_message and "\n" not in text and _fits(text, encoding):
                found.append(text)
    random.Random(1).shuffle(found)
    return found


def _fits(text: str, encoding: str) -> bool:
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        return False
    return True


def _programs(messages: list[str]) -> Iterator[list[str]]:
    """Yield programs with a word, with a message, and with three."""
    words = [
        next(word for word in text.split(" ") if not word.isascii())
        for text in messages[:_COMMENTS]
    ]
    yield [f"{_CODE}// {word}\n" for word in words]
    yield [f"{_CODE}// {text}\n" for text in messages[:_COMMENTS]]
    triples = zip(messages[::3], messages[1::3], messages[2::3], strict=False)
    yield [
        _CODE * 2000 + "".join(f"// {text}\n{_CODE}" for text in triple)
        for triple in list(triples)[:_COMMENTS]
    ]


def _measure() -> None:
    for language, encoding in _ENCODINGS.items():
        messages = _messages(language, encoding)
        counts = []
        for programs in _programs(messages):
            files = [(text, decode(text.encode(encoding))) for text in programs]
            right = sum(file is not None and file.text == text for text, file in files)
            counts.append(f"{right}/{len(programs)}")
        print(f"{language:6} {encoding:8}", *(f"{count:>8}" for count in counts), flush=True)


def main() -> None:
    print("language and encoding, one word, one message, three messages: read right")
    _measure()
    for name in _SHARES if "--shares" in sys.argv else ():
        share = getattr(encoding_guess, name)
        for factor in (0.5, 2.0):
            setattr(encoding_guess, name, min(share * factor, 0.95))
            encoding_guess._languages.cache_clear()
            print(f"\n{name} = {getattr(encoding_guess, name)}")
            _measure()
        setattr(encoding_guess, name, share)


if __name__ == "__main__":
    main()
