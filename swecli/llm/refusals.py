"""What the refusal of a request reveals about a model: strict words only, each lesson with a line for the user."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from swecli.llm.learned_facts import LEFT_OUT

if TYPE_CHECKING:
    from swecli.llm.profile import Profile

BLOCKS = "blocks"  # the pseudo-field of the opaque blocks of this conversation

# words that a refusal of something else has too: such a field counts only in quotes, or before a colon
_EVERYDAY = ("default", "minimum", "maximum", "include", "store")
_SCHEMA_FIELDS = (
    "additionalProperties", "minLength", "maxLength", "minItems", "maxItems", "default", "minimum", "maximum",
)  # fmt: skip
# request fields that can be left out
_FIELDS = (
    "stream_options", "response_format", "cache_control", "reasoning_effort", "thinking", "output_config", "stream",
    "include", "reasoning", "store", *_SCHEMA_FIELDS,
)  # fmt: skip
# they are deep inside a body, where they cannot be looked up
_NESTED_FIELDS = ("cache_control", *_SCHEMA_FIELDS)

# all patterns are for a text without underscores: services write max_tokens, maxTokens and max tokens
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
    """What a refusal reveals: the profile's `field` (`off.NAME` for a request field that is left out, BLOCKS to drop
    the opaque blocks of this request), its `value`, and the `notice` for the user."""

    field: str
    value: Any
    notice: str


@dataclass(frozen=True, slots=True)
class _Rule:
    """Reveals `value` for `field` if both patterns are found: `sent` in the JSON of the request, `says` in the refusal.
    `{}` in `notice` is the model. A rule `of_model` needs a refusal that names nothing but the model."""

    field: str
    value: Any
    sent: str
    says: str
    notice: str
    of_model: bool = False
    may_be_combined: bool = False


def _refused(name: str) -> str:
    """Return the pattern for a text that refuses what the pattern `name` stands for: both are near each other."""
    return rf"{name}.{{0,80}}?{_REFUSES}|{_REFUSES}.{{0,80}}?{name}"


_NOT_ACCEPTED = "{} does not accept %s: left out"
_OWN_REASONING = "{} rejected its own reasoning: left out of this request"
_REASONING_RULES = (
    _Rule("filler", " ", "",  # what is extra may be quoted
          "^(?!.*extra)(?=.*reasoningcontent).*(missing|required|must be (passed|provided|included)|(?<!un)expected)",
          "{} wants its reasoning back", may_be_combined=True),
    _Rule("think_back", "never", '"reasoning_content"', _refused("reasoningcontent"),
          "{} does not take its reasoning back: left out", may_be_combined=True),
    _Rule("off.include", True, '"include": ', "encrypted content is not supported",
          "{} keeps no encrypted reasoning: not asked for"),
    _Rule("off.display", True, '"display": "summarized"', _refused(r"\bdisplay\b"), _NOT_ACCEPTED % "display"),
    _Rule("off.reasoning.summary", True, '"summary": "auto"', _refused(r"reasoning\.summary") + "|reasoning summaries",
          "{} gives no summaries of its reasoning: not asked for"),
    _Rule(BLOCKS, None, '"encrypted_content": "', "encrypted ?content|'reasoning' was provided|items are not persisted",
          _OWN_REASONING, may_be_combined=True),
    _Rule(BLOCKS, None, '"(signature|redacted_thinking|reasoning_details)"',
          "signature|thinking`? blocks?|bound to a different conversation|reasoningdetails", _OWN_REASONING,
          may_be_combined=True),
)  # fmt: skip
_RULES = (
    _Rule("off.reasoning_effort", True, '"reasoning_effort"', "not support (thinking|reasoning)|think value",  # Ollama
          _NOT_ACCEPTED % "reasoning_effort"),
    _Rule("images", False, '"image(_url)?"',
          "((not|n't|that) support|unknown variant|at most 0).{0,40}(image|vision|multimodal)|"
          "(image|vision)(url| inputs?| content)?`? (is|are) (not|only) (support|enabled)|not a multimodal|"
          "content must be a string", "{} does not support images: left out"),
    _Rule("off.null content", True, '"content": null',
          r"^(?=.*\b(invalid|must|should|expected|not|cannot)\b).*content.{0,80}(null|nil|string)",
          "{} takes no message without text"),
    _Rule("off.text with calls", True, "", "content or toolcalls, but not both", "{} takes no text beside calls",
          may_be_combined=True),
    _Rule("off.stream", True, '"stream": true',
          r"not (be )?support(ed)?\b.{0,60}\bstream(ing)?\b|n't support.{0,60}\bstream(ing)?\b|"
          r"\bstream(ing)?\b.{0,40}\bnot supported", _NOT_ACCEPTED % "stream", may_be_combined=True),
    _Rule("tools", False, '"tools": ',
          r"do(es)?( not|n't) support (tools|tool use|tool calling|function)|tool(s param| choice) requires|"
          r"no endpoints found that support tool|"
          r"(unknown|unrecognized|unsupported|unexpected|extra)\b.{0,60}\btools\b(?![\[.])|"
          r"(tools?(?![\[.])|function calling)\b.{0,40}\bnot (supported|permitted|allowed|enabled)",
          "{} does not support tools: it can answer, not act", of_model=True),
    _Rule("system_role", False, r'"role": "system"|"system": \[',
          r"system\W{0,2} ?(role|messages?|prompt|instruction)?.{0,40}(not (supported|allowed|enabled)|unsupported)|"
          r"(does|do) not support.{0,20}\bsystem\b|system message must be|(must|should) alternate|"
          "unexpected role .?system|developer instruction is not enabled|only user and assistant roles",
          "{} has no system role: its instructions go with your message", may_be_combined=True),
)  # fmt: skip


def lesson_from_refusal(
    profile: Profile,
    name: str,
    body: Mapping[str, Any],
    param: str,
    words: str,
    extra_fields: Collection[str] = (),
) -> Lesson | None:
    """Return what a refusal reveals about model `name`, None if it names nothing that can be changed. `param` is the
    field that the error object names, `extra_fields` are those of the user's `extra_body`."""
    text = re.sub(rf"(?<!\w){re.escape(name)}(?!\w)", "the model", f"{param}: {words}")
    text = text.replace("_", "")
    if _is_about_length(text):
        return _named(_length_lesson(profile, body, text), name, words)
    return _named(_first_lesson(body, text, extra_fields), name, words)


def _named(lesson: Lesson | None, name: str, words: str) -> Lesson | None:
    """Return a lesson whose notice names the model and quotes the refusal; None for none."""
    if lesson is None:
        return None
    notice = lesson.notice.replace("{}", name)
    return Lesson(lesson.field, lesson.value, f"{notice} ({words})")


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
        return Lesson("max_output", limit, f"{{}} answers with at most {limit:,} tokens")
    is_refused = re.search(_refused(_LENGTH), text, _WORDS)
    if is_responses or not is_refused or _COMBINED.search(text):
        return None
    other = "max_completion_tokens" if profile.limit_name == "max_tokens" else "max_tokens"
    return Lesson("limit_name", other, f"{{}} takes the longest answer as {other}")


def _first_lesson(
    body: Mapping[str, Any], text: str, extra_fields: Collection[str]
) -> Lesson | None:
    """Return what the first rule that fits reveals; None if none does, or if it asks for more than the text says."""
    sent = json.dumps(body)
    is_combined = _COMBINED.search(text) is not None
    for rule in (*_REASONING_RULES, *_field_rules(body, extra_fields), *_RULES):
        if not (re.search(rule.sent, sent) and re.search(rule.says, text, _WORDS)):
            continue
        if is_combined and not rule.may_be_combined:
            return None
        if rule.of_model and _MORE_THAN_THE_MODEL.search(text):
            return None
        return Lesson(rule.field, rule.value, rule.notice)
    return None


def _field_rules(body: Mapping[str, Any], extra_fields: Collection[str]) -> Iterator[_Rule]:
    """Yield a rule for each field of the request that can be left out."""
    for field in (*_FIELDS, *extra_fields):
        if field in body or field in _NESTED_FIELDS:
            yield _Rule(
                field=f"{LEFT_OUT}{field}",
                value=True,
                sent=re.escape(json.dumps(field)),
                says=_refused(_name_pattern(field)),
                notice=_NOT_ACCEPTED % field,
            )


def _name_pattern(field: str) -> str:
    """Return the pattern for a text that names a field."""
    name = re.escape(field.replace("_", ""))
    if field in _EVERYDAY:
        return rf"([\"'`.]{name}[\"'`:]|(^|: ){name}:)"
    return rf"(?<![\w.]){name}(?!\w)"
