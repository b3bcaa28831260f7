"""The grammar of changing things: create, replace, rename, append, delete."""

from __future__ import annotations

import re
import shlex

from swecli.llm.demo.intents import Append, DeleteLine, Intent, Replace, Run, Write
from swecli.llm.demo.phrase import Phrase
from swecli.llm.demo.rules import ONE_WORD, PATH, QUOTE, any_of, file_named, rule

_CONTENT = re.compile(
    r"^\s*[,:]?\s*(?:(?:and )?(?:put|write)|(?:which|that) (?:contains|says|holds|reads)|containing|saying|holding|"
    r"with|to (?:contain|say|hold)|whose contents? (?:is|are))"
    r"(?: the)?(?: following)?(?: contents?| text| lines?| code)?(?: in(?:to|side)? it)?\s*:?\s*(?P<content>.+)$"
    r"|^\s*:\s*(?P<after_colon>.+)$|^\s*\n(?P<below>.+)$",
    re.IGNORECASE | re.DOTALL,
)
_PRINTING = re.compile(rf"^\s*(?:that|which|to) prints?\s+(?P<what>{QUOTE}|.+?)\.?$", re.IGNORECASE | re.DOTALL)
_PRINTERS = {".py": "print({})", ".sh": "echo {}", ".js": "console.log({})", ".rb": "puts {}"}
_MORE_TO_DO = re.compile(rf"{QUOTE}\s*(?:[,;.]|\b(?:and|then)\b)", re.IGNORECASE)
_NOUN = re.compile(r"^(?:the )?(?:words?|text|string|line|value|name|identifier|number|phrase)\s+", re.IGNORECASE)


def _content(tail: str, path: str, phrase: Phrase) -> str | None:
    """The content that the words after the path ask for; None when they ask for something else."""
    if not tail.strip(" .!\n"):
        return ""
    printing = _PRINTING.match(tail)
    if printing:
        template = next((text for suffix, text in _PRINTERS.items() if path.endswith(suffix)), None)
        return template.format(_literal(phrase.value(printing["what"]), path)) + "\n" if template else None
    match = _CONTENT.match(tail)
    if match is None or _MORE_TO_DO.match(match["content"] or ""):
        return None
    text = phrase.value(match["content"] or match["after_colon"] or match["below"])
    return text if text.endswith("\n") else text + "\n"


def _literal(text: str, path: str) -> str:
    return shlex.quote(text) if path.endswith(".sh") else '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _write(match: re.Match[str], phrase: Phrase) -> Intent | None:
    path = phrase.path(match["path"])
    content = _content(match["tail"], path, phrase) if path else None
    if path is None or content is None:
        return None
    return Write(path, content, overwrite=match["verb"].lower() in ("overwrite", "write"))


def _write_to(match: re.Match[str], phrase: Phrase) -> Intent | None:
    path = file_named(match, phrase)
    text = phrase.value(match["content"])
    return Write(path, text if text.endswith("\n") else text + "\n", overwrite=True) if path else None


def _words(masked: str, phrase: Phrase) -> str:
    return phrase.value(_NOUN.sub("", masked.strip()))


def _replace(match: re.Match[str], phrase: Phrase) -> Intent | None:
    path = file_named(match, phrase)
    old, new = _words(match["old"], phrase), _words(match["new"], phrase)
    if path is None or not old or old == new:
        return None
    return Replace(path, old, new, every=any(match[name] for name in ("every", "every_2", "every_3")))


def _remove_text(match: re.Match[str], phrase: Phrase) -> Intent | None:
    path = file_named(match, phrase)
    return None if path is None else Replace(path, phrase.value(match["old"]), "", every=bool(match["every"]))


def _rename(match: re.Match[str], phrase: Phrase) -> Intent | None:
    path = file_named(match, phrase)
    old, new = phrase.value(match["old"]), phrase.value(match["new"])
    if path is None or not re.fullmatch(r"[A-Za-z_$][\w$]*", old) or old == new:
        return None
    return Replace(path, old, new, every=True, whole_word=True)


def _move(match: re.Match[str], phrase: Phrase) -> Intent | None:
    old, new = phrase.path(match["old"]), phrase.path(match["new"], loose=True)
    return Run(f"mv -n -- {shlex.quote(old)} {shlex.quote(new)}") if old and new else None


def _append(match: re.Match[str], phrase: Phrase) -> Intent | None:
    path = file_named(match, phrase)
    text = phrase.value(match["text"]).rstrip("\n")
    return Append(path, text) if path is not None and text.strip() else None


def _delete_line(match: re.Match[str], phrase: Phrase) -> Intent | None:
    path = file_named(match, phrase)
    if path is None:
        return None
    return (
        DeleteLine(path, int(match["number"]))
        if match["number"]
        else DeleteLine(path, 0, _words(match["text"], phrase))
    )


def _make_folder(match: re.Match[str], phrase: Phrase) -> Intent | None:
    path = phrase.path(match["name"], loose=True)
    return Run(f"mkdir -p -- {shlex.quote(path)}") if path else None


def _delete_file(match: re.Match[str], phrase: Phrase) -> Intent | None:
    path = phrase.path(match["name"])
    return Run(f"rm -- {shlex.quote(path)}") if path else None


_CHANGE = any_of("change", "replace", "swap", "substitute", "edit", "update", "set", "turn", "correct", "fix")
_ALL = r"(?P<every>(?:all(?: of)?(?: the)?(?: occurrences of)?|every(?: occurrence of)?|each)\s+)?"
_OLD, _NEW = rf"(?P<old>{QUOTE}|.+?)", rf"(?P<new>{QUOTE}|.+?)"
_WITH = any_of("with", "by", "to", "into", "for", "->", "=>", "→")
_CUT = any_of("delete", "remove", "drop", "cut", "erase")
_FILE_WORDS = (
    r"(?:a |an |the )?(?:new |empty |small |short )*(?:(?:text|python|markdown|shell) )?(?:file |script |module )?"
)
_MAKE = any_of(
    "create", "write", "generate", "touch", "overwrite",
    r"(?:make|add|new|save)(?= (?:me )?(?:a |an |the )?(?:new )?(?:\w+ )?(?:file|script|module)\b)",
)  # fmt: skip

# Rules whose values may end in any word: tried before polite endings are cut off.
OPEN_ENDED = (
    rule(
        rf"(?P<verb>{_MAKE})\s*(?:me )?{_FILE_WORDS}(?:called |named |at )?"
        rf"(?P<path>{QUOTE}|[^\s,;:]+)(?: file)?(?P<tail>.*)$",
        _write,
    ),
    rule(
        rf"(?:append|add)(?: this| the following)?(?: line| text)? (?:to|at the end of) {PATH}\s*[:,]?\s+(?P<text>.+)$",
        _append,
    ),
)

RULES = (
    rule(
        rf"(?:write|put|save|store) (?P<content>{QUOTE}|.+?) (?:to|into|in|as) (?:a |the )?(?:new )?{PATH}$", _write_to
    ),
    rule(rf"rename (?P<old>{ONE_WORD}) (?:to|as|into) (?P<new>{ONE_WORD})$", _move),
    rule(rf"move (?:the )?(?:file )?(?P<old>{ONE_WORD}) (?:to|into) (?P<new>{ONE_WORD})$", _move),
    rule(
        r"rename (?:the )?(?:function |variable |class |method |identifier |name |constant )?"
        rf"(?P<old>{ONE_WORD}) (?:to|as|into) (?P<new>{ONE_WORD}) (?:everywhere )?(?:in|inside|within) {PATH}$",
        _rename,
    ),
    rule(
        rf"{_CHANGE} {_ALL}{_OLD} {_WITH} {_NEW}(?P<every_2> everywhere)? (?:in|inside|within|of|from) {PATH}"
        r"(?P<every_3> everywhere)?$",
        _replace,
    ),
    rule(
        rf"(?:in|inside|within) {PATH}[,:]? {_CHANGE} {_ALL}{_OLD} {_WITH} {_NEW}(?P<every_2> "
        r"everywhere)?(?P<every_3>$)?$",
        _replace,
    ),
    rule(
        rf"{_CHANGE} {_ALL}(?P<old>{QUOTE}) {_WITH} (?P<new>{QUOTE})(?P<every_2> "
        r"everywhere)?(?P<path>$)(?P<every_3>$)?",
        _replace,
    ),
    rule(
        rf"(?:append|add|put|insert) (?:the |a )?(?:lines? |text |comment )?:? ?(?P<text>{QUOTE}|.+?) "
        rf"(?:to|at|into|in) (?:the )?(?:(?:very )?(?:end|bottom) of )?{PATH}$",
        _append,
    ),
    rule(
        rf"{_CUT} (?:the )?line(?:s containing| containing| with| that says)? "
        rf"(?:(?P<number>\d+)|(?P<text>{QUOTE}|.+?)) (?:from|in|of|out of) {PATH}$",
        _delete_line,
    ),
    rule(
        rf"{_CUT} (?P<every>all |every )?(?P<old>{QUOTE}) (?:from|in|out of) {PATH}$",
        _remove_text,
    ),
    rule(
        r"(?:create|make|add) (?:a |the )?(?:new )?(?:folder|directory|dir)(?: called| named)?"
        rf" (?P<name>{ONE_WORD})$",
        _make_folder,
    ),
    rule(rf"(?:delete|remove|erase) (?:the )?(?:file |script |module )?(?P<name>{ONE_WORD})$", _delete_file),
)
