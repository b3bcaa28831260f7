"""The file of a strategy that the people of a project share: Markdown in the repository, one strategy each."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

from swecli.config.front_matter import front_matter
from swecli.models.playbook import length_problem
from swecli.playbook.ranking import clean
from swecli.redact import has_secret
from swecli.regular_files import read_regular
from swecli.text import one_line, unclear_character
from swecli.values import dataclass

_MAX_BYTES = 8_000  # several times the longest strategy, in four bytes a letter, with its fields
_NAME_WORDS = 5  # of a text, that name its file
_DIGEST = 6  # hexadecimal digits: two texts that begin alike get two files
_WORD = re.compile(r"[a-z0-9]+")
_CONFLICT = re.compile(r"^(?:<{7}|={7}|>{7}|\|{7})(?: |$)", re.MULTILINE)
_COMMENT = "<!--"


@dataclass(frozen=True, slots=True)
class SharedStrategy:
    """A strategy as its file holds it; "" and () for what the file does not say."""

    text: str
    paths: tuple[str, ...] = ()  # globs of the files that it is about; (): the whole project
    said_by: str = ""
    said_on: str = ""  # a date such as 2026-11-30

    def render(self) -> str:
        """Return the text of its file."""
        fields = {"by": self.said_by, "on": self.said_on, "paths": ", ".join(self.paths)}
        lines = [f"{name}: {one_line(value)}" for name, value in fields.items() if value]
        return "\n".join(["---", *lines, "---", self.text, ""])

    def file_name(self) -> str:
        """Return a name for a new file, made of its first words."""
        words = _WORD.findall(self.text.lower())[:_NAME_WORDS]
        digest = hashlib.sha256(self.text.encode()).hexdigest()[:_DIGEST]
        return "-".join([*words, digest]) + ".md"


def read_shared_file(path: Path) -> bytes:
    """Return the bytes of a shared strategy's file. Raises ValueError with the problem as a clause."""
    try:
        return read_regular(path, _MAX_BYTES)
    except OSError as error:
        raise ValueError((error.strerror or str(error)).lower()) from None


def parse_shared(data: bytes) -> SharedStrategy:
    """Parse the file of a shared strategy. Raises ValueError with the problem as a clause: it may come from anybody,
    and a person has to see all of what a model reads."""
    try:
        text = data.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError:
        raise ValueError("it is not text in UTF-8") from None
    if _CONFLICT.search(text):
        raise ValueError("git left a conflict in it: choose one of the texts")
    match = unclear_character().search(text)
    if match is not None:
        line = text.count("\n", 0, match.start()) + 1
        raise ValueError(f"line {line} has a character that cannot be seen")
    if _COMMENT in text:
        raise ValueError("it has a comment, which a page on the web hides")
    if has_secret(text):
        raise ValueError("it contains a secret")
    fields, body = front_matter(text)
    content = clean(body)
    if not content:
        raise ValueError("it has no text")
    if problem := length_problem(content):
        raise ValueError(problem)
    paths = tuple(part.strip() for part in fields.get("paths", "").split(",") if part.strip())
    return SharedStrategy(content, paths, fields.get("by", ""), fields.get("on", ""))
