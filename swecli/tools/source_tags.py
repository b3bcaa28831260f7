"""A program of its own: names defined and used in source files, one JSON line per file. See docs/adr/0105.

Usage: python -I source_tags.py SYS_PATH LIST START, where SYS_PATH is that of the caller, joined, LIST a file of
absolute paths, each ended by a NUL, and START the number of the first one to read, from 0. It is ended by a signal in a
file that its parser cannot cope with.
"""

from __future__ import annotations

import json
import os
import re
import signal
import stat
import sys
from collections import Counter
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from tree_sitter import Node, Parser, QueryCursor

# The largest file that people write by hand is of about this size: checker.ts of TypeScript has 3 MB.
MAX_BYTES = 4_000_000
# A file of 1 MB takes 0.4 s; unbalanced brackets of 200 KB take minutes.
_SECONDS = 10.0
_BINARY = 8_000  # bytes in which a NUL means that this is no text, as for git
_MAX_LINE = 160  # characters of a definition's line
_DEFINITION = "definition."  # begins the captures of a `tags.scm` that are wanted
_FOR_ITS_FOLDER = ("__init__", "index", "mod")  # a file that is named by its folder
_WORD = re.compile(r"\w+")
# The leaves of a syntax tree that are names. Those in comments and texts are not.
_NAMES = (
    "identifier",
    "type_identifier",
    "field_identifier",
    "property_identifier",
    "private_property_identifier",
    "shorthand_property_identifier",
    "shorthand_field_identifier",
    "namespace_identifier",
    "package_identifier",
    "constant",
    "name",
)


class Grammar(NamedTuple):
    """A language: the package of its grammar, what returns it, and the packages whose `tags.scm` name definitions."""

    package: str
    function: str = "language"
    queries: tuple[str, ...] = ()  # folders beside the packages; (): the package's own
    more: str = ""  # definitions that these leave out


_TYPESCRIPT_TAGS = ("tree_sitter_javascript", "tree_sitter_typescript")
_TYPESCRIPT_TYPES = (
    "(type_alias_declaration name: (type_identifier) @name) @definition.type "
    "(enum_declaration name: (identifier) @name) @definition.enum"
)
_C = Grammar("tree_sitter_c")
_CPP = Grammar("tree_sitter_cpp")
_JAVASCRIPT = Grammar("tree_sitter_javascript")
_TYPESCRIPT = Grammar(
    "tree_sitter_typescript", "language_typescript", _TYPESCRIPT_TAGS, _TYPESCRIPT_TYPES
)
GRAMMARS: dict[str, Grammar] = {
    ".c": _C,
    ".cc": _CPP,
    ".cjs": _JAVASCRIPT,
    ".cpp": _CPP,
    ".cs": Grammar(
        "tree_sitter_c_sharp",
        queries=("tree_sitter_c-sharp",),
        more="(struct_declaration name: (identifier) @name) @definition.class "
        "(enum_declaration name: (identifier) @name) @definition.enum "
        "(record_declaration name: (identifier) @name) @definition.class",
    ),
    ".cts": _TYPESCRIPT,
    ".cxx": _CPP,
    ".go": Grammar("tree_sitter_go"),
    ".h": _CPP,  # which reads C too
    ".hh": _CPP,
    ".hpp": _CPP,
    ".hxx": _CPP,
    ".java": Grammar(
        "tree_sitter_java",
        more="(enum_declaration name: (identifier) @name) @definition.enum "
        "(record_declaration name: (identifier) @name) @definition.class",
    ),
    ".js": _JAVASCRIPT,
    ".jsx": _JAVASCRIPT,
    ".mjs": _JAVASCRIPT,
    ".mts": _TYPESCRIPT,
    ".php": Grammar("tree_sitter_php", "language_php"),
    ".py": Grammar("tree_sitter_python"),
    ".pyi": Grammar("tree_sitter_python"),
    ".rb": Grammar("tree_sitter_ruby"),
    ".rs": Grammar("tree_sitter_rust"),
    ".ts": _TYPESCRIPT,
    ".tsx": Grammar("tree_sitter_typescript", "language_tsx", _TYPESCRIPT_TAGS, _TYPESCRIPT_TYPES),
}


class _Reader(NamedTuple):
    """What reads the files of one language."""

    parser: Parser
    definitions: QueryCursor
    names: QueryCursor


@cache
def _reader(grammar: Grammar) -> _Reader:
    # late: swecli itself needs only the names of the languages
    from tree_sitter import Language, Parser, Query, QueryCursor

    language = Language(getattr(import_module(grammar.package), grammar.function)())
    tags = [_read_tags(package) for package in grammar.queries or (grammar.package,)]
    kinds = [name for name in _NAMES if language.id_for_node_kind(name, True)]
    names = " ".join(f"({kind})" for kind in kinds)
    return _Reader(
        Parser(language),
        QueryCursor(Query(language, "\n".join([*tags, grammar.more]))),
        QueryCursor(Query(language, f"[{names}] @name")),
    )


def _read_tags(package: str) -> str:
    spec = find_spec(package)
    assert spec is not None, f"{package} is not installed"
    [folder] = spec.submodule_search_locations or []
    return Path(folder, "queries", "tags.scm").read_text(encoding="utf-8")


class _Span(NamedTuple):
    """A definition with the bytes that it takes."""

    name: str
    line: int  # from 1
    text: str  # of that line
    start: int
    end: int


def read_tags(grammar: Grammar, data: bytes, words: frozenset[str]) -> dict[str, Any]:
    """Return what a source defines, as [name, line number, text of the line, name of the definition around it or ""];
    how often it uses each name; and which of the `words` occur in it."""
    reader = _reader(grammar)
    root = reader.parser.parse(data).root_node
    names = reader.names.captures(root).get("name", ())
    present = set(_WORD.findall(data.decode(errors="replace")))
    return {
        "defined": _with_owners(_find_definitions(reader, root, data.split(b"\n"))),
        "used": Counter(map(_text, names)),
        "words": sorted(words & present),
    }


def _find_definitions(reader: _Reader, root: Node, lines: list[bytes]) -> list[_Span]:
    """Return the definitions in a tree, outer ones before those in them."""
    spans: dict[tuple[str, int], _Span] = {}
    for _, captured in reader.definitions.matches(root):
        for capture, nodes in captured.items():
            if not capture.startswith(_DEFINITION):
                continue
            for node in captured.get("name", ()):
                name = _text(node)
                row = node.start_point.row
                text = lines[row].decode(errors="replace").strip()[:_MAX_LINE]
                span = _Span(name, row + 1, text, nodes[0].start_byte, nodes[0].end_byte)
                spans.setdefault((name, row), span)
    return sorted(spans.values(), key=lambda span: (span.start, -span.end))


def _with_owners(spans: list[_Span]) -> list[list[Any]]:
    rows: list[list[Any]] = []
    around: list[_Span] = []
    for span in spans:
        while around and around[-1].end <= span.start:
            around.pop()
        owner = around[-1].name if around else ""
        rows.append([span.name, span.line, span.text, owner])
        around.append(span)
    return rows


def _text(node: Node) -> str:
    return (node.text or b"").decode(errors="replace")


def _read_source(path: str) -> bytes:
    """Return the bytes of a source file. Raises OSError, or ValueError if they are not worth parsing."""
    handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(handle, "rb") as file:
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode):
            raise ValueError("not a regular file")
        if status.st_size > MAX_BYTES:
            raise ValueError("too large")
        data = file.read()
    if b"\0" in data[:_BINARY]:
        raise ValueError("binary")
    return data


def name_words(path: str) -> tuple[str, ...]:
    """Return the words by which other files name this one: its own name and that of its folder."""
    folder, _, name = path.rpartition("/")
    words = (name.partition(".")[0], folder.rpartition("/")[2])
    return tuple(word for word in words if word and word not in _FOR_ITS_FOLDER)


def _tags_of_files(paths: list[str], start: int) -> Iterator[dict[str, Any]]:
    words = frozenset(word for path in paths for word in name_words(path))
    for path in paths[start:]:
        # the default action ends the process, also within the parser
        signal.setitimer(signal.ITIMER_REAL, _SECONDS)
        grammar = GRAMMARS[Path(path).suffix.lower()]
        try:
            yield read_tags(grammar, _read_source(path), words)
        except OSError as error:
            yield {"problem": error.strerror}
        except ValueError as error:
            yield {"problem": str(error)}


def main() -> None:
    sys.path[:] = sys.argv[1].split(os.pathsep)
    listed = Path(sys.argv[2]).read_bytes().split(b"\0")
    paths = [os.fsdecode(path) for path in listed if path]
    for tags in _tags_of_files(paths, int(sys.argv[3])):
        sys.stdout.write(f"{json.dumps(tags)}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
