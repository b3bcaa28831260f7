"""The text of a web page."""

from __future__ import annotations

import re
from contextlib import suppress
from typing import TYPE_CHECKING
from urllib.parse import urljoin

if TYPE_CHECKING:
    from bs4 import Tag

_NOISE_TAGS = (
    "script",
    "style",
    "noscript",
    "template",
    "svg",
    "iframe",
    "nav",
    "footer",
    "aside",
    "form",
)


# attributes of an element that is not shown
_HIDDEN_STYLE = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.IGNORECASE)


def page_text(kind: str, data: bytes, url: str = "") -> str:
    """Return a page of this content type as text; of HTML, the main part as Markdown, without what is hidden, and with
    the addresses of its links."""
    named_charset = re.search(r"charset=[\"']?([\w-]+)", kind, re.IGNORECASE)
    charset = named_charset[1] if named_charset else None
    if "html" in kind.lower():
        return _html_text(data, charset, url)
    try:
        return data.decode(charset or "utf-8", "replace").strip()
    except LookupError:
        return data.decode("utf-8", "replace").strip()


def _is_hidden(element: Tag) -> bool:
    style = str(element.get("style") or "")
    is_hidden = element.has_attr("hidden") or element.get("aria-hidden") == "true"
    return is_hidden or bool(_HIDDEN_STYLE.search(style))


def _html_text(data: bytes, charset: str | None, url: str) -> str:
    # late: needed by no other tool
    from bs4 import BeautifulSoup
    from markdownify import MarkdownConverter

    page = BeautifulSoup(data, "html.parser", from_encoding=charset)
    title = page.title.get_text(" ", strip=True) if page.title else ""
    main = page.find("main") or page.find("article") or page.body or page
    base = page.find("base", href=True)
    start = urljoin(url, str(base["href"])) if base else url
    for noise in [*main.find_all(_NOISE_TAGS), *main.find_all(_is_hidden)]:
        if not noise.decomposed:
            noise.decompose()
    for link in main.find_all("a", href=True):
        with suppress(ValueError):  # no address
            link["href"] = urljoin(start, str(link["href"]))
    try:
        text = MarkdownConverter(heading_style="ATX", bullets="-", strip=["img"]).convert_soup(main)
    except RecursionError:  # too deeply nested
        text = main.get_text("\n", strip=True)
    text = re.sub(r"\n\s*\n\s*\n+", "\n\n", text).strip()
    if title and title not in text[: len(title) + 10]:
        return f"# {title}\n\n{text}"
    return text
