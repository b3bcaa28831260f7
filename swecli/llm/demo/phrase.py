"""A user's line made easy to match: quoted parts become tokens, politeness is cut off, paths are recognised."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

Style = Literal["fence", "tick", "quote"]

# Two private-use letters that no rule can mistake for text stand around the number of a quoted part.
_OPEN, _CLOSE = "\ue000", "\ue001"
TOKEN = f"{_OPEN}\\d+{_CLOSE}"
WORD = f"(?:{TOKEN}|[^\\s,;]+)"

_QUOTED = re.compile(
    r"```[^\n`]*\n(?P<fence>.*?)\n?```"
    r"|`(?P<tick>[^`\n]+)`"
    r"|(?<!\w)(?:\"(?P<q1>[^\"]*)\"|“(?P<q2>[^”]*)”|'(?P<q3>[^'\n]*)'(?!\w))",
    re.DOTALL,
)
_POLITE_HEAD = re.compile(
    r"^(?:(?:hey|hi|hello|ok|okay|yes|yeah|now|so|well|please|then|also|and|kindly|just|first|next|finally|"
    r"after that|go ahead and|let'?s|let us|can we|could we|(?:can|could|would|will) you|"
    r"i(?:'d| would) like (?:you )?to|i(?:'d| would) like|i want (?:you )?to|i need (?:you )?to|"
    r"you should|help me(?: to)?|try to)\b[,:!]?\s+)+",
    re.IGNORECASE,
)
_POLITE_TAIL = re.compile(
    r"(?:(?<=\W)(?:please|thanks|thank you|for me|right now|now|again|too|as well|first)|(?<=[\w)\ue001])\.+)\Z",
    re.IGNORECASE,
)
_SUFFIXED = re.compile(r"^[\w.+*/\\~-]*\.[A-Za-z*]\w{0,9}$")
_PLAIN = re.compile(r"^[\w.+*/\\~-]+$")
_BARE_NAMES = frozenset(
    ["makefile", "dockerfile", "readme", "license", "changelog", "procfile", "gemfile", "rakefile", "justfile"]
)
_ABBREVIATIONS = frozenset({"e.g", "i.e", "etc.", "vs."})
PRONOUNS = frozenset(["it", "this", "that", "them", "these", "those", "there", "here"])


@dataclass(frozen=True, slots=True)
class Quoted:
    """One quoted part: its text without the marks, which marks it had, and how it was typed."""

    text: str
    style: Style
    raw: str


@dataclass(frozen=True, slots=True)
class Phrase:
    """`masked` is the line with a token for each quoted part; `parts` are these, by the token's number."""

    masked: str
    parts: tuple[Quoted, ...] = ()

    def part(self, word: str) -> Quoted | None:
        """The quoted part that `word` stands for, if it is a token and nothing else."""
        match = re.fullmatch(TOKEN, word.strip())
        return self.parts[int(match[0][1:-1])] if match else None

    def value(self, masked: str) -> str:
        """What masked text stands for: a single quoted part without its marks, else the text as it was typed."""
        quoted = self.part(masked)
        return quoted.text if quoted else self.raw(masked)

    def raw(self, masked: str) -> str:
        """The text as it was typed, quotes and all."""
        return re.sub(TOKEN, lambda m: self.parts[int(m[0][1:-1])].raw, masked).strip()

    def path(self, word: str, *, loose: bool = False) -> str | None:
        """The path that `word` names, None when it does not look like one. `loose` takes any single word."""
        quoted = self.part(word)
        if quoted:
            text = quoted.text.strip().removeprefix("@")
            return text if text and "\n" not in text and (loose or looks_like_path(text)) else None
        text = word.strip(",;:?!()").removeprefix("@")
        text = text if text in (".", "..") else text.rstrip(".")
        if looks_like_path(text):
            return text
        return text if loose and _PLAIN.match(text) and text.lower() not in PRONOUNS else None

    def paths(self, masked: str) -> list[str]:
        """All the paths named in a masked text, in order, each once."""
        found = (self.path(word) for word in re.findall(WORD, masked))
        return list(dict.fromkeys(path for path in found if path))


def looks_like_path(text: str) -> bool:
    """Whether a word reads like a file or folder: a slash, a suffix, a dot file or a well-known bare name."""
    if not _PLAIN.match(text) or text.lower() in _ABBREVIATIONS:
        return False
    if text.lower() in _BARE_NAMES or text in (".", ".."):
        return True
    return bool(_SUFFIXED.match(text)) or ("/" in text and text.strip("/.") != "" and "//" not in text)


def mask(text: str) -> Phrase:
    """Read a line: quoted, back-quoted and fenced parts become tokens. Total: every text gives a phrase."""
    parts: list[Quoted] = []

    def keep(match: re.Match[str]) -> str:
        style: Style = "fence" if match["fence"] is not None else "tick" if match["tick"] is not None else "quote"
        parts.append(Quoted(next(group for group in match.groups() if group is not None), style, match[0]))
        return f"{_OPEN}{len(parts) - 1}{_CLOSE}"

    masked = _QUOTED.sub(keep, text.replace(_OPEN, "").replace(_CLOSE, ""))
    return Phrase(masked.strip(), tuple(parts))


def without_polite_head(masked: str) -> str:
    """The line without "could you please" and the like before it; a line that is nothing else stays as it is."""
    return _POLITE_HEAD.sub("", masked) or masked


def without_polite_tail(masked: str) -> str:
    """The line without "for me, thanks." and the like behind it; a line that is nothing else stays as it is."""
    before, text = "", masked.rstrip(" ,?!…\n\t")
    while text != before:  # one ending at a time: a single pattern for all of them takes very long on bad lines
        before = text
        ending = _POLITE_TAIL.search(text, max(0, len(text) - 40))
        text = (text[: ending.start()] if ending else text).rstrip(" ,?!…\n\t")
    return text or masked
