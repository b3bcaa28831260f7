"""What the refusal of a request reveals about a model: the field that it names is left out. Words are only read where
no field is named: tools, images, the system role, the longest answer."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from swecli.values import dataclass

if TYPE_CHECKING:
    from swecli.llm.profile import Profile

# what a request consists of: without these it would be another one
_CORE = frozenset((
    "model", "messages", "input", "instructions", "system", "tools", "stream", "max_tokens",
    "max_completion_tokens", "max_output_tokens", "contents", "systemInstruction", "generationConfig", "drop_params",
))  # fmt: skip
# the same of a tool
_CORE_OF_TOOLS = frozenset((
    "type", "function", "name", "description", "parameters", "input_schema", "functionDeclarations",
    "parametersJsonSchema", "properties", "required", "items", "enum", "anyOf",
))  # fmt: skip
_MARK = "cache_control"
# fields inside of others, by the one that holds them
_NESTED = {
    "thinking": ("display",),
    "reasoning": ("summary",),
    "generationConfig": ("thinkingConfig",),
}
_THOUGHTS = ("reasoning_content", "reasoning")  # in messages
# a name that no sentence has by itself, any name in quotes or before a colon, and a path with dots or indexes
_NAME = re.compile(
    r"""[`'"](?P<quoted>[\w.\[\]{}()]+)[`'"]"""
    r"""|(?P<path>(?<![\w/.:])[A-Za-z_]\w*(?:\.\w+|\[\d+\])+(?!\.?\w))"""
    r"""|(?:^|[:;]\s)(?P<begins>\w+)(?=\s?:)"""
    r"""|(?P<word>[A-Za-z]+(?:_[a-z0-9]+)+|[a-z]+(?:[A-Z][a-z]+)+)""",
    re.ASCII,
)

# all other patterns are for a text without underscores: services write max_tokens, maxTokens and max tokens
_WORDS = re.IGNORECASE | re.ASCII
_REFUSES = (
    r"(\b(unknown|unrecognized|unsupported|unexpected|extra|additional|deprecated|"
    r"invalid (parameter|argument|field))\b|"
    r"(\b(not|no longer|never)|n't) (be )?(support|permit|allow|accept|recogni|enabled|implemented|known))"
)
# a refusal of things together says nothing about one of them
_COMBINED = re.compile(
    r"\b(with(?! (this|the|that|your) (model|endpoint|service|server))|together|combin\w+|when|while|unless|both|"
    r"in streaming mode)\b",
    _WORDS,
)
# another field, an endpoint, or a number that is no status: then the model as a whole is not meant
_MORE_THAN_THE_MODEL = re.compile(
    r"\b(reasoningeffort|reasoning|thinking|stream(ing)?|parallel|responseformat)\b|"
    r"/(chat/completions|responses|messages)\b|(?<![\w.:/-])(?![45]\d\d\b)[1-9]\d*(?![\w.:/-])",
    _WORDS,
)
_LENGTH = r"(?<![\w.])max(completion|output)?tokens(?!\w)"
_LENGTH_IN_WORDS = r"max(imum)? tokens (you|must)"
_WINDOW = "context ?(length|size|limit)|context window|maxmodellen"
_AT_MOST = (
    r"(?:at most|maximum(?: allowed)?(?: value)?(?: is| of|:)?|less than or equal to|<=|supports up to|>|limit of|\[\d)"
    r"\s*`?(\d{2,8})"
)


@dataclass(frozen=True, slots=True)
class Lesson:
    """What a refusal reveals: the fields of the `Profile` that change, the `notice` for the user, and whether the
    thoughts of earlier answers are left out of this request. The last one (`is_guess`) leaves out all that can be."""

    changes: Mapping[str, Any]
    notice: str
    drops_thoughts: bool = False
    is_guess: bool = False


@dataclass(frozen=True, slots=True)
class _Rule:
    """Reveals `value` for `field` if both patterns are found: one in the JSON of the request, one in the refusal. `{}`
    in `notice` is the model. A rule `of_model` needs a refusal that names nothing but the model."""

    field: str
    value: Any
    in_request: str
    in_refusal: str
    notice: str
    of_model: bool = False
    may_be_combined: bool = False

    def lesson(self) -> Lesson:
        """Return what it reveals."""
        if self.field == "thoughts":
            return Lesson({}, self.notice, drops_thoughts=True)
        return Lesson({self.field: self.value}, self.notice)


def _refused(name: str) -> str:
    """Return the pattern for a text that refuses what the pattern `name` stands for: both are near each other."""
    return rf"{name}.{{0,80}}?{_REFUSES}|{_REFUSES}.{{0,80}}?{name}"


_OWN_THOUGHTS = "{} rejected its own reasoning: left out of this request"
_RULES_OF_THOUGHTS = (
    _Rule("filler", " ", "",  # what is extra may be quoted
          "^(?!.*extra)(?=.*reasoningcontent).*(missing|required|must be (passed|provided|included)|(?<!un)expected)",
          "{} wants its reasoning back", may_be_combined=True),
    _Rule("thoughts", None, '"encrypted_content": "',
          "encrypted ?content|'reasoning' was provided|items are not persisted", _OWN_THOUGHTS, may_be_combined=True),
    _Rule("thoughts", None, '"(signature|thoughtSignature|redacted_thinking|reasoning_details)"',
          "signature|thinking`? blocks?|bound to a different conversation|reasoningdetails", _OWN_THOUGHTS,
          may_be_combined=True),
)  # fmt: skip
_RULES = (
    _Rule("images", False, '"image(_url)?"|"inlineData"',
          "((not|n't|that) support|unknown variant|at most 0).{0,40}(image|vision|multimodal)|"
          "(image|vision)(url| inputs?| content)?`? (is|are) (not|only) (support|enabled)|not a multimodal|"
          "content must be a string", "{} does not support images: left out"),
    _Rule("off", frozenset(("null content",)), '"content": null',
          r"^(?=.*\b(invalid|must|should|expected|not|cannot)\b).*content.{0,80}(null|nil|string)",
          "{} takes no message without text"),
    _Rule("off", frozenset(("text with calls",)), "", "content or toolcalls, but not both",
          "{} takes no text beside calls", may_be_combined=True),
    _Rule("off", frozenset(("stream",)), '"stream": true',
          r"not (be )?support(ed)?\b.{0,60}\bstream(ing)?\b|n't support.{0,60}\bstream(ing)?\b|"
          r"\bstream(ing)?\b.{0,40}\bnot supported", "{} does not accept stream: left out", may_be_combined=True),
    _Rule("tools", False, '"tools": ',
          r"do(es)?( not|n't) support (tools|tool use|tool calling|function)|tool(s param| choice) requires|"
          r"no endpoints found that support tool|"
          r"(unknown|unrecognized|unsupported|unexpected|extra)\b.{0,60}\btools\b(?![\[.])|"
          r"(tools?(?![\[.])|function calling)\b.{0,40}\bnot (supported|permitted|allowed|enabled)",
          "{} does not support tools: it can answer, not act", of_model=True),
    _Rule("system_role", False, r'"role": "system"|"system": \[|"systemInstruction"',
          r"system\W{0,2} ?(role|messages?|prompt|instruction)?.{0,40}(not (supported|allowed|enabled)|unsupported)|"
          r"(does|do) not support.{0,20}\bsystem\b|system message must be|(must|should) alternate|"
          "unexpected role .?system|developer instruction is not enabled|only user and assistant roles",
          "{} has no system role: its instructions go with your message", may_be_combined=True),
)  # fmt: skip


def lesson_from_refusal(
    profile: Profile, name: str, body: Mapping[str, Any], param: str, words: str
) -> Lesson | None:
    """Return what a refusal reveals about model `name`, None if there is nothing to be changed. `param` is the field or
    path that the error object names."""
    plain = re.sub(rf"(?<!\w){re.escape(name)}(?!\w)", "the model", f"{param}: {words}")
    text = plain.replace("_", "")
    if _is_about_length(text):
        return _named(_length_lesson(profile, body, text), name, words)
    lesson = (
        _lesson_by_words(_RULES_OF_THOUGHTS, body, text)
        or _lesson_by_path(body, param, plain)
        or _lesson_by_words(_RULES, body, text)
        or _last_lesson(body)
    )
    return _named(lesson, name, words)


def _named(lesson: Lesson | None, name: str, words: str) -> Lesson | None:
    """Return a lesson whose notice names the model and quotes the refusal; None for none."""
    if lesson is None:
        return None
    notice = f"{lesson.notice.replace('{}', name)} ({words})"
    return Lesson(lesson.changes, notice, lesson.drops_thoughts, lesson.is_guess)


def _lesson_by_path(body: Mapping[str, Any], param: str, text: str) -> Lesson | None:
    """Return the lesson of the first name or path in a refusal that leads to a field which can be left out: the nearest
    one, from the path's end."""
    optional = {_letters(name): name for name in _optional_fields(body)}
    for path in [param, *(match[match.lastgroup or 0] for match in _NAME.finditer(text))]:
        names = [name for name in re.split(r"[.\[\]]+", path) if name and not name.isdigit()]
        for position in reversed(range(len(names))):
            name = names[position]
            is_of_message = name in _THOUGHTS and (name not in body or names[0] == "messages")
            if is_of_message and any(name in message for message in body.get("messages", ())):
                notice = "{} does not take its reasoning back: left out"
                return Lesson({"think_back": "never"}, notice)
            inside = ".".join(names[max(0, position - 1) : position + 1])
            for key in (_letters(inside), _letters(name)):
                if field := optional.get(key):
                    notice = f"{{}} does not accept {field}: left out"
                    return Lesson({"off": frozenset((field,))}, notice)
    return None


def _letters(name: str) -> str:
    """Return a field's name as all services spell it: reasoning_effort is reasoningEffort."""
    return name.replace("_", "").lower()


def _last_lesson(body: Mapping[str, Any]) -> Lesson | None:
    """Return the lesson of a refusal that names nothing: all fields beside the tools that can be left out, are; None if
    there are none."""
    names = {
        name for name in _fields_beside_tools(body) if name.partition(".")[0] in (name, *_CORE)
    }
    optional = sorted(names - {"store"})  # without it the service may keep the conversation
    if not optional:
        return None
    notice = f"{{}} refused the request: asked once more without {', '.join(optional)}"
    return Lesson({"off": frozenset(optional)}, notice, drops_thoughts=True, is_guess=True)


def _optional_fields(body: Mapping[str, Any]) -> Iterator[str]:
    """Yield the fields of a request that can be left out."""
    yield from _fields_beside_tools(body)
    yield from _optional_in(body.get("tools"))


def _fields_beside_tools(body: Mapping[str, Any]) -> Iterator[str]:
    """Yield the same without those of tools; a field in another with a dot (`thinking.display`)."""
    yield from (name for name in body if name not in _CORE)
    for holder, names in _NESTED.items():
        yield from (f"{holder}.{name}" for name in names if name in body.get(holder, ()))
    if f'"{_MARK}"' in json.dumps([body.get("system"), body.get("messages")]):
        yield _MARK


def _optional_in(tools: Any) -> Iterator[str]:
    """Yield the fields of tools and of their schemas that can be left out. The keys of `properties` are arguments."""
    if isinstance(tools, list):
        for inner in tools:
            yield from _optional_in(inner)
    elif isinstance(tools, dict):
        for name, inner in tools.items():
            if name not in _CORE_OF_TOOLS:
                yield name
            elif name == "properties" and isinstance(inner, dict):
                yield from _optional_in(list(inner.values()))
            else:
                yield from _optional_in(inner)


def _is_about_length(text: str) -> bool:
    """Return whether a refusal is about the longest answer, and not about the window."""
    names_length = re.search(f"{_LENGTH}|{_LENGTH_IN_WORDS}", text, _WORDS)
    return names_length is not None and not re.search(_WINDOW, text, _WORDS)


def _length_lesson(profile: Profile, body: Mapping[str, Any], text: str) -> Lesson | None:
    """Return what a refusal of the longest answer reveals: a smaller one, or the field's other name."""
    is_responses = "max_output_tokens" in body
    requested = body.get("max_output_tokens" if is_responses else profile.limit_name)
    if not isinstance(requested, int):
        return None
    limits = [int(number) for number in re.findall(_AT_MOST, text.replace(",", ""), re.IGNORECASE)]
    smaller = [limit for limit in limits if limit < requested]
    if smaller:
        limit = max(smaller)
        return Lesson({"max_output": limit}, f"{{}} answers with at most {limit:,} tokens")
    is_refused = re.search(_refused(_LENGTH), text, _WORDS)
    if is_responses or not is_refused or _COMBINED.search(text):
        return None
    other = "max_completion_tokens" if profile.limit_name == "max_tokens" else "max_tokens"
    return Lesson({"limit_name": other}, f"{{}} takes the longest answer as {other}")


def _lesson_by_words(rules: tuple[_Rule, ...], body: Mapping[str, Any], text: str) -> Lesson | None:
    """Return what the first rule that fits reveals; None if none does, or if it asks for more than the text says."""
    request = json.dumps(body)
    is_combined = _COMBINED.search(text) is not None
    for rule in rules:
        if not (re.search(rule.in_request, request) and re.search(rule.in_refusal, text, _WORDS)):
            continue
        if is_combined and not rule.may_be_combined:
            return None
        if rule.of_model and _MORE_THAN_THE_MODEL.search(text):
            return None
        return rule.lesson()
    return None
