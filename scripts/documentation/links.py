"""Find and rewrite the links of a Markdown page, and name the anchors that its headings have."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

_FENCE = r"^(?P<indent> *)(?P<ticks>```+).*?^(?P=indent)(?P=ticks)"
_SPAN = r"(?P<span>`+)[^`].*?(?P=span)"
_LINK = r"!?\[(?P<text>(?:[^\[\]]|\[[^\[\]]*\])*)\]\((?P<target>[^()\s]+)\)"
# what is code comes first: a link in it is text
_PARTS = re.compile(f"{_FENCE}|{_SPAN}|(?P<link>{_LINK})", re.MULTILINE | re.DOTALL)
_CODE_BLOCK = re.compile(_FENCE, re.MULTILINE | re.DOTALL)
_HEADING = re.compile(r"^#{1,6} +(.+?) *#*$", re.MULTILINE)


@dataclass(frozen=True)
class Link:
    """A link or picture of a page, as it is written."""

    source: str  # the whole of it: [text](target)
    text: str
    target: str

    @property
    def is_outgoing(self) -> bool:
        """Whether it leads to another host, or to a program such as a mail client."""
        return re.match(r"[a-z][a-z+.-]*:", self.target) is not None

    @property
    def path(self) -> str:
        """The file it leads to, "" for a place on the same page."""
        return self.target.partition("#")[0]

    @property
    def anchor(self) -> str:
        """The place on the page, "" for its beginning."""
        return self.target.partition("#")[2]


def links_of(page: str) -> Iterator[Link]:
    """Yield the inline links and pictures of a Markdown page; those in code are text."""
    for part in _PARTS.finditer(page):
        if part["link"]:
            yield _link(part)


def rewrite_links(page: str, rewrite: Callable[[Link], str]) -> str:
    """Return the page with each link replaced by what `rewrite` makes of it."""

    def replacement(part: re.Match[str]) -> str:
        if part["link"]:
            return rewrite(_link(part))
        return part[0]

    return _PARTS.sub(replacement, page)


def anchors_of(page: str) -> set[str]:
    """Return the anchors of a page's headings, as GitHub names them."""
    anchors: set[str] = set()
    for heading in _HEADING.findall(_CODE_BLOCK.sub("", page)):
        shown = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
        name = re.sub(r"[^\w\- ]", "", shown.lower()).replace(" ", "-")
        anchors.add(_unused(name, anchors))
    return anchors


def _unused(name: str, used: set[str]) -> str:
    """Return the name, with the first free number if it is used."""
    free = name
    number = 0
    while free in used:
        number += 1
        free = f"{name}-{number}"
    return free


def _link(part: re.Match[str]) -> Link:
    return Link(part["link"], part["text"], part["target"])
