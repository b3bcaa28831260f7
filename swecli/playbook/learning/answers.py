"""From a model's text to checked tags and additions: what can be read is kept, each loss is said."""

from __future__ import annotations

import json
import re
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any, cast, get_args

from swecli.llm.lenient_json import values_in
from swecli.models.ids import short_id
from swecli.models.playbook import Kind, Tag, shorten
from swecli.playbook.learning.curator import MAX_ADDS, MAX_UPDATES, AddProposal, TagProposal

_MOST_CHANGES = 20  # additions and updates of an answer that is read at all
_SHOW = 60  # characters of a dropped item that are shown
_KEYS = ("tags", "add", "update")
_REWRITES = frozenset({"playbook", "bullets", "strategies", "rewrite", "replace", "operations", "ops", "delta"})
_Json = dict[str, Any]


@dataclass(slots=True)
class Answer:
    """A read answer. `problem` names why a retry would be worth it; `refused` why none would be. `losses` are lines on
    what was dropped; `unknown` counts tags for bullets that were not shown."""

    tags: list[TagProposal] = field(default_factory=list)
    adds: list[AddProposal] = field(default_factory=list)
    updates: list[AddProposal] = field(default_factory=list)
    losses: list[str] = field(default_factory=list)
    problem: str = ""
    refused: str = ""
    unknown: int = 0

    @property
    def kept(self) -> int:
        return len(self.tags) + len(self.adds) + len(self.updates)


def read_answer(text: str, shown: Collection[str], *, cut: bool = False) -> Answer:
    """Read a reflector's answer: the last object with the expected keys, else the last rewrite of the playbook, else
    whole items of what does not parse (`cut`: the stream broke off). What cannot be used is a problem or a loss."""
    if not text.strip():
        return Answer(problem="the answer was empty")
    found = values_in(text)
    whole: list[_Json] = [one.value for one in found if isinstance(one.value, dict) and not one.cut]
    broken = any(one.cut for one in found)
    fitting = [value for value in whole if set(_KEYS) & set(value)] or [v for v in whole if _REWRITES & set(v)]
    if fitting or (whole and not broken):
        value = (fitting or whole)[-1]
        wrong = _wrong_shape(value)
        if wrong:
            return Answer(refused=wrong) if set(value) & _REWRITES else Answer(problem=wrong)
        return _checked(value, shown)
    what = "the answer was cut off" if cut or broken else "the answer holds no JSON object"
    items = [item for one in found for item in _items(one.value) if isinstance(item, dict)]
    tags = [item for item in items if "id" in item and "tag" in item]
    adds = [item for item in items if "text" in item and "id" not in item]
    if not tags and not adds:
        return Answer(problem=what)
    answer = _checked({"tags": tags, "add": adds}, shown)
    if not answer.refused:
        answer.problem = what
        answer.losses.append(f"{what}: {answer.kept} whole items of it were kept")
    return answer


def _items(value: Any) -> list[Any]:
    if isinstance(value, list):
        return value
    lists = [value.get(key) for key in _KEYS]
    return [value, *(item for listed in lists if isinstance(listed, list) for item in listed)]


def _wrong_shape(found: _Json) -> str:
    if not set(_KEYS) & set(found):
        if set(found) & _REWRITES:
            return "a rewrite of the playbook is not taken: only tags and additions are"
        return 'the object has none of "tags", "add" and "update"'
    wrong = [key for key in _KEYS if not isinstance(found.get(key, []), (list, type(None)))]
    return f'"{wrong[0]}" is not a list' if wrong else ""


def _checked(found: _Json, shown: Collection[str]) -> Answer:
    tags, adds, updates = (found.get(key) or [] for key in _KEYS)
    if (count := len(adds) + len(updates)) > _MOST_CHANGES:
        return Answer(refused=f"{count} changes in one answer, at most {_MOST_CHANGES} are read: refused whole")
    answer = Answer()
    extra = sorted(set(found) - set(_KEYS))
    if extra:
        answer.losses.append(f"ignored: {shorten(', '.join(map(str, extra)), _SHOW)}")
    for item in tags:
        _take_tag(item, shown, answer)
    for item in adds:
        _take_add(item, answer, "", answer.adds, MAX_ADDS)
    for item in updates:
        name = short_id("P", str(item.get("id", "")).strip().strip("[]")) if isinstance(item, dict) else None
        if name is None or name not in shown:
            answer.losses.append(f"not a change of a strategy that was shown: {_brief(item)}")
        else:
            _take_add(item, answer, name, answer.updates, MAX_UPDATES)
    if answer.unknown:
        answer.losses.append(f"{answer.unknown} tags for strategies that were not shown were dropped")
    if not answer.kept and (tags or adds or updates) and not answer.unknown:
        answer.problem = "none of its items has the right form"
    return answer


def _take_tag(item: Any, shown: Collection[str], answer: Answer) -> None:
    raw_id, tag = (item.get("id"), item.get("tag")) if isinstance(item, dict) else (None, None)
    if not isinstance(raw_id, str) or not isinstance(tag, str) or tag.lower() not in get_args(Tag):
        answer.losses.append(f"not a tag: {_brief(item)}")
        return
    bullet_id = short_id("P", raw_id.strip().strip("[]"))
    if bullet_id is None or bullet_id not in shown:
        answer.unknown += 1
        return
    earlier = next((t for t in answer.tags if t.bullet_id == bullet_id), None)
    if earlier is not None:
        if earlier.tag != tag.lower():
            answer.losses.append(f"{bullet_id} was tagged twice: {earlier.tag} kept, {tag.lower()} dropped")
        return
    why = item.get("why")
    answer.tags.append(TagProposal(bullet_id, cast(Tag, tag.lower()), why if isinstance(why, str) else ""))


def _take_add(item: Any, answer: Answer, bullet_id: str, taken: list[AddProposal], most: int) -> None:
    text = item.get("text") if isinstance(item, dict) else None
    if not isinstance(text, str) or not text.strip():
        answer.losses.append(f"not an addition: {_brief(item)}")
        return
    if len(taken) >= most:
        answer.losses.append(f"beyond {most} of them: {_brief(text)}")
        return
    words = {key: item[key] if isinstance(item.get(key), str) else "" for key in ("when", "kind", "quote", "call_id")}
    kind = cast(Kind, words["kind"]) if words["kind"] in get_args(Kind) else "strategy"
    section = _section(item.get("section"))
    taken.append(AddProposal(text, words["when"], kind, section, words["quote"], words["call_id"], bullet_id))


def _section(value: Any) -> str:
    word = re.sub(r"[^a-z0-9 -]+", "", str(value).lower()).strip()[:24] if isinstance(value, str) else ""
    return word or "general"


def _brief(item: Any) -> str:
    return shorten(item if isinstance(item, str) else json.dumps(item, default=str, ensure_ascii=False), _SHOW)
