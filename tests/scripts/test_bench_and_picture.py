"""Test the scripts that measure the whole program and draw its screen."""

from __future__ import annotations

import subprocess
import sys
import xml.etree.ElementTree as ET
from functools import partial
from pathlib import Path

import pytest

from scripts.benchmarks.reviewing import figures
from scripts.benchmarks.rows import Row, in_turn, line, percentile
from scripts.pictures.screen import replay, squeezed, unfolded
from scripts.pictures.svg import draw

ROOT = Path(__file__).parents[2]
SVG = "{http://www.w3.org/2000/svg}"
FIGURES = (
    "exec to usable prompt",
    "memory at the prompt",
    "the same with -c, 10,000 messages",
    "key to echo, first 3 s, p95, demo model",
    "key to echo, first 3 s, max, demo model",
    "key to echo, first 3 s, p95, litellm loads",
    "key to echo, first 3 s, max, litellm loads",
    "key to echo while 100 KB stream, p95",
    "key to echo while 100 KB stream, max",
    "memory with litellm loaded",
    "swecli --version",
    "swecli --help",
    "-p, demo model, exec to exit",
    "-p, exec to first request",
    "-p, exec to first text",
    "-p, processor time",
    "exec to usable prompt, 5 MCP servers",
    "memory at the prompt, 5 MCP servers",
    "-p, exec to first request, 5 MCP servers",
    "append one message, durable",
    "resume a session, 10,000 rows",
    "list 20 sessions, 10,000 rows",
    "search a rare word, 10,000 rows",
    "search a common word, 10,000 rows",
    "build a request, 10,000 turns, measured",
    "build a request, 10,000 turns, messages only",
    "resume and build a request, 10,000 turns",
    "choose among 10,000 strategies",
    "choose among 10,000 strategies, first time",
    "a turn with 10,000 strategies, to its request",
    "a turn with 10,000 strategies, stored",
)


def run(script: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(ROOT / "scripts" / script), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.slow
def test_bench_prints_every_figure_and_exits_with_0() -> None:
    done = run("bench", "--once")
    assert done.returncode == 0, done.stderr
    printed = [row.split("  ")[0] for row in done.stdout.splitlines()]
    assert [row for row in printed if row in FIGURES] == list(FIGURES), done.stdout
    assert f"{len(FIGURES)} figures, " in done.stdout


def test_bench_refuses_an_unknown_group_with_the_known_ones() -> None:
    done = run("bench", "prompts")
    assert done.returncode == 2
    assert (
        "there is no group 'prompts'; there are prompt, process, ask, servers, store, request, select"
        in done.stderr
    )


def test_a_row_is_over_when_its_ratio_exceeds_its_goal() -> None:
    rows = [
        Row("f", "ms", ours, 10.0, "r", goal)
        for ours, goal in ((15.0, 1.5), (15.1, 1.5), (99.0, None))
    ]
    assert [row.over for row in rows] == [False, True, False]
    assert [row.cells()[-1] for row in rows] == ["ok", "over", ""]
    assert line(rows[0].cells()).split() == [
        "f",
        "15.0",
        "ms",
        "10.0",
        "ms",
        "r",
        "1.50",
        "≤",
        "1.5",
        "ok",
    ]


def test_measured_functions_alternate_and_run_equally_often() -> None:
    order: list[str] = []

    def work(name: str) -> float:
        order.append(name)
        return float(len(order))

    works = [partial(work, name) for name in "ab"]
    assert [len(values) for values in in_turn(3, *works)] == [3, 3]
    assert "".join(order) == "abbaab"


def test_a_percentile_is_one_of_the_values() -> None:
    assert percentile(range(100), 0.95) == 95
    assert percentile([3, 1, 2], 1.0) == 3


@pytest.mark.slow
def test_picture_draws_the_session_as_valid_svg() -> None:
    target = Path("pictures/first.svg")
    done = run("picture", str(target))
    assert done.returncode == 0, done.stderr
    root = ET.fromstring(target.read_text(encoding="utf-8"))
    assert root.tag == f"{SVG}svg"
    texts = "\n".join(element.text or "" for element in root.iter(f"{SVG}text"))
    for expected in (
        "net * (1 + TAX)",
        "Make this change?",
        "4 no, and tell it what to do instead",
        "2 passed",
        "✎ T4:",
    ):
        assert expected in texts
    colours = {element.get("fill") for element in root.iter(f"{SVG}text")}
    assert len(colours) > 4


def test_replay_parses_text_with_its_colours_and_attributes() -> None:
    shot = replay(b"plain \x1b[2;31mdim red\x1b[0m \x1b[1;38;2;1;2;3mbold\x1b[22m", 40, 5)
    assert [(span.text, span.style.fg, span.style.dim, span.style.bold) for span in shot.rows[0]][
        :4
    ] == [
        ("plain ", "default", False, False),
        ("dim red", "red", True, False),
        (" ", "default", False, False),
        ("bold", "010203", False, True),
    ]
    assert len(shot.rows) == 1


def test_removed_lines_are_kept_above_the_lines_that_replaced_them() -> None:
    asked = replay(b"one\r\nsure?\r\n1 yes", 20, 9)
    done = replay(b"one\r\nallowed\r\n> ", 20, 9)
    assert unfolded(asked, done).texts() == ["one", "sure?", "1 yes", "allowed", ">"]
    assert unfolded(asked, done).cursor == (2, 4)


def test_consecutive_empty_rows_are_merged_and_the_cursor_is_adjusted() -> None:
    shot = squeezed(replay(b"one\r\n\n\n\n> \x1b7\r\n\n\n\nfoot\x1b8", 20, 12))
    assert shot.texts() == ["one", "", ">", "", "foot"]
    assert shot.cursor == (2, 2)


def test_xml_characters_are_escaped_and_reversed_cells_have_a_background() -> None:
    root = ET.fromstring(
        draw(replay(b"a < b && \x1b[7m\x1b[31mred\x1b[0m", 30, 3), 30, '"x" & <y>')
    )
    texts = [element.text for element in root.iter(f"{SVG}text")]
    assert texts == ['"x" & <y>', "a < b &&", "red"]
    assert "#f2777a" in {element.get("fill") for element in root.iter(f"{SVG}rect")}


@pytest.mark.slow
def test_each_review_figure_is_measured_and_meets_its_goal() -> None:
    found = {figure.name: figure for figure in figures(3, 2)}
    assert len(found) >= 12
    assert [figure for figure in found.values() if not figure.met] == []
