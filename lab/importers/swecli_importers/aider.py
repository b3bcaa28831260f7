"""Transcripts of aider."""

from __future__ import annotations

import re
from collections.abc import Iterable

from swecli.models.message import Usage
from swecli.store.session_files.importer import Line

from .transcript import Transcript, importer

_CHAT, _TYPED, _OWN = "# aider chat started at ", "#### ", "> "  # line prefixes of aider
_SPENT = re.compile(
    r"> Tokens: ([\d.]+k?) sent,.* ([\d.]+k?) received\.(?: Cost: \$([\d.]+) message)?"
)
_MODEL = re.compile(r"> (?:Main m|M)odel: (\S+)")


def _is_aider(head: str) -> bool:
    return any(line.startswith(_CHAT) for line in head.splitlines()[:50])


def _read_aider(lines: Iterable[Line], into: Transcript) -> None:
    """Parse .aider.chat.history.md: lines of the user begin with `#### `, those of aider with `> `, and end with two
    spaces; the rest is the model's. All chats of a file (`# aider chat started at TIME`) become one session."""
    whole = list(lines)
    into.lines = [(number, text) for number, text in whole if text.strip()]
    texts = [text.rstrip("\r") for _, text in whole]
    end = "  " if any(text.startswith(_TYPED) and text.endswith("  ") for text in texts) else ""
    query, answer, was_typed = list[str](), list[str](), False
    for text in [*texts, _CHAT]:  # the added chat header ends the last turn
        typed, own = (text.startswith(start) and text.endswith(end) for start in (_TYPED, _OWN))
        spent = _SPENT.match(text) if own else None
        if text.startswith(_CHAT) or spent or (typed and not was_typed):
            answered = "\n".join(answer).strip()
            if query and (
                answered or not query[0].startswith("/")
            ):  # a command without an answer is not a turn
                into.add_query("\n".join(query))
            if answered:
                into.add_answer(answered)
            query, answer = [], []
        was_typed = typed
        if text.startswith(_CHAT):
            into.set_time(text.removeprefix(_CHAT).strip())
        elif typed:
            query.append(text.removeprefix(_TYPED).rstrip())
        elif spent:
            sent, got = (
                round(float(n.rstrip("k")) * (1000 if n[-1:] == "k" else 1))
                for n in spent.groups()[:2]
            )
            into.add_usage(Usage(sent, output=got), cost=float(spent[3]) if spent[3] else None)
        elif own:
            found = _MODEL.match(text)
            into.model = found[1] if found else into.model
        else:
            answer.append(text)


AIDER = importer("aider", _is_aider, _read_aider)
