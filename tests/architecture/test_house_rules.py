"""The rules of the house that a machine can keep, beside the floors (which import-linter keeps)."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "swecli"
MODULES = sorted(PACKAGE.rglob("*.py"))
LONGEST_FILE, LONGEST_FUNCTION = 300, 60
ROOMS_THAT_ROT = {"agent/loop.py": 250, "repl/repl.py": 230}
FORBIDDEN_FOLDERS = {"core", "utils", "common", "helpers", "managers", "internal"}


def name(path: Path) -> str:
    return str(path.relative_to(PACKAGE))


def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def test_no_folder_has_a_name_that_refuses_nothing() -> None:
    assert not [p for p in PACKAGE.rglob("*") if p.is_dir() and p.name in FORBIDDEN_FOLDERS]


@pytest.mark.parametrize("path", MODULES, ids=name)
def test_a_file_is_a_page_and_a_function_a_paragraph(path: Path) -> None:
    lines = len(path.read_text(encoding="utf-8").splitlines())
    assert lines <= ROOMS_THAT_ROT.get(name(path), LONGEST_FILE)
    functions = [n for n in ast.walk(parsed(path)) if isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef))]
    too_long = [f.name for f in functions if (f.end_lineno or 0) - f.lineno + 1 > LONGEST_FUNCTION]
    assert not too_long


@pytest.mark.parametrize("path", [p for p in MODULES if p.name != "__init__.py"], ids=name)
@pytest.mark.slow
def test_a_module_says_what_it_is(path: Path) -> None:
    assert ast.get_docstring(parsed(path))


@pytest.mark.parametrize("path", MODULES, ids=name)
def test_only_the_command_line_reads_the_environment(path: Path) -> None:
    if name(path).startswith("cli/"):
        return
    text = path.read_text(encoding="utf-8")
    uses = [n for n in ast.walk(parsed(path)) if isinstance(n, ast.Attribute) and n.attr in {"environ", "getenv"}]
    owners = {n.value.id for n in uses if isinstance(n.value, ast.Name)}
    assert "os" not in owners or "# reads the environment:" in text, "say why with '# reads the environment: …'"


@pytest.mark.slow
def test_git_is_started_in_one_place() -> None:
    """The one that lets it start nothing else."""
    lists = {p: [n for n in ast.walk(parsed(p)) if isinstance(n, ast.List) and n.elts] for p in MODULES}
    starting = {p for p, found in lists.items() for n in found if getattr(n.elts[0], "value", None) == "git"}
    asking = {p for p in MODULES if 'find_program("git"' in p.read_text(encoding="utf-8")}
    assert {name(p) for p in starting | asking} == {"tools/git.py", "repl/actions/doctor.py"}


@pytest.mark.parametrize("path", MODULES, ids=name)
def test_a_late_import_says_why(path: Path) -> None:
    """Inside a function an import is there for start-up time only, and a comment above it says so."""
    lines = path.read_text(encoding="utf-8").splitlines()
    for function in ast.walk(parsed(path)):
        if isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)):
            for node in ast.walk(function):
                if isinstance(node, (ast.Import, ast.ImportFrom)):
                    above = "\n".join(lines[max(0, node.lineno - 6) : node.lineno])
                    assert "# late" in above, f"line {node.lineno}"


def loaded_by(code: str) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-c", f"{code}\nimport sys\nprint('MODULES', *sys.modules)"],
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
    )
    return set(done.stdout.rpartition("MODULES ")[2].split())


NO_STORE = ["sessions --help", "playbook --help", "findings --help", "config get", "db path", "models gpt-4o"]


@pytest.mark.parametrize("words", NO_STORE)
@pytest.mark.slow
def test_a_subcommand_that_reads_no_session_loads_no_database_library(words: str) -> None:
    run = "from swecli.cli.entry import run_safely\ntry: run_safely(sys.argv[1:])\nexcept SystemExit: pass"
    loaded = loaded_by(f"import sys; sys.argv[1:] = {words.split()}\n{run}")
    assert not {"sqlmodel", "sqlalchemy", "litellm", "tiktoken", "rich", "prompt_toolkit"} & loaded


def test_asking_for_the_version_loads_next_to_nothing() -> None:
    run = "from swecli.cli.main import main\ntry: main()\nexcept SystemExit: pass"
    code = f"import sys; sys.argv[1:] = ['--version']\n{run}"
    assert len(loaded_by(code)) <= 60


def test_importing_the_package_does_nothing() -> None:
    assert not {m for m in loaded_by("import swecli") if m.startswith("swecli.")}


HEAVY = {"litellm", "openai", "httpx", "pydantic", "sqlalchemy", "sqlmodel", "tiktoken", "typer", "rich", "mcp"}


def test_reading_flags_and_settings_loads_nothing_heavy() -> None:
    imports = "from swecli.cli.startup import make_start\nfrom swecli.cli.flags import build_parser"
    assert not HEAVY & loaded_by(f"{imports}\nmake_start(build_parser().parse_args([]))")
