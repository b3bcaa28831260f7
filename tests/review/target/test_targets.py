"""Test resolving review targets in a real repository, and the one-line error for each that cannot be reviewed."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from swecli.context.tokens import TokenCounter
from swecli.models.errors import SwecliError
from swecli.review.target.diffs import planned_lines
from swecli.review.target.plan import build_plan
from swecli.review.target.targets import Target, resolve_target
from tests.support.project import make_project


def run_git(*words: str) -> None:
    who = ["-c", "user.name=A", "-c", "user.email=a@example.org"]
    subprocess.run(["git", *who, *words], cwd="shop", check=True, capture_output=True)


def find(*words: str) -> Target:
    return resolve_target(Path("shop").resolve(), words)


@pytest.fixture(autouse=True)
def shop() -> Path:
    return make_project(Path("shop"))


def change_file() -> None:
    path = Path("shop/shop/prices.py")
    path.write_text(path.read_text().replace("0.19", "0.21"))


def test_the_default_target_is_the_uncommitted_changes_including_new_files() -> None:
    change_file()
    Path("shop/new.py").write_text("x = 1\n")
    found = find()
    assert found.files == ("shop/prices.py", "new.py")
    assert planned_lines(found.diffs["shop/prices.py"].hunks[0]) == {3}
    assert found.diffs["shop/prices.py"].lines == {1, 2, 3, 4, 5, 6}


def test_staged_changes_a_commit_a_range_and_a_base_are_targets() -> None:
    change_file()
    run_git("add", "-A")
    assert find("--staged").files == ("shop/prices.py",)
    run_git("checkout", "-qb", "work")
    run_git("commit", "-qm", "second")
    for words in (("HEAD",), ("HEAD~1..HEAD",), ("--base", "HEAD~1")):
        assert find(*words).files == ("shop/prices.py",)


def test_paths_behind_a_target_and_the_folder_of_the_user_limit_a_change() -> None:
    change_file()
    Path("shop/docs").mkdir()
    Path("shop/docs/new.py").write_text("x = 1\n")
    run_git("add", "-A")
    run_git("checkout", "-qb", "work")
    assert find("--staged", "docs").files == ("docs/new.py",)
    run_git("commit", "-qm", "second")
    for words in (("HEAD",), ("HEAD~1..HEAD",), ("--base", "HEAD~1")):
        assert set(find(*words).files) == {"shop/prices.py", "docs/new.py"}
        limited = find(*words, "docs")
        assert (limited.files, limited.label.endswith(" in docs")) == (("docs/new.py",), True)
        below = resolve_target(Path("shop/docs").resolve(), words)
        assert (below.files, below.spec[-1]) == (("docs/new.py",), "docs")
    with pytest.raises(SwecliError, match="outside of this project"):
        find("--base", "HEAD~1", "..")
    with pytest.raises(SwecliError, match="There is no file 'nowhere'"):
        find("shop", "nowhere")


def test_a_commit_is_compared_with_its_first_parent_including_merges_and_the_root_commit() -> None:
    change_file()
    run_git("checkout", "-qb", "work")
    run_git("commit", "-qam", "second")
    assert find("HEAD").base == find("HEAD~1..HEAD").base
    run_git("checkout", "-qb", "side", "HEAD~1")
    Path("shop/side.py").write_text("x = 1\n")
    run_git("add", "-A")
    run_git("commit", "-qm", "side")
    run_git("merge", "-q", "--no-edit", "work")
    merged, first = find("HEAD"), find("HEAD~2")
    assert (merged.files, first.base) == (("shop/prices.py",), "")
    assert {"shop/prices.py", "tests/test_prices.py"} <= set(first.files)


def test_files_outside_of_a_sparse_checkout_are_read_from_the_commit() -> None:
    run_git("checkout", "-qb", "work")
    change_file()
    run_git("commit", "-qam", "second")
    run_git("sparse-checkout", "set", "--no-cone", "/README.md")
    assert not Path("shop/shop/prices.py").exists()
    assert [
        bool(find(*words).commit) for words in (("HEAD",), ("--base", "HEAD~1"), ("README.md",))
    ] == [
        True,
        True,
        False,
    ]


def test_a_folder_and_the_whole_tree_are_targets_without_env_and_binary_files() -> None:
    assert find("shop").files == ("shop/__init__.py", "shop/prices.py")
    assert "tests/test_prices.py" in find(".").files
    Path("shop/.env").write_text("TOKEN=x")
    Path("shop/logo.png").write_bytes(b"\0")
    assert not {".env", "logo.png"} & set(find(".").files)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--base", "no-such"), "no branch or commit 'no-such'"),
        (("--base",), "option --base"),
        (("--staged", ".."), "outside"),
        (("--colour",), "option --colour"),
        (("no-such-thing",), "not a file, commit or range"),
        (("a..b",), "not a file, commit or range"),
        (("shop", "no-such.py"), "no file 'no-such.py'"),
        (("../..",), "outside"),
    ],
)
def test_an_invalid_target_is_an_error_of_one_line_with_a_hint(
    words: tuple[str, ...], message: str
) -> None:
    with pytest.raises(SwecliError, match=message) as caught:
        find(*words)
    assert "\n" not in str(caught.value)
    assert caught.value.hint


@pytest.mark.parametrize("words", [(), ("--staged",), ("--base", "HEAD"), ("HEAD..HEAD",)])
def test_a_target_without_a_change_has_no_files_and_says_so(words: tuple[str, ...]) -> None:
    target = find(*words)
    assert target.files == ()
    assert target.notes[0].startswith(f"There is nothing to review in {target.label}.")


def test_a_mark_in_the_version_before_a_change_still_skips_the_file() -> None:
    Path("shop/made.py").write_text("# generated, do not edit\nx = 1\n")
    run_git("add", "-A")
    run_git("commit", "-qm", "made")
    Path("shop/made.py").write_text("# generated, do not edit\nx = 2\n")
    assert planned_paths(find()) == ([], [], ["made.py"])


@pytest.mark.slow
def test_binary_and_linked_files_are_skipped_and_a_huge_file_is_reported_as_not_read() -> None:
    Path("shop/shop/__init__.py").unlink()  # without a text
    Path("shop/data.bin").write_bytes(b"\0\1\2" * 100)
    Path("shop/huge.txt").write_bytes((b"x" * 3_999 + b"\n") * 1_300)
    Path("shop/odd").write_bytes(b"\0\1\2" * 100)
    Path("shop/hidden.py").write_text("x = 1\n")
    Path("shop/.gitattributes").write_text("hidden.py -diff\n")
    Path("shop/out.py").symlink_to("/etc/passwd")
    Path("shop/ok.py").write_text("x = 1\n")
    run_git("add", "-A")
    found = find("--staged")
    plan = build_plan(found, TokenCounter(), 8_000)
    assert {(skip.path, skip.rule) for skip in plan.target.skips} == {
        ("data.bin", "binary"),
        ("odd", "binary"),
        ("out.py", "link"),
        ("shop/__init__.py", "deleted"),
    }
    assert [hunk.path for part in plan.parts for hunk in part.hunks] == [
        ".gitattributes",
        "hidden.py",
        "ok.py",
    ]
    assert [hunk.path for hunk in plan.hunks if hunk.problem] == ["huge.txt"]
    assert "huge.txt will not be read: huge.txt is too large" in plan.target.notes[-1]


def planned_paths(target: Target) -> tuple[list[str], list[str], list[str]]:
    """Return the paths that are read, those that cannot be sent, and those that a rule skips."""
    plan = build_plan(target, TokenCounter(), 8_000)
    sent = [hunk.path for part in plan.parts for hunk in part.hunks]
    return (
        sent,
        [hunk.path for hunk in plan.hunks if hunk.problem],
        [skip.path for skip in plan.target.skips],
    )


def test_a_generated_marker_or_long_line_added_by_a_change_does_not_skip_the_file() -> None:
    path = Path("shop/shop/prices.py")
    path.write_text("# generated, do not edit\n" + path.read_text())
    Path("shop/new.py").write_text("# generated, do not edit\nx = 1\n")
    assert planned_paths(find()) == (["new.py", "shop/prices.py"], [], [])
    run_git("add", "new.py")
    assert planned_paths(find("--staged")) == (["new.py"], [], [])
    Path("shop/min.py").write_text(f"x = '{'x' * 6_000}'\n")
    assert planned_paths(find())[1] == ["min.py"]
    Path("shop/min.py").unlink()
    path.write_text(path.read_text() + f"y = '{'x' * 6_000}'\n")
    assert planned_paths(find())[1] == ["shop/prices.py", "shop/prices.py"]


def test_include_or_an_explicit_path_overrides_skipping_by_content() -> None:
    Path("shop/new.py").write_text(f"# generated, do not edit\nx = '{'x' * 6_000}'\n")
    for target in (resolve_target(Path("shop").resolve(), (), include=("*.py",)), find("new.py")):
        assert set(planned_paths(target)[0]) == {"new.py"}


def test_without_a_repository_paths_can_be_reviewed() -> None:
    Path("plain").mkdir()
    Path("plain/a.py").write_text("x\n")
    with pytest.raises(SwecliError, match="not a git repository"):
        resolve_target(Path("plain").resolve(), ())
    assert resolve_target(Path("plain").resolve(), (".",)).files == ("a.py",)


def test_new_files_in_a_repository_without_a_commit_are_the_default_target() -> None:
    Path("fresh").mkdir()
    subprocess.run(["git", "init", "-q", "fresh"], check=True)
    Path("fresh/a.py").write_text("x\n")
    assert resolve_target(Path("fresh").resolve(), ()).files == ("a.py",)


@pytest.mark.slow
def test_a_target_given_from_a_subfolder_equals_the_one_from_the_top_folder() -> None:
    change_file()
    below = Path("shop/shop").resolve()
    assert resolve_target(below, ()).diffs == find().diffs
    assert resolve_target(below, ("prices.py",)) == find("shop/prices.py")
    assert resolve_target(below, (".",)) == find("shop")
    assert resolve_target(below, ("..",)) == find(".")
    assert resolve_target(below, ("HEAD",)) == find("HEAD", "shop")


@pytest.mark.parametrize("words", [("HEAD",), ("HEAD~1..HEAD",), ("--base", "HEAD~1")])
def test_a_base_missing_from_a_shallow_clone_is_an_error_that_suggests_fetch_depth_0(
    words: tuple[str, ...],
) -> None:
    change_file()
    run_git("commit", "-qam", "second")
    run_git("clone", "-q", "--depth", "1", f"file://{Path('shop').resolve()}", "../cut")
    with pytest.raises(SwecliError) as error:
        resolve_target(Path("cut").resolve(), words)
    assert "fetch-depth: 0" in error.value.hint


def test_git_replacements_of_a_commit_are_ignored() -> None:
    change_file()
    run_git("commit", "-qam", "second")
    run_git("replace", "HEAD", "HEAD~1")
    assert find("HEAD").files == ("shop/prices.py",)
