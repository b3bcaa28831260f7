"""Test which commands require approval, against handwritten lists in `judged/`: potentially harmful ones do,
read-only ones do not. Each line of a list is a family and a command, with escapes as in Python."""

from __future__ import annotations

import os
import re
import subprocess
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from swecli.tools.base import ToolContext
from swecli.tools.commands.rules import RUN, objection

LISTS = Path(__file__).with_name("judged")
GOALS = {"simple": 1.0, "git": 0.95, "quoted": 0.8, "compound": 0.85, "globs": 0.6}


def read_list(name: str) -> list[tuple[str, str]]:
    """Return the (family, command) of each line."""
    lines = (LISTS / name).read_text(encoding="ascii").splitlines()
    return [
        (family, text.encode().decode("unicode_escape"))
        for family, text in (line.split("\t", 1) for line in lines)
    ]


RULES = (LISTS / "rules.txt").read_text(encoding="utf-8").splitlines()


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
        command for _, command in commands if not objection(command, workspace, os.environ)
    ] == []


def test_allow_rules_for_other_commands_do_not_cover_dangerous_ones(workspace: Path) -> None:
    assert len(RULES) == 26
    unasked = [
        c for _, c in read_list("dangerous.tsv") if not objection(c, workspace, os.environ, RULES)
    ]
    assert unasked == []


@pytest.mark.slow
def test_most_read_only_commands_run_without_approval(plain_repository: Path) -> None:
    commands = read_list("read_only.tsv")
    assert len(commands) >= 150
    total = Counter(family for family, _ in commands)
    asked = {c: why for _, c in commands if (why := objection(c, plain_repository, os.environ))}
    share = {
        family: 1 - sum(f == family and c in asked for f, c in commands) / total[family]
        for family in total
    }
    assert {family: value for family, value in share.items() if value < GOALS[family]} == {}, asked


@pytest.mark.parametrize(
    ("command", "why"),
    [
        ("find . -delete", "find -delete deletes files"),
        ("rg --pre=sh x", "rg --pre runs a program on each file"),
        ("sort -uo out a", "sort -o writes a file"),
        ("git -c core.pager=x log", "git -c sets configuration, which may name programs"),
        ("git push", "git push does more than read"),
        ("frobnicate", "frobnicate may do more than read"),
        ("cat ../x", "../x is outside the workspace"),
        ("cat link_out", "link_out is a link out of the workspace"),
        ("cat link_env", ".env may contain secrets"),
        ("cat *", "key.pem may contain secrets"),
        ("grep -rn x .", "reads ., where "),
        ("cat < a", "reads its input from a file"),
        ("for i in 1 2; do ls; done", "contains a loop, which swecli does not analyse"),
        ("python3 -m pytest -q", "python3 runs the program that it is given"),
        ("ls -Z", "ls -Z may do more than read"),
        ("rm -r src", "rm deletes files"),
        ("sleep 25", "sleep waits longer than 5 seconds"),
        ("sed 's/a/b/w out' a", "sed runs a script that may write files or start programs"),
        ("ls; cd src", "swecli follows only at the start, as in `cd FOLDER && …`"),
        ("ls > a", "writes its output to a file"),
        ("echo $(id)", "runs a command inside another one"),
        ("ls\nrm x", "has more than one line"),
        ("ls " + "a" * 10_000, "has more than 10,000 characters"),
        (";".join(["ls"] * 51), "has more than 50 commands"),
    ],
)
def test_the_objection_to_a_command_names_the_reason(
    workspace: Path, command: str, why: str
) -> None:
    assert why in objection(command, workspace, os.environ)


def test_exit_with_a_code_runs_without_approval(plain_repository: Path) -> None:
    assert objection("sleep 3; echo built; exit 3", plain_repository, os.environ) == ""


def test_every_objection_is_one_short_phrase(workspace: Path) -> None:
    commands = [command for _, command in read_list("dangerous.tsv")][::7]
    given = {why for command in commands if (why := objection(command, workspace, os.environ))}
    assert len(given) > 50
    odd = [w for w in given if len(w) > 110 or re.search(r"\w\.( |$)|^it ", w)]
    assert odd == []


def test_a_wildcard_that_could_expand_to_an_option_requires_approval(
    plain_repository: Path, tmp_path: Path
) -> None:
    assert "option" in objection("sort *.txt", plain_repository, os.environ)
    (tmp_path / "--files0-from=list").write_text("")
    assert "would be taken for an option" in objection("wc *", tmp_path, os.environ)


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
    assert objection(command, plain_repository, os.environ)


def test_a_rule_for_an_interpreter_does_not_cover_a_program_piped_into_it(
    plain_repository: Path,
) -> None:
    for command in ("cat src/app.py | python3", "cat src/app.py | python3 -u -", "echo 1 | node"):
        why = objection(command, plain_repository, os.environ, ["python3 *", "node *", "cat *"])
        assert "runs what is piped into it" in why
    rules = ["python3 *"]
    assert objection("cat data.json | python3 src/app.py", plain_repository, {}, rules) == ""


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
    assert objection(f"awk '{program}' README.md", plain_repository, os.environ)


def test_awk_that_prints_fields_runs_without_approval(plain_repository: Path) -> None:
    for program in ("{print}", "/def / {print $1, $NF}", '$1 == "a b" {print NR ": " $0}'):
        assert objection(f"awk '{program}' names.txt", plain_repository, os.environ) == ""


def test_a_printf_that_sets_a_variable_requires_approval(plain_repository: Path) -> None:
    for words in ("%n PATH", "xx%n HOME", "'%5n' HOME", "'%s%n' a HOME", "'%*d' 1 2"):
        assert objection(f"printf {words}; ls", plain_repository, os.environ)
    assert objection("printf '%s %-5.2f%%\\n' a 1", plain_repository, os.environ) == ""


def test_a_word_that_some_program_takes_for_a_file_to_write_requires_approval(
    plain_repository: Path,
) -> None:
    for command in ("xxd README.md -s", "uniq README.md -c", "uniq -c names.txt out"):
        assert "may write" in objection(command, plain_repository, os.environ)
    assert objection("uniq -c names.txt", plain_repository, os.environ) == ""


def test_an_option_behind_an_operand_that_is_also_a_file_requires_approval(root: Path) -> None:
    for name in ("a", "-n", "@options"):
        (root / name).touch()
    assert "an option or a file" in objection("cat a -n", root, os.environ)
    assert objection("cat a -b", root, os.environ) == ""
    assert objection("strings @options", root, os.environ)
    assert objection("strings *", root, os.environ)


def test_a_filter_that_does_not_end_requires_approval(plain_repository: Path) -> None:
    for words in ("-n '[range(1e9)]|length'", "'repeat(.)'", "'def f: f; f'", "-n input", "'$ENV'"):
        assert objection(f"jq {words}", plain_repository, os.environ)
    for words in ("'.a[0] | keys'", "-r '.[] | {a: .b, \"c\": (.d | length)}'"):
        assert objection(f"jq {words} data.json", plain_repository, os.environ) == ""
    assert objection("tail +1f README.md", plain_repository, os.environ)


def test_a_program_in_the_workspace_is_not_mistaken_for_the_system_one(
    plain_repository: Path,
) -> None:
    folder = plain_repository / "src" / "bin"
    folder.mkdir()
    (folder / "ls").write_text("#!/bin/sh\ntouch made\n")
    (folder / "ls").chmod(0o755)
    path = os.environ["PATH"]
    assert (
        objection("ls", plain_repository, {"PATH": f"{folder}:{path}"})
        == "ls is a program of the workspace"
    )
    assert "relative" in objection("ls", plain_repository, {"PATH": f"bin:{path}"})
    assert objection("ls", plain_repository, {"PATH": f"{path}:{folder}"}) == ""


@pytest.mark.slow
def test_a_recursive_read_of_too_many_files_requires_approval(tmp_path: Path) -> None:
    for folder in range(21):
        (tmp_path / str(folder)).mkdir()
        for name in range(1000):
            (tmp_path / str(folder) / str(name)).touch()
    assert "too many files" in objection("grep -r x .", tmp_path, os.environ)
    assert objection("grep -r x 1", tmp_path, os.environ) == ""


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
    objection(command, plain_repository, os.environ, ("ls *", "git *"))
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
        if not objection(command, root, os.environ):
            subprocess.run(
                ["bash", "-c", command],
                cwd=root,
                capture_output=True,
                stdin=subprocess.DEVNULL,
                check=False,
            )
    assert sorted(path.name for path in root.iterdir()) == ["a"]
    assert (root / "a").read_text() == "x\n"
