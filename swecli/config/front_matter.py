"""Parse the front matter of a Markdown file: the fields between `---` lines at its start."""

from __future__ import annotations

import re

_FRONT_MATTER = re.compile(r"\ufeff?---[ \t]*\n(.*?)^---[ \t]*(?:\n|\Z)", re.DOTALL | re.MULTILINE)
# A field continues in indented and empty lines.
_FIELD = re.compile(r"^([\w-]+):(.*(?:\n(?:[ \t].*)?$)*)", re.MULTILINE)
_BLOCK_MARK = re.compile(r"[>|][+-]?(?=\s|\Z)")  # before a value of several lines


def front_matter(text: str) -> tuple[dict[str, str], str]:
    """Parse the fields between the `---` lines at the start of a text. Returns them with one-line values, and the rest
    of the text; no fields if there is no front matter."""
    front_matter = _FRONT_MATTER.match(text)
    if front_matter is None:
        return {}, text
    fields: dict[str, str] = {}
    for name, value in _FIELD.findall(front_matter[1]):
        words = _BLOCK_MARK.sub("", value.strip(), count=1).split()
        fields[name] = " ".join(words).strip("\"'")
    return fields, text[front_matter.end() :]
