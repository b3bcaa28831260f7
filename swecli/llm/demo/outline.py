"""What a file holds, told from its real text: Python by its syntax tree, other languages by their visible headings."""

from __future__ import annotations

import ast
import json
import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

Lines = Sequence[tuple[int, str]]
"""The lines of a file with their numbers, from 1; parts may be missing."""

MOST_ENTRIES = 40
_CODE = (
    r"^(?P<indent>\s*)(?:export\s+)?(?:default\s+)?(?:pub(?:\([a-z]+\))?\s+)?(?:public\s+|private\s+|"
    r"protected\s+|static\s+|abstract\s+|final\s+|async\s+|unsafe\s+)*"
)
_SHAPES: dict[str, str] = {
    "javascript": r"(?P<what>function\*?|class|interface|type|enum)\s+(?P<name>[\w$]+)|^(?:export\s+)?(?:const|"
    r"let)\s+(?P<arrow>[\w$]+)\s*=\s*(?:async\s*)?(?:\([^)]*\)|\w+)\s*=>",
    "go": r"(?P<what>func|type)\s+(?:\([^)]*\)\s*)?(?P<name>\w+)",
    "rust": r"(?P<what>fn|struct|enum|trait|impl|mod)\s+(?P<name>[\w<>: ]+)",
    "java": r"(?P<what>class|interface|enum|record)\s+(?P<name>\w+)",
    "c": r"(?P<what>struct|enum|class|namespace)\s+(?P<name>\w+)|"
    r"^[A-Za-z_][\w\s*&:<>]*?\b(?P<arrow>\w+)\s*\([^;]*\)\s*\{?\s*$",
    "ruby": r"(?P<what>def|class|module)\s+(?P<name>[\w.?!:]+)",
    "shell": r"(?:function\s+)?(?P<arrow>[\w-]+)\s*\(\)\s*\{?",
    "python": r"(?P<what>def|class)\s+(?P<name>\w+)",
}
_LANGUAGES = {
    "py": "python", "pyi": "python", "js": "javascript", "jsx": "javascript", "ts": "javascript", "tsx": "javascript",
    "mjs": "javascript", "go": "go", "rs": "rust", "java": "java", "kt": "java", "cs": "java", "c": "c", "h": "c",
    "cpp": "c", "cc": "c", "hpp": "c", "rb": "ruby", "sh": "shell", "bash": "shell",
    "md": "markdown", "markdown": "markdown", "json": "json", "toml": "sections", "ini": "sections", "cfg": "sections",
    "yaml": "yaml", "yml": "yaml",
}  # fmt: skip
_WORDS = {"def": "function", "func": "function", "fn": "function", "function*": "function", "mod": "module"}


@dataclass(frozen=True, slots=True)
class Entry:
    """One thing in a file: where it begins, what it is, how deep it stands, and a word about it."""

    line: int
    label: str
    depth: int = 0
    about: str = ""


@dataclass(frozen=True, slots=True)
class Outline:
    """What was found: `about` says what the file says of itself; `remark` what stood in the way."""

    language: str
    about: str = ""
    entries: list[Entry] = field(default_factory=list)
    remark: str = ""


def outline(path: str, lines: Lines) -> Outline:
    """The outline of a file's text. Total: what cannot be parsed is read line by line."""
    language = language_of(path, lines)
    readers: dict[str, Callable[[Lines], Outline]] = {
        "python": _python,
        "markdown": _markdown,
        "json": _json,
        "sections": lambda found: _by_line("sections", r"^\[+(?P<name>[^\]]+)\]+", found),
        "yaml": lambda found: _by_line("yaml", r"^(?P<name>[\w-]+)\s*:", found),
    }
    if language in readers:
        return readers[language](lines)
    return _code(language, lines) if language in _SHAPES else _plain(lines)


def language_of(path: str, lines: Lines = ()) -> str:
    """The language by suffix, by the first line's `#!`, or "text"."""
    name = path.rsplit("/", 1)[-1].lower()
    known = _LANGUAGES.get(name.rsplit(".", 1)[-1], "") if "." in name else ""
    if known:
        return known
    first = lines[0][1] if lines else ""
    if first.startswith("#!"):
        return "python" if "python" in first else "shell"
    return "markdown" if name == "readme" else "text"


def render(path: str, lines: Lines, found: Outline) -> str:
    """An outline as Markdown for the user."""
    named = {"sections": "configuration"}.get(found.language, found.language)
    head = f"`{path}` ({len(lines)} lines, {named})"
    out = [f"{head}: {found.about}" if found.about else f"{head}."]
    out += [_entry(entry) for entry in found.entries[:MOST_ENTRIES]]
    if len(found.entries) > MOST_ENTRIES:
        out.append(f"- … and {len(found.entries) - MOST_ENTRIES} more")
    return "\n".join([*out, found.remark]).strip()


def _entry(entry: Entry) -> str:
    about = f": {entry.about}" if entry.about else ""
    return f"{'  ' * entry.depth}- line {entry.line}: {entry.label}{about}"


def _python(lines: Lines) -> Outline:
    tree = parse_python(lines)
    if tree is None:
        found = _code("python", lines)
        return Outline(
            "python", found.about, found.entries, "(Read line by line: the text shown is not whole, or does not parse.)"
        )
    entries = list(_python_entries(tree.body, 0))
    imports = sorted({name for node in tree.body for name in _imported(node)})
    if imports:
        entries.insert(0, Entry(_first_import(tree), "imports " + ", ".join(f"`{name}`" for name in imports[:12])))
    return Outline("python", _first_sentence(ast.get_docstring(tree)), entries)


def parse_python(lines: Lines) -> ast.Module | None:
    """The syntax tree of a file that is there from its first line without a gap; None if it is not, or not Python."""
    if not lines or [number for number, _ in lines] != list(range(1, len(lines) + 1)):
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a doubtful escape in someone's file is nothing to warn our user of
            return ast.parse("\n".join(text for _, text in lines))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _python_entries(body: Sequence[ast.stmt], depth: int) -> Iterator[Entry]:
    for node in body:
        if isinstance(node, ast.ClassDef):
            bases = ", ".join(ast.unparse(base) for base in node.bases)
            label = f"class `{node.name}({bases})`" if bases else f"class `{node.name}`"
            yield Entry(node.lineno, label, depth, _first_sentence(ast.get_docstring(node)))
            yield from _python_entries(node.body, depth + 1)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            kind = "method" if depth else "function"
            names = [arg.arg for arg in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)]
            arguments = ", ".join(name for name in names if name not in ("self", "cls"))
            yield Entry(
                node.lineno, f"{kind} `{node.name}({arguments})`", depth, _first_sentence(ast.get_docstring(node))
            )
        elif depth == 0:
            yield from _constants(node)


def _constants(node: ast.stmt) -> Iterator[Entry]:
    targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
    for target in targets:
        if isinstance(target, ast.Name) and target.id.isupper():
            yield Entry(node.lineno, f"constant `{target.id}`")
    if isinstance(node, ast.If) and "__name__" in ast.unparse(node.test):
        yield Entry(node.lineno, "runs as a program")


def _imported(node: ast.stmt) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom) and node.module != "__future__":
        yield "." * node.level + (node.module or "")


def _first_import(tree: ast.Module) -> int:
    return next(node.lineno for node in tree.body if any(_imported(node)))


def _first_sentence(text: str | None) -> str:
    first = " ".join((text or "").split("\n\n")[0].split())
    return first if len(first) <= 160 else first[:159].rsplit(" ", 1)[0] + " …"


def _markdown(lines: Lines) -> Outline:
    entries, about, fenced = [], "", False
    for number, text in lines:
        if text.lstrip().startswith(("```", "~~~")):
            fenced = not fenced
        heading = None if fenced else re.match(r"^(#{1,6})\s+(.+?)\s*#*$", text)
        if heading:
            entries.append(Entry(number, heading[2], len(heading[1]) - 1))
        elif not fenced and not about and re.match(r"^[A-Za-z*_`\"“]", text):
            about = _first_sentence(text)
    return Outline("markdown", about, entries)


def _json(lines: Lines) -> Outline:
    try:
        value = json.loads("\n".join(text for _, text in lines))
    except (ValueError, RecursionError):
        return Outline("json", remark="(The text shown is not whole, or is no valid JSON.)")
    if isinstance(value, dict):
        keys = ", ".join(f"`{key}`" for key in list(value)[:MOST_ENTRIES])
        return Outline("json", f"an object with {len(value)} keys: {keys}" if value else "an empty object")
    return Outline("json", f"a list of {len(value)} values" if isinstance(value, list) else "one value")


def _by_line(language: str, pattern: str, lines: Lines) -> Outline:
    found = [(number, re.match(pattern, text)) for number, text in lines]
    return Outline(language, "", [Entry(number, f"`{match['name'].strip()}`") for number, match in found if match])


def _code(language: str, lines: Lines) -> Outline:
    shape = re.compile(_CODE + f"(?:{_SHAPES[language]})")
    entries = []
    for number, text in lines:
        match = shape.match(text[:400])
        groups = match.groupdict() if match else {}
        name = groups.get("name") or groups.get("arrow")
        if match and name and name not in ("if", "for", "while", "switch", "return", "else"):
            what = _WORDS.get(groups.get("what") or "", groups.get("what") or "function")
            entries.append(Entry(number, f"{what} `{name.strip()}`", 1 if groups["indent"] else 0))
    comment = next((t.strip("/#*!- \t") for _, t in lines[:5] if re.match(r"\s*(?://|#(?!!)|/\*|\*)", t)), "")
    return Outline(language, _first_sentence(comment), entries)


def _plain(lines: Lines) -> Outline:
    first = next((text.strip() for _, text in lines if text.strip()), "")
    count = sum(len(text.split()) for _, text in lines)
    return Outline("text", f"{count} words; it begins “{_first_sentence(first)}”" if first else "it is empty")
