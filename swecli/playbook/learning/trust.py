"""Whose words a bullet rests on: a quote is looked for literally, in the user's message and in the results of calls."""

from __future__ import annotations

from collections.abc import Sequence

from swecli.models.playbook import Trust
from swecli.playbook.turn_digest import CallDigest, TurnDigest

_READERS = frozenset({"read_file", "search_files", "list_files"})
_WORDS, _LETTERS = 3, 8  # a quote has at least so many of one of them


def quotes(quote: str, text: str) -> bool:
    """Whether a quote stands literally in a text, however it is spaced and capitalised; one that is too short to prove
    anything does not."""
    words = _folded(quote)
    long_enough = len(words.split()) >= _WORDS or len(words) >= _LETTERS
    return long_enough and words in _folded(text)


def trust_of(quote: str, call_id: str, digest: TurnDigest) -> Trust | None:
    """Where a quote comes from: the user's own message of the turn, a file, a command's output, the web; None where it
    stands nowhere in the turn."""
    if quotes(quote, digest.query):
        return "user"
    named = [call for call in digest.calls if call.id == call_id] or list(digest.calls)
    found = [call for call in named if quotes(quote, _said_of(call))]
    return _kind(found) if found else None


def _said_of(call: CallDigest) -> str:
    values = " ".join(str(value) for value in call.parameters.values())
    code = f"exit code {call.exit_code} exit {call.exit_code}" if call.exit_code is not None else ""
    return f"{call.output} {call.reason} {values} {code}"


def _kind(calls: Sequence[CallDigest]) -> Trust:
    """The least trusted of them counts."""
    names = [call.name for call in calls]
    if any("fetch" in name or "web" in name or "__" in name for name in names):
        return "web"
    return "repository" if all(name in _READERS for name in names) else "tool"


def _folded(text: str) -> str:
    return " ".join(text.casefold().split())
