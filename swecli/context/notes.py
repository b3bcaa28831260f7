"""The notes of a turn on strategies and earlier turns: which ones a query needs, by what its request holds already."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from swecli.context.tokens import TokenCounter
from swecli.models.api_message import ApiMessage, notes_of, with_fields
from swecli.models.context import interaction_of
from swecli.models.notes import ExcerptNote, Note, StrategyChange, StrategyNote, note_lines
from swecli.models.playbook import UNCONFIRMED, Bullet, quote_content, render_bullets
from swecli.models.session import Session

if TYPE_CHECKING:  # counting tokens must not load the store
    from swecli.store.search_results import FoundInteraction


def strategy_notes(
    earlier: Mapping[str, str], selected: Mapping[str, str], live: Iterable[str]
) -> list[StrategyNote]:
    """Return a note for each change of the playbook that the model must learn of. `earlier` and `selected` map the ids
    of the strategies that the model knows, and of those it should know, to their contents; others than `live` are
    revoked."""
    live = set(live)
    notes = []
    for name in sorted(selected, key=strategy_number):
        content = selected[name]
        if name not in earlier:
            notes.append(StrategyNote(name, StrategyChange.NEW, content))
        elif _is_reworded(earlier[name], content):
            notes.append(StrategyNote(name, StrategyChange.REWRITTEN, content))
    for name in earlier:
        if name not in live:
            notes.append(StrategyNote(name, StrategyChange.ENDED))
    return notes


def _is_reworded(earlier: str, content: str) -> bool:
    """Return whether a strategy says something else now. That it was confirmed meanwhile is no news to the model."""
    known_contents = (quote_content(earlier), quote_content(earlier.removeprefix(UNCONFIRMED)))
    return quote_content(content) not in known_contents


def strategy_number(name: str) -> int:
    """Return 7 for the id `P-7`."""
    return int(name.removeprefix("P-"))


def known_strategies(head: Mapping[str, str], messages: Iterable[ApiMessage]) -> dict[str, str]:
    """Return the strategies that the model knows, id to content: those in the head, updated by the notes of the
    messages of a request. So a strategy that is no longer sent does not count as known."""
    strategies = dict(head)
    for note in _strategy_notes_of(messages):
        if note.change is StrategyChange.ENDED:
            strategies.pop(note.strategy, None)
        else:
            strategies[note.strategy] = note.content
    return strategies


def held_strategies(
    session: Session, past: Sequence[ApiMessage], counter: TokenCounter
) -> tuple[tuple[str, ...], int]:
    """Return the ids of the strategies that the request `past` contains, and the tokens they take in the head, in
    notes, and in the notes to come on their changes."""
    epoch = session.context.epoch
    head = epoch.strategies if epoch is not None else {}
    earlier = known_strategies(head, past)
    live = session.get_playbook().live_bullets(earlier)
    contents = {bullet.id: bullet.prompt_text for bullet in live}
    texts = (
        render_bullets(Bullet(name, content) for name, content in head.items()),
        "".join(note_lines(_strategy_notes_of(past))),
        "".join(note_lines(strategy_notes(earlier, contents, contents))),
    )
    return tuple(earlier), sum(map(counter.count, texts))


def new_strategy_line(bullet: Bullet) -> str:
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
    kept_notes: list[Note] = [note for note in notes if not isinstance(note, StrategyNote)]
    return message if kept_notes == notes else with_fields(message, {"notes": kept_notes})


def quote_excerpts(
    interactions: Iterable[FoundInteraction], max_tokens: int | None, counter: TokenCounter
) -> tuple[list[ExcerptNote], list[int]]:
    """Return notes that quote the interactions, best first, and the numbers of those quoted. The notes have at most
    `max_tokens` (None: no limit); excerpts that do not fit are skipped."""
    notes: list[ExcerptNote] = []
    numbers: dict[int, None] = {}  # in order, each once
    for interaction in interactions:
        for excerpt in interaction.excerpts:
            longer = [*notes, ExcerptNote(excerpt.quotation)]
            tokens = sum(map(counter.count, note_lines(longer)))
            if max_tokens is None or tokens <= max_tokens:
                notes = longer
                numbers[excerpt.interaction] = None
    return notes, list(numbers)
