"""The answer of a reflector: its schema, and its reader, which drops what speaks of nothing that was asked."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import field
from typing import Literal, get_args

from swecli.llm.model_json import read_object
from swecli.models.json_value import Json, JsonObject
from swecli.models.playbook import Effect, Kind
from swecli.text import shorten
from swecli.values import dataclass

Judgement = Literal["good", "bad", "mixed", "unclear"]
MAX_LESSONS, MAX_REPLACED = 3, 2  # of one exchange
_SAME_FOR_ALL = 4  # strategies; the same effect for so many and for all tells none of them apart
_MAX_LOSSES = 5  # dropped items that are listed
_MAX_PREVIEW = 60  # characters of a dropped item that are shown
_MAX_REASON = 200  # characters of a reason


@dataclass(frozen=True, slots=True)
class Lesson:
    """One thing to learn. `source` is what the reflector says of its `quote`: the user's, or from the result of the
    call `call_id`. `scope` is "user" if it is said to hold everywhere, else ""; `paths` are the globs of the files that
    it is for, () for all. `same_as` is the strategy that says
    it already, `replaces` the one that it replaces, or removes if there is no `text`."""

    text: str = ""
    when: str = ""
    kind: Kind = "strategy"
    quote: str = ""
    source: Literal["user", "result"] = "user"
    call_id: str = ""
    scope: Literal["user", ""] = ""
    paths: tuple[str, ...] = ()
    same_as: str = ""
    replaces: str = ""


@dataclass(slots=True)
class ExchangeAnswer:
    """What a reflector says of one exchange: how the `turn` was for the user, the `effects` of strategies by id, each
    with its reason, `lessons`, and ids of strategies that are in `contradiction`; with a line for each dropped item in
    `losses`."""

    turn: Judgement = "unclear"
    reason: str = ""
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
class ReflectionScope:
    """What a question was about. `known_ids` are the ids of the strategies that each exchange may judge, by the number
    of its turn, oldest first; `other_ids` wait, or were stored since, and any exchange may confirm or replace them."""

    known_ids: Mapping[int, Collection[str]]
    other_ids: Collection[str] = ()


def read_answer(text: str, scope: ReflectionScope) -> tuple[ExchangeAnswers, str]:
    """Read the answer for each exchange by the number of its turn. Returns also what is wrong with the text, or ""."""
    value, fault = read_object(text, answer_schema(len(scope.known_ids)))
    if fault:
        return {}, fault
    items = _objects_by_turn(value, scope)
    if not items:
        return {}, "it speaks of no exchange that was asked about"
    answers = {number: _read_exchange(item, number, scope) for number, item in items.items()}
    for number in scope.known_ids:
        answers.setdefault(number, ExchangeAnswer(losses=["the answer does not speak of it"]))
    return answers, ""


def _objects_by_turn(value: JsonObject, scope: ReflectionScope) -> dict[int, JsonObject]:
    """Return the object of each exchange. The answer about one exchange is that object itself."""
    if len(scope.known_ids) == 1:
        return {number: value for number in scope.known_ids}
    objects = dict[int, JsonObject]()
    for item in value["exchanges"]:
        for number in scope.known_ids:
            if item["id"] == f"T{number}":
                objects.setdefault(number, item)
    return objects


def _read_exchange(item: JsonObject, number: int, scope: ReflectionScope) -> ExchangeAnswer:
    reason = shorten(item.get("why", ""), _MAX_REASON)
    answer = ExchangeAnswer(item.get("turn", "unclear"), reason)
    known_ids = scope.known_ids[number]
    _read_effects(item.get("strategies", []), known_ids, answer)
    answer.contradiction = _read_contradiction(item.get("contradictions", []), known_ids, answer)
    allowed = {*known_ids, *scope.other_ids}
    lessons = [_read_lesson(lesson, allowed, answer) for lesson in item.get("lessons", [])]
    accepted = _without_contradictions([lesson for lesson in lessons if lesson], answer)
    answer.lessons = _without_excess(accepted, answer)
    excess = len(answer.losses) - _MAX_LOSSES
    if excess > 0:
        answer.losses[_MAX_LOSSES:] = [f"{excess} more items were dropped"]
    return answer


def _read_effects(
    items: Iterable[JsonObject], known_ids: Collection[str], answer: ExchangeAnswer
) -> None:
    """Read the effects of strategies. One that is said to have had two different ones had none that is known."""
    effects_by_id: dict[str, set[Effect]] = {}
    for item in items:
        name = item["id"]
        if name not in known_ids:
            answer.losses.append(f"not a strategy that was shown: {_preview(item)}")
            continue
        effects_by_id.setdefault(name, set()).add(item["effect"])
        reason = shorten(item.get("why", ""), _MAX_REASON)
        answer.effects.setdefault(name, (item["effect"], reason))
    for name, effects in effects_by_id.items():
        if len(effects) > 1:
            del answer.effects[name]
            answer.losses.append(f"{name} has two effects: {', '.join(sorted(effects))}")


def _read_contradiction(
    items: Sequence[str], known_ids: Collection[str], answer: ExchangeAnswer
) -> tuple[str, ...]:
    """Return the ids of strategies that contradict each other, () if none or only one is named."""
    if not items:
        return ()
    names = tuple(dict.fromkeys(items))
    if len(names) < 2 or not all(name in known_ids for name in names):
        problem = "not a contradiction of strategies that were shown"
        answer.losses.append(f"{problem}: {_preview(list(items))}")
        return ()
    return names


def _read_lesson(
    item: JsonObject, allowed: Collection[str], answer: ExchangeAnswer
) -> Lesson | None:
    """Read a lesson; None if it cannot be meant, which is noted in the answer's losses."""
    lesson = Lesson(
        text=item.get("text", ""),
        when=item.get("when", ""),
        kind=item.get("kind", "strategy"),
        quote=item.get("quote", ""),
        source=item.get("from", "user"),
        call_id=item.get("call_id", ""),
        # "project" is what a lesson is without a word on it, so it narrows nothing
        scope="user" if item.get("scope") == "user" else "",
        paths=tuple(item.get("paths", ())),
        same_as=item.get("same_as", ""),
        replaces=item.get("replaces", ""),
    )
    if problem := _problem(lesson, allowed):
        answer.losses.append(f"{problem}: {_preview(lesson.text or item)}")
        return None
    return lesson


def _problem(lesson: Lesson, allowed: Collection[str]) -> str:
    """Return why a lesson cannot be meant, or ""."""
    if not (lesson.text.strip() or lesson.same_as or lesson.replaces):
        return "not a lesson"
    for name in (lesson.same_as, lesson.replaces):
        if name and name not in allowed:
            return f"it names {name:.20}, which was neither shown nor waits"
    if lesson.same_as and lesson.same_as == lesson.replaces:
        return f"it confirms and replaces {lesson.same_as}"
    return ""


def _without_contradictions(lessons: Sequence[Lesson], answer: ExchangeAnswer) -> list[Lesson]:
    """Drop lessons that confirm what another one replaces or what is refuted, and second replacements."""
    replaced = {lesson.replaces for lesson in lessons}
    confirmed = {lesson.same_as for lesson in lessons}
    refuted = {name for name, (effect, _) in answer.effects.items() if effect == "refuted"}
    accepted = list[Lesson]()
    for lesson in lessons:
        old = lesson.replaces
        if lesson.same_as and (lesson.same_as in replaced or lesson.same_as in refuted):
            answer.losses.append(f"{lesson.same_as} is confirmed, and also replaced or refuted")
        elif old and old in confirmed:
            answer.losses.append(f"{old} is replaced, and also confirmed")
        elif old and any(old == other.replaces for other in accepted):
            answer.losses.append(f"{old} is replaced twice: {_preview(lesson.text)}")
        else:
            accepted.append(lesson)
    return accepted


def _without_excess(lessons: Iterable[Lesson], answer: ExchangeAnswer) -> list[Lesson]:
    """Drop lessons above the two bounds of one exchange."""
    accepted = list[Lesson]()
    for lesson in lessons:
        replacements = sum(bool(other.replaces) for other in accepted)
        if len(accepted) >= MAX_LESSONS:
            answer.losses.append(f"more than {MAX_LESSONS} lessons: {_preview(lesson.text)}")
        elif lesson.replaces and replacements >= MAX_REPLACED:
            answer.losses.append(f"more than {MAX_REPLACED} replacements: {_preview(lesson.text)}")
        else:
            accepted.append(lesson)
    return accepted


def _preview(item: Json) -> str:
    text = item if isinstance(item, str) else json.dumps(item, ensure_ascii=False)
    return shorten(text, _MAX_PREVIEW)


def _object(properties: JsonObject, required: Sequence[str] = ()) -> JsonObject:
    """Return the schema of an object with these properties and no others."""
    return {
        "type": "object",
        "properties": properties,
        "required": [*required],
        "additionalProperties": False,
    }


def answer_schema(exchanges: int) -> JsonObject:
    """Return the JSON schema of an answer about so many exchanges. What may be left out is empty then."""
    text = {"type": "string"}
    effects = {"type": "string", "enum": [*get_args(Effect)]}
    effect = _object({"id": text, "effect": effects, "why": text}, ["id", "effect"])
    lesson = _object(
        {
            "text": text,
            "when": text,
            "kind": {"type": "string", "enum": [*get_args(Kind)]},
            "quote": text,
            "from": {"type": "string", "enum": ["user", "result"]},
            "call_id": text,
            "scope": {"type": "string", "enum": ["project", "user"]},
            "paths": {"type": "array", "items": text},
            "same_as": text,
            "replaces": text,
        }
    )
    properties = {
        "turn": {"type": "string", "enum": [*get_args(Judgement)]},
        "why": text,
        "strategies": {"type": "array", "items": effect},
        "contradictions": {"type": "array", "items": text},
        "lessons": {"type": "array", "items": lesson},
    }
    if exchanges == 1:
        return _object(properties)
    items = {"type": "array", "items": _object({"id": text, **properties}, ["id"])}
    return _object({"exchanges": items}, ["exchanges"])
