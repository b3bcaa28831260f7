"""Find the definitions of the package that nothing in it reaches: what only tests call is dead."""

from __future__ import annotations

import ast
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGE = "swecli"
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
PLAIN_DECORATORS = {"property", "staticmethod", "classmethod", "dataclass"}
PLAIN_BASES = {"typing", "enum", "dataclasses", "abc", "collections.abc"}


def parse(text: str) -> ast.Module:
    """Parse source, a second time if CPython 3.11 confused it with a parser in another thread (gh-106905)."""
    try:
        return ast.parse(text)
    except SystemError:
        return ast.parse(text)


def unreached(root: Path = ROOT) -> list[str]:
    """Return the definitions that no path of names reaches from `main`, from module level or from a declared object.

    Names are matched without types, so a definition counts as reached if an equal name is used anywhere.
    """
    texts = [path.read_text(encoding="utf-8") for path in sorted((root / PACKAGE).rglob("*.py"))]
    definitions: dict[str, list[tuple[str, set[str]]]] = defaultdict(list)
    roots = {"main"}
    for tree in map(parse, texts):
        _collect(tree.body, "", roots, definitions, _foreign(tree))
    seen: set[str] = set()
    waiting = list(roots)
    while waiting:
        name = waiting.pop()
        if name not in seen:
            seen.add(name)
            waiting += [used for _, uses in definitions.get(name, ()) for used in uses - seen]
    dead = (full for name, found in definitions.items() if name not in seen for full, _ in found)
    return sorted(full for full in dead if not full.split(".")[-1].startswith("__"))


def _declared(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> bool:
    """Return True if the node has a decorator of the package that registers it, such as `@tool` or `@writer`."""
    return any(not _names(mark) & PLAIN_DECORATORS for mark in node.decorator_list)


def _collect(
    body: list[ast.stmt],
    prefix: str,
    owner: set[str],
    definitions: dict[str, list[tuple[str, set[str]]]],
    foreign: set[str],
    hooks: bool = False,
) -> None:
    for node in body:
        if isinstance(node, FUNCTIONS):
            uses = _names(node) - {node.name}
            definitions[node.name].append((prefix + node.name, uses))
            if hooks or _declared(node):
                owner.add(node.name)  # called from outside
            if node.name.startswith("__"):
                owner |= uses
        elif isinstance(node, ast.ClassDef):
            mine = {name for part in (*node.decorator_list, *node.bases) for name in _names(part)}
            definitions[node.name].append((prefix + node.name, mine))
            if _declared(node) or node.keywords:  # `table=True` registers a table
                owner.add(node.name)  # found by its marker
            called = any(_names(base) & foreign for base in node.bases)
            _collect(node.body, f"{prefix}{node.name}.", mine, definitions, foreign, called)
        elif not isinstance(node, (ast.Import, ast.ImportFrom)):
            owner |= _names(node)


def _names(node: ast.AST) -> set[str]:
    found: set[str] = set()
    for one in ast.walk(node):
        if isinstance(one, ast.Name):
            found.add(one.id)
        elif isinstance(one, ast.Attribute):
            found.add(one.attr)
        elif isinstance(one, ast.keyword) and one.arg:
            found.add(one.arg)
    return found


def _foreign(tree: ast.Module) -> set[str]:
    """Return the names from other packages, whose classes call the methods of subclasses."""
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and not (node.module or "").startswith(
            (PACKAGE, *PLAIN_BASES)
        ):
            found |= {alias.asname or alias.name for alias in node.names}
        elif isinstance(node, ast.Import):
            found |= {(alias.asname or alias.name).split(".")[0] for alias in node.names}
    return found
