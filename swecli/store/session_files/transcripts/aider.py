"""Chat histories of aider: .aider.chat.history.md. `#### ` opens the user's lines, `> ` those of aider itself; the
rest is the model's. The chats of one file, each under `# aider chat started at TIME`, become one session."""

from __future__ import annotations

from collections.abc import Iterable

from swecli.store.session_files.transcripts.base import Format, Line, Transcript

_START, _USER, _TOOL = "# aider chat started at ", "#### ", "> "


class _Aider(Format):
    name = "aider"

    def fits(self, head: str) -> bool:
        return any(line.startswith(_START) for line in head.splitlines()[:50])

    def read(self, lines: Iterable[Line], into: Transcript) -> None:
        query: list[str] = []
        answer: list[str] = []
        for number, text in lines:
            into.lines.append((number, text))
            line = text.rstrip("\n")
            if query and not line.startswith(_USER):
                into.query("\n".join(query))
                query = []
            if line.startswith((_START, _USER)) and answer:
                _close(answer, into)
                answer = []
            if line.startswith(_START):
                into.take_time(line.removeprefix(_START).strip())
            elif line.startswith(_USER):
                query.append(line.removeprefix(_USER).rstrip())
            elif line.startswith("> Model: "):
                into.model = line.removeprefix("> Model: ").split()[0] if line.split()[2:] else into.model
            elif not line.startswith(_TOOL):
                answer.append(line)
        if query:
            into.query("\n".join(query))
        _close(answer, into)


def _close(answer: list[str], into: Transcript) -> None:
    text = "\n".join(answer).strip()
    if text and into.last_query():
        into.answer(text)


FORMAT = _Aider()
