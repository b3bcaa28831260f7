"""Check the built pages: what they link to exists, each can be reached, and none loads anything from another host."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

START = "index.html"
NOT_FOUND = "404.html"  # shown by a server in place of a missing page: nothing links to it

# a browser fetches these when it shows the page; `a` is fetched when somebody follows it
_LOADING_ATTRIBUTES = ("src", "srcset", "poster", "data", "action", "formaction", "background")
_LOADING_RELATIONS = {
    *("stylesheet", "icon", "manifest", "preload", "modulepreload"),
    *("prefetch", "preconnect", "dns-prefetch"),
}

# the theme's script fetches a library or figures from other hosts for pages that have one of these
_FETCHING_MARKUP = (
    'class="mermaid"',
    'class="glightbox"',
    "data-md-exec",
    'data-md-component="source"',
    'data-md-component="sponsors"',
)

_LOADED_BY_STYLE = re.compile(r"(?:url\(|@import )\s*[\"']?((?:https?:)?//[^\"')\s]+)")


class BuiltPage(HTMLParser):
    """The links, loads and anchors of one built page."""

    def __init__(self, text: str) -> None:
        """Read the page's HTML."""
        super().__init__()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.anchors: set[str] = set()
        self.cells: list[str] = []  # the texts of the tables' cells, in pieces
        self._cell_depth = 0
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note what a tag links to, loads and names."""
        values = {name: value or "" for name, value in attrs}
        if tag in ("td", "th"):
            self._cell_depth += 1
        if "id" in values:
            self.anchors.add(values["id"])
        if tag == "a" and "href" in values:
            self.links.append(values["href"])
        if tag == "link" and _LOADING_RELATIONS & set(values.get("rel", "").split()):
            self.loads.append(values.get("href", ""))
        for name in _LOADING_ATTRIBUTES:
            if name in values:
                self.loads.append(values[name])

    def handle_endtag(self, tag: str) -> None:
        """Note where a cell ends."""
        if tag in ("td", "th"):
            self._cell_depth -= 1

    def handle_data(self, data: str) -> None:
        """Note the text of a cell."""
        if self._cell_depth:
            self.cells.append(data)


def problems_of(site: Path) -> list[str]:
    """Return one line for each thing that is wrong with a built site."""
    pages: dict[str, BuiltPage] = {}
    for path in sorted(site.rglob("*.html")):
        pages[path.relative_to(site).as_posix()] = BuiltPage(path.read_text(encoding="utf-8"))
    if START not in pages:
        return [f"there is no {START}"]
    return [
        *_dead_links(site, pages),
        *_unreachable(pages),
        *_foreign_loads(site, pages),
        *_not_searchable(site, pages),
        *_escapes_shown(pages),
    ]


def _dead_links(site: Path, pages: dict[str, BuiltPage]) -> list[str]:
    """Return the links and loads whose file or anchor is missing."""
    found = []
    for name, page in pages.items():
        for target in [*page.links, *page.loads]:
            if _is_outgoing(target):
                continue
            place = _place(name, target)
            if not (site / place).is_file():
                found.append(f"{name}: {target} leads to nothing")
                continue
            anchor = unquote(urlsplit(target).fragment)
            if anchor and place in pages and anchor not in pages[place].anchors:
                found.append(f"{name}: {target} names no place on {place}")
    return found


def _unreachable(pages: dict[str, BuiltPage]) -> list[str]:
    """Return the pages that no chain of links from the start leads to."""
    reached = {START}
    waiting = [START]
    while waiting:
        name = waiting.pop()
        for target in pages[name].links:
            if _is_outgoing(target):
                continue
            place = _place(name, target)
            if place in pages and place not in reached:
                reached.add(place)
                waiting.append(place)
    lost = pages.keys() - reached - {NOT_FOUND}
    return [f"{name}: no link leads here" for name in sorted(lost)]


def _foreign_loads(site: Path, pages: dict[str, BuiltPage]) -> list[str]:
    """Return what a browser would request from another host to show a page."""
    found = []
    for name, page in pages.items():
        for target in page.loads:
            if _is_outgoing(target) and not target.startswith("data:"):
                found.append(f"{name}: loads {target}")
        text = (site / name).read_text(encoding="utf-8")
        for markup in _FETCHING_MARKUP:
            if markup in text:
                found.append(f"{name}: {markup} makes the theme ask another host")
    for style in sorted([*site.rglob("*.css"), *site.rglob("*.html"), *site.rglob("*.svg")]):
        for target in _LOADED_BY_STYLE.findall(style.read_text(encoding="utf-8")):
            found.append(f"{style.relative_to(site)}: loads {target}")
    return found


def _not_searchable(site: Path, pages: dict[str, BuiltPage]) -> list[str]:
    """Return the pages that the index of the search, a file of the site, does not have."""
    index = site / "search.json"
    if not index.is_file():
        return ["there is no search.json, so nothing can be found"]
    items = json.loads(index.read_text(encoding="utf-8"))["items"]
    listed = {urlsplit(item["location"]).path or START for item in items}
    missing = pages.keys() - listed - {NOT_FOUND}
    return [f"{name}: the search does not find it" for name in sorted(missing)]


def _escapes_shown(pages: dict[str, BuiltPage]) -> list[str]:
    """Return the tables that show the backslash before a pipe, which is there for the source's table."""
    found = []
    for name, page in pages.items():
        found += [f"{name}: a table shows {cell.strip()}" for cell in page.cells if r"\|" in cell]
    return found


def _is_outgoing(target: str) -> bool:
    """Return whether a target is on another host."""
    parts = urlsplit(target)
    return bool(parts.scheme or parts.netloc)


def _place(page: str, target: str) -> str:
    """Return the file a target means, seen from a page; both are relative to the site."""
    path = unquote(urlsplit(target).path)
    if not path:
        return page
    base = Path("/") if path.startswith("/") else Path("/", page).parent
    parts: list[str] = []
    for part in (base / path.lstrip("/")).parts[1:]:
        if part == "..":
            parts = parts[:-1]
        elif part != ".":
            parts.append(part)
    place = "/".join(parts)
    if not place or path.endswith(("/", "/.", "/..")) or path in (".", ".."):
        return f"{place}/{START}".lstrip("/")
    return place
