"""Test which commands require approval without a sandbox, against handwritten lists in `judged/`: potentially harmful
ones do, plain ones do not. Each line of a list is a family and a command, with escapes as in Python."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from swecli.tools.base import ToolContext
from swecli.tools.commands.rules import RUN, why_uncovered
from swecli.tools.guard import Guard

LISTS = Path(__file__).with_name("judged")


def read_list(name: str) -> list[tuple[str, str]]:
    """Return the (family, command) of each line."""
    lines = (LISTS / name).read_text(encoding="ascii").splitlines()
    return [
        (family, text.encode().decode("unicode_escape"))
        for family, text in (line.split("\t", 1) for line in lines)
    ]


SECRETS = (
    "secrets/id_rsa",
    "key.pem",
    ".env.local",
    ".ssh/config",
    ".aws/credentials",
    "prod.tfvars",
    "a",
    "b",
    "x",
)


def make_repository(top: Path, *more: str) -> Path:
    """Create a small repository with an untracked `.env`."""
    root = top / "project"
    for name in (
        "README.md",
        "src/app.py",
        "src/util.py",
        "names.txt",
        "data.json",
        "my file.txt",
        ".env",
        *more,
    ):
        file = root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("{}\n")
    git(root, "init", "-q", "-b", "main")
    git(root, "add", "README.md", "src")
    git(root, "-c", "user.name=a", "-c", "user.email=a@example.org", "commit", "-qm", "first")
    return root


@pytest.fixture(scope="module")
def plain_repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A typical repository."""
    return make_repository(tmp_path_factory.mktemp("plain"))


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository with secrets in it and links out of it."""
    top = tmp_path_factory.mktemp("judged")
    (top / "outside").mkdir()
    (top / "outside" / "passwd").write_text("secret\n")
    root = make_repository(top, *SECRETS)
    (root / "out").symlink_to(top / "outside")
    (root / "link_out").symlink_to(top / "outside" / "passwd")
    (root / "link_env").symlink_to(".env")
    return root


def git(root: Path, *words: str) -> None:
    subprocess.run(["git", *words], cwd=root, check=True, capture_output=True)


@pytest.mark.slow
def test_dangerous_commands_are_not_run_without_approval(workspace: Path) -> None:
    commands = read_list("dangerous.tsv")
    assert len(commands) >= 700
    assert [
        command
        for _, command in commands
        if not why_uncovered(command, Guard(workspace), os.environ)
    ] == []


@pytest.mark.slow
def test_the_plain_forms_run_without_approval(plain_repository: Path) -> None:
    asked = {
        command: why
        for _, command in read_list("read_only.tsv")
        if (why := why_uncovered(command, Guard(plain_repository), os.environ))
    }
    assert asked == {}


@pytest.mark.parametrize(
    ("command", "why"),
    [
        ("find . -delete", "find -delete may change files"),
        ("sort -uo out a", "sort -o may change files"),
        ("git -c core.pager=x log", "git -c may change files"),
        ("git push", "git push may change files"),
        ("frobnicate", "frobnicate may change files"),
        ("cat ../x", "../x is outside the workspace"),
        ("cat link_out", "link_out is a link out of the workspace"),
        ("cat link_env", ".env may contain secrets"),
        ("cat *", "key.pem may contain secrets"),
        ("cat < link_env", ".env may contain secrets"),
        ("grep * -v", "key.pem may contain secrets"),
        ("grep -c .e* -w", ".env may contain secrets"),
        ("for i in 1 2; do ls; done", "contains for i in 1 2; do ls; done"),
        ("ls; cd src", "cd may change files"),
        ("cd src; ls", "followed only at the start: `cd FOLDER && …`"),
        ("ls > a", "writes to a"),
        ("echo $(id)", "id may change files"),
        ("ls\nrm x", "rm may change files"),
        ("ls $x", "$x is only known to the shell"),
        ("ls " + "a" * 10_000, "has more than 10,000 characters"),
        (";".join(["ls"] * 51), "has more than 50 commands"),
    ],
)
def test_the_reason_names_what_may_do_more(workspace: Path, command: str, why: str) -> None:
    assert why in why_uncovered(command, Guard(workspace), os.environ)


@pytest.mark.parametrize("options", ["", "--stat", "--name-only --oneline"])
@pytest.mark.parametrize("name", ["id", "tag"])
def test_contents_that_git_shows_without_a_path_require_approval(
    plain_repository: Path, name: str, options: str
) -> None:
    content = subprocess.run(
        ["git", "hash-object", "-w", ".env"], cwd=plain_repository, check=True, capture_output=True
    )
    word = content.stdout.decode().strip()
    if name == "tag":
        git(plain_repository, "tag", "-f", "of-content", word)
        word = "of-content"
    command = f"git show {options} {word}"
    why = why_uncovered(command, Guard(plain_repository), os.environ)
    assert why == "shows files that are not known in advance"
    assert why_uncovered(f"git show {options} HEAD", Guard(plain_repository), os.environ) == ""


def test_every_reason_is_one_short_phrase(workspace: Path) -> None:
    commands = [command for _, command in read_list("dangerous.tsv")][::7]
    given = {
        why for command in commands if (why := why_uncovered(command, Guard(workspace), os.environ))
    }
    assert len(given) > 30
    odd = [w for w in given if len(w) > 110 or re.search(r"\w\.( |$)|^it ", w)]
    assert odd == []


def test_a_wildcard_that_could_expand_to_an_option_requires_approval(
    plain_repository: Path, tmp_path: Path
) -> None:
    assert "option" in why_uncovered("find *", Guard(plain_repository), os.environ)
    (tmp_path / "--files0-from=list").write_text("")
    assert "would be taken for an option" in why_uncovered("wc *", Guard(tmp_path), os.environ)


@pytest.mark.parametrize(
    "command",
    [
        'echo \'open("a.py", "w")\' | python3',
        "cat README.md | python3 -V | python",
        "cat src/app.py | node",
        "python3",
        "node -",
        "python3 -- --version",
    ],
)
def test_text_piped_into_an_interpreter_requires_approval(
    plain_repository: Path, command: str
) -> None:
    assert why_uncovered(command, Guard(plain_repository), os.environ)


@pytest.mark.parametrize(
    "program",
    [
        """1/1{print "touch PWNED"|"sh"}/1/;2/2{print}""",
        """1/1{print "x">>"../out/PWNED"}/1/;2/2{print}""",
        """{print $1 > "out"}""",
        """{print | "sh"}""",
        """NF=999999999 {print}""",
        """BEGIN {while (1) print}""",
        """{print system("id")}""",
        """{print "a\\"|"sh"}""",
    ],
)
def test_awk_that_does_more_than_print_fields_requires_approval(
    plain_repository: Path, program: str
) -> None:
    assert why_uncovered(f"awk '{program}' README.md", Guard(plain_repository), os.environ)


def test_a_word_that_some_program_takes_for_a_file_to_write_requires_approval(
    plain_repository: Path,
) -> None:
    for command in ("uniq -c names.txt out", "uniq name*"):
        assert "may write" in why_uncovered(command, Guard(plain_repository), os.environ)
    assert why_uncovered("uniq -c names.txt", Guard(plain_repository), os.environ) == ""


def test_a_program_in_the_workspace_is_not_mistaken_for_the_system_one(
    plain_repository: Path,
) -> None:
    folder = plain_repository / "src" / "bin"
    folder.mkdir()
    (folder / "ls").write_text("#!/bin/sh\ntouch made\n")
    (folder / "ls").chmod(0o755)
    path = os.environ["PATH"]
    assert (
        why_uncovered("ls", Guard(plain_repository), {"PATH": f"{folder}:{path}"})
        == "ls is a program of the workspace"
    )
    assert "relative" in why_uncovered("ls", Guard(plain_repository), {"PATH": f"bin:{path}"})
    assert why_uncovered("ls", Guard(plain_repository), {"PATH": f"{path}:{folder}"}) == ""


PIECES = st.sampled_from(
    [
        "ls",
        "cat",
        "git",
        "find",
        "-delete",
        "log",
        "..",
        "--",
        "-o",
        "sed",
        "2>&1",
        *"ap/~*'\"\\$(){};&|><#![]=é \n\0\ud800\u202e",
    ]
)


@settings(deadline=None, max_examples=300)
@given(command=st.lists(PIECES, max_size=25).map("".join) | st.text(max_size=80))
def test_any_text_can_be_checked(plain_repository: Path, command: str) -> None:
    why_uncovered(command, Guard(plain_repository), os.environ, ("ls *", "git *"))
    RUN.suggest(command, ToolContext(plain_repository))


# None of these leaves the folder, in case the check fails.
HARMLESS = st.sampled_from([*"ab1 *'\"\\$(){},;&|><#=-", "-o", "-n", "tee"])


@settings(deadline=None, max_examples=200)
@given(tail=st.lists(HARMLESS, min_size=1, max_size=8).map("".join))
@pytest.mark.slow
def test_commands_that_run_without_approval_write_no_file(
    tmp_path_factory: pytest.TempPathFactory, tail: str
) -> None:
    """Run every accepted command in a real shell: the folder must not change."""
    root = tmp_path_factory.mktemp("real")
    (root / "a").write_text("x\n")
    for command in (f"cat {tail}", f"sort a {tail}", f"find {tail}"):
        if not why_uncovered(command, Guard(root), os.environ):
            subprocess.run(
                ["bash", "-c", command],
                cwd=root,
                capture_output=True,
                stdin=subprocess.DEVNULL,
                check=False,
            )
    assert sorted(path.name for path in root.iterdir()) == ["a"]
    assert (root / "a").read_text() == "x\n"
