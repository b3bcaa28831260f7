"""The lines that travel with a query: what changes from turn to turn and so may not stand in the system prompt; with
them what a query refers to in turns that are no longer sent."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from swecli.context.tokens import TokenCounter
from swecli.models.playbook import Bullet, quoted
from swecli.store.records import FoundInteraction

_FOUND = "Found in earlier turns of this session that are no longer sent; quoted, not asked for now:"
_OPEN, _CLOSE = "<turn_notes>", "</turn_notes>"
_STRATEGY = re.compile(r"- Strategy \[(P-\d+)\] (?:is new|now reads): (.*)")
_GONE = re.compile(r"- Strategy \[(P-\d+)\] no longer applies")


def environment_notes(cwd: Path, today: date, platform: str = sys.platform) -> list[str]:
    """Where and when the turn takes place, as notes."""
    return [f"Workspace: {cwd}", f"Platform: {platform}", f"Date: {today.isoformat()}"]


def with_notes(query: str, notes: Sequence[str]) -> str:
    """The query followed by its notes as a marked block; without notes, the query as it is."""
    lines = [" ".join(note.split()).replace(_CLOSE, "").replace(_OPEN, "") for note in notes]
    listed = "\n".join(f"- {line}" for line in lines if line)
    return f"{query}\n\n{_OPEN}\n{listed}\n{_CLOSE}" if listed else query


def without_notes(text: str) -> str:
    """The query in a user message as it was sent."""
    return text[: text.rfind(_OPEN)].removesuffix("\n\n") if text.endswith(_CLOSE) and _OPEN in text else text


def strategy_notes(told: Mapping[str, str], chosen: Mapping[str, str], live: Iterable[str]) -> list[str]:
    """What has changed in the playbook since the model was informed, one line each.

    Args:
        told: bullet → content, as the model knows them: from the head of the epoch and from notes since.
        chosen: bullet → content, of those that should be known now.
        live: the bullets that still hold. One that is told and holds but is not chosen any more stays unmentioned.
    """
    holds = set(live)
    lines = []
    for bullet, content in sorted(chosen.items(), key=lambda pair: int(pair[0].removeprefix("P-"))):
        said = _said(content)
        if bullet not in told:
            lines.append(f"Strategy [{bullet}] is new: {said}")
        elif _said(told[bullet]) != said:
            lines.append(f"Strategy [{bullet}] now reads: {said}")
    return lines + [f"Strategy [{bullet}] no longer applies." for bullet in told if bullet not in holds]


def new_line(bullet: Bullet) -> str:
    """The line that tells of a strategy for the first time, as it stands in a message."""
    return f"- {strategy_notes({}, {bullet.id: bullet.content}, [bullet.id])[0]}\n"


def strategy_lines(text: str) -> list[str]:
    """What a user message, as it was sent, tells of the playbook."""
    lines = text[text.rfind(_OPEN) :].splitlines() if text.endswith(_CLOSE) else []
    return [line for line in lines if _tells(line)]


def without_strategies(text: str) -> str:
    """A user message, as it was sent, without what it tells of the playbook."""
    if not strategy_lines(text):
        return text
    start = text.rfind(_OPEN)
    lines = [line for line in text[start:].splitlines() if not _tells(line)]
    return text[:start] + "\n".join(lines) if len(lines) > len((_OPEN, _CLOSE)) else text[:start].removesuffix("\n\n")


def _tells(line: str) -> bool:
    return _STRATEGY.match(line) is not None or _GONE.match(line) is not None


def told_since(told: Mapping[str, str], sent: Iterable[str]) -> dict[str, str]:
    """What the model knows of the playbook after these user messages, given what the head told it.

    The notes are read back from the messages themselves, so that what is not sent any more is not taken for known.
    """
    known = dict(told)
    for text in sent:
        for line in strategy_lines(text):
            if found := _STRATEGY.match(line):
                known[found[1]] = found[2]
            elif found := _GONE.match(line):
                known.pop(found[1], None)
    return known


def _said(content: str) -> str:
    return quoted(content).replace(_CLOSE, "")


@dataclass(frozen=True, slots=True)
class Excerpts:
    """Lines for the notes of a query, and the interactions that they quote, in the order of the lines."""

    lines: tuple[str, ...] = ()
    interactions: tuple[int, ...] = ()


def excerpts(found: Iterable[FoundInteraction], most: int | None, counter: TokenCounter) -> Excerpts:
    """The quotations of what was found, best first, in at most `most` tokens together (None: no limit); one that does
    not fit is left out."""
    lines, numbers, used = [_FOUND], list[int](), counter.count(f"- {_FOUND}\n")
    for place in (place for one in found for place in one.excerpts):
        tokens = counter.count(f"- {place.quotation}\n")
        if most is None or used + tokens <= most:
            lines, used = [*lines, place.quotation], used + tokens
            numbers += [place.interaction] if place.interaction not in numbers else []
    return Excerpts(tuple(lines), tuple(numbers)) if numbers else Excerpts()
