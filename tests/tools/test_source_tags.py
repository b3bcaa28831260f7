"""Test which names are found as defined and used, in each language."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from swecli.tools import source_tags
from swecli.tools.source_tags import GRAMMARS, MAX_BYTES, name_words, read_tags

SOURCES = {
    ".c": ("struct point { int x; };\nint area(struct point p) { return p.x; }\n", "point area"),
    ".cpp": ("class Box { public: void open() {} };\nint twice(int n) { return n; }\n", "Box open"),
    ".cs": ("class Shop { void Buy() {} }\nenum Size { Big }\nstruct Coin {}\n", "Shop Buy Size"),
    ".go": ("package a\n// doc\nfunc Run() {}\ntype Job struct{}\nfunc (j Job) End() {}\n", "Run"),
    ".h": ("int area(int n);\nclass Box;\nstruct point { int x; };\n", "area point"),
    ".java": ("class Shop { void buy() {} }\nenum Size { BIG }\nrecord Coin(int n) {}\n", "Coin"),
    ".js": ("class Shop { buy() {} }\nfunction sell() {}\nconst pay = () => 1\n", "Shop buy sell"),
    ".php": ("<?php\nclass Shop { function buy() {} }\nfunction sell() {}\n", "Shop buy sell"),
    ".py": ("LIMIT = 3\nclass Shop:\n    def buy(self): ...\n", "LIMIT Shop buy"),
    ".rb": ("class Shop\n  def buy\n  end\nend\n", "Shop buy"),
    ".rs": ("struct Shop;\nfn sell() {}\nimpl Shop { fn buy(&self) {} }\n", "Shop sell buy"),
    ".ts": ("interface Shop { buy(): void }\ntype Size = 1\nenum Coin { A }\n", "Shop Size Coin"),
    ".tsx": ("class Shop { buy() { return <b>{name}</b> } }\n", "Shop buy"),
}


def defined(suffix: str, source: str | bytes) -> list[list[Any]]:
    data = source if isinstance(source, bytes) else source.encode()
    rows: list[list[Any]] = read_tags(GRAMMARS[suffix], data, frozenset())["defined"]
    return rows


@pytest.mark.parametrize("suffix", SOURCES)
def test_definitions_are_found_in_each_language(suffix: str) -> None:
    source, names = SOURCES[suffix]
    assert {row[0] for row in defined(suffix, source)} >= set(names.split())


@pytest.mark.parametrize("suffix", GRAMMARS)
def test_every_suffix_has_a_grammar_that_reads_broken_sources(suffix: str) -> None:
    for source in (b"", b"(((", b"\xff\xfe def x(", b"class { fn } ) ]] <"):
        defined(suffix, source)


def test_a_definition_has_its_line_and_what_it_is_in() -> None:
    source = (
        "class Shop:\n    @cached\n    def buy(self, n):\n        return n\n\n\ndef sell(): ...\n"
    )
    assert defined(".py", source) == [
        ["Shop", 1, "class Shop:", ""],
        ["buy", 3, "def buy(self, n):", "Shop"],
        ["sell", 7, "def sell(): ...", ""],
    ]


def test_names_are_counted_but_not_in_comments_and_texts() -> None:
    source = b"from a.shop import Shop\n# Shop\nx: Shop = Shop('Shop')\n"
    tags = read_tags(GRAMMARS[".py"], source, frozenset({"shop", "a", "other"}))
    assert tags["used"]["Shop"] == 3
    assert tags["words"] == ["a", "shop"]


def test_a_long_line_is_cut() -> None:
    [row] = defined(".py", f"def f({'a' * 1000}): ...\n")
    assert len(row[2]) == 160


def test_a_file_that_stands_for_its_folder_is_named_by_the_folder() -> None:
    assert name_words("shop/prices.test.ts") == ("prices", "shop")
    assert name_words("shop/__init__.py") == ("shop",)
    assert name_words("shop/index.js") == ("shop",)
    assert name_words("main.go") == ("main",)


def run_program(*paths: Path) -> tuple[int, list[dict[str, Any]]]:
    """Run the program on files; return its exit code and its rows."""
    listed = Path("list")
    listed.write_bytes(b"".join(os.fsencode(path.absolute()) + b"\0" for path in paths))
    program = [sys.executable, "-I", source_tags.__file__, os.pathsep.join(filter(None, sys.path))]
    done = subprocess.run([*program, str(listed), "0"], capture_output=True, check=False)
    return done.returncode, [json.loads(line) for line in done.stdout.splitlines()]


def test_the_program_says_why_it_leaves_out_a_file() -> None:
    os.mkfifo("pipe.py")
    Path("link.py").symlink_to("good.py")
    Path("binary.py").write_bytes(b"x = 1\0")
    Path("good.py").write_text("x = 1\n")
    with Path("large.py").open("wb") as file:
        file.truncate(MAX_BYTES + 1)
    names = ["pipe.py", "link.py", "binary.py", "large.py", "missing.py", "good.py"]
    code, rows = run_program(*map(Path, names))
    assert code == 0
    assert [row.get("problem") for row in rows] == [
        "not a regular file",
        "Too many levels of symbolic links",
        "binary",
        "too large",
        "No such file or directory",
        None,
    ]


@pytest.mark.slow
def test_the_program_ends_in_a_file_that_takes_its_parser_too_long() -> None:
    Path("good.py").write_text("x = 1\n")
    Path("bad.py").write_text("(" * 200_000)
    code, rows = run_program(Path("good.py"), Path("bad.py"), Path("good.py"))
    assert code == -signal.SIGALRM
    assert len(rows) == 1
