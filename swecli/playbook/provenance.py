"""Where the words of a proposed bullet come from: the work itself, or only what a file, a command or the web said."""

from __future__ import annotations

from collections.abc import Iterable

from swecli.models.playbook import Trust
from swecli.playbook.digest import CallDigest, TurnDigest
from swecli.playbook.gate import GENERIC
from swecli.playbook.words import content_words

READERS = frozenset({"read_file", "search_files", "list_files"})
OURS = ("command", "path", "pattern", "glob")
SHARE = 0.5  # of the words that the user and the calls do not explain
FEW = 2  # shared words that tell; a path, a flag or another made-up word tells alone


def trust_of(content: str, digest: TurnDigest) -> Trust:
    """How far a reflector's text may be trusted.

    "reasoning" when its words are the user's, the calls' own, everyday or new ones; "repository", "tool" or "web" when
    at least half of the remaining words stand in what one kind of call brought in, and these are at least two, or all,
    or one that nobody comes upon by chance.
    """
    known = content_words(f"{digest.query} {digest.why}") | _acted(digest.calls)
    rest = frozenset(w for w in content_words(content) - known - GENERIC if not w.isdigit())
    for trust, words in _foreign(digest.calls):
        shared = rest & words
        telling = sum(1 if word.isalpha() else FEW for word in shared)
        if shared and telling >= min(FEW, len(rest)) and len(shared) >= SHARE * len(rest):
            return trust
    return "reasoning"


def _acted(calls: Iterable[CallDigest]) -> frozenset[str]:
    """Words of what was done: names of tools, commands, paths; not of what was written into files."""
    texts = [call.name for call in calls]
    texts += [str(call.parameters[key]) for call in calls for key in OURS if key in call.parameters]
    return content_words(" ".join(texts))


def _foreign(calls: Iterable[CallDigest]) -> list[tuple[Trust, frozenset[str]]]:
    kinds: dict[Trust, set[str]] = {"web": set(), "tool": set(), "repository": set()}
    for call in calls:
        kind: Trust = "repository" if call.name in READERS else "tool"
        if "fetch" in call.name or "web" in call.name or "__" in call.name:
            kind = "web"
        kinds[kind] |= call.vocabulary
    everything: list[tuple[Trust, frozenset[str]]] = [(kind, frozenset(words)) for kind, words in kinds.items()]
    return [*everything, ("tool", frozenset().union(*kinds.values()))]
