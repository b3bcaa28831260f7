"""Stretches of text to replace, made unique so that an exact-match edit hits what is meant and nothing else."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from swecli.llm.demo.outline import Lines


@dataclass(frozen=True, slots=True)
class Span:
    """One replacement, as the edit tool takes it."""

    old: str
    new: str
    every: bool = False

    def edit(self) -> dict[str, Any]:
        """The tool's parameters."""
        flag = {"replace_all": True} if self.every else {}
        return {"old_text": self.old, "new_text": self.new, **flag}


def text_of_lines(lines: Lines) -> str:
    """The lines as one text."""
    return "\n".join(text for _, text in lines)


def occurrences(lines: Lines, old: str, whole_word: bool = False) -> list[int]:
    """The line numbers at which a text begins, one for each time it stands there."""
    text = text_of_lines(lines)
    pattern = rf"(?<![\w$]){re.escape(old)}(?![\w$])" if whole_word else re.escape(old)
    return [lines[text.count("\n", 0, match.start())][0] for match in re.finditer(pattern, text)] if old else []


def holding(lines: Lines, text: str) -> list[int]:
    """Numbers of the lines that are this text, else of those that hold it."""
    same = [number for number, line in lines if line.strip() == text.strip()]
    return same or [number for number, line in lines if text in line]


def replaced_words(lines: Lines, old: str, new: str) -> tuple[Span, ...] | None:
    """Edits that rename a whole word; None when that cannot be told from longer names that hold it."""
    text = text_of_lines(lines)
    if text.count(old) == len(occurrences(lines, old, whole_word=True)):
        return (Span(old, new, text.count(old) > 1),)
    spans = []
    for number in sorted(set(occurrences(lines, old, whole_word=True))):
        line = next(line for at, line in lines if at == number)
        if _times(text, line) > 1:
            return None
        spans.append(Span(line, re.sub(rf"(?<![\w$]){re.escape(old)}(?![\w$])", lambda _: new, line)))
    return tuple(spans)


def extended(lines: Lines, addition: str, context: int = 1) -> Span | None:
    """Puts text behind the last line that is not blank, known by at least `context` lines; None when there is none."""
    full = [index for index, (_, text) in enumerate(lines) if text.strip()]
    if not full:
        return None
    first, last = _unique(lines, max(0, full[-1] - context + 1), full[-1])
    new = [*_texts(lines, first, full[-1]), addition, *_texts(lines, full[-1] + 1, last)]
    return Span("\n".join(_texts(lines, first, last)), "\n".join(new))


def deleted_line(lines: Lines, number: int) -> Span | None:
    """Takes one line out together with its line end; None when there is no such line, or no other one."""
    index = next((i for i, (at, _) in enumerate(lines) if at == number), None)
    if index is None or len(lines) < 2:
        return None
    first, last = _unique(lines, *((index - 1, index) if index else (0, 1)))
    new = [*_texts(lines, first, index - 1), *_texts(lines, index + 1, last)]
    return Span("\n".join(_texts(lines, first, last)), "\n".join(new))


def wider(lines: Lines, span: Span) -> Span:
    """The same change told with the whole line around it, where that line stands only once."""
    line = next((line for _, line in lines if span.old in line), "")
    if span.every or not line or line == span.old or _times(text_of_lines(lines), line) != 1:
        return Span(span.old, span.new, True)
    return Span(line, line.replace(span.old, span.new))


def _texts(lines: Lines, first: int, last: int) -> list[str]:
    return [text for _, text in lines[first : last + 1]]


def _unique(lines: Lines, first: int, last: int) -> tuple[int, int]:
    """Indexes of the shortest stretch around these lines that stands only once: grown backwards, then forwards."""
    text = text_of_lines(lines)
    while _times(text, "\n".join(_texts(lines, first, last))) > 1 and (first > 0 or last < len(lines) - 1):
        first, last = (first - 1, last) if first > 0 else (first, last + 1)
    return first, last


def _times(text: str, part: str) -> int:
    """How often a part stands in a text, overlaps included: the edit tool counts them too."""
    return len(re.findall(f"(?={re.escape(part)})", text))
