"""A playbook out of Markdown, read whole or refused with the number of the line that is wrong."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, get_args

from swecli.models.errors import BadInput
from swecli.models.ids import short_id
from swecli.models.playbook import MAX_LETTERS, MAX_WORDS, Bullet, Evidence, Kind, Scope, State, Trust
from swecli.playbook.markdown import FORMAT

_MARK = re.compile(r"<!--\s*swecli playbook (\d{1,9})\s*-->")
_BULLET = re.compile(r"[-*] \[([^\]\n]*)\]\s+(.*)")
_FACT = re.compile(r"\s+[-*] ([a-z]+): ?(.*)")
_COUNTS = re.compile(r"(\d{1,19}) helpful, (\d{1,19}) harmful, (\d{1,19}) neutral")
_CHOICES = {"kind": get_args(Kind), "scope": get_args(Scope), "state": get_args(State), "trust": get_args(Trust)}
_TIMES = {"created": "created_at", "updated": "updated_at", "used": "last_used"}
_EVIDENCE = {"session": "session_id", "turn": "interaction", "call": "call_id", "when": "created_at"}
_HINT = "Nothing was imported; put that line right and import it again."


@dataclass(frozen=True, slots=True)
class Carried:
    """A strategy as a file has it. `dated` is False where the file does not say when it was made."""

    bullet: Bullet
    evidence: tuple[Evidence, ...] = ()
    line: int = 0
    dated: bool = False


@dataclass(slots=True)
class _Reader:
    section: str = "general"
    found: list[Carried] = field(default_factory=list)
    ids: set[str] = field(default_factory=set)

    def take(self, number: int, line: str) -> None:
        """One line of the file. Raises ValueError with what is wrong with it."""
        if line.startswith("## "):
            self.section = _unsaid(line[3:])
        elif match := _BULLET.fullmatch(line):
            self._begin(number, match[1], match[2])
        elif match := _FACT.fullmatch(line):
            if not self.found:
                raise ValueError("it stands before the first strategy")
            self.found[-1] = _with_fact(self.found[-1], match[1], match[2].strip())
        elif line.lstrip().startswith(("- ", "* ")):
            raise ValueError("it is neither a strategy, `- [P-1] words`, nor a fact of one, `  - kind: strategy`")

    def _begin(self, number: int, name: str, text: str) -> None:
        bullet_id = short_id("P", name)
        if bullet_id is None:
            raise ValueError(f"{name!r:.40} is no id such as P-7")
        if bullet_id in self.ids:
            raise ValueError(f"{bullet_id} is there twice")
        content = _unsaid(text.strip())
        if not content.strip():
            raise ValueError(f"{bullet_id} has no words")
        self.ids.add(bullet_id)
        self.found.append(Carried(Bullet(bullet_id, content, self.section), line=number))


def read_markdown(text: str) -> list[Carried]:
    """The strategies of a file that `to_markdown` wrote, also after a person edited it.

    Raises:
        BadInput: the first line that cannot be read; or the file is no playbook, or a newer swecli's.
    """
    mark = _MARK.search(text)
    if mark is None:
        raise BadInput(
            "The file is no exported playbook: it has no line `<!-- swecli playbook 1 -->`.",
            "Make one with `swecli playbook export`.",
        )
    if int(mark[1]) > FORMAT:
        raise BadInput(
            f"The playbook was exported by a newer swecli (format {mark[1]}, this one knows {FORMAT}).",
            "Update swecli to import it.",
        )
    reader = _Reader()
    for number, line in enumerate(text.split("\n"), 1):
        try:
            reader.take(number, line.rstrip("\r"))
        except (ValueError, RecursionError) as error:
            raise BadInput(f"Line {number} cannot be read: {error}.", _HINT) from None
    for carried in reader.found:
        words = len(carried.bullet.content.split())
        if words > MAX_WORDS:
            raise BadInput(f"Line {carried.line}: a strategy has at most {MAX_WORDS} words, this has {words}.", _HINT)
        if (letters := len(carried.bullet.content)) > MAX_LETTERS:
            most = f"at most {MAX_LETTERS} characters, this has {letters:,}"
            raise BadInput(f"Line {carried.line}: a strategy has {most}.", _HINT)
    return reader.found


def _with_fact(carried: Carried, name: str, value: str) -> Carried:
    bullet = carried.bullet
    if name in _CHOICES:
        if value not in _CHOICES[name]:
            raise ValueError(f"{value!r:.40} is no {name}; there are {', '.join(_CHOICES[name])}")
        chosen: dict[str, Any] = {name: value}
        return replace(carried, bullet=replace(bullet, **chosen))
    if name == "counts":
        match = _COUNTS.fullmatch(value)
        if match is None:
            raise ValueError("counts are written `1 helpful, 0 harmful, 2 neutral`")
        helpful, harmful, neutral = map(int, match.groups())
        return replace(carried, bullet=replace(bullet, helpful=helpful, harmful=harmful, neutral=neutral))
    if name == "anchors":
        return replace(carried, bullet=replace(bullet, anchors=_texts(value)))
    if name in _TIMES:
        when: dict[str, Any] = {_TIMES[name]: _moment(value)}
        return replace(carried, bullet=replace(bullet, **when), dated=carried.dated or name == "created")
    if name == "evidence":
        return replace(carried, evidence=(*carried.evidence, _evidence(value)))
    raise ValueError(f"a strategy has no {name!r:.40}")


def _unsaid(text: str) -> str:
    if not text.startswith('"'):
        return text
    value = json.loads(text)
    if not isinstance(value, str):
        raise ValueError("it is no text")
    return value


def _texts(value: str) -> tuple[str, ...]:
    found = json.loads(value)
    if not isinstance(found, list) or not all(isinstance(item, str) for item in found):
        raise ValueError('anchors are written ["a.py", "make"]')
    return tuple(found)


def _moment(value: str) -> datetime:
    when = datetime.fromisoformat(value)
    if when.tzinfo is None:
        raise ValueError(f"the time {value} has no zone")
    return when


def _evidence(value: str) -> Evidence:
    row: Any = json.loads(value)
    if not isinstance(row, dict) or not isinstance(row.get("source"), str) or not isinstance(row.get("quote"), str):
        raise ValueError("evidence is an object with a source and a quote")
    named: dict[str, Any] = {_EVIDENCE.get(str(name), str(name)): item for name, item in row.items()}
    if set(named) - set(Evidence.__slots__):
        raise ValueError(f"evidence has no {sorted(set(named) - set(Evidence.__slots__))[0]!r:.40}")
    if named.get("trust", "reasoning") not in _CHOICES["trust"]:
        raise ValueError(f"{named['trust']!r:.40} is no trust")
    turn = named.get("interaction")
    if turn is not None and not isinstance(turn, int):
        raise ValueError("the turn of evidence is a number")
    if not all(isinstance(named.get(name, ""), str) for name in ("session_id", "call_id")):
        raise ValueError("session and call of evidence are texts")
    when = named.get("created_at")
    return Evidence(**named | {"created_at": _moment(str(when)) if when else None})
