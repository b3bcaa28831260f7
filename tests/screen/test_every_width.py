"""Test diffs, tables and lists on screens of 40 to 200 columns: what holds for each, and recordings of some.
`RECORD_SCREENS=1` rewrites the recordings."""

from __future__ import annotations

import io
import os
import re
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from rich.cells import cell_len

from swecli.repl.render.diff import render_diff
from swecli.repl.render.screen import Screen

GOLDEN = Path(__file__).parent / "golden"
EVERY_WIDTH = range(40, 201)
RECORDED = (40, 60, 80, 100, 200)

DIFF = """--- a/swecli/app.py
+++ b/swecli/app.py
@@ -98,7 +98,8 @@ class Runtime:
 def build(start):
 \tsettings = start.settings
-\tmodel = make_model(settings.model, start.environ)
+\tmodel = make_model(choose_model(settings, start.environ).name, settings, start.environ)
+\tlabel = "日本語の長い見出しは幅が二倍になるので折り返しの位置が変わる"
 \treturn Runtime(settings, model)
@@ -1204,3 +1205,2 @@
 def close(self):
-\tprint("https://example.org/a/path/that/is/longer/than/the/narrowest/screen/and/has/no/blank/in/it")
 \tself.database.close()
"""
LIST = """The plan, in order:

1. Read `swecli/repl/render/table.py` and every module that lays out text in columns, however narrow they are
   - one that wraps, such as a sentence which needs a second line on most of the screens
   - 日本語の項目もここにあり、幅の広い文字で行を折り返す必要がある
     - deeper still, with `a_very_long_name_of_a_function_that_has_no_blank_to_break_at`
2. Change it
10. Run the tests, https://example.org/a/path/that/is/longer/than/the/narrowest/screen
"""
HEADERS = ("id", "strategy", "helped", "hurt", "where", "said by", "last used")
ROWS = (
    ("P-1", "Run the tests with make check before a commit", "12", "0", "this project", "you", "2 h ago"),
    ("P-27", "日本語のコメントは英語に直さない", "3", "1", "src/**/*.py", "a model", "yesterday"),
    ("P-140", "short", "0", "0", "everywhere", "you", "never"),
)  # fmt: skip
WORD = re.compile(r"[A-Za-z]{3,7}")


class Surface(io.StringIO):
    """What a screen prints to, of a fixed width."""

    def __init__(self, columns: int) -> None:
        super().__init__()
        self.size = (columns, 24)

    def show_live(self, lines: Sequence[str], /) -> None:
        """Ignore live lines: these scenes have none."""


def show_diff(screen: Screen) -> None:
    screen.print(render_diff(DIFF))


def show_list(screen: Screen) -> None:
    screen.markdown(LIST)


def show_table(screen: Screen) -> None:
    screen.table(HEADERS, ROWS)


def show_markdown_table(screen: Screen) -> None:
    cells = [HEADERS, ["---"] * len(HEADERS), *ROWS]
    screen.markdown("".join(f"| {' | '.join(row)} |\n" for row in cells) + "\nEnd.\n")


def show_columns(screen: Screen) -> None:
    screen.columns([(row[0] or "-", f"{row[1]} · {row[4]}") for row in ROWS])


SCENES = {
    "diff": show_diff,
    "list": show_list,
    "table": show_table,
    "markdown-table": show_markdown_table,
    "columns": show_columns,
}
every_scene = pytest.mark.parametrize("show", SCENES.values(), ids=SCENES)


def text_at(width: int, show: Callable[[Screen], None], color: bool = False) -> str:
    surface = Surface(width)
    show(Screen(surface, color))
    return surface.getvalue()


def characters(text: str) -> Counter[str]:
    """Count what can be seen, without the lines of tables and what stands for them where columns do not fit."""
    return Counter(re.sub(r"[\s─:|]", "", text))


@pytest.mark.slow
@every_scene
def test_no_line_is_wider_than_the_screen(show: Callable[[Screen], None]) -> None:
    for width in EVERY_WIDTH:
        widest = max(text_at(width, show).split("\n"), key=cell_len)
        assert cell_len(widest) <= width, (width, widest)


@pytest.mark.slow
@every_scene
def test_nothing_is_cut_on_a_narrow_screen(show: Callable[[Screen], None]) -> None:
    whole = characters(text_at(200, show))
    for width in EVERY_WIDTH:
        # a table that is shown as a list repeats its headers
        assert not whole - characters(text_at(width, show)), width


@pytest.mark.slow
@every_scene
def test_short_words_are_not_broken(show: Callable[[Screen], None]) -> None:
    words = [word for word in WORD.findall(text_at(200, show)) if len(word) <= 7]
    names = {word for word in words if f" {word} " in f" {text_at(200, show)} "}
    for width in EVERY_WIDTH:
        shown = set(WORD.findall(text_at(width, show)))
        assert not names - shown, (width, names - shown)


@pytest.mark.slow
@every_scene
def test_colours_change_no_character_but_the_marks_they_replace(
    show: Callable[[Screen], None],
) -> None:
    for width in EVERY_WIDTH:
        colored = re.sub(
            r"\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b\[[\d;]*m", "", text_at(width, show, True)
        )
        plain = text_at(width, show)
        assert characters(colored.replace("`", "")) == characters(plain.replace("`", "")), width


@every_scene
@pytest.mark.parametrize("width", RECORDED)
def test_the_screen_equals_the_recording(show: Callable[[Screen], None], width: int) -> None:
    shown = text_at(width, show)
    name = next(name for name, scene in SCENES.items() if scene is show)
    path = GOLDEN / f"{name}-{width}.txt"
    if os.environ.get("RECORD_SCREENS"):
        path.write_text(shown, encoding="utf-8")
    assert shown == path.read_text(encoding="utf-8")
