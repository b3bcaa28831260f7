"""Lessons in the user's own words: "remember that ...", "always ...", "from now on ...", "in this project ..."."""

from __future__ import annotations

import re
from dataclasses import dataclass

from swecli.models.playbook import Kind, Scope
from swecli.playbook.words import shorten

LONG = 1_500  # characters; a longer query is mostly pasted text, and only how it opens is the user speaking
OPENING = 3  # sentences
SENTENCE = 800  # characters; nothing longer is a lesson

_VERBS = (
    r"(?:use|run|write|add|check|read|ask|call|put|keep|prefer|commit|push|test|format|lint|import|name|indent|install|"
    r"include|document|explain|answer|reply|respond|quote|wrap|log|print|create|make|edit|change|modify|touch|delete|"
    r"remove|rename|build|compile|deploy|mock|patch|assume|guess|trust|follow|avoid|update|bump|squash|rebase|merge|"
    r"sign|type|annotate|validate|escape|look|leave|do|set|go|begin|end|copy|pin|hard-?code|ignore|skip|disable|enable|"
    r"speak|talk|translate|sort|prefix|suffix|review|verify|confirm|double-check|reformat|rewrite|refactor|generate|"
    r"suggest|propose|summari[sz]e|finish|execute|search|grep|try|say|tell|mention|be)"
)
_LEAD = re.compile(
    r"^(?:(?:please|also|and|so|ok(?:ay)?|btw|by the way|oh|hey|yes|no|nope|wait|one more thing|another thing|"
    r"note|hint|"
    r"fyi|then|thanks|thank you|great|perfect|but)\b[\s,.:;!–—-]*)*",
    re.IGNORECASE,
)
_CLAUSE = (
    r"\b(?:is|are|must|should|lives?|uses?|runs?|needs?|goes|go|prefer|likes?|wants?|always|never|don['’]?t|do not|"
    r"has|have|belongs?|starts?|ends?|means?|can|cannot|can['’]t|requires?|expects?)\b"
)
_REMINDER = r"(?:remember|memori[sz]e|keep in mind|bear in mind|make a note|take note|note for (?:later|the future))"
_REMEMBER = re.compile(
    rf"{_REMINDER}(?:\s*[:,–—-]\s*|\s+(?:this|the following)\s*[:,–—-]\s*|\s+that\s+|\s+to\s+(?!when\b))(?P<x>.+)", re.I
)
_REMEMBER_BARE = re.compile(
    rf"{_REMINDER}\s+(?P<x>(?:(?:the|our|my|we|i|you|all|every|tests?|it['’]s)\s+.*{_CLAUSE}.*|(?:use|always|"
    rf"never|don['’]?t|"
    r"do not|run)\s.+))",
    re.I,
)
# Recalled things, not lessons: "remember that file we edited", "remember the bug we saw".
_RECALL = re.compile(
    r"(?:(?:the|that|this|our|my|\w+)\s+)?(?:file|function|bug|issue|error|thing|time|test|script|one|class|commit|"
    r"discussion|conversation|session)\b(?!\s+(?:is|are|must|should|has|have|needs?|lives?|uses?|goes|runs?|can|will|"
    r"names?|files?|does|belongs?|takes?|suite)\b)|.*\b(?:we|i|you) (?:saw|made|said|discussed|talked|did|had|were|was|"
    r"edited|changed|wrote|fixed|looked)\b|(?:when|how|what|where|why|who|which|me|last|yesterday)\b",
    re.IGNORECASE,
)
_ALWAYS = re.compile(
    rf"(?:(?:you (?:should|must)|i (?:always )?want you to|make sure (?:to|you)|be sure to|we|and)\s+)?"
    rf"(?P<x>(?:always|never(?: ever)?|(?:don['’]?t|do not) ever)\s+{_VERBS}(?![\w-]).*)",
    re.IGNORECASE,
)
_FROM_NOW = re.compile(
    rf"(?:from now on|from here on|going forward|henceforth|in (?:the )?future(?=,)|for future reference|"
    rf"next time(?=,?\s+(?:please )?(?:{_VERBS}|don['’]?t|do not|always|never)\b))[\s,:]+(?P<x>.+)",
    re.IGNORECASE,
)
_FROM_NOW_LAST = re.compile(
    rf"(?P<x>(?:(?:always|never|don['’]?t|do not)\s+)?{_VERBS}\b.+?)[\s,]+(?:from now on|from here on|"
    rf"in (?:the )?future|"
    r"going forward|next time|every time)$",
    re.IGNORECASE,
)
_HERE = r"(?:in|for|within) (?:this|our|the current) (?:project|repo|repository|codebase|code base|workspace)"
_IN_PROJECT = re.compile(
    rf"{_HERE}\s*[,:]?\s+(?P<x>(?:we|always|never|use|prefer|avoid|don['’]?t|do not|keep|stick to|(?:run|write|"
    rf"put|name|"
    rf"format|call|test)\b.*\b(?:with|in|into|under|as|via|using|like|before|after)\b|"
    rf"(?!there\b)[\w`\"'/.-]+(?:\s+[\w`\"'/.-]+)"
    rf"{{0,5}}?\s+{_CLAUSE})\b.*)",
    re.IGNORECASE,
)
_IN_PROJECT_LAST = re.compile(
    rf"(?P<x>(?:we (?:always |never )?(?:use|run|write|put|name|keep|prefer|indent)|always|never|prefer|avoid)\b.+?)"
    rf"[\s,]+{_HERE}$",
    re.IGNORECASE,
)
_PREFER = re.compile(
    r"i (?:always |generally |strongly |really )?(?P<x>prefer .+ (?:over|to|rather than|instead of) .+)", re.I
)
_TROUBLE = re.compile(
    r"\b(?:fail(?:s|ed|ing)?|broken|bugs?|errors?|wrong|crash(?:es|ed|ing)?|slow|missing|hangs?|leaks?)\b",
    re.IGNORECASE,
)
_POINTING = re.compile(
    r"\b(?:that|this|it|those|these|the other|the first|the second|the last|so)\b"
    r"(?!\s+(?:project|repo|repository|codebase|package|module|is|are|must|should)\b)",
    re.IGNORECASE,
)
_EMPTY = re.compile(
    r"(?:always |never |please |don['’]?t |do not )*(?:ever )?(?:do|say|use|write|try|make|be|change|edit|"
    r"run)\s+(?:it |that )?"
    r"(?:that|this|it|so|like (?:this|that))(?: (?:again|anymore|any more|way))?$",
    re.IGNORECASE,
)
_BARE = re.compile(
    r"(?:always|never) (?:use|run|call|put|keep|prefer|add|make|set|do|be|go|look|try|say|write|read|check|ask|"
    r"change)$",
    re.IGNORECASE,
)
_LESSON = re.compile(
    rf"(?:always|never)\s+{_VERBS}\b|(?:use|prefer|avoid|stick to|stop \w+ing)\b|(?:don['’]?t|"
    rf"do not) (?:ever )?(?:use|run|"
    r"write|add|put|touch|edit|change|commit|push|call|create|delete|remove|import|print|mock|install|reformat|rename|"
    r"modify|guess|assume|ask|explain)\b|(?:run|write|put|name|format|indent|keep|call|test|install|"
    r"build)\b.*\b(?:with|in|"
    r"into|under|as|via|using|before|after|by)\b",
    re.IGNORECASE,
)
_SHOULD = re.compile(
    r"(?:it|that|this|they|you|we) (?:should|must) (?:be )?(?P<x>(?:always |never )?(?:use|run|put)\b.+)", re.I
)
# What holds for the project, said against what was done: "no, the tests run with `make check`".
_FACT = re.compile(
    r"(?:the|our|all(?: the)?)\s+(?:[\w-]+\s+)?(?:tests?|suite|builds?|docs|documentation|app|server|service|database|"
    r"migrations?|linter|formatter|types|fixtures?|sources?|code|logs|settings|config(?:uration)?|packages?|dependencies|"
    r"benchmarks?|releases?|deployments?|ci)\s+"
    r"(?:(?:runs?|lives?|belongs?|goes|go|starts?|builds?|(?:is|are)(?: \w+)?)\s+"
    r"(?:with|by|in|into|under|on|via|using|from|through|after|before)|uses?|needs?)\s+\S",
    re.IGNORECASE,
)
_THIS_CASE = re.compile(r"\b(?:your|my|last|first|above|below|lines?|here|there|now|still|already)\b", re.IGNORECASE)
_SECTIONS: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (name, re.compile(rf"\b(?:{pattern})\b", re.IGNORECASE))
    for name, pattern in (
        ("tests", r"tests?|testing|pytest|coverage|fixtures?|mocks?|jest|vitest"),
        ("git", r"git|commits?|branch(?:es)?|push|rebase|merge|pull requests?|prs?|main"),
        (
            "style",
            r"indent\w*|tabs?|spaces?|format\w*|naming|comments?|docstrings?|quotes?|line length|style|type hints?",
        ),
        ("answers", r"answers?|reply|replies|explain|explanations?|language|tone|short|brief|verbose|summar\w+"),
        ("commands", r"run|command|install|build|pip|npm|pnpm|yarn|make|script|docker|lint|deploy"),
    )
)


@dataclass(frozen=True, slots=True)
class Lesson:
    """Something taught. `content` is the lesson, `quote` the sentence it came from, word for word."""

    content: str
    quote: str
    kind: Kind = "strategy"
    scope: Scope = "project"
    section: str = "general"


def lessons(query: str) -> list[Lesson]:
    """Everything a query teaches, in its order. Questions, quoted lines and code blocks teach nothing."""
    found: list[Lesson] = []
    for sentence in _sentences(query):
        content = _taught(sentence)
        if content and content.lower() not in [lesson.content.lower() for lesson in found]:
            found.append(_lesson(content, sentence))
    return found


def remedy(text: str) -> Lesson | None:
    """The lesson in what follows a correction or a refusal, None when it is about this one case only."""
    sentence = next(iter(_sentences(text)), "")
    if not sentence or sentence.endswith("?"):
        return None
    body = re.sub(r"^(?:please|instead|just|rather|and|but|so|better)[\s,:]+", "", sentence, flags=re.IGNORECASE)
    content = _taught(body) or _fact(body) or _shown_way(re.split(r",?\s+(?:and then|then|and now|so that)\s", body)[0])
    return _lesson(content, sentence) if content else None


def _fact(body: str) -> str:
    about_this = _POINTING.search(body) or _TROUBLE.search(body) or _THIS_CASE.search(body)
    return body if _FACT.match(body) and not about_this else ""


def _shown_way(body: str) -> str:
    should = _SHOULD.match(body)
    body = should["x"] if should else body
    if not _LESSON.match(body) or len(body.split()) < 2 or _POINTING.search(body):
        return ""
    return re.sub(r"^stop (?=\w+ing\b)", "avoid ", body, flags=re.IGNORECASE)


def _taught(sentence: str) -> str:
    text = sentence[_lead_end(sentence) :]
    if text.rstrip(" \"')").endswith("?"):
        return ""
    text = re.sub(r"[\s.!;,]+$", "", text)
    for pattern in (_REMEMBER, _REMEMBER_BARE):
        match = pattern.match(text)
        if match:
            inner = re.sub(r"^(?:that|to)\s+(?=\w)", "", match["x"])
            return "" if _RECALL.match(inner) or _EMPTY.match(inner) or len(inner.split()) < 2 else inner
    for pattern in (_FROM_NOW, _FROM_NOW_LAST, _ALWAYS, _IN_PROJECT, _IN_PROJECT_LAST, _PREFER):
        match = pattern.match(text)
        if match and not _refused(pattern, match["x"]):
            return match["x"]
    return ""


def _refused(pattern: re.Pattern[str], content: str) -> bool:
    if len(content.split()) < 2 or _EMPTY.match(content) or _BARE.match(content):
        return True
    return pattern in (_IN_PROJECT, _IN_PROJECT_LAST) and _TROUBLE.search(content) is not None


def _lead_end(sentence: str) -> int:
    match = _LEAD.match(sentence)
    return match.end() if match else 0


def _sentences(query: str) -> list[str]:
    text = re.sub(r"(?ms)^[ \t]*(```|~~~).*?(?:^[ \t]*\1|\Z)", "\n", query)
    text = "\n".join(line for line in text.split("\n") if not line.lstrip().startswith((">", "|", "+", "$ ")))
    parts = [" ".join(part.split()) for part in re.split(r"(?<=[.!?;])\s+|\n+", text)]
    parts = [re.sub(r"^(?:[-*•]|\d+[.)])\s+", "", part) for part in parts if part]
    parts = parts[:OPENING] if len(query) > LONG else parts
    return [part for part in parts if len(part) <= SENTENCE]


def _lesson(content: str, sentence: str) -> Lesson:
    content = re.sub(r"[\s.!;,]+$", "", " ".join(content.split()))
    content = re.sub(r"^(?:please|do please)\s+", "", content, flags=re.IGNORECASE)
    here = re.search(r"\b(?:for now|in this session|this session|for today|today only)\b", sentence, re.IGNORECASE)
    return Lesson(
        content=content[:1].upper() + content[1:] if content[:1].isalpha() and content[:2].islower() else content,
        quote=shorten(sentence, 300),
        kind=kind_of(content),
        scope="session" if here else "project",
        section=section_of(content),
    )


def kind_of(content: str) -> Kind:
    """Whether a lesson is a wish, a warning, a fact or a way to work, by how it is worded."""
    if re.match(r"(?:don['’]?t|do not|avoid|stop)\b", content, re.IGNORECASE):
        return "pitfall"
    if re.match(r"(?:always|never|prefer|i |keep|be |answer|reply|respond|speak|talk|explain)", content, re.IGNORECASE):
        return "preference"
    if re.match(rf"(?:use|run|{_VERBS})\b", content, re.IGNORECASE):
        return "strategy"
    return "fact" if re.search(r"\b(?:is|are|lives?|has|have|means?|belongs?)\b", content) else "strategy"


def section_of(content: str) -> str:
    """The section a lesson belongs to, by its words."""
    return next((name for name, pattern in _SECTIONS if pattern.search(content)), "general")
