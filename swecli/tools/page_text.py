"""The text of a web page."""

from __future__ import annotations

import re

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


def page_text(kind: str, data: bytes) -> str:
    """Return a page of this content type as text; of HTML, the main part as Markdown."""
    named_charset = re.search(r"charset=[\"']?([\w-]+)", kind, re.IGNORECASE)
    charset = named_charset[1] if named_charset else None
    if "html" in kind.lower():
        return _html_text(data, charset)
    try:
        return data.decode(charset or "utf-8", "replace").strip()
    except LookupError:
        return data.decode("utf-8", "replace").strip()


def _html_text(data: bytes, charset: str | None) -> str:
    # late: needed by no other tool
    from bs4 import BeautifulSoup
    from markdownify import MarkdownConverter

    page = BeautifulSoup(data, "html.parser", from_encoding=charset)
    title = page.title.get_text(" ", strip=True) if page.title else ""
    main = page.find("main") or page.find("article") or page.body or page
    for noise in main.find_all(_NOISE_TAGS):
        noise.decompose()
    try:
        text = MarkdownConverter(heading_style="ATX", bullets="-", strip=["img"]).convert_soup(main)
    except RecursionError:  # too deeply nested
        text = main.get_text("\n", strip=True)
    text = re.sub(r"\n\s*\n\s*\n+", "\n\n", text).strip()
    if title and title not in text[: len(title) + 10]:
        return f"# {title}\n\n{text}"
    return text
