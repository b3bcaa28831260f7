"""A list above the input line whose highlighted option several keys act on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from textwrap import wrap

from prompt_toolkit.filters import Condition
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.keys import Keys

from swecli.repl.input.question import Option, Question, StyledText
from swecli.repl.key_map import KeySequence

ENTER = ""  # the key of a choice that was made with Enter


class ActionList(Question):
    """A question whose `result` is the index of the highlighted option; `pressed` is the letter that chose it, `ENTER`
    for Enter. `letters` says what each letter does, as in "b": "sends it again". The keys of `closing` close the list
    like Esc, and no other key has an effect: nothing is typed into the input line below."""

    def __init__(
        self,
        title: str,
        options: Sequence[Option],
        enter: str,
        letters: Mapping[str, str],
        *,
        cursor: int = 0,
        closing: Sequence[KeySequence] = (),
    ) -> None:
        self.pressed = ENTER
        self._actions = [f"Enter {enter}", *(f"{key} {does}" for key, does in letters.items())]
        self._letters = tuple(letters)
        self._closing = closing
        super().__init__(title, options)
        self.cursor = min(cursor, len(options) - 1)

    def _make_keys(self) -> KeyBindings:
        keys = super()._make_keys()
        is_open = Condition(lambda: self.is_open)

        @keys.add(Keys.Any, filter=is_open)
        def ignore(event: KeyPressEvent) -> None:
            """Type nothing: what the letter was meant to do is not known."""

        for letter in self._letters:

            @keys.add(letter, filter=is_open)
            def choose(event: KeyPressEvent, letter: str = letter) -> None:
                self.pressed = letter
                self.answer(self.cursor)

        for key in self._closing:
            keys.add(*key, filter=is_open)(lambda event: self.answer(None))
        return keys

    def _render_option(self, index: int, columns: int, style: str) -> list[StyledText]:
        """Render an option on one line, so that as many as possible are in view."""
        prefix = "> " if index == self.cursor else "  "
        label = self.options[index].label
        [line] = wrap(label, columns - len(prefix), max_lines=1, placeholder=" …") or [""]
        return [("class:selected" if index == self.cursor else style, prefix + line)]

    def _hint(self) -> str:
        return " · ".join([*self._actions, "Esc closes"])
