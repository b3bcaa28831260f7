"""The grammar of talking about the work: corrections, notes, memory, thanks, help."""

from __future__ import annotations

import re

from swecli.llm.demo.intents import Intent, More, Recall, Remember, Talk, Todo, Wrong
from swecli.llm.demo.phrase import Phrase
from swecli.llm.demo.rules import Build, any_of, rule

_LEAD_IN = re.compile(
    r"^(?:[\s:,.;!?–—-]|\b(?:file|command|one|answer|it should (?:have been|be)|it is|it's|should be|i meant|i said|"
    r"i wanted(?: you to)?|you should(?: have)?|please|but|because|instead|rather|use(?= [\w./]+\.\w))\b)+",
    re.IGNORECASE,
)


def correction(masked: str) -> str:
    """What is left of a correction when "it should be" and the like are cut off."""
    return re.sub(r"\s+instead\s*[.!]*$", "", _LEAD_IN.sub("", masked), flags=re.IGNORECASE).strip(" .!\n")


def _wrong(match: re.Match[str], phrase: Phrase) -> Intent:
    # with its quotes: it is read once more, as a request of its own
    return Wrong(phrase.raw(correction(match["rest"])))


def _remember(match: re.Match[str], phrase: Phrase) -> Intent | None:
    text = phrase.raw(match["text"])
    return Remember(text) if len(text.split()) > 1 else None


def _todo(match: re.Match[str], phrase: Phrase) -> Intent | None:
    pieces = re.split(r"[;\n]|,\s*(?:and\s+)?|\s+and\s+then\s+|\s+and\s+", phrase.raw(match["items"]))
    items = tuple(piece.strip(" -*.\t[]") for piece in pieces)
    return Todo(tuple(dict.fromkeys(item for item in items if item))) if any(items) else None


def _recall(match: re.Match[str], phrase: Phrase) -> Intent:
    text = match[0].lower()
    if re.search(r"\blearn", text):
        return Recall("learned")
    if re.search(r"\b(?:command|run|ran|execute)", text):
        return Recall("commands")
    if re.search(r"\b(?:file|change|edit|touch|modif|creat)", text):
        return Recall("files")
    if re.search(r"\b(?:last|previous|just)\b", text):
        return Recall("last")
    return Recall("asked" if re.search(r"\b(?:ask|say|said|question|request|want)", text) else "all")


def _topic(intent: Intent) -> Build:
    return lambda match, phrase: intent


_YOU = any_of("we", "you", "i")
_ASIDE = r"(?:(?:the|a|just|totally|completely|all|still|plain) )*"
_WRONG = any_of(
    "wrong", "incorrect", "not right", "not correct", "not true", "mistaken?",
    "not what i (?:wanted|meant|asked(?: for)?|said)",
)  # fmt: skip
_MEMORY = any_of(
    "(?:do|can) you remember", "what do you remember", "what have you learn(?:ed|t)", rf"what did {_YOU}",
    rf"what have {_YOU} (?:done|changed|edited|asked|run|read|said|created)", "what happened (?:so far|before|earlier)",
    "what was done", rf"(?:which|what) (?:files|commands) (?:did|have) {_YOU}", "where were we", "recap",
    "what (?:was|were) (?:my|the) (?:last|first|previous|earlier) (?:questions?|requests?|messages?|commands?|things?)",
    rf"(?:show|list|tell me) what {_YOU} (?:did|have done|asked|changed)",
    "summari[sz]e (?:what we did|our (?:work|session|conversation)|the session)",
)  # fmt: skip
_NOTE = any_of("remember", "note", "keep in mind", "memori[sz]e", "don'?t forget", "learn", "take note")
_LIST_VERB = any_of("make", "create", "write", "add", "set(?: up)?", "start", "show", "note")
_MODEL = any_of(
    "(?:real|other|another|different|better|proper|actual) (?:model|llm|ai)", "openai", "anthropic", "claude",
    r"gpt[\w.-]*", "gemini", "ollama", "(?:api[ -]?)?keys?",
)  # fmt: skip
_PRAISE = any_of(
    "thanks", "thank you", "thx", "ty", "cheers", "great", "perfect", "nice", "cool", "well done", "good (?:job|work)",
    "excellent", "awesome", "wonderful", "ok(?:ay)?", "yes",
    "that(?:'s| is| was) (?:right|correct|good|great|perfect|it)",
)  # fmt: skip
_MORE_PRAISE = any_of(
    "a lot", "so much", "very much", "you", r"that (?:was|is) \w+", "that'?s (?:right|great|good|it)", "job", "work",
    "thanks", "thank", "for .*",
)  # fmt: skip

# Rules whose values may end in any word: tried on the whole line, before polite endings are cut off.
OPEN_ENDED = (
    rule(
        r"(?:no|nope|nah)?[\s,.!:;–-]{0,4}(?:sorry, )?(?:(?:that|this|it|your answer)(?:'s|’s| is| was| were)?)? ?"
        rf"{_ASIDE}{_WRONG}\b(?P<rest>.*)$",
        _wrong,
    ),
    rule(r"(?:no|nope|nah)\s*[,.!:;–-]+\s*(?P<rest>.+)$", _wrong),
    rule(r"(?:no|nope|nah)(?P<rest>)[\s.!]*$", _wrong),
    rule(rf"{_MEMORY}\b.*$", _recall),
    rule(
        rf"(?:{_NOTE}(?:\s*[:,]|\s+this\s*:)?\s+(?:that\s+|to\s+)?|from now on,?\s+|in (?:the )?future,?\s+)"
        r"(?P<text>.+)$",
        _remember,
    ),
    rule(
        r"(?P<text>(?:always|never|do not ever|don'?t ever|i (?:always |never )?(?:prefer|like|want) (?!to\b|you\b))"
        r".+)$",
        _remember,
    ),
    rule(
        rf"(?:{_LIST_VERB}\s+)?(?:me )?(?:(?:a|the|my|to the|to my) )?(?:new )?(?:todos?|to-dos?|task)(?:[ -]?list)?"
        r"(?:\s*:|\s+(?:with|of|for|that says|to)\b:?)\s*(?P<items>.+)$",
        _todo,
    ),
)

RULES = (
    rule(r"(?:show (?:me )?)?(?:more|the (?:rest|remaining part)(?: of it)?|the next part)$", _topic(More())),
    rule(r"(?:read on|continue|go on|keep going|carry on)$", _topic(More())),
    rule(
        r"(?:hi|hello|hey|howdy|greetings|good (?:morning|evening|afternoon|day))\b"
        r"[\s,!]*(?:there|all|again|demo|swecli|everyone|you)?[\s!.]*$",
        _topic(Talk("hello")),
    ),
    rule(rf"(?:many |ok(?:ay)?,? )?{_PRAISE}(?:[\s,!.]+{_MORE_PRAISE})*[\s!.]*$", _topic(Talk("thanks"))),
    rule(
        r"(?:how (?:do|can|to|would|could)|can i|where do i|i want|use|switch|connect|configure|set ?up)\b"
        rf".*\b{_MODEL}\b.*$",
        _topic(Talk("model")),
    ),
    rule(
        r"(?:who|what) (?:are|r) (?:you|u)\b.*$|what(?:'s| is) your name|(?:which|what) model\b.*$|"
        r"are you (?:an? )?(?:real|ai|llm|gpt\S*|claude|human|bot|robot|demo|model|online|offline|smart|there)\b.*$|"
        r"(?:introduce|tell me about) yourself",
        _topic(Talk("who")),
    ),
    rule(
        r"(?:help|\?|usage|examples?|commands|options)$|help me$|what (?:can|do|could) (?:you|i|we) (?:do|ask|say|"
        r"understand|know)\b.*$|how (?:do|can|does) (?:i|you|this) (?:use|work)\b.*$",
        _topic(Talk("help")),
    ),
)
