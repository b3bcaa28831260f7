"""From a model's text to checked tags and additions: what can be read is kept, each loss is said."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from typing import Any, cast, get_args

from swecli.models.ids import short_id
from swecli.models.playbook import Kind, Tag
from swecli.playbook.learning.curator import MAX_ADDS, MAX_UPDATES, AddProposal, TagProposal
from swecli.playbook.similarity import shorten

_MOST_CHANGES = 20  # additions and updates of an answer that is read at all
_SHOW = 60  # characters of a dropped item that are shown
_TRIES = 16
_KEYS = ("tags", "add", "update")
_REWRITES = frozenset({"playbook", "bullets", "strategies", "rewrite", "replace", "operations", "ops", "delta"})
_FENCE = re.compile(r"```[\w-]*[^\S\n]*\n?(.*?)(?:```|\Z)", re.DOTALL)
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"')
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*(?:"|\Z)|[{}\[\]]', re.DOTALL)
Json = dict[str, Any]


@dataclass(slots=True)
class Answer:
    """A read answer. `problem` names why a retry would be worth it; `refused` why none would be.

    `losses` are lines on what was dropped; `unknown` counts tags for bullets that were not shown.
    """

    tags: list[TagProposal] = field(default_factory=list)
    adds: list[AddProposal] = field(default_factory=list)
    updates: list[AddProposal] = field(default_factory=list)
    losses: list[str] = field(default_factory=list)
    problem: str = ""
    refused: str = ""
    unknown: int = 0

    @property
    def kept(self) -> int:
        """How many proposals could be read."""
        return len(self.tags) + len(self.adds) + len(self.updates)


def read_answer(text: str, shown: Collection[str], *, cut: bool = False) -> Answer:
    """Read a reflector's answer. Never raises: what cannot be used is a problem or a loss.

    Args:
        text: the whole answer.
        shown: the ids that stood in the prompt; tags for others are dropped.
        cut: whether the stream broke off.
    """
    if not text.strip():
        return Answer(problem="the answer was empty")
    found = _object(text)
    if found is None:
        return _salvaged(text, shown, cut)
    wrong = _wrong_shape(found)
    if wrong:
        return Answer(refused=wrong) if set(found) & _REWRITES else Answer(problem=wrong)
    return _checked(found, shown)


def _object(text: str) -> Json | None:
    """The answer's object: the last one that has the expected keys, else the last rewrite, else the last one."""
    found = [value for value in _objects(text) if isinstance(value, dict)]
    for keys in (set(_KEYS), set(_REWRITES)):
        fitting = [value for value in found if keys & set(value)]
        if fitting:
            return fitting[-1]
    return found[-1] if found and not _looks_cut(text) else None


def _objects(text: str) -> Iterator[Any]:
    """Every outermost JSON object of a text: bare, fenced, in prose, and with commas too many."""
    whole = _loads(text)
    if whole is not None:
        yield whole
        return
    blocks = [block for block in _FENCE.findall(text) if "{" in block]
    values = [value for block in blocks if (value := _loads(block)) is not None]
    if values:
        yield from values
        return
    yield from _scan(text)


def _scan(text: str) -> Iterator[Any]:
    """Objects from left to right; after `_TRIES` braces that open none, the rest is given up."""
    at, failed = text.find("{"), 0
    while at >= 0 and failed < _TRIES:
        end = _balanced(text, at)
        value = _loads(text[at:end]) if end > 0 else None
        failed += value is None
        if value is not None:
            yield value
        at = text.find("{", at + 1 if value is None else end)


def _balanced(text: str, start: int) -> int:
    """Where the object that opens at `start` ends, -1 when it does not."""
    depth = 0
    for token in _TOKEN.finditer(text, start):
        depth += {"{": 1, "[": 1, "}": -1, "]": -1}.get(token[0], 0)
        if depth == 0:
            return token.end()
    return -1


def _loads(text: str) -> Any:
    """The value of a JSON text, commas before a closing bracket forgiven; None when it is none."""
    for candidate in (text.strip(), _without_commas(text.strip())):
        try:
            return json.loads(candidate, strict=False)
        except (ValueError, RecursionError):
            continue
    return None


def _without_commas(text: str) -> str:
    pieces = re.split(r'("(?:[^"\\]|\\.)*")', text)
    return "".join(p if p.startswith('"') else re.sub(r",(\s*[}\]])", r"\1", p) for p in pieces)


def _looks_cut(text: str) -> bool:
    bare = _STRING.sub("", text)
    return bare.count("{") > bare.count("}")


def _wrong_shape(found: Json) -> str:
    if not set(_KEYS) & set(found):
        if set(found) & _REWRITES:
            return "a rewrite of the playbook is not taken: only tags and additions are"
        return 'the object has none of "tags", "add" and "update"'
    for key in _KEYS:
        if not isinstance(found.get(key, []), (list, type(None))):
            return f'"{key}" is not a list'
    return ""


def _salvaged(text: str, shown: Collection[str], cut: bool) -> Answer:
    """Whole items out of an answer that does not parse as one."""
    items = [value for value in _scan(text) if isinstance(value, dict)]
    tags = [item for item in items if "id" in item and "tag" in item]
    adds = [item for item in items if "text" in item and "id" not in item]
    what = "the answer was cut off" if cut or _looks_cut(text) else "the answer holds no JSON object"
    if not tags and not adds:
        return Answer(problem=what)
    answer = _checked({"tags": tags, "add": adds}, shown)
    if not answer.refused:
        answer.problem = what
        answer.losses.append(f"{what}: {answer.kept} whole items of it were kept")
    return answer


def _checked(found: Json, shown: Collection[str]) -> Answer:
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
