"""Measure the size and the coupling of the package from its source. `python -m tests.architecture.measures` prints
the figures."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGE = "swecli"
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
SEED_ENTRY = "AsyncQueryProcessor._prepare_messages"  # called from outside the package
PLAIN_DECORATORS = {"property", "staticmethod", "classmethod", "dataclass"}
PLAIN_BASES = {"typing", "enum", "dataclasses", "abc", "collections.abc"}


def parse(text: str) -> ast.Module:
    """Parse source, a second time if CPython 3.11 confused it with a parser in another thread (gh-106905)."""
    try:
        return ast.parse(text)
    except SystemError:
        return ast.parse(text)


class PackageSource:
    """The package's parsed modules by dotted name; empty files are modules without content."""

    def __init__(self, root: Path = ROOT) -> None:
        self.root = root
        texts: dict[str, str] = {}
        self.paths: dict[str, Path] = {}
        for path in sorted((root / PACKAGE).rglob("*.py")):
            parts = path.relative_to(root).with_suffix("").parts
            name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
            texts[name], self.paths[name] = path.read_text(encoding="utf-8"), path
        self.trees = {name: parse(text) for name, text in texts.items() if text.strip()}
        self.lines = {name: len(texts[name].splitlines()) for name in self.trees}
        self.total = sum(self.lines.values())
        self.imports = {name: set(self._imports(name, set(texts))) for name in self.trees}

    def _imports(self, name: str, known: set[str]) -> Iterator[str]:
        """Return the package's modules that one imports, including late imports and imports for types."""
        for node in ast.walk(self.trees[name]):
            if isinstance(node, ast.Import):
                targets = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                full = [f"{node.module}.{alias.name}" for alias in node.names]
                targets = [target if target in known else node.module for target in full]
            else:
                continue
            yield from (target for target in targets if target in self.trees and target != name)

    def packages(self) -> dict[str, int]:
        """Return the lines of each package; top-level modules count by their own name."""
        sizes: Counter[str] = Counter()
        for name, lines in self.lines.items():
            sizes[name.split(".")[1] if "." in name else name] += lines
        return dict(sizes)

    def public_names(self) -> int:
        """Return the top-level functions and classes whose names do not begin with an underscore."""
        nodes = (node for tree in self.trees.values() for node in tree.body)
        return sum(isinstance(n, (*FUNCTIONS, ast.ClassDef)) and not n.name.startswith("_") for n in nodes)

    def functions(self) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
        """Return all functions, including methods and nested ones."""
        for tree in self.trees.values():
            yield from (node for node in ast.walk(tree) if isinstance(node, FUNCTIONS))

    def figures(self) -> dict[str, float]:
        """Return each measure by its name in budgets.toml."""
        folders = Counter(path.parent for name, path in self.paths.items() if path.name != "__init__.py")
        parameters = [parameters_of(function) for function in self.functions()]
        callables = sum("Callable" in ast.unparse(a.annotation) for found in parameters for a in found if a.annotation)
        fan_out = [len(targets) for targets in self.imports.values()]
        return {
            "lines": self.total,
            "edges": sum(fan_out),
            "largest_fan_out": max(fan_out),
            "public_names_a_1000_lines": round(self.public_names() * 1000 / self.total, 1),
            "callables_a_1000_lines": round(callables * 1000 / self.total, 2),
            "most_arguments": max(len(found) for found in parameters),
            "files_in_a_folder": max(folders.values()),
            "unreached_definitions": len(self.unreached()),
        }

    def unreached(self) -> list[str]:
        """Return the definitions that no path of names reaches from `main`, from module level or from a declared
        object. Names are matched without types, so a definition counts as reached if an equal name is used anywhere."""
        definitions: dict[str, list[tuple[str, set[str]]]] = defaultdict(list)
        roots = {"main"}
        for tree in self.trees.values():
            _collect(tree.body, "", roots, definitions, _foreign(tree))
        seen: set[str] = set()
        waiting = list(roots)
        while waiting:
            name = waiting.pop()
            if name not in seen:
                seen.add(name)
                waiting += [used for _, uses in definitions.get(name, ()) for used in uses - seen]
        dead = (full for name, found in definitions.items() if name not in seen for full, _ in found)
        return sorted(full for full in dead if not full.split(".")[-1].startswith("__") and full != SEED_ENTRY)


def parameters_of(function: ast.FunctionDef | ast.AsyncFunctionDef) -> list[ast.arg]:
    """Return the parameters that a caller can pass, without `self` and `cls`."""
    args = function.args
    found = [*args.posonlyargs, *args.args, *args.kwonlyargs, *filter(None, (args.vararg, args.kwarg))]
    return [arg for arg in found if arg.arg not in ("self", "cls")]


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
            if _declared(node):
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
        if isinstance(node, ast.ImportFrom) and not (node.module or "").startswith((PACKAGE, *PLAIN_BASES)):
            found |= {alias.asname or alias.name for alias in node.names}
        elif isinstance(node, ast.Import):
            found |= {(alias.asname or alias.name).split(".")[0] for alias in node.names}
    return found


TRACED = """
import json, sys, threading
from swecli.cli.main import main
home, seen, stack = {home!r}, set(), []
def profile(frame, event, arg):
    name = frame.f_code.co_filename
    function = frame.f_code.co_flags & 2  # no class body
    if event != "call" or not function or not name.startswith(home) or frame.f_code.co_name.startswith(("<", "__")):
        return
    seen.add(name)
    if name.endswith("/agent/loop.py") and not stack:
        while frame is not None:
            if frame.f_code.co_filename.startswith(home) and frame.f_code.co_filename not in stack:
                stack.append(frame.f_code.co_filename)
            frame = frame.f_back
sys.argv[1:] = ["-p", "read README.md", "-m", "demo"]
threading.setprofile(profile)
sys.setprofile(profile)
try:
    main()
except SystemExit:
    pass
sys.setprofile(None)
print("TRACED", json.dumps([sorted(seen), stack]), flush=True)
"""


def traced_turn(folder: Path) -> dict[str, float]:
    """Return the modules that a trivial headless turn runs (without the model's own), and those on the stack when
    its loop begins."""
    (folder / "README.md").write_text("# A small project\n", encoding="utf-8")
    home = f"{ROOT / PACKAGE}{os.sep}"
    environ = os.environ | {"PYTHONPATH": str(ROOT), "SWECLI_HOME": str(folder / "home")}
    code = TRACED.format(home=home)
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=folder, env=environ, capture_output=True, text=True, check=True
    )
    seen, stack = json.loads(done.stdout.rpartition("TRACED ")[2])
    own = [name for name in seen if not any(model in name for model in ("/demo", "/tour"))]
    return {"modules_of_a_turn": len(own), "modules_on_the_stack": len(stack)}


if __name__ == "__main__":
    source = PackageSource()
    for measure, value in source.figures().items():
        print(f"{measure:28} {value:>8,}")
    for package, size in sorted(source.packages().items()):
        print(f"  {package:26} {size:>8,}")
    print("unreached:", *source.unreached())
