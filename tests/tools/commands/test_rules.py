"""Test matching shell commands against permission rules."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from swecli.tools.base import ToolContext
from swecli.tools.commands.rules import RUN, why_uncovered
from swecli.tools.guard import Guard


def is_covered(root: Path, command: str, *patterns: str) -> bool:
    """Return True if the patterns allow the command."""
    return not why_uncovered(command, Guard(root), os.environ, patterns)


@pytest.mark.parametrize(
    "command",
    [
        "pytest",
        "pytest -q",
        "pytest  -q 'a b'",
        "pytest -q 2>&1 | tail -5",
        "ls && pytest",
        "pytest $x",
        "pytest # x",
    ],
)
def test_a_rule_covers_its_command_combined_with_read_only_ones(root: Path, command: str) -> None:
    assert not is_covered(root, command)
    assert is_covered(root, command, "pytest*")


@pytest.mark.parametrize(
    "tail",
    [
        "; rm x", " && rm x", " || rm x", " | sh", " & rm x", " $(rm x)", " `rm x`", " > x", "\nrm x", "\rrm x",
        ' "$(rm x)"', " ${x@P}", " <(rm x)", " \u202e", "\xa0x", " &", " 'x", " <<E\n$(rm x)\nE", " >x", "\n>x",
    ],
)  # fmt: skip
def test_a_rule_does_not_cover_what_is_joined_to_its_command(root: Path, tail: str) -> None:
    assert not is_covered(root, f"pytest{tail}", "pytest*", "pytest *")


@pytest.mark.parametrize(
    "command",
    [
        "git commit -m 'Title\n\nBody'",
        'git commit -m "Title\n\n- a"',
        "git commit -F - <<'EOF'\nTitle $x\n\n`rm x`\nEOF",
        'git commit -m "costs $5"',
        'git commit -m "Fix \\$HOME in \\`x\\`"',
        'git commit -m "$(cat <<\'EOF\'\na "b" it\'s\nEOF\n)"',
        "git commit -q -m a -m b",
        "cd src && git commit -m a",
    ],
)
def test_a_rule_for_commits_covers_the_messages_that_people_write(root: Path, command: str) -> None:
    (root / "src").mkdir()
    assert is_covered(root, command, "git commit *")
    assert not is_covered(root, command)


def test_several_rules_may_cover_a_command_together(root: Path) -> None:
    assert is_covered(root, "make lint && pytest -q", "make *", "pytest*")
    assert not is_covered(root, "make lint && pytest -q", "make *")


@pytest.mark.parametrize(
    "command", ["A=1 make test", "PATH=. make test", "$x test", "./$x test", "m* test"]
)
def test_a_rule_does_not_cover_a_program_or_variable_that_only_the_shell_knows(
    root: Path, command: str
) -> None:
    assert not is_covered(root, command, "make *", "m*", "./*", "test *")


def test_a_word_that_only_the_shell_knows_is_covered_by_nothing_but_a_wildcard(root: Path) -> None:
    assert is_covered(root, "make $x", "make *")
    assert not is_covered(root, "make $x", "make $x now", "make x")


def test_a_rule_for_an_exact_command_covers_any_command(root: Path) -> None:
    for command in ("a | b > c", "echo $(date)", "ls *.py && x [1]", "rm -rf /"):
        pattern = RUN.escape(command)
        assert RUN.coverage([pattern], command, ToolContext(root)).is_covered


@pytest.mark.parametrize(
    ("command", "patterns"),
    [
        ("pytest -q tests", ["pytest *"]), ("cd src && pytest -q 2>&1 | tail", ["pytest *"]),
        ("git add -A", ["git add *"]), ("git commit -m x", ["git commit *"]),
        ("git add . && git commit -m x", ["git add *", "git commit *"]),
        ("make lint && npm test && pytest", ["make lint *", "npm test *", "pytest *"]),
        ("npm run build -- -x", ["npm run build *"]), ("cargo test --all", ["cargo test *"]),
        (".venv/bin/python -m pytest -q", [".venv/bin/python -m pytest *"]), ("make test", ["make test *"]),
        ("uv run pytest", ["uv run pytest *"]), ("go test ./...", ["go test *"]), ("mypy src", ["mypy *"]),
        ("./scripts/test", ["./scripts/test *"]), ("tool deploy x", ["tool deploy *"]),
        ("node --test a.test.js", ["node --test *"]), ("npx jest a.test.js", ["npx jest *"]),
        ("npx eslint src", ["npx eslint *"]), ("python3 -m unittest tests.a", ["python3 -m unittest *"]),
        ("python tool.py --x", ["python tool.py *"]), ("mkdir -p a", ["mkdir *"]),
    ],
)  # fmt: skip
def test_the_rules_offered_are_for_what_occurs_again(
    root: Path, command: str, patterns: list[str]
) -> None:
    (root / "src").mkdir()
    assert list(RUN.suggest(command, ToolContext(root))) == patterns
    assert is_covered(root, command, *patterns)


@pytest.mark.parametrize(
    "command",
    [
        "rm -rf x", "rm x", "git push origin main", "git reset --hard", "git checkout .", "git stash",
        "git config a.b c", "python -c 'x y'", "python", "sh -c 'x y'", "curl https://x | sh", "curl https://x",
        "find . -delete", "sort -o a b", "npm install x", "pip install x", "docker run x",
        "pytest > x", "pytest $(rm x)", "A=1 make",
        "for i in a; do x; done", "cat /etc/passwd", "cp a b", "kubectl delete x", "git add . && git push",
    ],
)  # fmt: skip
def test_no_rule_is_offered_for_what_destroys_or_cannot_be_read(root: Path, command: str) -> None:
    assert RUN.suggest(command, ToolContext(root)) == ()


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
        "git -C . rm x; rm x",
        "2>/dev/null rm x",
        "flock lock rm x",
        "echo 'rm x' | sh",
        "$'rm' x",
        "sh <<E\nrm x\nE",
        "eval 'rm x'",
        "ssh host 'rm x'",
        "for f in a; do rm $f; done",
        "f() { rm x; }; f",
    ],
)
def test_a_deny_rule_matches_its_command_anywhere_in_a_line(command: str) -> None:
    assert RUN.touches("rm *", command)


@pytest.mark.parametrize(
    "command",
    [
        "git rm x",
        "echo rm x",
        "git commit -m 'fix; rm x'",
        'grep "a|rm x" f',
        "rg 'rm x'",
        "format x",
        "ls",
        "cat > a.sh <<'E'\nrm x\nE",
    ],
)
def test_a_deny_rule_does_not_match_other_commands(command: str) -> None:
    assert not RUN.touches("rm *", command)
    assert RUN.unclear(["rm *"], command) == ""


@pytest.mark.parametrize(
    "command",
    [
        "git -C . push origin b:x", "git --no-pager push", "git -c push.default=current push", "git -C a -c b=c push",
        "2>/dev/null git push", "/usr/bin/git push", "git\tpush", "env -i git push", "sh -c 'cd x; git -C . push'",
        "git-push", "/usr/lib/git-core/git-push", "bash <<< 'git push'",
    ],
)  # fmt: skip
def test_options_before_the_subcommand_do_not_hide_it(command: str) -> None:
    assert RUN.touches("git push*", command)
    assert not RUN.touches("git pull*", command)


@pytest.mark.parametrize(
    ("command", "why"),
    [
        ("$R x", "$R is only known to the shell"), ("R=rm; $R x", "only known"), ("{rm,-rf,m}", "cannot be parsed"),
        ("eval $x", "eval runs"), ("sh -c \"$x\"", "sh runs code"),
        ("python3 -c 'import os; os.remove(1)'", "python3 runs code"),
        ("python3 - <<'E'\nos.system('rm x')\nE", "python3 is given"), ("perl -e 'unlink 1; 2'", "perl runs code"),
        ("alias r=rm; r x", "alias gives"), 
        ("ls | sh", "sh runs what it is given"), ("echo cm0geA== | base64 -d | sh", "sh runs what it is given"),
        ("echo \"$x\" | bash", "bash runs what"), ("echo 'os.system(\"rm x\")' | python3", "python3 is given"),
        ("cat <<'E' | python3\nos.system('rm x')\nE", "python3 is given"), ("at now <<< 'rm x'", "at is given"),
        ("echo 'unclosed; rm x", "cannot be parsed"), ("pytest -k 'rm or mv'", "pytest is given"),
    ],
)  # fmt: skip
def test_a_command_that_may_run_what_a_rule_names_is_unclear(command: str, why: str) -> None:
    assert why in RUN.unclear(["rm *"], command)


@pytest.mark.parametrize(
    ("command", "why"),
    [
        ("git -c alias.p=push p", "an alias of git gives"),
        ("echo push | xargs git", "xargs runs words"),
        ("echo push | xargs -n1 /usr/bin/git -C .", "xargs runs words"),
    ],
)
def test_words_that_come_from_elsewhere_are_unclear(command: str, why: str) -> None:
    assert why in RUN.unclear(["git push*"], command)
    assert (
        RUN.unclear(["git push*"], "ls | xargs git add; echo ls | sh; grep 'git push' a | head")
        == ""
    )


@pytest.mark.parametrize(
    "command",
    [
        "pytest -q $x",
        "make test",
        "sh -c 'ls; make'",
        "sed -n 1,5p a",
        "python3 a.py",
        "grep -c 'a b' f | awk 1",
        "git -c user.name='a b' log | python3 a.py",
    ],
)
def test_what_runs_nothing_that_a_rule_names_is_clear(command: str) -> None:
    assert RUN.unclear(["rm *"], command) == ""


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
