"""Arguments that end in free text: `swecli playbook add run the tests with pytest -q`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import Any

from swecli.cli.flags import Parser
from swecli.models.errors import UsageError


class FreeText(Parser):
    """A parser whose last words may be free text: what looks like a flag among them stands for itself.

    Its own flags may stand before the text and behind it; what follows `--` is text in any case. `leading` words, such
    as an id, come before the text; None: there is no text.
    """

    leading: int | None = None

    def parse_known_args(  # type: ignore[override]  # the overloads differ only in whose namespace is filled
        self, args: Sequence[str] | None = None, namespace: Any = None
    ) -> tuple[argparse.Namespace, list[str]]:
        """Raises UsageError for a flag without its value, or one before the text that is unknown."""
        if self.leading is None:
            return super().parse_known_args(args, namespace)
        flags, text = self._parted(list(sys.argv[1:] if args is None else args), self.leading)
        found, _ = super().parse_known_args(flags, namespace)
        found.words = text
        return found, []

    def _parted(self, words: list[str], leading: int) -> tuple[list[str], list[str]]:
        """The flags with their values, and the text. Raises UsageError for a flag before it that is none of ours."""
        flags: list[str] = []
        text: list[str] = []
        while words:
            if words[0] == "--":
                return flags, text + words[1:]
            if taken := self._length(words[0]):
                flags += words[:taken]
            elif words[0].startswith("-") and words[0] != "-":  # more likely a slip than how a sentence begins
                hint = "Put -- before words that begin with a dash."
                raise UsageError(f"Unrecognized arguments: {words[0]:.60}.", hint)
            elif len(text) < leading:
                text, taken = [*text, words[0]], 1
            else:
                break
            words = words[taken:]
        while words and "--" not in words and (taken := self._behind(words)):
            flags += words[-taken:]
            words = words[:-taken]
        return flags, text + words

    def _length(self, word: str) -> int:
        """How many words a flag takes with its value; 0 for what is none of ours."""
        name, equals, _ = word.partition("=")
        action = self._option_string_actions.get(name if word.startswith("--") else word)
        if action is None:
            return 0
        return 1 if equals or action.nargs == 0 else 2

    def _behind(self, words: Sequence[str]) -> int:
        """How many words at the end are a flag of ours."""
        if words[-1] not in ("-h", "--help") and self._length(words[-1]) == 1:
            return 1
        return 2 if len(words) > 1 and self._length(words[-2]) == 2 else 0
