"""From a model's text to checked tags and additions: what can be read is kept, each loss is said."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from typing import Any, cast, get_args

from swecli.models.ids import short_id
from swecli.models.playbook import Kind, Tag
from swecli.playbook.words import shorten

MAX_OPERATIONS = 20
MAX_ADDS = 3
SHOW = 60  # characters of a dropped item that are shown
TRIES = 16
KEYS = ("tags", "add")
REWRITES = frozenset({"playbook", "bullets", "strategies", "rewrite", "replace", "operations", "ops", "delta"})
_FENCE = re.compile(r"```[\w-]*[^\S\n]*\n?(.*?)(?:```|\Z)", re.DOTALL)
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"')
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*(?:"|\Z)|[{}\[\]]', re.DOTALL)
Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class ModelTag:
    """A tag as a model proposed it, its id known to have been shown."""

    bullet_id: str
    tag: Tag
    why: str = ""


@dataclass(frozen=True, slots=True)
class ModelAdd:
    """An addition as a model proposed it."""

    content: str
    section: str = "general"
    kind: Kind = "strategy"
    evidence: str = ""


@dataclass(slots=True)
class Answer:
    """A read answer. `problem` names why a retry would be worth it; `refused` why none would be.

    `losses` are lines on what was dropped; `unknown` counts tags for bullets that were not shown.
    """

    tags: list[ModelTag] = field(default_factory=list)
    adds: list[ModelAdd] = field(default_factory=list)
    losses: list[str] = field(default_factory=list)
    problem: str = ""
    refused: str = ""
    unknown: int = 0

    @property
    def kept(self) -> int:
        """How many proposals could be read."""
        return len(self.tags) + len(self.adds)


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
        return Answer(refused=wrong) if set(found) & REWRITES else Answer(problem=wrong)
    return _checked(found, shown)


def _object(text: str) -> Json | None:
    """The answer's object: the last one that has the expected keys, else the last rewrite, else the last one."""
    found = [value for value in _objects(text) if isinstance(value, dict)]
    for keys in (set(KEYS), set(REWRITES)):
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
    """Objects from left to right; after `TRIES` braces that open none, the rest is given up."""
    at, failed = text.find("{"), 0
    while at >= 0 and failed < TRIES:
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
    if not set(KEYS) & set(found):
        if set(found) & REWRITES:
            return "a rewrite of the playbook is not taken: only tags and additions are"
        return 'the object has neither "tags" nor "add"'
    for key in KEYS:
        if not isinstance(found.get(key, []), (list, type(None))):
            return f'"{key}" is not a list'
    return ""


def _salvaged(text: str, shown: Collection[str], cut: bool) -> Answer:
    """Whole items out of an answer that does not parse as one."""
    items = [value for value in _scan(text) if isinstance(value, dict)]
    tags = [item for item in items if "id" in item and "tag" in item]
    adds = [item for item in items if "content" in item]
    what = "the answer was cut off" if cut or _looks_cut(text) else "the answer holds no JSON object"
    if not tags and not adds:
        return Answer(problem=what)
    answer = _checked({"tags": tags, "add": adds}, shown)
    if not answer.refused:
        answer.problem = what
        answer.losses.append(f"{what}: {answer.kept} whole items of it were kept")
    return answer


def _checked(found: Json, shown: Collection[str]) -> Answer:
    tags, adds = found.get("tags") or [], found.get("add") or []
    if len(tags) + len(adds) > MAX_OPERATIONS:
        count = len(tags) + len(adds)
        return Answer(refused=f"{count} operations in one answer, at most {MAX_OPERATIONS}: refused whole")
    answer = Answer()
    extra = sorted(set(found) - set(KEYS))
    if extra:
        answer.losses.append(f"ignored: {shorten(', '.join(map(str, extra)), SHOW)}")
    for item in tags:
        _take_tag(item, shown, answer)
    for item in adds:
        _take_add(item, answer)
    if answer.unknown:
        answer.losses.append(f"{answer.unknown} tags for strategies that were not shown were dropped")
    if not answer.kept and (tags or adds) and not answer.unknown:
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
    answer.tags.append(ModelTag(bullet_id, cast(Tag, tag.lower()), why if isinstance(why, str) else ""))


def _take_add(item: Any, answer: Answer) -> None:
    content = item.get("content") if isinstance(item, dict) else None
    if not isinstance(content, str) or not content.strip():
        answer.losses.append(f"not an addition: {_brief(item)}")
        return
    if len(answer.adds) >= MAX_ADDS:
        answer.losses.append(f"beyond {MAX_ADDS} additions: {_brief(content)}")
        return
    kind, section, evidence = (item.get(key) for key in ("kind", "section", "evidence"))
    answer.adds.append(
        ModelAdd(
            content=content,
            section=_section(section),
            kind=cast(Kind, kind) if kind in get_args(Kind) else "strategy",
            evidence=evidence if isinstance(evidence, str) else "",
        )
    )


def _section(value: Any) -> str:
    word = re.sub(r"[^a-z0-9 -]+", "", str(value).lower()).strip()[:24] if isinstance(value, str) else ""
    return word or "general"


def _brief(item: Any) -> str:
    return shorten(item if isinstance(item, str) else json.dumps(item, default=str, ensure_ascii=False), SHOW)
