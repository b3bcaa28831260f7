"""The answer of a reflector: its schema, and its parser, which drops what speaks of nothing that was asked."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, cast, get_args

from swecli.llm.lenient_json import find_json_values
from swecli.models.ids import parse_short_id
from swecli.models.playbook import Effect, Kind
from swecli.text import shorten

Judgement = Literal["good", "bad", "mixed", "unclear"]
MAX_LESSONS, MAX_REPLACED = 3, 2  # of one exchange
_SAME_FOR_ALL = 4  # strategies; the same effect for so many and for all tells none of them apart
_MAX_LOSSES = 5  # dropped items that are listed
_SHOW = 60  # characters of a dropped item that are shown
_WHY = 200  # characters of a reason
_KEYS = ("turn", "strategies", "lessons")


@dataclass(frozen=True, slots=True)
class Lesson:
    """One thing to learn. `source` is what the reflector says of its `quote`: the user's, or from the result of the
    call `call_id`. `scope` is "user" if it is said to hold everywhere, else "". `same_as` is the strategy that says
    it already, `replaces` the one that it replaces, or removes if there is no `text`."""

    text: str = ""
    when: str = ""
    kind: Kind = "strategy"
    quote: str = ""
    source: Literal["user", "result"] = "user"
    call_id: str = ""
    scope: Literal["user", ""] = ""
    same_as: str = ""
    replaces: str = ""


@dataclass(slots=True)
class ExchangeAnswer:
    """What a reflector says of one exchange: how the `turn` was for the user, the `effects` of strategies by id, each
    with its reason, `lessons`, and ids of strategies that are in `contradiction`; with a line for each dropped item in
    `losses`."""

    turn: Judgement = "unclear"
    why: str = ""
    effects: dict[str, tuple[Effect, str]] = field(default_factory=dict)
    lessons: list[Lesson] = field(default_factory=list)
    contradiction: tuple[str, ...] = ()
    losses: list[str] = field(default_factory=list)

    @property
    def is_undifferentiated(self) -> bool:
        """Whether it says the same of all of many strategies, which tells nothing of any of them."""
        return (
            len(self.effects) >= _SAME_FOR_ALL
            and len({effect for effect, _ in self.effects.values()}) == 1
        )


ExchangeAnswers = dict[int, ExchangeAnswer]  # by the number of the turn


@dataclass(frozen=True, slots=True)
class Asked:
    """What a question was about: by the number of its turn, the strategies `known` in each exchange, oldest exchange
    first; and the `waiting` ones, which any exchange may confirm or replace."""

    known: Mapping[int, Collection[str]]
    waiting: Collection[str] = ()


def read_answer(text: str, asked: Asked) -> tuple[ExchangeAnswers, str]:
    """Parse the last complete JSON object that has one of the expected keys. Returns the answer for each exchange by
    the number of its turn, and why the text is unusable, or ""."""
    whole = [
        one.value for one in find_json_values(text) if isinstance(one.value, dict) and not one.cut
    ]
    fitting = [value for value in whole if not {*_KEYS, "exchanges"}.isdisjoint(value)]
    if not fitting:
        return {}, 'the answer has no complete JSON object with "turn", "strategies" or "lessons"'
    items = _objects_by_turn(fitting[-1], asked)
    for item in items.values():
        if wrong := [key for key in _KEYS[1:] if not isinstance(item.get(key) or [], list)]:
            return {}, f'"{wrong[0]}" is not a list'
    if not items:
        return {}, "it speaks of no exchange that was asked about"
    found = {number: _read_exchange(item, number, asked) for number, item in items.items()}
    if not any(_says_something(one) for one in found.values()) and any(
        item.get(key) for item in items.values() for key in _KEYS[1:]
    ):
        return {}, "none of its items has the right form"
    for number in asked.known:
        found.setdefault(number, ExchangeAnswer(losses=["the answer does not speak of it"]))
    return found, ""


def _says_something(answer: ExchangeAnswer) -> bool:
    return bool(answer.effects or answer.lessons or answer.why)


def _objects_by_turn(value: Mapping[str, Any], asked: Asked) -> dict[int, Mapping[str, Any]]:
    """Return the object of each exchange. One without an id belongs to the newest exchange that was asked about, and
    any one to the only exchange."""
    listed = value.get("exchanges")
    found = dict[int, Mapping[str, Any]]()
    for item in listed if isinstance(listed, list) else [value]:
        if isinstance(item, dict):
            name = str(item.get("id") or "").strip().removeprefix("T")
            number = int(name) if name.isdecimal() and len(name) < 9 else 0
            if not name or len(asked.known) == 1:
                number = [*asked.known][-1]
            if number in asked.known:
                found.setdefault(number, item)
    return found


def _read_exchange(item: Mapping[str, Any], number: int, asked: Asked) -> ExchangeAnswer:
    turn, why = str(item.get("turn")).lower(), item.get("why")
    answer = ExchangeAnswer(
        cast(Judgement, turn) if turn in get_args(Judgement) else "unclear",
        shorten(why, _WHY) if isinstance(why, str) else "",
    )
    known = asked.known[number]
    _read_effects(item.get("strategies") or [], known, answer)
    answer.contradiction = _read_contradiction(item.get("contradictions"), known, answer)
    lessons = [
        lesson
        for one in item.get("lessons") or []
        if (lesson := _read_lesson(one, {*known, *asked.waiting}, answer)) is not None
    ]
    answer.lessons = _without_excess(_without_contradictions(lessons, answer), answer)
    if (more := len(answer.losses) - _MAX_LOSSES) > 0:
        answer.losses[_MAX_LOSSES:] = [f"{more} more items were dropped"]
    return answer


def _read_effects(items: Iterable[Any], known: Collection[str], answer: ExchangeAnswer) -> None:
    """Read the effects of strategies. One that is said to have had two different ones had none that is known."""
    said: dict[str, set[Effect]] = {}
    for item in items:
        words = item if isinstance(item, dict) else {}
        name, given, why = (
            _id_of(words.get("id")),
            str(words.get("effect")).lower(),
            words.get("why"),
        )
        if name not in known or given not in get_args(Effect):
            answer.losses.append(f"not an effect of a strategy that was shown: {_preview(item)}")
            continue
        effect = cast(Effect, given)
        reason = shorten(why, _WHY) if isinstance(why, str) else ""
        said.setdefault(name, set()).add(effect)
        answer.effects.setdefault(name, (effect, reason))
    for name, effects in said.items():
        if len(effects) > 1:
            del answer.effects[name]
            answer.losses.append(f"{name} has two effects: {', '.join(sorted(effects))}")


def _read_contradiction(
    value: Any, known: Collection[str], answer: ExchangeAnswer
) -> tuple[str, ...]:
    """Return the ids of strategies that contradict each other, () if the value names none or only one."""
    if not isinstance(value, list) or not value:
        return ()
    names = dict.fromkeys(_id_of(one) for one in value)
    found = tuple(name for name in names if name in known)
    if len(found) < len(names) or len(found) < 2:
        answer.losses.append(
            f"not a contradiction of strategies that were shown: {_preview(value)}"
        )
        return ()
    return found


def _read_lesson(item: Any, allowed: Collection[str], answer: ExchangeAnswer) -> Lesson | None:
    words = item if isinstance(item, dict) else {}
    text, when, kind, quote, call_id = (
        value if isinstance(value := words.get(key), str) else ""
        for key in ("text", "when", "kind", "quote", "call_id")
    )
    named = [words.get(key) for key in ("same_as", "replaces")]
    same_as, replaces = (_id_of(value) for value in named)
    unknown = [
        value
        for value, name in zip(named, (same_as, replaces), strict=True)
        if value and name not in allowed
    ]
    problem = (
        "not a lesson"
        if not (text.strip() or same_as or replaces)
        else f"it names {unknown[0]!s:.20}, which was neither shown nor waits"
        if unknown
        else f"it confirms and replaces {same_as}"
        if same_as and same_as == replaces
        else ""
    )
    if problem:
        answer.losses.append(f"{problem}: {_preview(text or item)}")
        return None
    known = cast(Kind, kind if kind in get_args(Kind) else "strategy")
    source: Literal["user", "result"] = "result" if words.get("from") == "result" else "user"
    # "project" is what a lesson is without a word on it, so it narrows nothing
    scope: Literal["user", ""] = "user" if words.get("scope") == "user" else ""
    return Lesson(text, when, known, quote, source, call_id, scope, same_as, replaces)


def _without_contradictions(lessons: Sequence[Lesson], answer: ExchangeAnswer) -> list[Lesson]:
    """Drop lessons that confirm what another one replaces or what is refuted, and second replacements."""
    replaced = Counter(one.replaces for one in lessons if one.replaces)
    confirmed = {one.same_as for one in lessons if one.same_as}
    refuted = {name for name, (effect, _) in answer.effects.items() if effect == "refuted"}
    kept = list[Lesson]()
    for one in lessons:
        if one.same_as and (one.same_as in replaced or one.same_as in refuted):
            answer.losses.append(f"{one.same_as} is confirmed, and also replaced or refuted")
        elif one.replaces and one.replaces in confirmed:
            answer.losses.append(f"{one.replaces} is replaced, and also confirmed")
        elif one.replaces and any(one.replaces == other.replaces for other in kept):
            answer.losses.append(f"{one.replaces} is replaced twice: {_preview(one.text)}")
        else:
            kept.append(one)
    return kept


def _without_excess(lessons: Iterable[Lesson], answer: ExchangeAnswer) -> list[Lesson]:
    kept = list[Lesson]()
    for one in lessons:
        replacements = sum(bool(other.replaces) for other in kept)
        if len(kept) >= MAX_LESSONS or (one.replaces and replacements >= MAX_REPLACED):
            what = f"{MAX_LESSONS} lessons" if len(kept) >= MAX_LESSONS else "2 replacements"
            answer.losses.append(f"more than {what}: {_preview(one.text)}")
        else:
            kept.append(one)
    return kept


def _id_of(value: Any) -> str:
    """Return an id as `P-7`, or ""."""
    return parse_short_id("P", str(value or "").strip().strip("[]")) or ""


def _preview(item: Any) -> str:
    return shorten(
        item if isinstance(item, str) else json.dumps(item, default=str, ensure_ascii=False), _SHOW
    )


def _object(**properties: Any) -> dict[str, Any]:
    """Return the schema of an object in which every property is required, as strict services want it."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def answer_schema(exchanges: int) -> dict[str, Any]:
    """Return the JSON schema of an answer about so many exchanges."""
    text = {"type": "string"}
    effect = _object(id=text, effect={"type": "string", "enum": [*get_args(Effect)]}, why=text)
    lesson = _object(
        text=text,
        when=text,
        kind={"type": "string", "enum": [*get_args(Kind)]},
        quote=text,
        **{"from": {"type": "string", "enum": ["user", "result"]}},
        call_id=text,
        scope={"type": "string", "enum": ["project", "user"]},
        same_as=text,
        replaces=text,
    )
    parts = {
        "turn": {"type": "string", "enum": [*get_args(Judgement)]},
        "why": text,
        "strategies": {"type": "array", "items": effect},
        "contradictions": {"type": "array", "items": text},
        "lessons": {"type": "array", "items": lesson},
    }
    if exchanges == 1:
        return _object(**parts)
    return _object(exchanges={"type": "array", "items": _object(id=text, **parts)})
