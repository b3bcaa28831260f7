"""Notes behind a query: a marked block of lines on what the conversation itself does not say, such as changed
strategies."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from swecli.context.tokens import TokenCounter
from swecli.models.api_message import ApiMessage, with_fields
from swecli.models.context import interaction_of
from swecli.models.playbook import Bullet, quote_content, render_bullets
from swecli.models.session import Session

if TYPE_CHECKING:  # counting tokens must not load the store
    from swecli.store.found import FoundInteraction

_FOUND = (
    "Found in earlier turns of this session that are no longer sent; quoted, not asked for now:"
)
_OPEN, _CLOSE = "<turn_notes>", "</turn_notes>"
_STRATEGY = re.compile(
    r"- Strategy \[(P-\d+)\] (?:is new|now reads): (.*)|- Strategy \[(P-\d+)\] no longer applies"
)


def with_notes(query: str, notes: Sequence[str]) -> str:
    """Append the notes to the query as a marked block; return the query unchanged if there are none."""
    lines = [plain_note(note) for note in notes]
    listed = "\n".join(f"- {line}" for line in lines if line)
    return f"{query}\n\n{_OPEN}\n{listed}\n{_CLOSE}" if listed else query


def plain_note(note: str) -> str:
    """Return a note as it is sent: on one line, and unable to end its block."""
    return " ".join(note.split()).replace(_CLOSE, "").replace(_OPEN, "")


def note_lines(messages: Iterable[ApiMessage]) -> Iterator[str]:
    """Yield the notes that messages were sent with, oldest first, each without its bullet."""
    for message in messages:
        if message["role"] == "user":
            for line in _block_lines(message["content"]):
                yield line.removeprefix("- ")


def without_notes(text: str) -> str:
    """Strip the notes from a user message as it was sent."""
    return (
        text[: text.rfind(_OPEN)].removesuffix("\n\n")
        if text.endswith(_CLOSE) and _OPEN in text
        else text
    )


def strategy_notes(
    known: Mapping[str, str], selected: Mapping[str, str], live: Iterable[str]
) -> list[str]:
    """Return one line for each change of the playbook that the model must learn of. `known` and `selected` map the
    strategies that the model knows, and those it should know, to their contents; others than `live` are revoked."""
    live = set(live)
    lines = []
    for bullet, content in sorted(
        selected.items(), key=lambda pair: int(pair[0].removeprefix("P-"))
    ):
        noted = _format_content(content)
        if bullet not in known:
            lines.append(f"Strategy [{bullet}] is new: {noted}")
        elif _format_content(known[bullet]) != noted:
            lines.append(f"Strategy [{bullet}] now reads: {noted}")
    return lines + [
        f"Strategy [{bullet}] no longer applies." for bullet in known if bullet not in live
    ]


def _format_content(content: str) -> str:
    return quote_content(content).replace(_CLOSE, "")


def _new_strategy_line(bullet: Bullet) -> str:
    """Return the line of a message that introduces a strategy."""
    return f"- {strategy_notes({}, {bullet.id: bullet.prompt_text}, [bullet.id])[0]}\n"


def _block_lines(text: str) -> list[str]:
    """Return the lines of the notes in a user message as it was sent."""
    return text[text.rfind(_OPEN) :].splitlines()[1:-1] if text.endswith(_CLOSE) else []


def _strategy_lines(text: str) -> list[str]:
    """Return the lines on strategies in a user message as it was sent."""
    return [line for line in _block_lines(text) if _STRATEGY.match(line)]


def _strip_strategy_notes(text: str) -> str:
    """Remove the lines on strategies from a user message as it was sent."""
    if not _strategy_lines(text):
        return text
    start = text.rfind(_OPEN)
    lines = [line for line in text[start:].splitlines() if not _STRATEGY.match(line)]
    return (
        text[:start] + "\n".join(lines)
        if len(lines) > len((_OPEN, _CLOSE))
        else text[:start].removesuffix("\n\n")
    )


def known_strategies(head: Mapping[str, str], messages: Iterable[ApiMessage]) -> dict[str, str]:
    """Return the strategies that the model knows, id to content: those in the head, updated by the notes in messages
    as sent. Parsed from these, so that a strategy that is no longer sent does not count as known."""
    known = dict(head)
    for match in map(_STRATEGY.match, _lines_in(messages)):
        if match and match[1]:
            known[match[1]] = match[2]
        elif match:
            known.pop(match[3], None)
    return known


def held_strategies(
    session: Session, past: Iterable[ApiMessage], counter: TokenCounter
) -> tuple[tuple[str, ...], int, Callable[[Bullet], str]]:
    """Return the ids of the strategies that the request `past` contains, the tokens they take in the head, in notes,
    and in the notes to come on their changes, and the format of a further note's line."""
    epoch = session.context.epoch
    sent = [*past]
    head = epoch.strategies if epoch is not None else {}
    known = known_strategies(head, sent)
    contents = {
        bullet.id: bullet.prompt_text for bullet in session.get_playbook().live_bullets(known)
    }
    notes = [f"{line}\n" for line in _lines_in(sent)]
    changes = [f"- {line}\n" for line in strategy_notes(known, contents, contents)]
    whole = render_bullets(Bullet(name, content) for name, content in head.items())
    texts = (whole, "".join(notes), "".join(changes))
    return tuple(known), sum(map(counter.count, texts)), _new_strategy_line


def _lines_in(messages: Iterable[ApiMessage]) -> Iterator[str]:
    """Yield the lines on strategies in the user messages."""
    for message in messages:
        if message["role"] == "user":
            yield from _strategy_lines(message["content"])


def render_excerpts(
    found: Iterable[FoundInteraction], most: int | None, counter: TokenCounter
) -> tuple[list[str], list[int]]:
    """Return notes that quote the found interactions, best first, and the numbers of those quoted. The notes have at
    most `most` tokens (None: no limit); excerpts that do not fit are skipped."""
    lines = [_FOUND]
    numbers: dict[int, None] = {}
    used = counter.count(f"- {_FOUND}\n")
    for place in (place for one in found for place in one.excerpts):
        tokens = counter.count(f"- {place.quotation}\n")
        if most is None or used + tokens <= most:
            lines.append(place.quotation)
            numbers[place.interaction] = None
            used += tokens
    return (lines, list(numbers)) if numbers else ([], [])


def strip_old_strategies(messages: Iterable[ApiMessage], began: int) -> list[ApiMessage]:
    """Remove the strategy notes from keyed messages of interactions before `began`."""
    return [
        with_fields(message, {"content": _strip_strategy_notes(message["content"])})
        if message["role"] == "user" and interaction_of(message) < began
        else message
        for message in messages
    ]
