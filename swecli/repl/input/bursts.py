"""Find the slash commands around a text of several lines that came at once, without the marks of a paste."""

from __future__ import annotations

from collections.abc import Callable

from swecli.values import dataclass

_GOES_ON = "\\"  # at the end of a line that goes on in the next one


@dataclass(frozen=True, slots=True)
class Burst:
    """A text that came at once, in three parts. The message is one, whatever its lines are: terminals that do not mark
    a paste send it so. The commands around it are none of its lines: what is typed while the program is busy comes at
    once too, and a command is never meant for the model."""

    before: str  # commands, each with its Enter
    message: str  # with its Enter, if it has come
    after: str  # commands, each with its Enter

    @classmethod
    def split(
        cls, text: str, enter: str, is_command: Callable[[str], bool], begun: str = ""
    ) -> Burst:
        """Split a text at `enter`, the character of that key. `begun` was typed of its first line before."""
        *lines, unsent = text.split(enter)

        def is_sent_command(place: int) -> bool:
            line = lines[place] if place else begun + lines[place]
            goes_on = place > 0 and lines[place - 1].endswith(_GOES_ON)
            return not goes_on and not line.endswith(_GOES_ON) and is_command(line)

        first = 0
        while first < len(lines) and is_sent_command(first):
            first += 1
        end = len(lines)
        while not unsent and end > first and is_sent_command(end - 1):
            end -= 1
        before = "".join(line + enter for line in lines[:first])
        after = "".join(line + enter for line in lines[end:])
        return cls(before, text[len(before) : len(text) - len(after)], after)
