"""Anchors of a bullet: the paths and commands it names, read out of its words."""

from __future__ import annotations

import re
from collections.abc import Iterator

_SPAN = re.compile(r"`([^`]+)`")
_CLAUSE = re.compile(r"[,;:!?](?=\s|$)|\.(?=\s|$)|\s[-–—]\s|\s(?:but|aber|sondern)\s", re.IGNORECASE)
_ABSENT = re.compile(
    r"\b(?:instead of|rather than|other than|no longer|formerly|old|obsolete|deprecated|nicht|nie|niemals|kein\w*|ohne|"
    r"statt|anstatt|anstelle)\b",
    re.IGNORECASE,
)
_FORBIDS = re.compile(
    r"\b(?:never|not|no|avoid|without|stop|don['’]?t|doesn['’]?t|shouldn['’]?t|mustn['’]?t|cannot|can['’]?t)\b", re.I
)
_GONE = re.compile(
    r"^\W*(?:(?:was|were|is|are|has been|got|will be|wurde|ist) )?(?:renamed|moved|gone|removed|deleted|missing|absent|"
    r"replaced|deprecated|(?:does|do) not (?:exist|work)|doesn['’]t (?:exist|work)|"
    r"not (?:there|here|installed|available)|fails?|generated|created|written|"
    r"gelöscht|entfernt|umbenannt|generiert|erzeugt)\b",
    re.IGNORECASE,
)
_CREATES = re.compile(
    r"\b(?:creates?|generates?|writes?|produces?|erzeugt|schreibt|new|neue[nrs]?)\s+(?:\w+\s+)?$", re.I
)
_RUNS = re.compile(
    r"(?:\b(?:run|runs|running|rerun|execute|start|invoke|launch|call|use|using|via|with|prefer|need|needs|"
    r"require|requires|starte|nutze|verwende|benutze|mit|führe|per)\s+(?:(?:the|a|only|always|just|plain)\s+)?)$",
    re.IGNORECASE,
)
_ASSIGNED = re.compile(r"^(?:[A-Za-z_]\w*=\S*\s+)+")
_PROGRAM = re.compile(r"(?:\./|\.?[\w-]+/)*[a-z][\w.+-]*$")
_FLAG = re.compile(r"(?<![\w-])--?[A-Za-z][\w-]*")
_URL = re.compile(r"\b[a-z][a-z0-9+.-]*://\S+|\bwww\.\S+", re.IGNORECASE)
_ENDINGS = (
    r"py|pyi|ipynb|js|mjs|cjs|jsx|ts|tsx|vue|svelte|go|rs|rb|java|kt|kts|c|h|cc|cpp|hpp|cs|swift|php|sh|bash|sql|html|css|"
    r"scss|json|jsonl|json5|ya?ml|toml|ini|cfg|conf|env|lock|md|rst|txt|csv|tsv|xml|svg|png|proto|tf|gradle|ipynb|db|mk"
)
_FILE = re.compile(rf"(?<![\w/.@~$-])(?:\.{{1,2}}/)?(?:[\w.@*-]+/)*[\w.@*-]*[\w*-]\.(?:{_ENDINGS})(?![\w/(-])(?!\.\w)")
_ROOTS = (
    r"src|lib|libs|tests?|spec|specs|docs?|scripts?|apps?|packages?|cmd|pkg|internal|bin|conf|configs?|tools|examples?|"
    r"include|public|static|assets|migrations|data|web|backend|frontend|server|client|services?|templates?|api|ci|"
    r"deploy|infra|fixtures|\.github|\.gitlab|\.swecli|\.vscode"
)
_FOLDER = re.compile(rf"(?<![\w/.@~$-])(?:\./)?(?:(?:{_ROOTS})/(?:[\w.@*-]+/?)*|(?:[\w.@-]+/)+(?=[\s`,;:.!?)]|$))")
_DEEP = re.compile(r"\.?[\w.@-]+(?:/[\w.@*-]+){2,}/?")
_NO_FILES = frozenset({"node.js", "next.js", "vue.js", "nuxt.js", "express.js", "three.js", "d3.js", "react.js"})
_KNOWN_PROGRAMS = """
    ansible ant bash bazel black brew bun bundle cabal cargo cmake composer conda coverage ctest curl dart deno
    django-admin docker docker-compose dotnet eslint flake8 flutter gcc gh git go golangci-lint gradle hatch helm
    invoke isort jest just kubectl lein make maven mix mocha mvn mypy node nox npm npx pdm pip pipenv pipx
    playwright pnpm poetry pre-commit prettier psql pylint pyright pytest python python3 rails rake rspec ruff
    rustc sbt shellcheck sqlite3 stack swift task terraform tox tsc uv uvx vite vitest yarn zig
"""
_PROGRAMS = frozenset(_KNOWN_PROGRAMS.split())
_BARE_COMMAND = re.compile(r"(?<![\w`/.-])([a-z][\w-]*)((?:\s+-{1,2}[A-Za-z][\w=-]*)*)(?![\w`/])")

_LONGEST = 2_000  # characters of a text that are looked at
_NEAR = 40


def anchors_of(content: str) -> tuple[str, ...]:
    """What a text names, as `kind:value` (`path:src/api`, `command:make check`), sorted, each once. Left out is what
    the text itself warns of or calls gone: `not pytest`, `src/old.py was renamed`."""
    text = _URL.sub(lambda m: " " * len(m[0]), content[:_LONGEST])
    return tuple(sorted({f"{kind}:{value}" for kind, value in _found(text)}))


def _found(content: str) -> Iterator[tuple[str, str]]:
    spans = [(m.start(1), m.end(1)) for m in _SPAN.finditer(content)]
    for start, end in spans:
        if _stands(content, start, end):
            yield from _of_span(content, start, content[start:end].strip())
    bare = _SPAN.sub(lambda m: " " * len(m[0]), content)
    for match in (*_FILE.finditer(bare), *_FOLDER.finditer(bare)):
        if _stands(content, match.start(), match.end()) and _is_path(match[0]):
            yield "path", _plain(match[0])
    for match in _BARE_COMMAND.finditer(bare):
        if match[1] in _PROGRAMS and _is_run(bare, match.start()) and _stands(content, match.start(), match.end()):
            yield from _of_command(f"{match[1]}{match[2]}")


def _of_span(content: str, start: int, span: str) -> Iterator[tuple[str, str]]:
    """What stands between backticks: a command, a path, or just a name of the code."""
    words = _ASSIGNED.sub("", span).split()
    if not words:
        return
    runs = _is_run(content, start - 1)
    program = _PROGRAM.match(words[0]) is not None
    if program and (words[0] in _PROGRAMS or (len(words) > 1 and (runs or _FLAG.search(span)))):
        yield from _of_command(span)
    elif _is_path(span) and any(form.fullmatch(span) for form in (_FILE, _FOLDER, _DEEP)):
        yield "path", _plain(span)


def _of_command(line: str) -> Iterator[tuple[str, str]]:
    yield "command", " ".join(line.split())
    _, *operands = _ASSIGNED.sub("", line).split()
    yield from (
        ("path", _plain(word)) for word in operands if _FILE.fullmatch(word) and "/" in word and "cd " not in line
    )


def _is_run(content: str, start: int) -> bool:
    """Whether the words right before a place say that what follows is run."""
    return _RUNS.search(content[max(0, start - _NEAR) : start]) is not None


def _is_path(text: str) -> bool:
    return text.lower().strip("./") not in _NO_FILES and not re.fullmatch(r"[\d.]+", text)


def _plain(path: str) -> str:
    return path.removeprefix("./").rstrip(".,") or path


def _stands(content: str, start: int, end: int) -> bool:
    """Whether the text wants what it names here, rather than warning of it or saying that it is gone or to be made."""
    clauses = (m for m in _CLAUSE.finditer(content, 0, start) if content.count("`", 0, m.start()) % 2 == 0)
    opened = max((clause.end() for clause in clauses), default=0)
    before = content[opened:start]
    after = content[end:].removeprefix("`")
    absent = _FORBIDS.search(before) or _ABSENT.search(before) or _CREATES.search(before.rstrip("`"))
    return not absent and not _GONE.match(after)
