"""Test matching shell commands against permission rules."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from swecli.tools.base import ToolContext
from swecli.tools.commands.rules import RUN, objection


def is_covered(root: Path, command: str, *patterns: str) -> bool:
    """Return True if the patterns allow the command."""
    return not objection(command, root, os.environ, patterns)


@pytest.mark.parametrize(
    "command",
    ["pytest", "pytest -q", "pytest  -q 'a b'", "pytest -q 2>&1 | tail -5", "ls && pytest"],
)
def test_a_rule_covers_its_command_combined_with_read_only_ones(root: Path, command: str) -> None:
    assert not is_covered(root, command)
    assert is_covered(root, command, "pytest*")


@pytest.mark.parametrize(
    "tail",
    [
        "; rm x", " && rm x", " || rm x", " | sh", " & rm x", " $(rm x)", " `rm x`", " > x", " < x", "\nrm x",
        "\rrm x",
        " ${x@P}", " <(rm x)", " \u202e", "\xa0x", " $x", " {a,b}", " <<< x", " # x", " ~", " &", " 'x", " $'a'",
    ],
)  # fmt: skip
def test_a_rule_does_not_cover_a_command_with_shell_syntax_after_it(root: Path, tail: str) -> None:
    assert not is_covered(root, f"pytest{tail}", "pytest*", "pytest *", "*")


def test_several_rules_may_cover_a_command_together(root: Path) -> None:
    assert is_covered(root, "make lint && pytest -q", "make *", "pytest*")
    assert not is_covered(root, "make lint && pytest -q", "make *")


@pytest.mark.parametrize(
    ("pattern", "command"),
    [
        ("git commit *", "git commit -m 'a b'"), ("git commit*", "git commit -am x"),
        ("git add *", "git add src a.py"),
        ("git branch -D *", "git branch -D old"), ("git checkout *", "git checkout main"),
        ("git push*", "git push -u origin x"),
        ("rm -rf *", "rm -rf build"), ("sed -i *", "sed -i s/a/b/ a.py"), ("mkdir *", "mkdir -p a/b"),
        ("rm *", "rm a"),
        ("python -m pytest*", "python -m pytest -q -x"), ("python tool.py *", "python tool.py -c x"),
        ("make *", "make -j4"),
        ("npm run build*", "npm run build -- --watch"), ("git bisect *", "git bisect good"),
        ("find . -delete", "find . -delete"),
        ("curl *", "curl -s https://example.org"), ("./x *", "./x --all"), ("git *", "git log"),
    ],
)  # fmt: skip
def test_a_rule_covers_the_subcommand_or_option_that_it_names(
    root: Path, pattern: str, command: str
) -> None:
    assert is_covered(root, command, pattern)


@pytest.mark.parametrize(
    ("pattern", "command"),
    [
        ("find *", "find . -delete"), ("find *", "/usr/bin/find . -exec rm {} +"),
        ("/usr/bin/find *", "/usr/bin/find . -delete"),
        ("rg *", "rg --pre x y"), ("sort *", "sort -o a b"), ("sed *", "sed -i s/a/b/ a"),
        ("sed -n *", "sed -n 'w out' a"),
        ("cat *", "cat /etc/passwd"), ("cat *", "cat .env"), ("git *", "git push"), ("git *", "git commit -m x"),
        ("git diff*", "git difftool"), ("git diff*", "git diff --output=x"), ("git branch *", "git branch -D x"),
        ("git checkout *", "git checkout ."), ("git checkout *", "git checkout -- a"),
        ("git push*", "git push --force"),
        ("git push *", "git push origin +main"), ("git reset *", "git reset --hard"),
        ("git stash*", "git stash drop"),
        ("rm *", "rm -rf a"), ("rm -rf *", "rm -rf /"), ("rm -rf *", "rm -rf ."), ("rm *", "rm ../a"),
        ("mv *", "mv a .git/x"),
        ("mkdir *", "mkdir /x"), ("python *", "python -c x"), ("python -u *", "python -u -c x"),
        ("python *", "python /x.py"),
        ("sudo *", "sudo ls"), ("env *", "env ls"), ("xargs *", "xargs rm"), ("bash *", "bash x.sh"),
        ("sh -c *", "sh -c x"),
        ("timeout *", "timeout 5 rm x"), ("tar *", "tar tf a --to-command=x"), ("less *", "less a"),
        ("tee *", "tee a"),
        ("awk *", "awk '{system($1)}' a"), ("curl *", "curl -o a https://x"), ("curl *", "curl file:///etc/passwd"),
        ("*", "rm a"), ("*", "git push"), ("r*", "rm a"), ("git status*", "git -C / status")    ],
)  # fmt: skip
def test_a_general_rule_does_not_cover_dangerous_options_and_paths(
    root: Path, pattern: str, command: str
) -> None:
    (root / "a").write_text("")
    assert not is_covered(root, command, pattern)


def test_a_rule_for_an_exact_command_covers_any_command(root: Path) -> None:
    for command in ("a | b > c", "echo $(date)", "ls *.py && x [1]", "rm -rf /"):
        assert is_covered(root, command, command) or "*" in command
        assert is_covered(root, command, RUN.escape(command))


@pytest.mark.parametrize(
    ("command", "pattern"),
    [
        ("pytest -q tests", "pytest *"), ("cd src && pytest -q 2>&1 | tail", "pytest *"), ("git add -A", "git add *"),
        ("git commit -m x", "git commit *"), ("npm run build -- -x", "npm run build *"),
        ("cargo test --all", "cargo test *"),
        (".venv/bin/python -m pytest -q", ".venv/bin/python -m pytest *"), ("make test", "make test *"),
        ("uv run pytest", "uv run pytest *"),
        ("go test ./...", "go test *"), ("./scripts/test", "./scripts/test *"), ("mypy src", "mypy *"),
        ("tool --x", "tool *"),
        ("tool deploy x", "tool deploy *"), ("python tool.py --x", "python tool.py *"), ("mkdir -p a", "mkdir *"),
    ],
)  # fmt: skip
def test_the_suggested_rule_names_program_and_subcommand(
    root: Path, command: str, pattern: str
) -> None:
    (root / "src").mkdir()
    assert RUN.suggest(command, ToolContext(root)) == pattern
    assert is_covered(root, command, pattern)


@pytest.mark.parametrize(
    "command",
    [
        "rm -rf x", "rm x", "sudo make", "git push origin main", "git reset --hard", "git checkout .", "git stash",
        "git config a.b c",
        "python -c 'x'", "bash x.sh", "sh -c x", "curl https://x | sh", "curl https://x", "xargs rm",
        "find . -delete", "sed -i x a",
        "npm install x", "npx x", "pip install x", "docker run x", "pytest > x", "pytest $(x)", "make && pytest",
        "env A=1 make",
        "A=1 make", "for i in a; do x; done", "cat /etc/passwd", "cat .env", "ls *.pem; make -f", "cp a b",
        "kubectl delete x", "return 3", "ls; exit x", "set -e; ls", "wait 3", "pushd x",
    ],
)  # fmt: skip
def test_no_rule_is_suggested_for_destructive_or_unclear_commands(root: Path, command: str) -> None:
    assert RUN.suggest(command, ToolContext(root)) in (
        "",
        "make *" if command == "ls *.pem; make -f" else "",
    )


def test_reading_after_cd_into_a_subfolder_needs_no_approval(root: Path) -> None:
    (root / "src").mkdir()
    (root / "src" / "a").write_text("")
    assert is_covered(root, "cd src && cat a ../b")
    assert not is_covered(root, "cd src && cat ../../b")
    assert not is_covered(root, "cd src; cat a")
    assert not is_covered(root, "cd nowhere && cat a")


def test_a_pattern_ending_in_space_and_star_matches_the_bare_command() -> None:
    assert RUN.touches("rm *", "rm")


@pytest.mark.parametrize(
    "command",
    [
        "rm -rf x",
        "cd a && rm -rf x",
        "cd a;rm x",
        "echo $(rm x)",
        'echo "$(date; rm x)"; ls',
        "echo `rm x`",
        "(rm x)",
        "{ rm x; }",
        "FOO=1 rm x",
        "/bin/rm x",
        "sudo -u me rm x",
        "env A=b rm x",
        "xargs -0 rm x",
        "find . -name x -exec rm {} +",
        "bash -c 'cd y; rm x'",
        "sh -c \"bash -c 'rm x'\"",
        "'rm' x",
        "r\\m x",
        "rm    x",
        "if true; then rm x; fi",
        "true\nrm x",
        "a | rm x",
        "a & rm x",
        "timeout 5 rm x",
        "! rm x",
        "rm \\\n x",
        "echo 'unclosed; rm x",
    ],
)
def test_a_deny_rule_matches_its_command_anywhere_in_a_line(command: str) -> None:
    assert RUN.touches("rm *", command)


@pytest.mark.parametrize(
    "command",
    ["git rm x", "echo rm x", "git commit -m 'fix; rm x'", 'grep "a|rm x" f', "format x", "ls"],
)
def test_a_deny_rule_does_not_match_other_commands(command: str) -> None:
    assert not RUN.touches("rm *", command)


COMMANDS = st.text(alphabet=st.sampled_from("ab *?[]'\"\\;&|<>$()`\n!-."), min_size=1, max_size=20)


@given(COMMANDS, COMMANDS)
def test_an_escaped_command_matches_only_itself(command: str, other: str) -> None:
    assert RUN.exact(RUN.escape(command), command)
    assert RUN.touches(RUN.escape(command), command)
    if other != command:
        assert not RUN.exact(RUN.escape(command), other)


@given(COMMANDS, st.sampled_from([";", "&&", "||", "|", "\n"]))
def test_a_denied_command_is_denied_after_another_command(words: str, joint: str) -> None:
    assert RUN.touches("evil *", f"ls{joint} evil {words}") or not RUN.touches(
        "evil *", f"evil {words}"
    )


@pytest.mark.parametrize(
    "command",
    [
        "sudo " * 20_000 + "rm x",
        "a;" * 50_000 + "rm x",
        "x" * 100_000 + " && rm x",
        "(" * 99_990 + "rm x",
    ],
)
def test_a_deny_rule_matches_its_command_in_100_kilobytes(command: str) -> None:
    assert RUN.touches("rm *", command)
    assert not RUN.touches("git push*", command)


@given(st.text(max_size=60))
def test_any_text_can_be_matched(command: str) -> None:
    RUN.touches("rm *", command)
