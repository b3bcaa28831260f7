"""Test what the site of the documentation is made of, and that its check finds what is wrong."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from scripts.documentation import venv
from scripts.documentation.checks import problems_of
from scripts.documentation.sources import copy_pages, unescape_pipes

ROOT = Path(__file__).parents[2]


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """A site of two pages, with nothing wrong."""
    folder = tmp_path / "site"
    (folder / "how-to").mkdir(parents=True)
    (folder / "index.html").write_text(
        '<link rel="stylesheet" href="look.css"><a href="how-to/undo.html#files">Undo</a>'
        '<a href="https://elsewhere.example">elsewhere</a>'
    )
    (folder / "how-to/undo.html").write_text('<h2 id="files">Files</h2><a href="..">Start</a>')
    (folder / "look.css").write_text("body { background: url(data:image/png;base64,AA) }")
    locations = ["index.html", "how-to/undo.html", "how-to/undo.html#files"]
    items = [{"location": location} for location in locations]
    (folder / "search.json").write_text(json.dumps({"items": items}))
    return folder


def added(page: Path, html: str) -> None:
    """Add to a page."""
    page.write_text(page.read_text() + html)


def test_a_link_to_another_host_is_no_problem(site: Path) -> None:
    assert problems_of(site) == []


def test_a_backslash_before_a_pipe_that_a_table_shows_is_found(site: Path) -> None:
    added(site / "index.html", r"<table><tr><td><code>a \| b</code></td></tr></table><p>c \| d</p>")
    assert problems_of(site) == [r"index.html: a table shows a \| b"]


def test_a_pipe_in_the_code_of_a_table_loses_the_backslash_that_github_needs() -> None:
    page = "| `on\\|off` | a \\| b |\n\nsed `s/a\\|b/c/`\n"
    assert unescape_pipes(page) == "| `on|off` | a \\| b |\n\nsed `s/a\\|b/c/`\n"


def test_a_link_to_a_missing_page_is_found(site: Path) -> None:
    added(site / "how-to/undo.html", '<a href="redo.html">redo</a>')
    assert problems_of(site) == ["how-to/undo.html: redo.html leads to nothing"]


def test_a_link_to_a_missing_heading_is_found(site: Path) -> None:
    added(site / "index.html", '<a href="how-to/undo.html#none">none</a>')
    assert problems_of(site) == [
        "index.html: how-to/undo.html#none names no place on how-to/undo.html"
    ]


def test_a_page_without_a_link_to_it_is_found(site: Path) -> None:
    (site / "lost.html").write_text('<a href="index.html">Start</a>')
    assert problems_of(site) == [
        "lost.html: no link leads here",
        "lost.html: the search does not find it",
    ]


@pytest.mark.parametrize(
    "html",
    [
        '<script src="https://cdn.example/a.js"></script>',
        '<img src="//cdn.example/a.png">',
        '<link rel="preconnect" href="https://fonts.example">',
        "<style>@import 'https://fonts.example/a.css';</style>",
        '<pre class="mermaid">graph</pre>',
    ],
)
def test_what_asks_another_host_is_found(site: Path, html: str) -> None:
    added(site / "index.html", html)
    assert len(problems_of(site)) == 1


def test_a_style_that_loads_a_font_from_another_host_is_found(site: Path) -> None:
    added(site / "look.css", "@font-face { src: url(https://fonts.example/a.woff2) }")
    assert problems_of(site) == ["look.css: loads https://fonts.example/a.woff2"]


def test_the_pages_are_copied_without_links_to_what_the_site_does_not_have(tmp_path: Path) -> None:
    docs = tmp_path / "docs"
    (docs / "how-to").mkdir(parents=True)
    (tmp_path / "README.md").write_text(
        "![picture](docs/a.svg) [undo](docs/how-to/undo.md#files)\n"
    )
    (docs / "a.svg").write_text("<svg/>")
    (docs / "how-to/undo.md").write_text("[start](../../README.md) [test_undo](../../tests/u.py)\n")

    copy_pages(tmp_path, tmp_path / "copy")

    assert (
        tmp_path / "copy/index.md"
    ).read_text() == "![picture](a.svg) [undo](how-to/undo.md#files)\n"
    assert (tmp_path / "copy/how-to/undo.md").read_text() == "[start](../index.md) test_undo\n"
    assert (tmp_path / "copy/a.svg").exists()


@pytest.mark.slow
@pytest.mark.skipif(not venv.is_ready(), reason="no builder of the site: scripts/site installs it")
def test_the_site_of_these_pages_has_nothing_wrong(tmp_path: Path) -> None:
    ended = subprocess.run(
        [sys.executable, str(ROOT / "scripts/site"), "--check", "--folder", str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ended.returncode, ended.stderr) == (0, "")
