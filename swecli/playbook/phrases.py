"""What the opening words of a query say about the turn before: a correction, a step back, a complaint or praise.

Patterns are narrow on purpose: a missed correction costs one tag, a false one blames a good strategy.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from swecli.playbook.words import shorten

FeedbackKind = Literal["correction", "undo", "complaint", "praise", "thanks"]

OPENING = 2_000  # characters of a query that are looked at
_LEAD = re.compile(
    r"(?:(?:hey|hi|h+m+|ok(?:ay)?|well(?! done)|sorry|wait|actually|sadly|unfortunately|ugh|argh|oh|so|look|listen|"
    r"(?:thanks|thank you|ty|nice try|good try|yeah|yes)(?=,? but)|but|come on)\b[\s,.!:;–—-]*)*",
    re.IGNORECASE,
)
# What may follow a complete verdict; "that is wrong in the docs" speaks about the docs.
_STOP = r"(?=\s*(?:$|[.,;:!…—–)\n]|-\s)|\s+-)"
_END = (
    rf"(?:{_STOP}|(?=\s+(?:again|because|since|but|and|please|use|try|you|it|the|i|we|at all|completely|here|now|"
    r"anymore|either|entirely|sorry|as)\b))"
)
_IT = r"(?:that|this|it|you|your (?:last )?(?:answer|change|edit|fix|reply|command|output|code)|the (?:answer|result))"
_BE = r"(?:['’]s| is| was|['’]re| are| were| looks)?"
_VERY = r"(?:\s+(?:still|just|completely|totally|all|plain|also|simply|clearly|really|so|even|very|quite))*"
_THING = (
    r"(?:file|function|method|class|directory|folder|place|approach|answer|one|branch|line|test|tests|way|command|"
    r"thing|module|package|version|name|repo|project|idea|tool|language|format)"
)
_HABIT = (
    r"(?:adding|using|doing|writing|changing|editing|deleting|removing|creating|making|asking|apologi[sz]ing|"
    r"explaining|guessing|assuming|reformatting|formatting|touching|modifying|rewriting|renaming|saying|repeating|"
    r"ignoring|commenting|inventing|putting|trying|committing|pushing|running (?:the )?(?:tests|it|them|that|commands))"
)
_FOR_NOTHING = re.compile(
    r"(?:thanks|thank you|problem|worries|need|rush|go ahead|that['’]?s (?:fine|ok|okay|all|it|good|right|"
    r"correct|great|"
    r"enough|perfect)|it['’]?s (?:fine|ok|okay|good|all right|not (?:needed|necessary))|i['’]?m (?:good|fine|done)|"
    r"not (?:yet|now|needed|necessary)|just|leave|keep|let['’]?s|nothing|don['’]?t (?:bother|worry)|really,|"
    r"i (?:don['’]?t|do not) (?:think|know|need|want)|i['’]?ll|i will|please (?:continue|go)|continue|proceed|"
    r"never ?mind)",
    re.IGNORECASE,
)


def _rule(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)


_NO = _rule(rf"(?:no+|nope|nah)(?!\.?\s*\d)(?:{_STOP}|(?=\s+(?:that|this|it|you|i (?:said|meant)|not)\b))[\s,.!:;–—-]*")
_CORRECTIONS = [
    _rule(pattern)
    for pattern in (
        rf"{_IT}{_BE}{_VERY}\s+(?:wrong|incorrect|mistaken|nonsense|rubbish){_END}",
        rf"{_IT}(?:['’]s not| is not| isn['’]t| was not| wasn['’]t|['’]re not| are not|n['’]t){_VERY}\s+"
        rf"(?:right|correct|it|what (?:i|we) (?:asked|wanted|want|meant|said|need|needed|had in mind)(?: for|"
        rf" you)?){_END}",
        rf"(?:that|this|it){_BE} (?:the |a )?(?:wrong|bad) {_THING}{_END}",
        rf"(?:wrong|incorrect)(?: {_THING})?{_STOP}",
        rf"bad (?:answer|advice|idea|change|edit){_STOP}",
        rf"not (?:that|this)(?: {_THING})?{_STOP}",
        rf"not (?:like (?:that|this)|what (?:i|we) (?:asked|wanted|meant|said|need|needed)(?: for)?|correct|"
        rf"right){_STOP}",
        rf"stop (?:it|that|{_HABIT})\b",
        rf"(?:please )?(?:don['’]?t|do not|never) (?:ever )?(?:do|say|write|use|change|touch|add|edit|run|call|create|"
        rf"delete|remove) (?:that|this|it)(?: again| anymore| any more)?{_STOP}",
        r"(?:please )?(?:don['’]?t|do not) [^,;:.\n?]{2,60}(?:[,;:]|\s[-–—]|\.)\s*(?:please )?(?:use|do|run|call|"
        r"write|put|"
        r"prefer|take|instead)\b",
        r"you(?:['’]ve| have)? (?:misunderstood|misread|got (?:it|that|this) (?:all )?wrong|forgot|missed|ignored|"
        r"deleted|removed|overwrote|(?:changed|edited|used|picked|took|opened|read) the wrong|shouldn['’]t have|"
        r"should not have|should have|were supposed to|weren['’]t supposed to|did (?:it|that) wrong|made a mistake|"
        r"didn['’]t|did not)\b",
        r"i (?:said|told you|meant(?! to ask)|asked you to|(?:asked for|wanted) [^.?!\n]{1,80}, not)\b",
    )
]
_UNDOS = [
    _rule(pattern)
    for pattern in (
        rf"(?:please )?(?:undo|revert|roll back) (?:that|this|it|those|your (?:last )?(?:changes?|edits?|work))"
        rf"(?: please)?{_STOP}",
        rf"(?:please )?(?:put|change|set|roll) (?:it|that|this|everything) back{_END}",
    )
]
_COMPLAINTS = [
    _rule(pattern)
    for pattern in (
        rf"(?:(?:that|this|it|your (?:fix|change|edit|code)) )?(?:still )?(?:didn['’]?t|did not|doesn['’]?t|does not)"
        rf"(?: even| really)? (?:work|help|compile|fix (?:it|that|anything)){_END}",
        rf"(?:{_IT}{_BE} )?(?:still )?(?:isn['’]?t|is not|not) (?:working|fixed|solved){_END}",
        rf"(?:(?:that|it|this|the tests?){_BE} )?still (?:fails?|failing|broken|crash(?:es|ing)?|wrong){_END}",
        r"still (?:getting|seeing|see|get) (?:the|that|an?|this)\b",
        r"(?:i['’]m|i am) still (?:getting|seeing)\b",
        r"(?:that|this|you|your (?:fix|change|edit)) (?:broke|breaks)\b",
        rf"(?:that|this|it){_BE} (?:made (?:it|things) )?(?:even )?worse\b",
        r"now (?:it|the (?:tests?|build|app)|everything|nothing) (?:fails?|is broken|are (?:failing|broken)|is failing|"
        r"crash(?:es)?|(?:don['’]?t|doesn['’]?t) (?:work|compile|build|run|start))\b",
    )
]
_THANKS = r"(?:thanks|thank you|thx|ty|cheers)(?: (?:a lot|so much|very much|again))?"
_GREAT = (
    r"(?:perfect|excellent|awesome|amazing|brilliant|wonderful|fantastic|superb|lovely|exactly|lgtm|solved|correct|"
    r"well done|good job|great job|nice job|good work|great work|nice work|works(?: (?:now|perfectly|great|fine|"
    r"well))?|"
    r"(?:that|this|it)(?:['’]s| is| was) (?:exactly )?(?:right|correct|perfect|great|it|exactly it|what (?:i|we) "
    r"(?:wanted|needed|asked for|meant))|exactly what (?:i|we) (?:wanted|needed|meant|asked for)|"
    r"(?:that|this|it) (?:now )?(?:worked|works|did it|did the trick|fixed it|fixes it|solved it|helped)"
    r"(?: (?:now|perfectly|great|fine|well|nicely|like a charm|beautifully))?|all (?:green|good)|"
    r"(?:the )?(?:tests?|build) (?:all )?(?:pass(?:es)?|work)(?: now)?|love it)"
)
_PRAISES: list[tuple[re.Pattern[str], float, FeedbackKind]] = [
    (_rule(rf"(?:{_THANKS}[\s,.!:–—-]+)?(?:yes[\s,.!]+)?{_GREAT}{_STOP}"), 1.0, "praise"),
    (_rule(rf"(?:{_THANKS}[\s,.!:–—-]+)?(?:great|nice|good|cool|neat|super|beautiful){_STOP}"), 0.5, "praise"),
    (_rule(rf"{_THANKS}{_STOP}"), 0.2, "thanks"),
]
_BUT = re.compile(
    r"\b(?:but|except|however|although|though|almost|unfortunately|not quite|apart from|"
    r"(?:broke|broken|worse|crash\w*|useless|(?:now|still|everything|nothing|it|that|this|tests?) (?:fails?|is wrong))|"
    r"doesn['’]?t work|didn['’]?t work|not work\w*|joking|sarcasm)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Feedback:
    """A verdict of the user on the turn before. `quote` is what was said, `rest` what followed it."""

    kind: FeedbackKind
    weight: float
    quote: str
    rest: str

    @property
    def good(self) -> bool:
        """Whether it speaks for the turn."""
        return self.kind in ("praise", "thanks")


def feedback(query: str, asked: bool = False) -> Feedback | None:
    """The verdict a query opens with, if it opens with one.

    Args:
        query: what the user typed.
        asked: whether the answer before ended with a question: then a plain "no" only answers it.
    """
    query = query.lstrip()[:OPENING]
    start = _LEAD.match(query)
    text = query[start.end() if start else 0 :]
    if not text or _is_question(text):
        return _praise(text)
    return _correction(text, asked) or _praise(text)


def _correction(text: str, asked: bool) -> Feedback | None:
    no = _NO.match(text)
    body = text[no.end() :] if no else text
    for kind, weight, rules in _NEGATIVE:
        for rule in rules:
            found = rule.match(body)
            if found:
                return _made(kind, weight, text, body, found.end())
    if no and not asked and not _FOR_NOTHING.match(body):
        return _made("correction", 1.0 if body else 0.5, text, body, 0)
    return None


_NEGATIVE: tuple[tuple[FeedbackKind, float, list[re.Pattern[str]]], ...] = (
    ("correction", 1.0, _CORRECTIONS),
    ("undo", 1.0, _UNDOS),
    ("complaint", 0.5, _COMPLAINTS),
)


def _praise(text: str) -> Feedback | None:
    if _BUT.search(_first_sentence(text)):
        return None
    for rule, weight, kind in _PRAISES:
        found = rule.match(text)
        if found:
            return _made(kind, weight, text, text, found.end())
    return None


def _made(kind: FeedbackKind, weight: float, text: str, body: str, end: int) -> Feedback:
    rest = body if kind == "correction" and _directive(body) else body[end:]
    return Feedback(kind, weight, shorten(_first_sentence(text), 160), rest.lstrip(" \t,.!:;–—-"))


def _directive(body: str) -> bool:
    """Whether the verdict itself holds what to do instead: "don't use print, use logging", "stop adding comments"."""
    return re.match(r"(?:please )?(?:don['’]?t|do not|never|stop)\b", body, re.IGNORECASE) is not None


def _first_sentence(text: str) -> str:
    return re.split(r"(?<=[.!?])\s|\n", text, maxsplit=1)[0]


def _is_question(text: str) -> bool:
    return _first_sentence(text).rstrip().endswith("?")
