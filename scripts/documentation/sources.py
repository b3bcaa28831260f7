"""Copy the pages to where the site is built from, with no link to a file that the site does not have."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

from scripts.documentation.links import Link, rewrite_links

_TABLE_ROW = re.compile(r"^\|.*$", re.MULTILINE)
_CODE = re.compile(r"(`+)[^`].*?\1")


def copy_pages(root: Path, into: Path) -> None:
    """Copy `docs` of the repository, and its README as the start page, into an empty folder."""
    docs = root / "docs"
    shutil.copytree(docs, into)
    for page in sorted(docs.rglob("*.md")):
        _copy(page, into / page.relative_to(docs), docs, into)
    _copy(root / "README.md", into / "index.md", docs, into)


def _copy(page: Path, copy: Path, docs: Path, into: Path) -> None:
    """Write the copy of one page, its links seen from where the copy is."""

    def seen_from_copy(link: Link) -> str:
        if link.is_outgoing or not link.path:
            return link.source
        target = (page.parent / link.path).resolve()
        if target == docs.parent / "README.md":
            place = into / "index.md"
        elif target.is_relative_to(docs):
            place = into / target.relative_to(docs)
        else:
            return link.text  # a source file or a test: its name stays, as text
        path = os.path.relpath(place, copy.parent)
        return link.source.replace(f"({link.path}", f"({path}")

    text = unescape_pipes(page.read_text(encoding="utf-8"))
    copy.write_text(rewrite_links(text, seen_from_copy), encoding="utf-8")


def unescape_pipes(text: str) -> str:
    """Return a page in whose tables a pipe in code stands for itself: GitHub needs a backslash before it there, which
    the builder of the site prints."""

    def without_backslashes(code: re.Match[str]) -> str:
        return code[0].replace(r"\|", "|")

    def unescaped(row: re.Match[str]) -> str:
        return _CODE.sub(without_backslashes, row[0])

    return _TABLE_ROW.sub(unescaped, text)
