"""Test that code on a page has colors that can be read, and is the same text, escaped, whatever it holds."""

from __future__ import annotations

import re
import subprocess
import sys
from html import unescape
from importlib.resources import files

import pytest
from hypothesis import given
from hypothesis import strategies as some

from swecli.pages.code import CodeColors
from swecli.pages.page import format_session
from tests.pages.test_page import PageTags, make_export

LEAST_CONTRAST = 4.5  # WCAG 2.2, 1.4.3: of text
HOSTILE_CODE = "</span></code></pre><script>alert(1)</script>'\"&lt;"


def page_of(answer: str) -> str:
    return format_session("html", make_export({"content": answer}))


def fenced(code: str, language: str) -> str:
    return f"~~~{language}\n{code}\n~~~\n"


def text_of(html: str) -> str:
    return unescape(re.sub(r"</?span[^>]*>", "", html))


def test_code_of_a_known_language_has_colors() -> None:
    page = page_of(fenced("def add():  # both\n    return 'sum', 1", "Python"))
    for part in (
        '<span class="keyword">def</span>',
        '<span class="name">add</span>',
        '<span class="comment"># both</span>',
        '<span class="string">&#x27;sum&#x27;</span>',
        '<span class="number">1</span>',
    ):
        assert part in page


def test_a_diff_has_the_colors_of_changes() -> None:
    page = page_of(fenced("-old\n+new\n same", "diff"))
    assert '<span class="del">-old</span>\n<span class="add">+new</span>\n same' in page


@pytest.mark.parametrize("language", ["python", "html", "php", "nosuch", "", "diff"])
def test_hostile_code_stays_text(language: str) -> None:
    seen = PageTags(page_of(fenced(HOSTILE_CODE, language)))
    assert "script" not in seen.tags
    assert HOSTILE_CODE in "".join(seen.texts)


@pytest.mark.parametrize("language", ['"><script>alert(1)</script>', "class=x", "../python", "é"])
def test_an_odd_or_hostile_language_is_no_error_and_no_tag(language: str) -> None:
    seen = PageTags(page_of(fenced("def add(): pass", language)))
    assert {"script", "span"}.isdisjoint(seen.tags)
    assert "def add(): pass\n" in seen.texts


@given(some.text(), some.sampled_from(["python", "html", "php", "console", "diff", "json"]))
def test_colors_never_change_the_text(code: str, language: str) -> None:
    colored = CodeColors().color(code, language)
    assert colored == "" or text_of(colored) == code


def test_five_megabytes_of_code_are_on_the_page_without_colors() -> None:
    code = "value = 'text'  # words\n" * 220_000
    seen = PageTags(page_of(fenced(code, "python")))
    assert "span" not in seen.tags
    assert code + "\n" in seen.texts


def test_a_page_whose_time_for_colors_is_spent_goes_on_without_them() -> None:
    assert CodeColors(seconds=0).color("def add(): pass", "python") == ""


def test_only_the_page_of_a_session_loads_pygments() -> None:
    program = (
        "import sys, swecli.pages.page as page\n"
        "whole = dict.fromkeys(('title', 'model', 'directory', 'created_at', 'first_query'), '')\n"
        "whole |= {'interactions': [], 'requests': [], 'messages': [], 'playbook': []}\n"
        "for form in ('json', 'md', 'html'):\n"
        "    page.format_session(form, whole)\n"
        "    print(form, 'pygments' in sys.modules)\n"
    )
    outcome = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert outcome.stdout.split() == ["json", "False", "md", "False", "html", "True"]


def luminance(color: str) -> float:
    """Return the relative luminance of "#rgb" or "#rrggbb", as WCAG defines it."""
    digits = color[1:] if len(color) == 7 else "".join(digit * 2 for digit in color[1:])
    channels = [int(digits[at : at + 2], 16) / 255 for at in (0, 2, 4)]
    linear = [
        channel / 12.92 if channel <= 0.04045 else ((channel + 0.055) / 1.055) ** 2.4
        for channel in channels
    ]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("scheme", [0, 1], ids=["light", "dark"])
def test_the_colors_of_code_can_be_read(scheme: int) -> None:
    sheet = files("swecli.pages").joinpath("style.css").read_text(encoding="utf-8")
    colors = dict(re.findall(r"--(\w+): (#\w+)", re.findall(r":root \{.*?\}", sheet, re.S)[scheme]))
    for name in ("ink", "soft", "keyword", "string", "number", "name"):
        both = sorted((luminance(colors[name]), luminance(colors["box"])))
        assert (both[1] + 0.05) / (both[0] + 0.05) >= LEAST_CONTRAST, name
