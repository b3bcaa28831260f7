"""The grammar: many ways to say a thing, one intent."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from swecli.llm.demo.intents import (
    Append,
    DeleteLine,
    Explain,
    FileRange,
    FindFiles,
    Intent,
    ListFiles,
    More,
    Overview,
    Read,
    Recall,
    Remember,
    Replace,
    Review,
    Run,
    RunAgain,
    RunTests,
    Search,
    Talk,
    Todo,
    Unknown,
    Write,
    Wrong,
)
from swecli.llm.demo.parse import parse


def read(*paths: str) -> Read:
    return Read(tuple(FileRange(path) for path in paths))


LOOKING = [
    ("list files", ListFiles()),
    ("list the files", ListFiles()),
    ("List all files.", ListFiles(depth=4)),
    ("ls", ListFiles()),
    ("ls src", ListFiles("src")),
    ("list files in src", ListFiles("src")),
    ("list the files in src/app", ListFiles("src/app")),
    ("list files in .", ListFiles()),
    ("please show me the files in the tests folder", ListFiles("tests")),
    ("what files are here?", ListFiles()),
    ("what files are in swecli/models?", ListFiles("swecli/models")),
    ("which files are there", ListFiles()),
    ("could you list the python files in src?", ListFiles("src", "*.py")),
    ("list *.md files", ListFiles(".", "*.md")),
    ("list *.py in swecli", ListFiles("swecli", "*.py")),
    ("show me all files ending in .toml", ListFiles(".", "*.toml")),
    ("what's in src/?", ListFiles("src/")),
    ("show the directory tree", ListFiles(depth=4)),
    ("find files named config", FindFiles("config")),
    ("find files called settings.py", FindFiles("settings.py")),
    ("find the file conftest.py", FindFiles("conftest.py")),
    ("where is settings.py?", FindFiles("settings.py")),
    ("find all python files", ListFiles(".", "*.py")),
    ("find *.toml", ListFiles(".", "*.toml")),
    ('search for "foo"', Search("foo", "“foo”")),
    ("search foo", Search("foo", "“foo”")),
    ("search for foo in src", Search("foo", "“foo”", "src")),
    ("search for `def main` in *.py", Search("def main", "“def main”", ".", "*.py")),
    ("grep foo", Search("foo", "“foo”")),
    ("grep for TODO in python files", Search("TODO", "“TODO”", ".", "*.py")),
    ('where is "to_api_messages"', Search("to_api_messages", "“to_api_messages”")),
    ("search for 'a.b(c)'", Search(r"a\.b\(c\)", "“a.b(c)”")),
    ("search for todo ignoring case", Search("todo", "“todo”", ignore_case=True)),
    ("find all occurrences of parse_line", Search("parse_line", "“parse_line”")),
    ("find TODO", Search("TODO", "“TODO”")),
    ("look for errors in app.log", None),
    ("who calls parse", Search(r"\bparse\(", "“parse”")),
    ("where is Session used?", Search(r"\bSession\b", "“Session”")),
    ("read README.md", read("README.md")),
    ("show me src/app.py", read("src/app.py")),
    ("open `src/app.py`", read("src/app.py")),
    ("cat pyproject.toml", read("pyproject.toml")),
    ("show the file a.py", read("a.py")),
    ("read the Makefile", read("Makefile")),
    ("read @src/app.py", read("src/app.py")),
    ("read a.py and b.py", read("a.py", "b.py")),
    ("read a.py, b.py and c.py", read("a.py", "b.py", "c.py")),
    ("read it", read("")),
    ("read lines 10-20 of a.py", Read((FileRange("a.py", 10, 20),))),
    ("show a.py lines 3 to 7", Read((FileRange("a.py", 3, 7),))),
    ("show me line 5 of a.py", Read((FileRange("a.py", 5, 5),))),
    ("show the first 20 lines of a.py", Read((FileRange("a.py", 1, 20),))),
    ("open a.py:4-9", Read((FileRange("a.py", 4, 9),))),
    ("explain src/app.py", Explain(("src/app.py",))),
    ("what does a.py do?", Explain(("a.py",))),
    ("what is in README.md", Explain(("README.md",))),
    ("explain what a.py does", Explain(("a.py",))),
    ("summarise docs/guide.md please", Explain(("docs/guide.md",))),
    ("outline a.py", Explain(("a.py",))),
    ("list the functions in a.py", Explain(("a.py",))),
    ("tell me about a.py", Explain(("a.py",))),
    ("explain it", Explain(("",))),
    ("what does it do?", Explain(("",))),
    ("explain this project", Overview()),
    ("what is this project about?", Overview()),
    ("what does this repo do", Overview()),
    ("review this", Review(("",))),
    ("review it please", Review(("",))),
    ("review", Review()),
    ("review the code", Review()),
    ("review src/app.py", Review(("src/app.py",))),
    ("please do a code review of a.py", Review(("a.py",))),
    ("what is wrong with a.py?", Review(("a.py",))),
    ("check a.py for problems", Review(("a.py",))),
    ("find code smells in a.py", Review(("a.py",))),
    ("show more", More()),
    ("read on", More()),
]

CHANGING = [
    ('create file a.txt with "hello"', Write("a.txt", "hello\n")),
    ("create a file called notes/a.txt with the content 'hello world'", Write("notes/a.txt", "hello world\n")),
    ("create a.txt containing hello world", Write("a.txt", "hello world\n")),
    ("create a new file a.txt", Write("a.txt", "")),
    ('make a file hello.py that prints "hi"', Write("hello.py", 'print("hi")\n')),
    ("write hello.py with:\n```python\nprint(1)\n```", Write("hello.py", "print(1)\n", overwrite=True)),
    ("create a.md with\n# Title\n\ntext", Write("a.md", "# Title\n\ntext\n")),
    ('write "hello" to a.txt', Write("a.txt", "hello\n", overwrite=True)),
    ('change "a" to "b" in x.py', Replace("x.py", "a", "b")),
    ("replace `foo` with `bar` in src/x.py", Replace("src/x.py", "foo", "bar")),
    ("replace foo by bar in x.py", Replace("x.py", "foo", "bar")),
    ("in x.py, change 'foo' to 'bar'", Replace("x.py", "foo", "bar")),
    ("in the file x.py replace foo with bar", Replace("x.py", "foo", "bar")),
    ('replace all "a" with "b" in x.py', Replace("x.py", "a", "b", every=True)),
    ('change "a" to "b" everywhere in x.py', Replace("x.py", "a", "b", every=True)),
    ('change "a" to "b"', Replace("", "a", "b")),
    ("change the word cat to dog in pets.txt", Replace("pets.txt", "cat", "dog")),
    ("rename old_name to new_name in x.py", Replace("x.py", "old_name", "new_name", every=True, whole_word=True)),
    ("rename the function f to g in x.py", Replace("x.py", "f", "g", every=True, whole_word=True)),
    ("rename a.py to b.py", Run("mv -n -- a.py b.py")),
    ('append "last line" to a.txt', Append("a.txt", "last line")),
    ("add the line x = 1 to a.py", Append("a.py", "x = 1")),
    ('add "x" at the end of a.py', Append("a.py", "x")),
    ("append to a.txt: one more", Append("a.txt", "one more")),
    ("delete line 3 from a.txt", DeleteLine("a.txt", 3)),
    ('remove the line "x = 1" from a.py', DeleteLine("a.py", 0, "x = 1")),
    ('delete "debug" from a.py', Replace("a.py", "debug", "")),
    ("delete the file a.txt", Run("rm -- a.txt")),
    ("create a folder src/new", Run("mkdir -p -- src/new")),
]

RUNNING = [
    ("run `ls -la`", Run("ls -la")),
    ("run pytest -q", Run("pytest -q")),
    ("run the command git status", Run("git status")),
    ('run grep "foo bar" src', Run('grep "foo bar" src')),
    ('execute "make build"', Run("make build")),
    ("can you run `git log --oneline` please?", Run("git log --oneline")),
    ("git status", Run("git status")),
    ("pytest -q tests/a", Run("pytest -q tests/a")),
    ("python3 -c 'print(1)'", Run("python3 -c 'print(1)'")),
    ("`date`", Run("date")),
    ("$ uname -a", Run("uname -a")),
    ("run the tests", RunTests()),
    ("run tests", RunTests()),
    ("please run all the tests again", RunTests()),
    ("run the test suite", RunTests()),
    ("run the unit tests in tests/store", RunTests("tests/store")),
    ("test it", RunTests()),
    ("do the tests pass?", RunTests()),
    ("are the tests green?", RunTests()),
    ("run it again", RunAgain()),
    ("run the last command again", RunAgain()),
]

TALKING = [
    ("what did we do before?", Recall("all")),
    ("what did we do", Recall("all")),
    ("what have we done so far", Recall("all")),
    ("what did I ask?", Recall("asked")),
    ("what was my last question?", Recall("last")),
    ("which files did we change?", Recall("files")),
    ("what commands did you run", Recall("commands")),
    ("what did you learn?", Recall("learned")),
    ("remember that tests run with `pytest -q`", Remember("tests run with `pytest -q`")),
    ("please remember: the deploy host is falcon", Remember("the deploy host is falcon")),
    ("always run the linter before committing", Remember("always run the linter before committing")),
    ("never touch generated/", Remember("never touch generated/")),
    ("from now on, use tabs", Remember("use tabs")),
    ("no, that was wrong", Wrong()),
    ("No, that's wrong.", Wrong()),
    ("that was wrong", Wrong()),
    ("wrong", Wrong()),
    ("no", Wrong()),
    ("no, that was wrong: use `pytest -x`", Wrong("use `pytest -x`")),
    ("no, read b.py instead", Wrong("read b.py")),
    ("that is not what I asked", Wrong()),
    ("todo: write docs; run tests", Todo(("write docs", "run tests"))),
    ("make a todo list: a, b and c", Todo(("a", "b", "c"))),
    ("hello", Talk("hello")),
    ("Hi there!", Talk("hello")),
    ("thanks", Talk("thanks")),
    ("thank you very much!", Talk("thanks")),
    ("great, thanks", Talk("thanks")),
    ("help", Talk("help")),
    ("what can you do?", Talk("help")),
    ("who are you?", Talk("who")),
    ("which model are you", Talk("who")),
    ("how do I use a real model?", Talk("model")),
    ("how can I set my OpenAI key", Talk("model")),
]


@pytest.mark.parametrize(("text", "intent"), LOOKING + CHANGING + RUNNING + TALKING)
def test_a_phrasing_gives_its_intent(text: str, intent: Intent | None) -> None:
    if intent is not None:
        assert parse(text) == (intent,)


SEQUENCES = [
    ("list files and then run the tests", (ListFiles(), RunTests())),
    ("list files and read a.py", (ListFiles(), read("a.py"))),
    ("read a.py, then explain b.py", (read("a.py"), Explain(("b.py",)))),
    ("read a.py and explain it", (read("a.py"), Explain(("",)))),
    ('change "a" to "b" in x.py and run the tests', (Replace("x.py", "a", "b"), RunTests())),
    ('create a.txt with "hi" and then read it', (Write("a.txt", "hi\n"), read(""))),
    ("run `a; b` and then list files", (Run("a; b"), ListFiles())),
    ("hello, list the files", (ListFiles(),)),
]


@pytest.mark.parametrize(("text", "intents"), SEQUENCES)
def test_two_things_at_once_give_both_in_order(text: str, intents: tuple[Intent, ...]) -> None:
    assert parse(text) == intents


@pytest.mark.parametrize(
    "text",
    [
        "",
        "   ",
        "implement OAuth",
        "why is the sky blue?",
        "write me a poem",
        "use the loop",
        "the build is slow",
        "42",
    ],
)
def test_what_no_rule_fits_is_said_to_be_unknown(text: str) -> None:
    assert parse(text) == (Unknown(text.strip()),)


@given(st.text(max_size=200))
def test_every_text_has_at_least_one_intent(text: str) -> None:
    assert parse(text)
