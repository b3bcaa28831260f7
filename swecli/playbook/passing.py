"""What will soon be false: dates, places and figures of one run, and the story of one turn."""

from __future__ import annotations

import re

_LASTING = re.compile(
    r"(?P<pid>\bpids?\b\W{0,3}\d+|\bprocess (?:id )?\d+\b)|(?P<temp>(?<![\w.])/(?:tmp|var/folders|private/tmp|"
    r"dev/shm)/\S+"
    r"|\\AppData\\Local\\Temp)",
    re.IGNORECASE,
)
_WEEKDAY = r"(?:mon|tues|wednes|thurs|fri|satur|sun)day|(?:mon|diens|donners|frei|sams|sonn)tag|mittwoch"
_MONTH = (
    r"(?:jan(?:uary|uar)?|feb(?:ruary|ruar)?|mar(?:ch)?|märz|apr(?:il)?|may|mai|june?|juni|july?|juli|aug(?:ust)?|"
    r"sep(?:tember)?|oct(?:ober)?|okt(?:ober)?|nov(?:ember)?|dec(?:ember)?|dez(?:ember)?)"
)
_PASSING = re.compile(
    r"(?P<date>\b\d{4}-\d{2}-\d{2}\b|\b\d{1,2}[./]\d{1,2}[./]\d{2,4}\b|"
    r"\b(?:yesterday|today|tonight|tomorrow|this (?:morning|week|month|afternoon|evening)|right now|just now|"
    r"at the moment|currently|for now|so far|last (?:week|month|night)|next (?:week|month)|gestern|heute|"
    r"zurzeit|derzeit|momentan|im moment|soeben|vorhin|gerade (?:auf|im|in|dabei|eben)|"
    r"eben (?:erst|noch|\w+t\b|\w+en\b))\b|"
    rf"\b(?:until|till|by|since|on|bis|seit) (?:next |last )?(?:{_WEEKDAY})\b|"
    rf"\b\d{{1,2}}(?:st|nd|rd|th|\.)? (?:of )?{_MONTH}\b|\b{_MONTH} \d{{1,2}}(?:st|nd|rd|th)?\b|"
    r"\b(?:this|next|last|nächste[nr]?|letzte[nr]?|diese[nr]?) (?:sprint|quarter|release|year|woche|"
    r"monat|jahr)\b|"
    r"\bmorgen (?:wird|ist|soll|kommt|geht)\b)|"
    r"(?P<time>\b\d{1,2}:\d{2}(?::\d{2})?\b)|"
    r"(?P<id>\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b|\b0x[0-9a-f]{6,}\b|"
    r"\b(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{7,40}\b)|"
    r"(?P<line>\b(?:lines?|zeilen?) \d+\b)|"
    r"(?P<figure>\b\d+ (?:tests? )?(?:passed|failed)\b|\b\d+(?:\.\d+)? ?(?:ms|seconds|secs?|sekunden)\b|"
    r"\b(?:are|is|were|was|sind|waren) (?:now |still |noch )?(?:at )?\d+(?:\.\d+)? ?(?:%|open|failing|left|todos?)"
    r"(?!\w)|"
    r"\b(?:coverage|abdeckung)\b.{0,20}\d+(?:\.\d+)? ?%)",
    re.IGNORECASE,
)
_STORY = re.compile(
    r"\b(?:I|we|ich|wir)(?:['’]ve| have| had| habe| haben)? (?:just |then |now |also |already )?(?:\w{2,}ed|read|ran|"
    r"wrote|found|made|saw|did|put|got|took|began|went)\b|"
    r"\bthe (?:assistant|agent|ai) (?:\w+ed|could|had|was|did|ran|read|wrote|found|made)\b|"
    r"\bthe user(?:['’]s (?:last|previous|first|latest)| (?:has |had |just |then )*(?:asked|said|told|"
    r"requested|confirmed|mentioned|approved|wanted|complained|reported))\b|"
    r"\bin (?:this|the (?:current|last|previous)) (?:session|turn|conversation|chat|run)\b|"
    r"\bthis (?:turn|session|conversation|chat|time)\b|"
    r"\bthe (?:previous|last) (?:attempt|try|turn|edit|change|run|answer)\b|"
    r"\b(?:the )?current (?:branch|task|directory|commit|state|status|version|session)\b|"
    r"\b(?:half|partly|almost|nearly) (?:done|finished)\b|^(?:next|todo|to do|remaining|open)(?: steps?)?:|"
    r"\b(?:is|are) still (?:open|failing|broken|red|missing|pending|waiting)\b|\b(?:we|i) still\b|"
    r"\b(?:ist|sind) noch (?:offen|rot|kaputt|nicht)\b|"
    r"\bago\b|\bfor the (?:moment|time being)\b|\bmy (?:last|previous|first|latest)\b|"
    r"\bremaining (?:tests?|steps?|tasks?|work)\b|"
    r"\bthe user is (?:\w+ing|away|busy)\b|"
    r"\b(?-i:[A-Z][a-z]+) is (?:reviewing|working|looking|fixing|testing|waiting|away|sick)\b|"
    r"^(?:the|a|an|there|it|my|our|this|all|\w+) (?:\w+ ){0,2}(?:was|were)\b"
    r"(?! (?:renamed|moved|split|replaced|dropped|removed|deprecated|merged|chosen))"
    r"(?!.*\bon purpose\b)|"
    r"\b(?:because of|due to) (?:an? |the )?(?:outage|incident|timeout|network)\b|"
    r"\bwent down\b|\bstep \d+ of \d+\b|\bwe are (?:on|at|in) \b|\bthe failing tests? (?:is|are)\b|"
    r"\bcommits? (?:behind|ahead)\b|\bthe user (?:was|is|seems?|seemed) (?:happy|satisfied|"
    r"pleased|annoyed|unhappy|angry)\b|"
    r"\bon (?:vacation|holiday|leave)\b|"
    r"\bthen\b.{0,80}\b(?:helped|worked|passed|succeeded|failed)\b",
    re.IGNORECASE,
)
# A figure after one of these is a limit or a rule of thumb, not a measurement.
_ROUGHLY = re.compile(
    r"\b(?:about|around|below|above|under|over|within|least|most|up to|every|each|after|than|limit(?: of| is)?|timeout"
    r"(?: of| is)?|ca\.?|etwa|rund|unter|über|höchstens|mindestens|alle|nach)\s*$",
    re.IGNORECASE,
)
_CODE = re.compile(r"`[^`]*`|\b\w+\(\)")
_SAID = {
    "pid": "a process id",
    "temp": "a temporary path",
    "date": "a date",
    "time": "a time of day",
    "id": "a passing id",
    "line": "a line number",
    "figure": "a figure of one run",
}


def passing(content: str, strict: bool = True) -> str:
    """What in a text cannot last, with the words that show it; "" when nothing does.

    Without `strict` only what is surely gone soon counts: process ids and temporary paths.
    """
    found = _LASTING.search(content)
    if found is None and strict:
        prose = _CODE.sub(lambda m: "_" * len(m[0]), content)
        found = next((m for m in _PASSING.finditer(prose) if not _rule_of_thumb(prose, m)), None)
        if found is None and (story := _STORY.search(prose)):
            return f"the story of one turn ({story[0].strip()})"
        found = found or next((m for m in _PASSING.finditer(content) if m.lastgroup in ("id", "line")), None)
    return f"{_SAID[found.lastgroup or 'id']} ({found[0].strip()})" if found else ""


def _rule_of_thumb(text: str, match: re.Match[str]) -> bool:
    return match.lastgroup == "figure" and _ROUGHLY.search(text[: match.start()]) is not None
