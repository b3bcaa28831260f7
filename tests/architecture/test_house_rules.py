"""Test the architecture rules that import-linter cannot check."""

from __future__ import annotations

import ast
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from tests.architecture.reach import parse, unreached

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "swecli"
MODULES = sorted(PACKAGE.rglob("*.py"))
FORBIDDEN_FOLDERS = {"core", "utils", "common", "helpers", "managers", "internal"}


def name(path: Path) -> str:
    return str(path.relative_to(PACKAGE))


TEXTS = {name(path): path.read_text(encoding="utf-8") for path in MODULES}


@cache
def nodes(module: str) -> tuple[ast.AST, ...]:
    return tuple(ast.walk(parse(TEXTS[module])))


def functions(module: str) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
    return [
        node for node in nodes(module) if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
    ]


def test_dataclasses_are_made_by_the_quick_decorator() -> None:
    slow = [
        module
        for module in TEXTS
        for node in nodes(module)
        if isinstance(node, ast.ImportFrom)
        and node.module == "dataclasses"
        and module != "values.py"
        if any(imported.name == "dataclass" for imported in node.names)
    ]
    assert slow == [], "see docs/adr/0141: import it from swecli.values"


def test_no_folder_has_a_generic_name() -> None:
    assert not [p for p in PACKAGE.rglob("*") if p.is_dir() and p.name in FORBIDDEN_FOLDERS]


def test_no_definition_is_reached_only_by_tests() -> None:
    assert unreached() == []


def test_every_module_has_a_docstring() -> None:
    described = {
        m
        for m in TEXTS
        if (top := nodes(m)[0]) and isinstance(top, ast.Module) and ast.get_docstring(top)
    }
    assert {m for m in TEXTS if not m.endswith("__init__.py")} <= described


def test_only_the_command_line_reads_the_environment() -> None:
    """Any other module that does must say why with `# reads the environment: ...`."""
    reading = {
        m
        for m in TEXTS
        for n in nodes(m)
        if isinstance(n, ast.Attribute) and n.attr in {"environ", "getenv"}
        if isinstance(n.value, ast.Name) and n.value.id == "os"
    }
    assert not {
        m
        for m in reading
        if not m.startswith("cli/") and "# reads the environment:" not in TEXTS[m]
    }


def test_git_is_started_or_looked_up_only_in_tools_git_and_doctor() -> None:
    """`tools/git.py` keeps git from running other programs."""
    lists = {m: [n for n in nodes(m) if isinstance(n, ast.List) and n.elts] for m in TEXTS}
    starting = {
        m for m, found in lists.items() for n in found if getattr(n.elts[0], "value", None) == "git"
    }
    asking = {m for m, text in TEXTS.items() if 'find_program("git"' in text}
    assert starting | asking == {"tools/git.py", "actions/doctor.py"}


def test_a_late_import_has_a_comment_with_its_reason() -> None:
    """An import inside a function exists only for start-up time, which a comment above it states."""
    late = {
        (module, node.lineno)
        for module in TEXTS
        for function in functions(module)
        for node in ast.walk(function)
        if isinstance(node, (ast.Import, ast.ImportFrom))
    }
    lines = {module: text.splitlines() for module, text in TEXTS.items()}
    assert not {
        (m, at) for m, at in late if "# late" not in "\n".join(lines[m][max(0, at - 6) : at])
    }


def loaded_by(code: str) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-c", f"{code}\nimport sys\nprint('MODULES', *sys.modules)"],
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
    )
    return set(done.stdout.rpartition("MODULES ")[2].split())


NO_STORE = [
    "sessions --help",
    "playbook --help",
    "findings --help",
    "config get",
    "db path",
    "models gpt-4o",
]


@pytest.mark.parametrize("words", NO_STORE)
@pytest.mark.slow
def test_a_subcommand_that_reads_no_session_loads_no_heavy_library(words: str) -> None:
    run = "from swecli.cli.main import run_safely\ntry: run_safely(sys.argv[1:])\nexcept SystemExit: pass"
    loaded = loaded_by(f"import sys; sys.argv[1:] = {words.split()}\n{run}")
    assert not {"sqlmodel", "sqlalchemy", "litellm", "tiktoken", "rich", "prompt_toolkit"} & loaded


def test_the_version_option_loads_no_heavy_library() -> None:
    run = "from swecli.cli.main import main\ntry: main()\nexcept SystemExit: pass"
    assert not HEAVY & loaded_by(f"import sys; sys.argv[1:] = ['--version']\n{run}")


def test_importing_the_package_imports_no_submodule() -> None:
    assert not {m for m in loaded_by("import swecli") if m.startswith("swecli.")}


HEAVY = {
    "litellm",
    "openai",
    "httpx",
    "pydantic",
    "sqlalchemy",
    "sqlmodel",
    "tiktoken",
    "typer",
    "rich",
    "mcp",
}


def test_reading_flags_and_settings_loads_no_heavy_library() -> None:
    imports = "from swecli.cli.startup import make_start\nfrom swecli.cli.flags import Parser"
    assert not HEAVY & loaded_by(f"{imports}\nmake_start(Parser.for_run().parse_args([]))")
