"""A review by rules that are simply true or not: each finding names its line and can be checked by eye."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator

from swecli.llm.demo.outline import Lines, language_of, parse_python
from swecli.models.finding import Finding

LONGEST_FUNCTION = 60
LONGEST_LINE = 120
MOST_PARAMETERS = 7
BLOCK = 6
REPEATS = 3
_TODO = re.compile(r"(?:#|//|/\*|<!--|--|;)\s*(?P<word>TODO|FIXME|XXX|HACK)\b[:\s]*(?P<rest>.*)")
_USUAL = frozenset({0, 1, 2, 3, 4, 5, 8, 10, 100, 1000, 0.5})


def smells(path: str, lines: Lines) -> list[Finding]:
    """Everything the rules find in a file's text, by line. Rules that need a parser see Python only."""
    found = [*_todos(path, lines), *_duplicates(path, lines)]
    if language_of(path, lines) not in ("text", "markdown", "json"):
        found += _long_lines(path, lines)
    tree = parse_python(lines) if language_of(path, lines) == "python" else None
    if tree is not None:
        found += [finding for rule in (_functions, _handlers, _comparisons, _numbers) for finding in rule(path, tree)]
    return sorted(
        {finding.key: finding for finding in reversed(found)}.values(), key=lambda f: (f.line, f.code_smell_type)
    )


def _todos(path: str, lines: Lines) -> Iterator[Finding]:
    for number, text in lines:
        match = _TODO.search(text)
        if match:
            rest = match["rest"].strip(" */->")[:80]
            yield Finding(path, number, "open-task", f"{match['word']} left in the code: {rest}".rstrip(": "), "low")


def _long_lines(path: str, lines: Lines) -> Iterator[Finding]:
    for number, text in lines:
        if len(text) > LONGEST_LINE:
            yield Finding(path, number, "long-line", f"{len(text)} characters, more than {LONGEST_LINE}", "low")


def _duplicates(path: str, lines: Lines) -> Iterator[Finding]:
    """Blocks of at least `BLOCK` lines with content that stand in the file a second time."""
    full = [(number, " ".join(text.split())) for number, text in lines if len(text.strip()) > 3]
    first: dict[tuple[str, ...], int] = {}
    skip_to = 0
    for index in range(len(full) - BLOCK + 1):
        block = tuple(text for _, text in full[index : index + BLOCK])
        before = first.setdefault(block, index)
        if before + BLOCK <= index and index >= skip_to and len(set(block)) > BLOCK // 2:
            length = _same(full, before, index)
            skip_to = index + length
            end = full[index + length - 1][0]
            message = f"lines {full[index][0]}-{end} repeat what begins at line {full[before][0]}"
            yield Finding(path, full[index][0], "duplicate-block", message, end_line=end)


def _same(full: list[tuple[int, str]], before: int, index: int) -> int:
    length = BLOCK
    while (
        index + length < len(full) and before + length < index and full[before + length][1] == full[index + length][1]
    ):
        length += 1
    return length


def _functions(path: str, tree: ast.Module) -> Iterator[Finding]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield from _one_function(path, node)


def _one_function(path: str, node: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[Finding]:
    end = node.end_lineno or node.lineno
    length = end - node.lineno + 1
    if length > LONGEST_FUNCTION:
        message = f"`{node.name}` has {length} lines, more than {LONGEST_FUNCTION}"
        yield Finding(path, node.lineno, "long-function", message, "medium", "split it by what its parts do", end)
    count = len([*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs])
    if count > MOST_PARAMETERS:
        yield Finding(path, node.lineno, "many-parameters", f"`{node.name}` takes {count} parameters")
    for default in (*node.args.defaults, *node.args.kw_defaults):
        if isinstance(default, ast.List | ast.Dict | ast.Set):
            message = f"a default of `{node.name}` is shared between calls"
            yield Finding(path, default.lineno, "mutable-default", message, "high", "use None and make it inside")


def _handlers(path: str, tree: ast.Module) -> Iterator[Finding]:
    for node in ast.walk(tree):
        if not isinstance(node, ast.ExceptHandler):
            continue
        if node.type is None:
            improvement = "name the exceptions that are expected"
            yield Finding(path, node.lineno, "bare-except", "catches everything, Ctrl-C too", "high", improvement)
        elif ast.unparse(node.type) in ("Exception", "BaseException") and _does_nothing(node):
            yield Finding(path, node.lineno, "swallowed-exception", "every failure disappears silently here", "high")


def _does_nothing(node: ast.ExceptHandler) -> bool:
    return all(
        isinstance(step, ast.Pass) or (isinstance(step, ast.Expr) and isinstance(step.value, ast.Constant))
        for step in node.body
    )


def _comparisons(path: str, tree: ast.Module) -> Iterator[Finding]:
    for node in ast.walk(tree):
        if not isinstance(node, ast.Compare):
            continue
        for operator, value in zip(node.ops, node.comparators, strict=True):
            if isinstance(operator, ast.Eq | ast.NotEq) and isinstance(value, ast.Constant) and value.value is None:
                yield Finding(
                    path, node.lineno, "none-comparison", "compares to None by value", "low", "use `is` or `is not`"
                )


def _numbers(path: str, tree: ast.Module) -> Iterator[Finding]:
    """Unnamed numbers that stand on `REPEATS` lines or more; constants with a name are what they should be."""
    named = {id(part) for node in tree.body if _names_constant(node) for part in ast.walk(node)}
    places: dict[int | float, list[int]] = defaultdict(list)
    for node in ast.walk(tree):
        if not isinstance(node, ast.Constant) or id(node) in named:
            continue
        if isinstance(node.value, int | float) and not isinstance(node.value, bool):
            places[node.value].append(node.lineno)
    for value, unsorted in places.items():
        at = sorted(set(unsorted))
        if value not in _USUAL and len(at) >= REPEATS:
            others = ", ".join(str(line) for line in at[1:6])
            message = f"the number {value} stands here and on lines {others} without a name"
            yield Finding(path, at[0], "magic-number", message, "low", "give it a name")


def _names_constant(node: ast.stmt) -> bool:
    target = (
        node.targets[0] if isinstance(node, ast.Assign) else node.target if isinstance(node, ast.AnnAssign) else None
    )
    return isinstance(target, ast.Name) and target.id.isupper()
