"""What a rule of the grammar is, and the pieces that the rules' patterns are put together from."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from swecli.llm.demo.intents import LAST_FILE, Intent
from swecli.llm.demo.phrase import PRONOUNS, TOKEN, WORD, Phrase

Build = Callable[[re.Match[str], Phrase], Intent | None]

# A word that may be a path, a pronoun that stands for one, and what often stands before it.
PATH = (
    f"(?:(?:the |a |my |our )?(?:file |script |module |folder |directory |dir )?(?P<path>{TOKEN}|"
    "[^\\s,;]+)(?: (?:file|folder|directory|dir))?)"
)
QUOTE = TOKEN
ONE_WORD = WORD


@dataclass(frozen=True, slots=True)
class Rule:
    """A pattern, searched in the masked line, and what is built of a match; None: not this rule after all."""

    pattern: re.Pattern[str]
    build: Build

    def apply(self, phrase: Phrase, masked: str) -> Intent | None:
        """The intent this rule finds in the line, None when it does not fit."""
        match = self.pattern.search(masked)
        return self.build(match, phrase) if match else None


def any_of(*choices: str) -> str:
    """A pattern that is one of these."""
    return f"(?:{'|'.join(choices)})"


def rule(pattern: str, build: Build) -> Rule:
    """A rule that matches from the beginning of the line, whatever its case."""
    return Rule(re.compile(rf"^(?:{pattern})", re.IGNORECASE | re.DOTALL), build)


def file_named(match: re.Match[str], phrase: Phrase) -> str | None:
    """The file in the group `path`: a path, `LAST_FILE` for "it" and the like, None when it is neither."""
    word = match["path"] or ""
    path = phrase.path(word)
    if path is not None:
        return path
    return LAST_FILE if word.lower() in PRONOUNS or word.lower() in ("", "file") else None


def folder_named(match: re.Match[str], phrase: Phrase) -> str | None:
    """The folder in the group `path`: any single word will do; "." for none, here, or the project."""
    word = (match["path"] or "").strip()
    here = PRONOUNS | {"", ".", "project", "repo", "repository", "workspace", "root", "folder", "directory", "current"}
    return "." if word.lower() in here else phrase.path(word, loose=True)
