"""The live region on a real terminal emulator: it draws over itself and leaves nothing."""

from __future__ import annotations

import pyte

from swecli.repl.render.live import LiveRegion


def terminal(columns: int = 20, rows: int = 8) -> tuple[pyte.Screen, pyte.Stream]:
    screen = pyte.Screen(columns, rows)
    return screen, pyte.Stream(screen)


def lines(screen: pyte.Screen) -> list[str]:
    return [line.rstrip() for line in screen.display if line.strip()]


def test_a_drawing_replaces_the_one_before() -> None:
    screen, stream = terminal()
    region = LiveRegion("region")
    stream.feed("above\r\n")
    stream.feed(region.draw(["one", "two", "three"], 20))
    stream.feed(region.draw(["ONE", "2"], 20))
    assert lines(screen) == ["above", "ONE", "2"]


def test_what_is_printed_after_erasing_stands_where_the_region_began() -> None:
    screen, stream = terminal()
    region = LiveRegion("region")
    stream.feed("above\r\n" + region.draw(["one", "two"], 20) + region.erase(20) + "printed\r\n")
    stream.feed(region.draw(["three"], 20))
    assert lines(screen) == ["above", "printed", "three"]
    assert screen.cursor.hidden
    stream.feed(region.erase(20))
    assert lines(screen) == ["above", "printed"]
    assert not screen.cursor.hidden
    assert not region.shown


def test_at_the_foot_of_the_screen_the_region_scrolls_and_still_goes_whole() -> None:
    screen, stream = terminal(rows=4)
    region = LiveRegion("region")
    stream.feed("a\r\nb\r\nc\r\n" + region.draw(["1", "2", "3"], 20) + region.draw(["4", "5", "6"], 20))
    assert lines(screen) == ["c", "4", "5", "6"]
    stream.feed(region.erase(20))
    assert lines(screen) == ["c"]


def test_a_place_without_cursor_movement_gets_one_line_and_no_escape_codes() -> None:
    screen, stream = terminal()
    region = LiveRegion("line")
    out = region.draw(["x", "a long line"], 20) + region.draw(["short"], 20)
    stream.feed(out)
    assert lines(screen) == ["short"]
    out += region.erase(20)
    stream.feed(region.erase(20) + "\r" + " " * 5 + "\rdone")
    assert "\x1b" not in out


def test_where_nothing_can_be_drawn_nothing_is_written() -> None:
    assert LiveRegion("none").draw(["x"], 20) == ""
    assert LiveRegion("region").erase(20) == ""


def test_lines_broken_by_a_narrower_window_are_erased_with_all_their_rows() -> None:
    region = LiveRegion("region")
    region.draw(["x" * 30, "y" * 10], 40)
    assert "\x1b[3A" in region.erase(10)
