"""Test the tool `search_files`."""

from __future__ import annotations

import os
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from swecli.models.approval import Decision
from swecli.models.message import ToolCall, ToolResult
from swecli.tools.base import ToolContext
from swecli.tools.execute import execute
from swecli.tools.permissions import Permissions
from swecli.tools.registry import ToolRegistry

Find = Callable[..., Awaitable[ToolResult]]


@pytest.fixture
def find(ctx: ToolContext) -> Find:
    async def approve(request: object) -> Decision:
        return Decision(True)

    async def search(pattern: str, **parameters: object) -> ToolResult:
        call = ToolCall("c", "search_files", {"pattern": pattern, **parameters})
        return (await execute(call, ToolRegistry.discover(), ctx, Permissions(), approve))[0]

    return search


def result_rows(result: ToolResult) -> list[str]:
    return result.for_model.split("\n")[1:]


@pytest.fixture
def tree(root: Path) -> Path:
    files = {
        "src/app.py": "import os\n\ndef Needle(x):\n    return needle(x)\n",
        "src/app.js": "needle();\r\nother();\r\n",
        "src-b/z.ts": "needle\n",
        "docs/a.md": "a needle here\n",
        ".github/ci.yml": "run: needle\n",
        "build/out.js": "needle\n",
        "deep/build/out.js": "needle\n",
        "deep/keep/x.log": "needle\n",
        "deep/drop/y.log": "needle\n",
        "hidden/private.txt": "needle\n",
        "node_modules/m/i.js": "needle\n",
        ".git/config": "needle\n",
        ".env": "needle=1\n",
        "server.key": "needle\n",
        ".gitignore": "/build/\n*.log\n!deep/keep/x.log\n",
        ".swecliignore": "hidden/\n",
    }
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(text.encode())
    (root / "binary").write_bytes(b"needle\n\0\n")
    (root / "late").write_bytes(b"needle\n" + b"x\n" * 60_000 + b"\0\n")
    (root / "link").symlink_to("src")
    return root


async def test_matches_are_sorted_and_leave_out_ignored_files(find: Find, tree: Path) -> None:
    result = await find("needle")
    assert result.for_model.split("\n") == [
        "7 matches in 7 files:",
        ".github/ci.yml:1: run: needle",
        "deep/build/out.js:1: needle",
        "deep/keep/x.log:1: needle",
        "docs/a.md:1: a needle here",
        "src/app.js:1: needle();",
        "src/app.py:4:     return needle(x)",
        "src-b/z.ts:1: needle",
    ]
    assert result.for_user.title == "7 matches in 7 files"


@pytest.mark.parametrize(
    ("glob", "files"),
    [
        ("*.py", ["src/app.py"]),
        ("*.{js,ts}", ["deep/build/out.js", "src/app.js", "src-b/z.ts"]),
        ("src/**", ["src/app.js", "src/app.py"]),
        ("src", ["src/app.js", "src/app.py"]),
        ("build/*.js", []),
        ("**/build/*.js", ["deep/build/out.js"]),
        ("!*.js", [".github/ci.yml", "deep/keep/x.log", "docs/a.md", "src/app.py", "src-b/z.ts"]),
        ("*.js,!app.*", ["deep/build/out.js"]),
        ("*.log", ["deep/keep/x.log"]),
        ("*.none", []),
    ],
)
async def test_a_glob_selects_the_searched_files(
    find: Find, tree: Path, glob: str, files: list[str]
) -> None:
    assert [row.split(":")[0] for row in result_rows(await find("needle", glob=glob))] == files


async def test_a_named_path_is_searched_even_if_it_is_ignored(find: Find, tree: Path) -> None:
    assert [row.split(":")[0] for row in result_rows(await find("needle", path="src"))] == [
        "src/app.js",
        "src/app.py",
    ]
    assert result_rows(await find("needle", path="src/app.js")) == ["src/app.js:1: needle();"]
    assert result_rows(await find("needle", path="link/app.js")) == ["src/app.js:1: needle();"]
    assert result_rows(await find("needle", path="build")) == ["build/out.js:1: needle"]
    assert result_rows(await find("needle", path="node_modules/m")) == [
        "node_modules/m/i.js:1: needle"
    ]
    assert result_rows(await find("needle", path="hidden/private.txt")) == [
        "hidden/private.txt:1: needle"
    ]
    assert result_rows(await find("needle", path=".env")) == [".env:1: needle=1"]
    assert result_rows(await find("needle", path="binary")) == []


async def test_ignore_case_matches_both_cases(find: Find, tree: Path) -> None:
    assert result_rows(await find("NEEDLE\\(", path="src", glob="*.py")) == []
    found = await find("NEEDLE\\(", path="src", glob="*.py", ignore_case=True)
    assert result_rows(found) == [
        "src/app.py:3: def Needle(x):",
        "src/app.py:4:     return needle(x)",
    ]


@pytest.mark.parametrize(
    ("pattern", "lines"),
    [
        (r"^def \w+", [3]),
        (r"\)$", [4]),
        (r"os|Needle", [1, 3]),
        (r"(?<=return )needle", [4]),
        ("x", [3, 4]),
    ],
)
async def test_regular_expressions_match_within_lines(
    find: Find, tree: Path, pattern: str, lines: list[int]
) -> None:
    found = result_rows(await find(pattern, path="src/app.py"))
    assert [int(row.split(":")[1]) for row in found] == lines


async def test_windows_line_ends_are_not_part_of_the_matched_line(find: Find, tree: Path) -> None:
    assert result_rows(await find(r";$", path="src")) == [
        "src/app.js:1: needle();",
        "src/app.js:2: other();",
    ]


async def test_matches_over_the_limit_are_cut_and_reported(find: Find, root: Path) -> None:
    (root / "a").write_text("x\n" * 500)
    result = await find("x", max_results=3)
    assert result.for_model.split("\n")[0] == "First 3 matches in 1 file:"
    assert result.for_model.count("\na:") == 3
    assert "there are more" in result.for_model
    assert (await find("x", max_results=500)).for_model.startswith("500 matches in 1 file:")


async def test_the_result_of_a_search_fits_one_page(find: Find, root: Path) -> None:
    (root / "a").write_text(("needle" + "y" * 1000 + "\n") * 900)
    result = await find("needle", max_results=1000)
    assert len(result.for_model) < 25_000
    assert "there are more" in result.for_model


async def test_lines_of_context_are_shown_beside_each_match(find: Find, root: Path) -> None:
    lines = [f"line {number}" for number in range(1, 21)]
    lines[4] = lines[6] = lines[15] = "needle"
    (root / "a").write_text("\n".join(lines))
    result = await find("needle", context=1)
    assert result.for_model.split("\n") == [
        "3 matches in 1 file:",
        *("a-4- line 4", "a:5: needle", "a-6- line 6", "a:7: needle", "a-8- line 8"),
        "--",
        *("a-15- line 15", "a:16: needle", "a-17- line 17"),
    ]
    first = await find("needle", context=2, max_results=1)
    assert first.for_model.split("\n")[:-1] == [
        "First 1 match in 1 file:",
        *("a-3- line 3", "a-4- line 4", "a:5: needle", "a-6- line 6"),
    ]


async def test_a_search_can_show_only_files_or_counts(find: Find, tree: Path) -> None:
    files = await find("needle", path="src", show="files")
    assert files.for_model.split("\n") == ["2 files with matches:", "src/app.js", "src/app.py"]
    counts = await find("needle|other", path="src", show="counts")
    assert counts.for_model.split("\n") == [
        "3 matches in 2 files:",
        "src/app.js: 2",
        "src/app.py: 1",
    ]
    first = await find("needle", show="files", max_results=2)
    assert first.for_model.startswith("First 2 files with matches:\n.github/ci.yml\ndeep/build")
    assert "binary" not in (await find("needle", show="files", max_results=1000)).for_model


@pytest.mark.parametrize("rule", ["read(src/**)", "read_file(src/**)", "search_files(src/*.py)"])
async def test_a_search_skips_the_files_that_a_rule_bars_under_any_name(
    ctx: ToolContext, tree: Path, rule: str
) -> None:
    async def refuse(request: object) -> Decision:
        return Decision(False)

    async def search(**parameters: object) -> ToolResult:
        call = ToolCall("c", "search_files", {"pattern": "needle", **parameters})
        permissions = Permissions(deny=[rule])
        return (await execute(call, ToolRegistry.discover(), ctx, permissions, refuse))[0]

    assert "src/app.py" not in (await search()).for_model
    assert "src-b/z.ts" in (await search()).for_model
    assert not (await search(path="src/app.py")).ok


async def test_a_rule_for_another_tool_as_a_whole_bars_no_search(
    ctx: ToolContext, tree: Path
) -> None:
    call = ToolCall("c", "search_files", {"pattern": "needle"})
    permissions = Permissions(deny=["todo", "list_files"])

    async def refuse(request: object) -> Decision:
        return Decision(False)

    result, _ = await execute(call, ToolRegistry.discover(), ctx, permissions, refuse)
    assert result.for_model.startswith("7 matches")


async def test_a_search_without_matches_is_reported(find: Find, tree: Path) -> None:
    result = await find(r"\babsent")
    assert result.ok
    assert result.for_model == r'No matches for "\babsent".'


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"pattern": "foo(bar"}, "'foo(bar' is not a valid regular expression"),
        ({"pattern": "a\nb"}, "line break"),
        ({"pattern": "x", "path": "sr"}, "Near names: src"),
        ({"pattern": "x", "glob": ","}, "cannot be used"),
        ({"pattern": ""}, "at least 1 character"),
    ],
)
async def test_invalid_parameters_of_a_search_are_reported(
    find: Find, tree: Path, parameters: dict[str, str], words: str
) -> None:
    result = await find(**parameters)
    assert not result.ok
    assert words in result.for_model


async def test_a_search_skips_named_pipes(find: Find, root: Path) -> None:
    os.mkfifo(root / "pipe")
    (root / "a").write_text("x\n")
    assert result_rows(await find("x")) == ["a:1: x"]
    assert "not a regular file" in (await find("x", path="pipe")).for_model


@pytest.mark.parametrize("pattern", ["^(a+)+$", "^(?=a)(a+)+$"])
async def test_an_expression_with_exponential_backtracking_ends(
    find: Find, root: Path, pattern: str
) -> None:
    (root / "a").write_text("a" * 60 + "b\n")
    assert (await find(pattern)).for_model.startswith("No matches")


async def test_paths_and_patterns_that_look_like_options_are_searched(
    find: Find, root: Path
) -> None:
    (root / "--help").write_text("x\n")
    assert result_rows(await find("x", path="--help")) == ["--help:1: x"]
    assert result_rows(await find("-x")) == []


@pytest.mark.parametrize("kind", ["pipe", "endless"])
async def test_a_search_does_not_wait_for_an_ignore_file_in_a_subfolder(
    find: Find, root: Path, kind: str
) -> None:
    (root / ".git").mkdir()
    (root / "sub").mkdir()
    if kind == "pipe":
        os.mkfifo(root / "sub" / ".gitignore")
    else:
        (root / "sub" / ".gitignore").symlink_to("/dev/zero")
    begun = time.monotonic()
    assert "sub/.gitignore cannot be used" in (await find("x")).for_model
    assert time.monotonic() - begun < 10
