"""Test resolving paths, and detecting special files."""

from __future__ import annotations

import os
import sys
import tempfile
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from swecli.tools.base import ToolError
from swecli.tools.files import read_bytes, write_atomic
from swecli.tools.paths import not_found_error, relative_path, resolve_path


def test_relative_and_absolute_paths_resolve_to_the_same_file(root: Path) -> None:
    (root / "src").mkdir()
    assert (
        resolve_path(root, "src/a.py")
        == resolve_path(root, str(root / "src" / "a.py"))
        == root.resolve() / "src" / "a.py"
    )
    assert resolve_path(root, "./src/../src//a.py") == root.resolve() / "src" / "a.py"
    assert relative_path(root, resolve_path(root, ".")) == "."


@pytest.mark.parametrize(
    "text", ["..", "../x", "/etc/passwd", "a/../../x", "/", "src/../../project-other/x"]
)
def test_paths_outside_the_workspace_are_refused(root: Path, text: str) -> None:
    (root.parent / "project-other").mkdir()
    with pytest.raises(ToolError, match="outside the workspace"):
        resolve_path(root, text)


def test_a_folder_that_shares_a_name_prefix_with_the_workspace_is_outside(root: Path) -> None:
    with pytest.raises(ToolError, match="outside"):
        resolve_path(root, f"{root}-more/file")


@pytest.mark.parametrize("text", ["", "  ", "a\0b", "~/x", "~", "x" * 5000, "\ud800"])
def test_invalid_paths_are_refused(root: Path, text: str) -> None:
    with pytest.raises(ToolError):
        resolve_path(root, text)


def test_links_within_the_workspace_are_followed_and_links_out_of_it_refused(root: Path) -> None:
    (root / "real").mkdir()
    (root / "in").symlink_to("real")
    (root / "out").symlink_to(root.parent)
    (root / "hop").symlink_to("out")
    assert resolve_path(root, "in/a") == root.resolve() / "real" / "a"
    for text in ("out", "out/project/real", "hop/x"):
        with pytest.raises(ToolError, match="out of the workspace"):
            resolve_path(root, text)


def test_a_circular_link_is_refused(root: Path) -> None:
    (root / "a").symlink_to("b")
    (root / "b").symlink_to("a")
    with pytest.raises(ToolError, match="a symbolic link to itself"):
        resolve_path(root, "a/x")


@pytest.mark.parametrize("exists", [True, False])
def test_a_long_path_is_resolved_in_linear_time(root: Path, exists: bool) -> None:
    def looked_up(parts: int) -> int:
        text = "a/" * parts
        if exists:
            (root / text).mkdir(parents=True, exist_ok=True)
        calls = 0

        def count(frame: object, event: str, function: object) -> None:
            nonlocal calls
            calls += event == "c_call"

        sys.setprofile(count)
        try:
            assert resolve_path(root, text) == root / text
        finally:
            sys.setprofile(None)
        return calls

    (root / "kept").touch()
    assert looked_up(800) < 10 * looked_up(100)
    if exists:
        os.removedirs(root / ("a/" * 800))  # too deep for what clears the temporary folder


def test_a_linked_workspace_accepts_paths_under_both_names(root: Path) -> None:
    other = root.parent / "alias"
    other.symlink_to(root)
    assert (
        resolve_path(other, str(other / "x"))
        == resolve_path(other, str(root / "x"))
        == root.resolve() / "x"
    )


def test_a_path_below_a_file_is_refused(root: Path) -> None:
    (root / "file").write_text("x")
    with pytest.raises(ToolError, match="not a directory"):
        resolve_path(root, "file/x")


PARTS = st.sampled_from(
    ["a", "b", "c", "deep", "..", ".", "link", "up", "abs", "far", "loop", "secret", ""]
)
TARGETS = st.sampled_from(
    ["a", "..", "../..", "../outside", "a/b", "/", "deep/../..", "loop", "c/link", "{root}/a"]
)


@settings(deadline=None, max_examples=150)
@given(
    links=st.lists(
        st.tuples(
            st.sampled_from(["", "a", "a/b", "deep"]),
            st.sampled_from(["link", "up", "abs", "far", "loop"]),
            TARGETS,
        )
    ),
    parts=st.lists(PARTS, min_size=1, max_size=7),
    absolute=st.booleans(),
)
@example(links=[("", "link", "../outside")], parts=["link", "secret"], absolute=False)
@pytest.mark.slow
def test_no_path_resolves_to_a_file_outside_the_workspace(
    links: list[tuple[str, str, str]], parts: list[str], absolute: bool
) -> None:
    with tempfile.TemporaryDirectory() as name:
        base = Path(name).resolve()
        root, outside = base / "root", base / "outside"
        (root / "a" / "b").mkdir(parents=True)
        (root / "deep").mkdir()
        outside.mkdir()
        for secret in (base / "secret", outside / "secret", outside / "a"):
            secret.write_text("secret")
        for folder, link, target in links:
            place = root / folder / link
            if not place.is_symlink():
                place.symlink_to(target.format(root=root))
        before = _outside(base)
        text = "/".join([str(root), *parts] if absolute else parts)
        try:
            found = resolve_path(root, text)
        except ToolError:
            return
        assert found.parts[: len(root.parts)] == root.parts
        assert os.path.realpath(found) == str(found)
        with suppress(ToolError):
            assert b"secret" not in read_bytes(root, found)
        with suppress(ToolError):
            write_atomic(root, found, b"written", None)
        assert _outside(base) == before


def _outside(base: Path) -> dict[str, bytes]:
    files = [p for p in base.rglob("*") if p.is_file() and (base / "root") not in p.parents]
    return {str(p): p.read_bytes() for p in files}


def test_a_missing_path_is_reported_with_similar_names(root: Path) -> None:
    (root / "readme.md").touch()
    assert "Near names: readme.md" in str(not_found_error(root, resolve_path(root, "README.md")))
    assert "Near names" not in str(not_found_error(root, resolve_path(root, "zzz")))


def test_names_that_share_only_their_ending_are_not_near(root: Path) -> None:
    (root / "core.py").touch()
    (root / "app.js").touch()
    assert "Near names" not in str(not_found_error(root, resolve_path(root, "nothere.py")))
    assert "Near names: app.js" in str(not_found_error(root, resolve_path(root, "app.py")))
