"""What stands between the scrollback and the line being typed: what goes on now, a question, the queue."""

from __future__ import annotations

from collections.abc import Sequence

from prompt_toolkit.formatted_text import StyleAndTextTuples

from swecli.repl.footer import clip
from swecli.repl.input.question import Question
from swecli.repl.line_queue import LineQueue
from swecli.repl.render.sanitise import clean

_QUEUE_ROWS = 4


def lines_above(
    live: Sequence[StyleAndTextTuples], question: Question | None, queue: LineQueue, columns: int, rows: int, now: float
) -> list[StyleAndTextTuples]:
    """At most `rows` lines: the question has first claim on them, then the queue, then the end of what goes on."""
    asked: list[StyleAndTextTuples] = []
    if question is not None and rows > 0:
        asked = [[line] for line in question.lines(columns, rows, now)]
    waiting = _queue_lines(queue, columns)[: max(0, rows - len(asked))]
    left = max(0, rows - len(asked) - len(waiting))
    return [*live[max(0, len(live) - left) :], *asked, *waiting]


def _queue_lines(queue: LineQueue, columns: int) -> list[StyleAndTextTuples]:
    waiting = queue.lines
    if not waiting:
        return []
    shown = [f"  {number} {' '.join(clean(line).split())}" for number, line in enumerate(waiting, 1)]
    if len(shown) > _QUEUE_ROWS:
        shown[_QUEUE_ROWS - 1 :] = [f"  … {len(waiting) - _QUEUE_ROWS + 1} more"]
    head = "queue paused by the interrupt · Enter sends it" if queue.held else "queued"
    return [[("class:quiet", clip(line, columns))] for line in (f"{head} · ↑ edits · Ctrl+C removes", *shown)]
