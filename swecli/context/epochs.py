"""Epochs: notes on what changes within one, the effects of a summary, and the conditions under which a turn begins a
new one."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

from swecli.context.keyed import SYSTEM_KEY, normalize_keyed
from swecli.context.system_message import HeadParts
from swecli.context.tokens import TokenCounter
from swecli.models.api_message import with_fields
from swecli.models.context import (
    DEFAULT_SLACK,
    KEY,
    Edits,
    Epoch,
    WindowSpec,
    interaction_of,
    key_of,
)
from swecli.models.message import ApiMessage
from swecli.models.playbook import Bullet, quote_content, render_bullets
from swecli.models.session import Session

if TYPE_CHECKING:  # counting tokens must not load the store
    from swecli.store.records import FoundInteraction

_HALF = "it takes half of what is allowed"
CONDENSE = "condense"
Opening = tuple[int, str]  # a new epoch: its first interaction, and the reason
_LARGE_WORK, _LARGE_SIZE = ("refactor", "implement", "design"), 7
_FEW_WORDS, _SMALL_SIZE = 5, 3
_TOKENS_PER_SLACK = 4_000  # of a request's limit, for each interaction of slack

_FOUND = (
    "Found in earlier turns of this session that are no longer sent; quoted, not asked for now:"
)
_OPEN, _CLOSE = "<turn_notes>", "</turn_notes>"
_STRATEGY = re.compile(
    r"- Strategy \[(P-\d+)\] (?:is new|now reads): (.*)|- Strategy \[(P-\d+)\] no longer applies"
)


def environment_notes(cwd: Path, today: date, platform: str = sys.platform) -> list[str]:
    """Return workspace, platform and date as notes."""
    return [f"Workspace: {cwd}", f"Platform: {platform}", f"Date: {today.isoformat()}"]


def with_notes(query: str, notes: Sequence[str]) -> str:
    """Append the notes to the query as a marked block; return the query unchanged if there are none."""
    lines = [" ".join(note.split()).replace(_CLOSE, "").replace(_OPEN, "") for note in notes]
    listed = "\n".join(f"- {line}" for line in lines if line)
    return f"{query}\n\n{_OPEN}\n{listed}\n{_CLOSE}" if listed else query


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


def _strategy_lines(text: str) -> list[str]:
    """Return the lines on strategies in a user message as it was sent."""
    lines = text[text.rfind(_OPEN) :].splitlines() if text.endswith(_CLOSE) else []
    return [line for line in lines if _STRATEGY.match(line)]


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
    epoch, sent = session.context.epoch, [*past]
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
            yield from _strategy_lines(str(message["content"]))


def render_excerpts(
    found: Iterable[FoundInteraction], most: int | None, counter: TokenCounter
) -> tuple[list[str], list[int]]:
    """Return notes that quote the found interactions, best first, and the numbers of those quoted. The notes have at
    most `most` tokens (None: no limit); excerpts that do not fit are skipped."""
    lines, numbers, used = [_FOUND], list[int](), counter.count(f"- {_FOUND}\n")
    for place in (place for one in found for place in one.excerpts):
        tokens = counter.count(f"- {place.quotation}\n")
        if most is None or used + tokens <= most:
            lines, used = [*lines, place.quotation], used + tokens
            numbers += [place.interaction] if place.interaction not in numbers else []
    return (lines, numbers) if numbers else ([], [])


def strip_old_strategies(messages: Iterable[ApiMessage], began: int) -> list[ApiMessage]:
    """Remove the strategy notes from keyed messages of interactions before `began`."""
    return [
        with_fields(message, {"content": _strip_strategy_notes(message["content"])})
        if message["role"] == "user" and interaction_of(message) < began
        else message
        for message in messages
    ]


def with_epoch(epoch: Epoch, messages: list[ApiMessage]) -> list[ApiMessage]:
    """Return keyed messages as an epoch sends them: with its system message, without older strategy notes."""
    system: ApiMessage = {"role": "system", "content": epoch.system, KEY: SYSTEM_KEY}
    rest = (message for message in messages if key_of(message) != SYSTEM_KEY)
    return strip_old_strategies([system, *rest], epoch.began)


def rebuild_epoch(epoch: Epoch, session: Session, parts: HeadParts, interaction: int) -> Epoch:
    """Return the current epoch with a new system message, whose head retains the facts of all unpinned
    interactions."""
    system = parts.compose(session, epoch.summary, session.context.pins)
    return replace(epoch, system=system, strategies=parts.contents, began=interaction + 1)


@dataclass(frozen=True, slots=True)
class SummaryCut:
    """The part of keyed messages that a summary replaces while `interaction` is running: the summary of `asked`
    replaces `replaced`; `dropped` holds the keys of the running turn's messages among them."""

    messages: list[ApiMessage]
    interaction: int
    asked: list[ApiMessage]
    replaced: list[ApiMessage]
    dropped: tuple[str, ...]

    @classmethod
    def find(
        cls, messages: list[ApiMessage], interaction: int, pins: tuple[int, ...]
    ) -> SummaryCut | None:
        """Find the messages that a summary would replace; None if there are none. The running turn keeps its user
        message and its newest step, pinned interactions keep everything."""
        running = [message for message in messages if interaction_of(message) == interaction]
        places = [place for place, message in enumerate(running) if message["role"] == "assistant"]
        dropped = tuple(key_of(message) for message in running[1 : places[-1]]) if places else ()
        older = [
            m
            for m in messages[1:]
            if interaction_of(m) != interaction and interaction_of(m) not in pins
        ]
        if not dropped and not older:
            return None
        # an unanswered query is not part of the conversation to summarise
        asked = messages[:-1] if running and not places else messages
        replaced = [*older, *(message for message in running if key_of(message) in dropped)]
        return cls(messages, interaction, asked, replaced, dropped)

    def apply(
        self, session: Session, summary: str, parts: HeadParts
    ) -> tuple[Epoch, Edits, list[ApiMessage]]:
        """Return the epoch that begins with a summary, its edits and its messages."""
        number, context = self.interaction, session.context
        pins = tuple(pin for pin in context.pins if pin < number)
        parts = replace(parts, outdated=())  # the summary was written with what is withdrawn
        system = parts.compose(session, summary, pins if self.dropped else {*pins, number})
        epoch = Epoch(
            number, system, parts.contents, pins, summary, str(session.window), number + 1
        )
        dropped = Edits(self.dropped)
        kept = [message for message in self.messages if interaction_of(message) in (*pins, number)]
        return (
            epoch,
            context.merge_edits(number, dropped),
            normalize_keyed(dropped.apply(with_epoch(epoch, kept))),
        )

    @property
    def turns(self) -> str:
        """The interactions to summarise: `T3 to T9`, or the running turn's steps."""
        numbers = sorted(
            {interaction_of(message) for message in self.asked} - {0, self.interaction}
        )
        if not numbers:
            return f"earlier steps of T{self.interaction}"
        return f"T{numbers[0]}" if len(numbers) == 1 else f"T{numbers[0]} to T{numbers[-1]}"


def adaptive_window_size(
    query: str, default: int = 5, min_size: int = 3, max_size: int = 10
) -> int:
    """Return the number of interactions to keep for `query`: 7 for large work (by key words, so that "implement OAuth"
    is not small), 3 for a few words, else `default`; clamped to `min_size` and `max_size`, the latter winning."""
    size = _SMALL_SIZE if len(query.split()) < _FEW_WORDS else default
    if any(word in query.lower() for word in _LARGE_WORK):
        size = _LARGE_SIZE
    return min(max(size, min_size), max_size)


@dataclass(frozen=True, slots=True)
class OpeningConditions:
    """What the start of a turn depends on besides the session. `cold`: the provider's cache has expired; `allowed`:
    maximum tokens of a request, None if unknown; `reopen`: why a new epoch must begin, or ""; `smallest` and `largest`
    bound an `auto` window."""

    cold: bool = False
    allowed: int | None = None
    reopen: str = ""
    smallest: int = 3
    largest: int = 10

    def resolve(self, spec: WindowSpec, query: str = "") -> WindowSpec:
        """Resolve the window for a query: `auto` gets a size from it; a small model's window limits the slack."""
        if spec.mode == "auto":
            size = adaptive_window_size(query, min_size=self.smallest, max_size=self.largest)
            return replace(spec, size=size, slack=spec.slack or DEFAULT_SLACK)
        slack = spec.slack if self.allowed is None else self.allowed // _TOKENS_PER_SLACK
        return replace(spec, slack=min(spec.slack, slack))

    def max_held(self, spec: WindowSpec) -> int:
        """Return how many interactions a resolved window may hold before it moves. `auto` moves only at its upper
        bound: a query that needs fewer interactions is no reason to invalidate the cached prefix."""
        return max(self.largest, spec.size) if spec.mode == "auto" else spec.size + spec.slack

    def next_opening(
        self, session: Session, query: str, past: Sequence[ApiMessage], counter: TokenCounter
    ) -> Opening | None:
        """Return the epoch that the next turn begins, or None if the current one continues.

        `query` as sent sizes an `auto` window; `past` is the current request without the query: if it takes more than
        half of the allowed tokens the window moves, provided that at least half of it leaves."""
        state, epoch, completed = session.context, session.context.epoch, session.completed
        spec = self.resolve(session.window, query)
        if epoch is None:
            return replace(spec, slack=0).first_kept(completed), "the session begins"
        if epoch.spec != str(
            session.window
        ):  # an epoch begins in any case, so that the new setting is stored
            return spec.first_kept(completed, epoch.first), f"the window is {session.window} now"
        if self.reopen:
            return epoch.first, self.reopen
        older = {pin for pin in state.pins if pin < epoch.first}
        if not older <= set(epoch.pins) or any(
            state.is_cut(pin, or_changed=True) for pin in state.pins
        ):
            return epoch.first, "a pinned interaction comes back"
        if completed < state.hold_turns or spec.mode == "full":
            return None
        held, target = completed - epoch.first + 1, completed - spec.size + 1
        most = self.max_held(spec)
        if held > most:
            return target, f"more than {most} interactions"
        if held > spec.size and self.cold:
            return target, "the provider's cache is cold"
        if held > spec.size and self.allowed is not None:
            tokens, kept = (
                sum(
                    counter.count_message(message)
                    for message in past[1:]
                    if interaction_of(message) >= first
                )
                for first in (0, target)
            )
            if (
                tokens * 2 > self.allowed and tokens >= kept * 2
            ):  # the provider bills what stays in full again
                return target, _HALF
        return None
