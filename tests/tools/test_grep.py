"""The own search engine, run as the program it is."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from swecli.tools import grep


def run(root: Path, pattern: str, **wish: Any) -> tuple[int, list[tuple[str, int, str]]]:
    argv = grep.command(pattern, wish.get("start", "."), wish.get("glob"), wish.get("ignore_case", False))
    done = subprocess.run(argv, cwd=root, capture_output=True, check=False)
    assert done.stderr == b""
    events = [json.loads(line) for line in done.stdout.splitlines()]
    found = [e["data"] for e in events if e["type"] == "match"]
    return done.returncode, [(d["path"]["text"], d["line_number"], d["lines"]["text"]) for d in found]


def test_lines_are_found_with_their_numbers(root: Path) -> None:
    (root / "a").write_text("one\ntwo\nthree\n")
    assert run(root, "t[wh]") == (0, [("a", 2, "two"), ("a", 3, "three")])
    assert run(root, "four") == (1, [])


@pytest.mark.parametrize(
    ("pattern", "lines"),
    [("^b$", [2]), (r"\bb\b", [2]), ("b|c", [2, 3]), (r"(?<!x)c$", [3]), (r"\w\w", [4]), ("é", [4])],
)
def test_expressions_are_compared_line_by_line(root: Path, pattern: str, lines: list[int]) -> None:
    (root / "a").write_bytes("a\r\nb\r\nc\nédé\n".encode())
    assert [line for _, line, _ in run(root, pattern)[1]] == lines


def test_a_bad_expression_is_told(root: Path) -> None:
    assert run(root, "(")[0] == grep.BAD_PATTERN


def test_modules_lying_in_the_searched_folder_are_not_run(root: Path) -> None:
    for name in ("re.py", "json.py", "pathspec.py", "swecli.py", "sitecustomize.py"):
        (root / name).write_text("open('ran', 'w').close()\n")
    assert run(root, "ran")[0] == 0
    assert not (root / "ran").exists()


def test_encodings_and_binary_files(root: Path) -> None:
    (root / "utf16").write_bytes("x needle\n".encode("utf-16"))
    (root / "latin").write_bytes(b"caf\xe9 needle\n")
    (root / "binary").write_bytes(b"needle\n" + b"x" * 100_000 + b"\0")
    assert [path for path, _, _ in run(root, "needle")[1]] == ["latin", "utf16"]
