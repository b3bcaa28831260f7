"""The grammar of reading: show files or lines of them, explain, review, sum up the project."""

from __future__ import annotations

import re

from swecli.llm.demo.intents import LAST_FILE, Explain, FileRange, Intent, ListFiles, Overview, Read, Review
from swecli.llm.demo.phrase import PRONOUNS, Phrase
from swecli.llm.demo.rules import PATH, any_of, rule

_LINES = re.compile(
    r"\b(?:lines?|rows?)\s+(?P<start>\d{1,9})(?:\s*(?:-|–|to|until|through|and|\.\.)\s*(?P<end>\d{1,9}))?"
    r"|\bfirst (?P<first>\d{1,9}) lines\b"
    r"|(?<=\w):(?P<from>\d{1,9})(?:\s*[-–]\s*(?P<till>\d{1,9}))?\b",
    re.IGNORECASE,
)
_IT = re.compile(
    r"(?:it|this|that)(?: (?:file|module|script))?(?: (?:do|does|hold|holds|contain|contains))?", re.IGNORECASE
)
_PROJECT = (
    r"(?:(?:this|the|our|my) )?(?:whole |entire )?(?:project|repo|repository|code ?base|code|app|application|program)"
)
_WORK = re.compile(
    rf"(?:{_PROJECT}|everything|all|"
    r"(?:(?:the|my|this|these|our|all) )*(?:files?|changes|work|source|module|script))?",
    re.IGNORECASE,
)
_SHOW = any_of(
    "read", "show", "open", "cat", "view", "print", "display", "see", "look at", "look into", "check out", "give me",
    "dump", "get", "load", "take a look at",
)  # fmt: skip
_EXPLAIN = any_of(
    "explain", "describe", "summari[sz]e", "outline", "understand", "analy[sz]e", "walk me through",
    "tell me (?:about|what)",
    "what (?:does|is in|is inside|'s in|do|is|are)", "what's(?: in| inside)?", "how (?:does|do)",
    "(?:give me |show me )?(?:an? )?(?:overview|outline|summary) of", "what is the purpose of",
)  # fmt: skip
_PARTS = any_of(
    "functions?",
    "class(?:es)?",
    "methods?",
    "headings?",
    "outline",
    "symbols?",
    "definitions?",
    "structure",
    "sections?",
)
_TROUBLE = any_of("bugs?", "problems?", "issues?", "(?:code )?smells?", "mistakes?", "errors?")
_LOOK_FOR = any_of("find", "look for", "are there", "any", "check for", "search for", "show me", "list")
_REVIEW = any_of(
    "(?:do a |make a )?(?:code )?review(?: of)?", "audit", "inspect", "critici[sz]e", "critique",
    r"(?:check|scan)(?= (?:over )?\S+\.\w+(?: for \w+)?$)",
    rf"{_LOOK_FOR}(?: (?:the|any|all|some))* {_TROUBLE} (?:in|with|of)",
    "(?:what is|what's|whats) wrong with", "how good is",
)  # fmt: skip


def _ranges(masked: str, phrase: Phrase) -> tuple[FileRange, ...]:
    """The files named in a line, with the lines that are asked for."""
    lines = _LINES.search(masked)
    named = phrase.paths(_LINES.sub(" ", masked))
    if not named and re.search(r"\b(?:it|this|that)\b|\bfile$", masked, re.IGNORECASE):
        named = [LAST_FILE]
    if lines is None:
        return tuple(FileRange(path) for path in named)
    start = int(lines["start"] or lines["from"] or 1)
    end = int(lines["end"] or lines["till"] or lines["first"] or start)
    return tuple(FileRange(path, max(1, min(start, end)), max(1, start, end)) for path in named)


def _read(match: re.Match[str], phrase: Phrase) -> Intent | None:
    files = _ranges(match["rest"], phrase)
    return Read(files) if files and not any("*" in file.path for file in files) else None


def _folder(match: re.Match[str], phrase: Phrase) -> Intent | None:
    path = phrase.path(match["path"]) if match["path"].lower() not in PRONOUNS else None
    return ListFiles(path) if path and (path in (".", "..") or path.endswith("/")) else None


def _explain(match: re.Match[str], phrase: Phrase) -> Intent | None:
    paths = [path for path in phrase.paths(match["rest"]) if "*" not in path]
    if paths:
        return ListFiles(paths[0]) if paths[0].endswith("/") else Explain(tuple(paths))
    return Explain((LAST_FILE,)) if _IT.fullmatch(match["rest"].strip()) else None


def _overview(match: re.Match[str], phrase: Phrase) -> Intent:
    return Overview()


def _review(match: re.Match[str], phrase: Phrase) -> Intent | None:
    rest = match["rest"].strip()
    paths = phrase.paths(rest)
    if _IT.fullmatch(rest):
        return Review((LAST_FILE,))
    if paths or _WORK.fullmatch(rest):
        return Review(tuple(paths))
    folder = _lone_folder(rest)
    return Review((folder,)) if folder else None


def _explain_folder(match: re.Match[str], phrase: Phrase) -> Intent | None:
    folder = _lone_folder(match["rest"])
    return Explain((folder,)) if folder else None


def _lone_folder(masked: str) -> str:
    """A single plain word that may be a folder's name, "" for anything else."""
    match = re.fullmatch(r"(?:the )?([a-z_][\w-]*)(?: (?:folder|directory|package|module))?", masked)
    return match[1] if match and match[1] not in PRONOUNS else ""


def _lone(match: re.Match[str], phrase: Phrase) -> Intent | None:
    path = phrase.path(match[0])
    return Explain((path,)) if path and re.search(r"\.\w+$", path) and "*" not in path else None


# Tried before the rules that find: "find bugs in a.py" is a review.
RULES = (
    rule(rf"{_REVIEW}\b\s*(?P<rest>.*)$", _review),
    rule(
        rf"(?:list|show(?: me)?|what are|which|give me)\b.*\b{_PARTS}\b.*\b(?:in|of|from|has) (?P<rest>.+)$", _explain
    ),
    rule(rf"{_EXPLAIN}\s+(?P<rest>.+)$", _explain),
    rule(rf"(?:{_EXPLAIN}|show me)\s+{_PROJECT}(?: (?:do|about|work|for|does|here))*$", _overview),
    rule(r"(?:explain|describe|outline) (?P<rest>.+)$", _explain_folder),
    rule(r"(?:what is this(?: about)?|overview|what does this do)$", _overview),
)

# Tried after them: "show the files" is a listing.
LATE_RULES = (
    rule(rf"(?:show|open|see|look (?:at|into|in)|read)(?: me)? {PATH}$", _folder),
    rule(rf"{_SHOW}\b\s*(?P<rest>.+)$", _read),
    rule(r"(?P<rest>(?:the )?(?:lines?|first) \d+.*)$", _read),
)

# Only for a line as a whole: "b.py" in "read a.py and b.py" is no request of its own.
WHOLE_LINE_RULES = (rule(r"\S+$", _lone),)
