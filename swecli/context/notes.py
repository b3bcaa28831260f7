"""The notes of a turn on strategies and earlier turns: which ones a query needs, by what its request holds already."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from swecli.context.tokens import TokenCounter
from swecli.models.api_message import ApiMessage, notes_of, with_fields
from swecli.models.context import interaction_of
from swecli.models.notes import ExcerptNote, Note, StrategyChange, StrategyNote, note_lines
from swecli.models.playbook import Bullet, quote_content, render_bullets
from swecli.models.session import Session

if TYPE_CHECKING:  # counting tokens must not load the store
    from swecli.store.found import FoundInteraction


def strategy_notes(
    known: Mapping[str, str], selected: Mapping[str, str], live: Iterable[str]
) -> list[StrategyNote]:
    """Return a note for each change of the playbook that the model must learn of. `known` and `selected` map the
    strategies that the model knows, and those it should know, to their contents; others than `live` are revoked."""
    live = set(live)
    notes = []
    for bullet, content in sorted(
        selected.items(), key=lambda pair: int(pair[0].removeprefix("P-"))
    ):
        if bullet not in known:
            notes.append(StrategyNote(bullet, StrategyChange.NEW, content))
        elif quote_content(known[bullet]) != quote_content(content):
            notes.append(StrategyNote(bullet, StrategyChange.REWRITTEN, content))
    ended = [bullet for bullet in known if bullet not in live]
    return notes + [StrategyNote(bullet, StrategyChange.ENDED) for bullet in ended]


def known_strategies(head: Mapping[str, str], messages: Iterable[ApiMessage]) -> dict[str, str]:
    """Return the strategies that the model knows, id to content: those in the head, updated by the notes of the
    messages of a request. So a strategy that is no longer sent does not count as known."""
    known = dict(head)
    for note in _strategy_notes_of(messages):
        if note.change is StrategyChange.ENDED:
            known.pop(note.strategy, None)
        else:
            known[note.strategy] = note.content
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
    notes = note_lines(_strategy_notes_of(sent))
    changes = note_lines(strategy_notes(known, contents, contents))
    whole = render_bullets(Bullet(name, content) for name, content in head.items())
    texts = (whole, "".join(notes), "".join(changes))
    return tuple(known), sum(map(counter.count, texts)), _new_strategy_line


def _new_strategy_line(bullet: Bullet) -> str:
    """Return the line of a message that introduces a strategy."""
    return note_lines([StrategyNote(bullet.id, StrategyChange.NEW, bullet.prompt_text)])[0]


def _strategy_notes_of(messages: Iterable[ApiMessage]) -> Iterator[StrategyNote]:
    """Yield the notes on strategies, oldest first."""
    for message in messages:
        for note in notes_of(message):
            if isinstance(note, StrategyNote):
                yield note


def strip_old_strategies(messages: Iterable[ApiMessage], began: int) -> list[ApiMessage]:
    """Remove the strategy notes from keyed messages of interactions before `began`."""
    return [
        _without_strategies(message) if interaction_of(message) < began else message
        for message in messages
    ]


def _without_strategies(message: ApiMessage) -> ApiMessage:
    notes = notes_of(message)
    kept: list[Note] = [note for note in notes if not isinstance(note, StrategyNote)]
    return message if kept == notes else with_fields(message, {"notes": kept})


def quote_excerpts(
    found: Iterable[FoundInteraction], most: int | None, counter: TokenCounter
) -> tuple[list[ExcerptNote], list[int]]:
    """Return notes that quote the found interactions, best first, and the numbers of those quoted. The notes have at
    most `most` tokens (None: no limit); excerpts that do not fit are skipped."""
    notes: list[ExcerptNote] = []
    numbers: dict[int, None] = {}
    for place in (place for one in found for place in one.excerpts):
        longer = [*notes, ExcerptNote(place.quotation)]
        tokens = sum(map(counter.count, note_lines(longer)))
        if most is None or tokens <= most:
            notes = longer
            numbers[place.interaction] = None
    return notes, list(numbers)
