"""Test that every link of the pages leads to a file of this repository and a heading that it has."""

from __future__ import annotations

from pathlib import Path

import pytest

from scripts.documentation.links import Link, anchors_of, links_of, rewrite_links

ROOT = Path(__file__).parents[2]
PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_every_link_of_a_page_leads_to_a_file_and_a_heading(page: Path) -> None:
    dead = []
    for link in links_of(page.read_text(encoding="utf-8")):
        if link.is_outgoing:
            continue
        target = (page.parent / link.path).resolve() if link.path else page
        if not target.exists():
            dead.append(link.source)
            continue
        if link.anchor and link.anchor not in anchors_of(target.read_text(encoding="utf-8")):
            dead.append(link.source)
    assert dead == []


def test_links_in_code_are_text() -> None:
    page = "[a](a.md) `[b](b.md)`\n\n```text\n[c](c.md)\n```\n\n![`d`](d.svg) [e [f]](e.md#f)\n"
    targets = [link.target for link in links_of(page)]
    assert targets == ["a.md", "d.svg", "e.md#f"]


def test_only_the_links_of_a_page_are_rewritten() -> None:
    def text_of(link: Link) -> str:
        return link.text

    page = "[a](a.md) `[b](b.md)` [c](https://c.example)\n"
    assert rewrite_links(page, text_of) == "a `[b](b.md)` c\n"


def test_equal_headings_have_numbered_anchors_and_comments_in_code_have_none() -> None:
    page = "# A `b-c`, d\n\n## Same\n\n```sh\n# Not a heading\n```\n\n## Same\n"
    assert anchors_of(page) == {"a-b-c-d", "same", "same-1"}
