"""The grammar of finding: list a folder, find files by name, search in files."""

from __future__ import annotations

import re

from swecli.llm.demo.intents import FindFiles, Intent, ListFiles, Search
from swecli.llm.demo.phrase import PRONOUNS, Phrase
from swecli.llm.demo.rules import ONE_WORD, PATH, QUOTE, any_of, folder_named, rule

SUFFIXES = {
    "python": "py", "markdown": "md", "javascript": "js", "typescript": "ts", "rust": "rs", "go": "go", "java": "java",
    "json": "json", "toml": "toml", "yaml": "yaml", "text": "txt", "shell": "sh", "html": "html", "css": "css",
    "c": "c", "ruby": "rb", "sql": "sql",
}  # fmt: skip
DEFINES = r"^\s*(export\s+)?(async\s+)?(def|class|function|func|fn|const|let|var|type|interface|struct|enum)\s+{}\b"
_IGNORE_CASE = re.compile(r"[\s,(]*\b(?:ignor(?:e|ing)(?: the)? case|case[ -]?insensitive(?:ly)?)\b\)?", re.IGNORECASE)
_EVERYWHERE = frozenset(["", "files", "project", "repo", "repository", "code", "codebase", "source", "everything"])
_DEEP = 4

_LANGUAGE = any_of(*SUFFIXES)
_WITHIN = any_of("in", "inside", "under", "within", "below")
_IN_PATH = f"(?: {_WITHIN} {PATH})?"
_IN_PLACE = rf"(?: {_WITHIN} (?:the )?(?:files? |folder |all )?(?P<path>{ONE_WORD})(?: (?:files?|folder|directory))?)?"
_ALL = r"(?:(?:all|every|the|any|a|some|me) )*"
_FIND = any_of(
    "find", "locate", "look for", "search for", "get", "is there", "where (?:is|are|'s)", "where's", "which is"
)
_SHOW = any_of("find", "locate", "go to", "show(?: me)?", "where (?:is|are|was|do we|did we)")
_SEARCH = any_of("search", "grep", "rg", "look", "scan", "hunt")
_THROUGH = r"(?:(?:through |in )?(?:the |all |this |our )?(?:code|project|repo|repository|files|everything|codebase) )?"
_OCCURRENCES = (
    r"(?:occurrences?|usages?|uses?|mentions?|references?|places?|calls?|lines?|files?|code|text|todos?) "
    r"(?:of|for|to|with|containing|where|named|that (?:contain|use|mention)) "
)
_KIND = any_of(
    f"(?:{_LANGUAGE}|test) (?:source )?files?",
    r"files? ending (?:in|with) \S+",
    r"\.\w+ files?",
    r"\S*\*\S*(?: files?)?",
)
_THING = r"(?:the )?(?:function |class |method |variable |constant |type )?"
_DEFINED = any_of("defined?", "declared?", "implement(?:ed)?")
_USES = any_of("calls?", "uses?", "mentions?", "imports?", "contains?", "references?", "has", "have")
_LISTED = any_of("files?", "folders?", r"director(?:y|ies)", "tree", "contents? of the (?:folder|directory|project)")


def escape(text: str) -> str:
    """A literal text as a regular expression, with as few backslashes as will do."""
    return re.sub(r"([\\.^$*+?{}\[\]|()])", r"\\\1", text)


def _glob(masked: str, phrase: Phrase) -> str | None:
    """The glob that a listing asks for: `*.py`, "python files", "files ending in .py"."""
    star = next((path for path in phrase.paths(masked) if "*" in path), None)
    if star:
        return star.rsplit("/", 1)[-1]
    suffix = re.search(r"\bending (?:in|with) \.?(\w{1,7})\b|(?:^|\s)\.([a-z]\w{0,6}) files?\b", masked, re.IGNORECASE)
    if suffix:
        return f"*.{suffix[1] or suffix[2]}"
    language = re.search(rf"\b({_LANGUAGE})\s+(?:source )?(?:files?|modules?|scripts?|code)\b", masked, re.IGNORECASE)
    if language:
        return f"*.{SUFFIXES[language[1].lower()]}"
    return "*test*" if re.search(r"\btest files?\b", masked, re.IGNORECASE) else None


def _list(match: re.Match[str], phrase: Phrase) -> Intent | None:
    if _names_a_file(match[0], phrase):
        return None
    line = re.sub(r"\bending (?:in|with) \S+", "", match[0]).strip()
    folder = re.search(rf"\b(?:in|inside|under|within|of|from|below) {PATH}$", line, re.IGNORECASE)
    path = (folder_named(folder, phrase) if folder else None) or "."
    pattern = _glob(match[0], phrase)
    depth = re.search(r"\b(?:depth|levels?)\s*(?:of )?(\d)|(\d) levels?", match[0])
    if depth:
        return ListFiles(path, pattern, max(1, int(depth[1] or depth[2])))
    every = not pattern and re.search(r"\b(?:recursive(?:ly)?|tree|all)\b", match[0], re.IGNORECASE)
    return ListFiles(path, pattern, _DEEP if every else None)


def _names_a_file(masked: str, phrase: Phrase) -> bool:
    """Whether a line like "show me the file a.py" names a file to read rather than a folder to list."""
    if re.search(r"\bfiles\b|\bfolders?\b|\bdirector", masked, re.IGNORECASE):
        return False
    return any("*" not in path and re.search(r"\.\w+$", path) for path in phrase.paths(masked))


def _list_folder(match: re.Match[str], phrase: Phrase) -> Intent | None:
    path = folder_named(match, phrase)
    if path and "*" in path:
        return ListFiles(".", path.rsplit("/", 1)[-1])
    return ListFiles(path) if path else None


def _list_here(match: re.Match[str], phrase: Phrase) -> Intent:
    return ListFiles()


def _find_named(match: re.Match[str], phrase: Phrase) -> Intent | None:
    name = phrase.path(match["name"], loose=True)
    where = folder_named(match, phrase) or "."
    if not name:
        return None
    return ListFiles(where, name) if "*" in name else FindFiles(name, where)


def _find_kind(match: re.Match[str], phrase: Phrase) -> Intent | None:
    pattern = _glob(match[0], phrase)
    return ListFiles(folder_named(match, phrase) or ".", pattern) if pattern else None


def _find_path(match: re.Match[str], phrase: Phrase) -> Intent | None:
    path = phrase.path(match["name"])
    if path is None or "*" in path or phrase.part(match["name"]):
        return None
    return FindFiles(path.rsplit("/", 1)[-1])


def _search(match: re.Match[str], phrase: Phrase) -> Intent | None:
    ignore_case = bool(_IGNORE_CASE.search(match[0]))
    what = phrase.value(_IGNORE_CASE.sub("", match["what"])).strip()
    place = _IGNORE_CASE.sub("", match["path"] or "").strip()
    glob = _glob(f"{place} files", phrase) if place else None
    here = glob or place.lower() in _EVERYWHERE | PRONOUNS
    path = "." if here else phrase.path(place, loose=True)
    if not what or path is None:
        return None
    regex = re.fullmatch(r"/(.+)/(i?)", what)
    pattern = regex[1] if regex else escape(what)
    return Search(pattern, f"“{what}”", path, glob, ignore_case or bool(regex and regex[2]))


def _defined(match: re.Match[str], phrase: Phrase) -> Intent | None:
    name = phrase.value(match["what"]).strip().removesuffix("()")
    if not re.fullmatch(r"[\w.$]+", name) or name.lower() in PRONOUNS:
        return None
    return Search(DEFINES.format(escape(name.rsplit(".", 1)[-1])), f"definition of {name}")


def _used(match: re.Match[str], phrase: Phrase) -> Intent:
    name = phrase.value(match["what"]).strip().removesuffix("()")
    if not re.fullmatch(r"[\w$]+", name):
        return Search(escape(name), f"“{name}”")
    return Search(rf"\b{escape(name)}" + (r"\(" if "call" in match[0].lower() else r"\b"), f"“{name}”")


RULES = (
    rule(
        rf"{_FIND} {_ALL}files? (?:called|named|like|matching|with (?:the )?name) "
        rf"(?P<name>{ONE_WORD}){_IN_PATH}$",
        _find_named,
    ),
    rule(rf"{_FIND} {_ALL}{_KIND}{_IN_PATH}$", _find_kind),
    rule(rf"{_FIND} (?:the )?(?:file )?(?P<name>{ONE_WORD})(?: file)?$", _find_path),
    rule(rf"{_SHOW} (?:where )?{_THING}(?P<what>{ONE_WORD}) (?:is )?{_DEFINED}(?: .*)?$", _defined),
    rule(rf"{_SHOW} (?:the )?definition of {_THING}(?P<what>{ONE_WORD})$", _defined),
    rule(
        r"(?:find|locate|where is) (?:the )?(?:function|class|method) (?:called |named "
        rf")?(?P<what>{ONE_WORD})$",
        _defined,
    ),
    rule(
        rf"(?:who|what|which (?:files?|functions?|code|modules?)|where do we|where) {_USES} "
        rf"(?P<what>{QUOTE}|[\w.$()]+)$",
        _used,
    ),
    rule(rf"where (?:is|are) {_THING}(?P<what>{ONE_WORD}) (?:used|called|mentioned|imported|referenced)$", _used),
    rule(
        rf"where (?:is|are|does|do) (?:the )?(?:text |word |string )?(?P<what>{QUOTE})"
        rf"(?: (?:appear|occur|come from|stand))?{_IN_PATH}$",
        _search,
    ),
    rule(
        rf"{_SEARCH} {_THROUGH}(?:for )?{_ALL}(?:{_OCCURRENCES})?(?:the )?(?:text |word |string |pattern |regex )?"
        rf"(?P<what>{QUOTE}|.+?){_IN_PLACE}$",
        _search,
    ),
    rule(
        rf"(?:find|list|show(?: me)?|count|get) {_ALL}{_OCCURRENCES}(?:the )?(?:text |word )?"
        rf"(?P<what>{QUOTE}|[\w.$-]+){_IN_PLACE}$",
        _search,
    ),
    rule(rf"(?:find|locate) {_ALL}(?P<what>{QUOTE}|todos?|fixmes?){_IN_PLACE}$", _search),
    rule(rf"(?:list|ls|show|what|which|display|give me|tree|see|print|get|are there any)\b.*\b{_LISTED}\b.*$", _list),
    rule(
        rf"(?:list|ls|show(?: me)?|count) (?:all )?\S*\*\S*(?: files)?(?: {_WITHIN} (?P<path>{ONE_WORD}))?$", _find_kind
    ),
    rule(
        r"(?:ls|tree|list|dir|list (?:the )?contents? of|what(?: is|'s) (?:in|inside|under))"
        rf"(?: (?:in|under|inside))?(?: (?:-\w+ )*{PATH})?$",
        _list_folder,
    ),
    rule(r"(?:what(?: is|'s) here|where am i|look around|what do we have(?: here)?|show (?:me )?around)$", _list_here),
)
