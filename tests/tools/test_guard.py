"""Test that whoever opens files for the model, or lets a command open them, gets one answer about a path."""

from __future__ import annotations

import os
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from swecli.context.mentions import expand_mentions
from swecli.models.mode import Mode
from swecli.review.judge.sources import Sources
from swecli.tools.base import CommandAccess, ToolContext
from swecli.tools.commands.touched_paths import find_touched_paths
from swecli.tools.guard import Guard, Reading, Writing
from swecli.tools.guarded_files import find_guarded_files
from swecli.tools.matches import Query, Search
from swecli.tools.permissions import Permissions
from swecli.tools.sandbox import Sandbox
from tests.tools.conftest import Answers, make_run

SECRET = "canary-4711"
MODES: list[Mode] = ["ask", "edits", "auto"]
SPELLINGS = [
    "read(private/**)",
    "Read(private/**)",
    "read_file(private/**)",
    "read(private)",
    "read(*/k.txt)",
]


@pytest.fixture
def project(root: Path) -> Path:
    """Create a repository with a file that rules will name, also in its history."""
    (root / "private").mkdir()
    (root / "private/k.txt").write_text(f"TOP {SECRET}\n")
    (root / "a.txt").write_text("TOP public\n")
    (root / "link").symlink_to("private")
    for words in (["init", "-q"], ["add", "."], ["commit", "-qm", "first"]):
        own = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
        subprocess.run(["git", *own, *words], cwd=root, check=True, capture_output=True)
    return root


@pytest.fixture
def inside(project: Path, ctx: ToolContext) -> ToolContext:
    """Return a context whose commands run in the sandbox."""
    sandbox = Sandbox("auto", project, os.environ)
    if not sandbox.is_active:
        pytest.skip(sandbox.problem)
    return replace(ctx, commands=replace(ctx.commands, open_sandbox=lambda: sandbox))


def make_permissions(mode: Mode, **rules: list[str]) -> Permissions:
    allow, ask, deny = (rules.get(name, []) for name in ("allow", "ask", "deny"))
    return Permissions(mode, allow, ask, deny)


def guard_of(root: Path, **rules: list[str]) -> Guard:
    return make_permissions("ask", **rules).guard(root, {})


READERS = [
    "cat private/k.txt",
    "cd private && cat k.txt",
    "grep -rn TOP .",
    "git show HEAD:private/k.txt",
    "git grep TOP",
    "git log -p",
    "head private/k.txt",
    "sort private/k.txt",
    "cat link/k.txt",
    "cat ./a.txt private/../private/k.txt",
    "cat p*/k.txt",
    "cat < private/k.txt",
    "bash -c 'cat private/k.txt'",
    "while read line; do echo $line; done < private/k.txt",
    "sh -c 'git show HEAD:private/k.txt' | cat",
    "git log -p > out.txt; cat out.txt",
    "git --git-dir .git show HEAD:private/k.txt",
    "g=git; $g show HEAD:./private/k.txt",
    "git archive HEAD | strings",
    "python3 -c 'print(open(\"private/k.txt\").read())'",
    "cp -r private copy && cat copy/k.txt",
    "tar cf - . | strings",
]


@pytest.mark.parametrize("where", ["outside", "inside"])
@pytest.mark.parametrize("rule", ["deny", "ask"])
@pytest.mark.parametrize("mode", MODES)
async def test_no_command_prints_unasked_what_a_rule_bars(
    project: Path,
    ctx: ToolContext,
    mode: Mode,
    rule: str,
    where: str,
    request: pytest.FixtureRequest,
) -> None:
    if where == "inside":
        ctx = request.getfixturevalue("inside")
    answers = Answers()
    answers.decision = replace(answers.decision, allow=False)
    permissions = make_permissions(mode, **{rule: ["read(private/**)"]})
    run = make_run(ctx, permissions, answers)
    printed = []
    for command in [*READERS, f"cat {project}/private/k.txt"]:
        result = await run("run_command", command=command)
        if SECRET in result.for_model:
            printed.append(command)
    assert printed == []
    assert (await run("run_command", command="cat a.txt")).ok


@pytest.mark.parametrize("rule", [*SPELLINGS, "read(link/**)", "//"])
async def test_each_spelling_of_a_rule_bars_tools_and_commands(
    project: Path, ctx: ToolContext, rule: str, answers: Answers
) -> None:
    text = f"read(/{project}/private/**)" if rule == "//" else rule
    run = make_run(ctx, Permissions("auto", deny=[text]), answers)
    for name, parameters in [
        ("run_command", {"command": "cat private/k.txt"}),
        ("read_file", {"path": "private/k.txt"}),
        ("search_files", {"path": "private/k.txt", "pattern": "TOP"}),
    ]:
        result = await run(name, **parameters)
        assert result.denied, name
        assert text in result.for_model, "the refusal names the rule"
    assert SECRET not in (await run("search_files", pattern="TOP")).for_model
    assert answers.asked == []


def test_a_rule_for_a_place_at_home_bars_it(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(root.parent))
    guard = guard_of(root, deny=["read(~/notes/**)"])
    assert guard.access(f"{root.parent}/notes/a").read is Reading.HIDDEN
    assert guard.access("../notes/a").read is Reading.HIDDEN
    found = find_touched_paths(
        "cat ~/notes/a", guard, os.environ, is_confined=False, may_write=True
    )
    assert "read(~/notes/**)" in found.denial


WRITERS = [
    "printf P > private.txt",
    "printf P >> private.txt",
    "printf P | tee private.txt",
    "sed -i s/a/b/ private.txt",
    "cp a.txt private.txt",
    "rm private.txt",
    "mv private.txt b.txt",
    "cat > private.txt <<'EOF'\nP\nEOF",
    "printf P > ./sub/../private.txt",
    "f=private.txt; printf P > $f",
    "rm priv*",
    "rm -rf ./*",
    "find . -name 'priv*' -delete",
    'python3 -c \'open("private.txt", "w")\'',
]


@pytest.mark.parametrize("where", ["outside", "inside"])
@pytest.mark.parametrize("mode", ["edits", "auto"])
@pytest.mark.parametrize("rule", ["deny", "ask"])
async def test_no_command_changes_unasked_what_a_rule_bars(
    project: Path,
    ctx: ToolContext,
    rule: str,
    mode: Mode,
    where: str,
    request: pytest.FixtureRequest,
) -> None:
    if where == "inside":
        ctx = request.getfixturevalue("inside")
    (project / "sub").mkdir()
    file = project / "private.txt"
    answers = Answers()
    answers.decision = replace(answers.decision, allow=False)
    run = make_run(ctx, make_permissions(mode, **{rule: ["edit(private.txt)"]}), answers)
    for command in WRITERS:
        (project / "a.txt").write_text("TOP public\n")
        file.write_text("as it was\n")
        await run("run_command", command=command)
        assert file.exists(), command
        assert file.read_text() == "as it was\n", command


@pytest.mark.parametrize(
    "command",
    [
        "printf x > .git/hooks/pre-commit && chmod +x .git/hooks/pre-commit",
        "mkdir -p .github/workflows && echo x > .github/workflows/ci.yml",
        "mkdir -p .github/workflows && cd .github/workflows && echo x > ci.yml",
        'echo x > "AGENTS.md"',
        "git config core.pager /bin/false",
        "echo x | tee AGENTS.md",
        'd=AGENTS.md; echo x > "$d"',
    ],
)
async def test_auto_without_a_sandbox_asks_before_a_command_writes_what_starts_programs(
    project: Path, ctx: ToolContext, answers: Answers, command: str
) -> None:
    answers.decision = replace(answers.decision, allow=False)
    await make_run(ctx, Permissions("auto"), answers)("run_command", command=command)
    assert len(answers.asked) == 1


async def test_nothing_can_be_made_in_a_folder_whose_changes_a_rule_denies(
    project: Path, inside: ToolContext, answers: Answers
) -> None:
    run = make_run(inside, Permissions("auto", deny=["edit(private/**)"]), answers)
    script = "d=private; touch $d/new; mkdir $d/sub; mv $d other; cat $d/k.txt"
    result = await run("run_command", command=script)
    assert SECRET in result.for_model
    assert [path.name for path in project.glob("private/*")] == ["k.txt"]
    assert answers.asked == []


async def test_what_the_user_allows_a_command_is_open_to_it_in_the_sandbox(
    project: Path, inside: ToolContext, answers: Answers
) -> None:
    permissions = Permissions("edits", ask=["read(private/**)", "edit(a.txt)"])
    run = make_run(inside, permissions, answers)
    assert SECRET in (await run("run_command", command="cat private/k.txt")).for_model
    await run("run_command", command="printf changed | tee a.txt")
    assert (project / "a.txt").read_text() == "changed"
    assert len(answers.asked) == 2


async def test_git_runs_with_the_barred_path_left_out(
    project: Path, ctx: ToolContext, answers: Answers
) -> None:
    run = make_run(ctx, Permissions("ask", deny=["read(private/**)"]), answers)
    result = await run("run_command", command="git log -p -- . ':(exclude)private'")
    assert "TOP public" in result.for_model
    assert SECRET not in result.for_model
    assert answers.asked == []


PLACES = ["a.txt", "private/k.txt", ".env", "notes/b.txt", "sub/AGENTS.md", "sub/c.txt"]
RULES = [
    "{}(private/**)",
    "{}(*.txt)",
    "{}(/sub/)",
    "{}(notes)",
    "{}(**)",
    "{}(/.env)",
    "{}(/a.txt)",
]
rules = st.lists(st.sampled_from(RULES), max_size=2)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=12)
@given(deny=rules, ask=rules, allow=rules, writes=rules, path=st.sampled_from(PLACES))
async def test_all_who_ask_get_one_answer(
    root: Path,
    deny: list[str],
    ask: list[str],
    allow: list[str],
    writes: list[str],
    path: str,
) -> None:
    for name in PLACES:
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).write_text("needle\n")
    (root / ".swecliignore").write_text("notes/\n")
    named = {"deny": deny, "ask": ask, "allow": allow}
    lists = {key: [one.format("read") for one in texts] for key, texts in named.items()}
    lists["deny"] += [one.format("edit") for one in writes]
    permissions = make_permissions("auto", **lists)
    guard = permissions.guard(root, {})
    access = guard.access(path)
    ctx = ToolContext(root, commands=CommandAccess(timeout=60))

    async def outcome(name: str, **parameters: str) -> str:
        answers = Answers()
        answers.decision = replace(answers.decision, allow=False)
        result = await make_run(ctx, permissions, answers)(name, **parameters)
        return "ask" if answers.asked else "never" if result.denied else "free"

    reading = {Reading.FREE: "free", Reading.ASK: "ask", Reading.HIDDEN: "never"}[access.read]
    writing = {Writing.FREE: "free", Writing.ASK: "ask", Writing.NEVER: "never"}[access.write]
    assert await outcome("read_file", path=path) == reading
    assert await outcome("search_files", path=path, pattern="x") == reading
    assert await outcome("run_command", command=f"cat {path}") == reading
    assert await outcome("run_command", command=f"cat < {path}") == reading
    ctx.files.digests.clear()
    edit = {"old_text": "needle", "new_text": "other"}
    assert await outcome("edit_file", path=path, edits=[edit]) == writing  # type: ignore[arg-type]
    redirected = find_touched_paths(
        f"echo x > {path}", guard, os.environ, is_confined=False, may_write=True
    )
    if reading == "free":
        assert (redirected.denial != "") == (writing == "never")
        assert redirected.guard != "" or writing != "ask"

    is_free = reading == "free"
    if guard.may_read("."):  # else the user has allowed all of it
        searching = Search(
            replace(ctx, files=replace(ctx.files, guard=guard)), ".", Query("needle|other")
        )
        await searching.run()
        is_listed = path != "notes/b.txt"  # which no search of all looks for
        assert (path in {file.path for file in searching.files}) == (is_free and is_listed)
    expansion = expand_mentions(f"@{path}", root, deny=lambda name: guard.access(name).read_denial)
    assert (expansion.files == []) == (reading == "never")
    sources = Sources(root, barrier=lambda name: guard.access(name).read_reason)
    assert (sources.get(path).problem == "") == is_free

    mounts = find_guarded_files(guard, os.environ, "workspace")
    place = root.resolve() / path
    above = [str(one) for one in (place, *place.parents)]
    assert any(one in mounts.hidden for one in above) == (not is_free)
    assert any(one in mounts.protected for one in above) or not (writing == "never" and is_free)
    assert writing != "free" or not any(one in mounts.protected for one in above)
