"""Test @file mentions in a query."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from swecli.context.mentions import _MAX_FILE, _MAX_TOTAL, expand_mentions
from swecli.file_names import write_mention


def expand(query: str, root: Path) -> tuple[str, list[str]]:
    expansion = expand_mentions(query, root)
    return expansion.text, expansion.notes


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    (folder / "src").mkdir(parents=True)
    (folder / "src" / "app.py").write_text("".join(f"line {n}\n" for n in range(1, 31)))
    (folder / "two words.txt").write_text("spaced\n")
    (folder / "README.md").write_text("# Title\n```sh\nrun\n```\n")
    (folder / "data.bin").write_bytes(b"\x7fELF\x00\x00")
    (tmp_path / "secret.txt").write_text("not yours")
    return folder


def test_a_mentioned_file_is_quoted_after_the_query(root: Path) -> None:
    text, notes = expand("explain @src/app.py please", root)
    assert text.startswith("explain @src/app.py please\n\n")
    assert "File src/app.py:\n```\nline 1\n" in text
    assert text.endswith("line 30\n```")
    assert notes == []


def test_a_file_mentioned_twice_is_listed_and_quoted_once(root: Path) -> None:
    expansion = expand_mentions("@src/app.py @src/ @README.md @src/app.py", root)
    assert expansion.files == [(root / "src/app.py").resolve(), (root / "README.md").resolve()]
    assert expansion.text.count("File src/app.py") == 1


@pytest.mark.parametrize(
    ("written", "title", "body"),
    [
        ("@src/app.py:2-3", "File src/app.py, lines 2-3:", "```\nline 2\nline 3\n```"),
        ("@src/app.py:5", "File src/app.py, lines 5-5:", "```\nline 5\n```"),
        ("@src/app.py:29-99", "File src/app.py, lines 29-30:", "```\nline 29\nline 30\n```"),
        ('@"two words.txt"', "File two words.txt:", "spaced"),
        ('@"two words.txt":1-1', "File two words.txt, lines 1-1:", "spaced"),
        ("(@src/app.py)", "File src/app.py:", "line 7"),
        ("look at @src/app.py.", "File src/app.py:", "line 7"),
        ("why @src/app.py:3, then?", "File src/app.py, lines 3-3:", "line 3"),
        ("@./src/../README.md", "File ./src/../README.md:", "# Title"),
        ("@src", "Directory src:", "app.py"),
        ("@src/", "Directory src/:", "app.py"),
        ("@.", "Directory .:", "src/"),
    ],
)
def test_mentions_accept_line_ranges_quotes_punctuation_and_directories(
    root: Path, written: str, title: str, body: str
) -> None:
    text, notes = expand(written, root)
    assert text.startswith(f"{written}\n\n")
    assert title in text
    assert body in text
    assert notes == []


NAMES = [
    "app/[id]/page.tsx",
    "app/(auth)/login/form.tsx",
    "dir with space/my file.txt",
    "it's.txt",
    "a,b.txt",
    "{x};y.txt",
    "tab\there.txt",
    "caf\udce9.txt",
    "9.41\u202fAM.txt",
    'say "hi".txt',
    "back\\slash.txt",
    "x:12",
    "re\u0301sume\u0301.txt",  # as macOS writes accents
]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("form", ["see @{} now", "(@{})", "@{}, please", "why @{}?"])
def test_a_completed_mention_of_any_name_is_read(tmp_path: Path, name: str, form: str) -> None:
    file = tmp_path / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("the content")
    expansion = expand_mentions(form.format(write_mention(name)), tmp_path)
    assert expansion.files == [file.resolve()]
    assert "the content" in expansion.text
    assert expansion.notes == []


@pytest.mark.parametrize(
    "name", ["app/[id]/page.tsx", "dir with space/my file.txt", "it's.txt", "cafe\u0301.txt"]
)
def test_a_name_without_quotes_is_read_as_far_as_there_is_such_a_file(
    tmp_path: Path, name: str
) -> None:
    for path in (name, "app/a", "dir/b", "it"):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text("the content")
    expansion = expand_mentions(f"explain @{name} now", tmp_path)
    assert expansion.files == [(tmp_path / name).resolve()]


@pytest.mark.parametrize(
    "written", ["@src/[id]/page.tsx", "@src/(auth)/x", '@"src/"gone.py', "@src/gone.py:3"]
)
def test_the_folder_of_a_missing_file_is_not_sent_in_its_place(root: Path, written: str) -> None:
    text, (note,) = expand(f"see {written} now", root)
    assert text == f"see {written} now"
    assert "no such file" in note


def test_the_name_of_a_file_cannot_end_its_line(root: Path) -> None:
    (root / "a\nb").write_text("body")
    assert 'File "a\\nb":\n```\nbody' in expand('@"a\\nb"', root)[0]


def test_a_name_behind_a_quoted_folder_is_read_with_it(root: Path) -> None:
    (root / "my dir").mkdir()
    (root / "my dir" / "a.txt").write_text("body")
    assert "File my dir/a.txt:" in expand('@"my dir/"a.txt, please', root)[0]


def test_a_fence_in_the_file_cannot_end_the_quote(root: Path) -> None:
    assert expand("@README.md", root)[0].endswith(
        "File README.md:\n````\n# Title\n```sh\nrun\n```\n````"
    )


@pytest.mark.parametrize(
    "query",
    [
        "write to me@example.org or a.b@src/app.py",
        "what does @property do",
        "@app.get('/x') is a decorator",
        "@dataclass(frozen=True)",
        "plain words, nothing else",
        "@",
        "@ src",
        "a lone @, and an @!",
        "",
    ],
)
def test_addresses_decorators_and_lone_at_signs_stay_text_without_a_note(
    root: Path, query: str
) -> None:
    assert expand(query, root) == (query, [])


def test_a_decorator_name_is_a_mention_if_a_file_has_that_name(root: Path) -> None:
    (root / "property").write_text("deeds")
    assert "deeds" in expand("what does @property do", root)[0]


@pytest.mark.parametrize(
    "query", ["@src/missing.py", '@"no such"', "@gone.txt?", "@src/app.py/below"]
)
def test_a_missing_path_stays_text_with_a_note(root: Path, query: str) -> None:
    text, (note,) = expand(query, root)
    assert text == query
    assert "no such file" in note


@pytest.mark.parametrize("name", ["../secret.txt", "link", "link_to_folder/secret.txt"])
def test_files_outside_the_root_are_not_sent(root: Path, name: str) -> None:
    (root / "link").symlink_to(root.parent / "secret.txt")
    (root / "link_to_folder").symlink_to(root.parent)
    text, (note,) = expand(f"@{name} @{root.parent / 'secret.txt'}".split(" ", maxsplit=1)[0], root)
    assert "not yours" not in text
    assert "outside" in note


def test_a_file_inside_the_root_can_be_mentioned_by_its_absolute_path(root: Path) -> None:
    assert "line 7" in expand(f"@{root}/src/app.py", root)[0]


def test_binary_and_irregular_files_are_not_sent(root: Path) -> None:
    os.mkfifo(root / "pipe.io")
    text, notes = expand("@data.bin @pipe.io", root)
    assert "\n" not in text
    assert ["binary" in notes[0], "regular" in notes[1]] == [True, True]


def test_a_line_range_after_the_end_of_the_file_is_reported(root: Path) -> None:
    text, (note,) = expand("@src/app.py:40-50", root)
    assert text == "@src/app.py:40-50"
    assert "the file has 30" in note


def test_a_long_file_is_cut_at_a_line_and_reported(root: Path) -> None:
    (root / "long.txt").write_text("0123456789abcde\n" * 10_000)
    text, (note,) = expand("@long.txt", root)
    assert len(text) <= _MAX_FILE + 200
    assert "cut before line 2501" in text
    assert text.endswith("0123456789abcde\n```")
    assert "160,000 characters" in note


def test_the_total_size_of_mentioned_files_is_limited(root: Path) -> None:
    names = [f"big{n}.txt" for n in range(6)]
    for name in names:
        (root / name).write_text("x" * 35_000)
    text, notes = expand(" ".join(f"@{name}" for name in names), root)
    assert len(text) <= _MAX_TOTAL + 1000
    assert len(notes) == 3


def test_a_large_directory_lists_its_first_names(root: Path) -> None:
    (root / "many").mkdir()
    for n in range(250):
        (root / "many" / f"f{n:03}").touch()
    text, _ = expand("@many", root)
    assert "f199\n… and 50 more" in text
    (root / "none").mkdir()
    assert "(empty)" in expand("@none", root)[0]


def test_an_empty_file_is_an_empty_block(root: Path) -> None:
    (root / "empty").touch()
    assert expand("@empty", root)[0].endswith("File empty:\n```\n\n```")


queries = st.one_of(
    st.text(st.characters(codec=None), max_size=60),
    st.lists(
        st.sampled_from(
            [
                "@",
                '"',
                "src",
                "/",
                "app.py",
                ":",
                "1-2",
                "..",
                " ",
                "\x00",
                "\ud800",
                "~",
                "a" * 300,
                "(",
            ]
        ),
        max_size=12,
    ).map("".join),
)


@given(queries)
@settings(max_examples=150, deadline=None)
@pytest.mark.slow
def test_any_query_can_be_expanded(query: str) -> None:
    text, _ = expand(query, Path(__file__).parent)
    assert text.startswith(query)


def test_a_mention_of_cyclic_links_stays_text(root: Path) -> None:
    (root / "a.lnk").symlink_to(root / "b.lnk")
    (root / "b.lnk").symlink_to(root / "a.lnk")
    assert expand("@a.lnk", root)[0] == "@a.lnk"
    assert expand("@x/y", root / "no_such_root")[0] == "@x/y"
