"""The keys that answer a question, and those that must not."""

from __future__ import annotations

import asyncio
from typing import Protocol

from prompt_toolkit.buffer import Buffer
from prompt_toolkit.filters import Condition, Filter, completion_is_selected, has_completions
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.keys import Keys

from swecli.repl.input.question import HOLD, Question

_FAR = 10
_MOVES = {"up": -1, "down": 1, "pageup": -_FAR, "pagedown": _FAR, "home": -(10**9), "end": 10**9}


class _Asking(Protocol):
    """A line with a question above it, or none."""

    @property
    def question(self) -> Question | None:
        """The question that is shown."""
        ...

    @property
    def buffer(self) -> Buffer:
        """The line being typed."""
        ...


def make_answer_keys(prompt: _Asking) -> KeyBindings:
    """The bindings of whatever question `prompt` shows. They hold only while it is open, and leave the draft alone."""
    keys = KeyBindings()
    asking = Condition(lambda: prompt.question is not None)
    is_open = Condition(lambda: _open(prompt)) & ~has_completions
    picked = Condition(lambda: prompt.question is not None and prompt.question.picked is not None)
    _moving(keys, prompt, is_open)
    _typing(keys, prompt, is_open)
    for digit in "123456789":
        _bind_alt(keys, prompt, digit, asking)

    @keys.add("enter", filter=is_open & picked & ~completion_is_selected)
    def take(event: KeyPressEvent) -> None:
        question, place = _shown(prompt), _shown(prompt).picked
        if question.pending is not None:
            prompt.buffer.reset()
        question.answer(place)

    @keys.add("enter", filter=asking & Condition(lambda: not _shown(prompt).options))
    def send_text(event: KeyPressEvent) -> None:
        text = prompt.buffer.text.strip()
        prompt.buffer.reset()
        _shown(prompt).answer(text)

    @keys.add("escape", filter=asking & ~has_completions & Condition(lambda: not _shown(prompt).guarded))
    def decline(event: KeyPressEvent) -> None:
        _shown(prompt).answer(None)

    return keys


def _moving(keys: KeyBindings, prompt: _Asking, is_open: Filter) -> None:
    choosing = Condition(lambda: bool(_shown(prompt).options))
    browsing = Condition(lambda: not _shown(prompt).guarded and not prompt.buffer.text)
    for key, by in _MOVES.items():
        when = choosing if abs(by) == 1 else choosing & browsing
        keys.add(key, filter=is_open & when)(lambda event, by=by: _shown(prompt).move(by))


def _typing(keys: KeyBindings, prompt: _Asking, is_open: Filter) -> None:
    """A lone digit or letter is an answer once nothing follows it; it stands in the line until then."""

    @keys.add(Keys.Any, filter=is_open & Condition(lambda: not prompt.buffer.text))
    def propose(event: KeyPressEvent) -> None:
        question, place = _shown(prompt), _shown(prompt).option_of(event.data)
        if place is not None and not question.guarded:
            question.answer(place)
            return
        prompt.buffer.insert_text(event.data)
        if place is not None:
            question.pending = place
            asyncio.get_running_loop().call_later(HOLD, confirm, question, event.data)

    def confirm(question: Question, typed: str) -> None:
        if question.pending is not None and prompt.buffer.text == typed and prompt.question is question:
            prompt.buffer.reset()
            question.answer(question.pending)

    def withdraw(_: object) -> None:
        question = prompt.question
        if question is not None and question.guarded and question.options:
            question.pending = question.at = None

    prompt.buffer.on_text_changed += withdraw


def _bind_alt(keys: KeyBindings, prompt: _Asking, digit: str, asking: Filter) -> None:
    @keys.add("escape", digit, filter=asking)
    def answer(event: KeyPressEvent) -> None:
        place = _shown(prompt).option_of(digit)
        if place is not None and _open(prompt):
            _shown(prompt).answer(place)


def _shown(prompt: _Asking) -> Question:
    assert prompt.question is not None
    return prompt.question


def _open(prompt: _Asking) -> bool:
    return prompt.question is not None and prompt.question.is_open(asyncio.get_running_loop().time())
