"""Test which folders can be added to a workspace, and what the guard says of what lies in one."""

from __future__ import annotations

from pathlib import Path

import pytest

from swecli.config.paths import Paths
from swecli.models.added_folder import AddedFolder
from swecli.models.errors import BadInput, UsageError
from swecli.tools.added_folders import FolderAdder, with_folder, without_folder
from swecli.tools.guard import Guard, Reading, Writing
from swecli.tools.permissions import Permissions
from swecli.tools.registry import ToolRegistry


@pytest.fixture
def work(tmp_path: Path) -> Path:
    """Make a workspace, a library beside it with files of all kinds, and a home."""
    for name in ("ws/src", "lib/.github/workflows", "lib/sub", "home/project"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "lib/a.txt").write_text("a\n")
    (tmp_path / "lib/.env").write_text("KEY=1\n")
    (tmp_path / "lib/hidden.txt").write_text("h\n")
    (tmp_path / "lib/.swecliignore").write_text("hidden.txt\n")
    return tmp_path


@pytest.fixture
def adder(work: Path) -> FolderAdder:
    own = work / "own"
    own.mkdir()
    environ = {"HOME": str(work / "home"), "PATH": f"{work}/lib/sub/bin:/usr/bin"}
    return FolderAdder(work / "ws", environ, Paths(own, own, own, own))


def test_a_folder_may_be_changed_unless_it_is_added_read_only(
    work: Path, adder: FolderAdder
) -> None:
    assert adder.read("../home/project", work / "ws") == AddedFolder(
        f"{work}/home/project", may_change=True
    )
    assert adder.read(f"{work}/lib:ro", work) == AddedFolder(f"{work}/lib", may_change=False)


def test_a_link_is_added_as_what_it_leads_to(work: Path, adder: FolderAdder) -> None:
    (work / "link").symlink_to("home/project")
    assert adder.read("link", work).path == f"{work}/home/project"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("nosuch", "There is no folder nosuch"),
        ("lib/a.txt", "is not a folder"),
        ("/", "is the whole disk"),
        ("home", "is your home folder"),
        (".", "holds your home folder"),
        ("ws", "is there already"),
        ("ws/src", "is there already"),
        ("own", "holds files of swecli itself"),
        ("lib", "holds programs that you start"),
        ("a\0b", "cannot be added"),
    ],
)
def test_a_folder_that_cannot_be_added_is_refused_in_one_line(
    work: Path, adder: FolderAdder, text: str, problem: str
) -> None:
    with pytest.raises(BadInput, match=problem):
        adder.read(text, work)


def test_a_folder_around_the_workspace_is_refused(work: Path, adder: FolderAdder) -> None:
    inner = FolderAdder(work / "lib/sub", {"HOME": "/nowhere"}, adder.program_folders)
    with pytest.raises(BadInput, match="holds the folder of this session") as caught:
        inner.read("..", work / "lib/sub")
    assert caught.value.hint == f"Start there instead: swecli -C {work}/lib"


def test_a_folder_must_be_named(adder: FolderAdder) -> None:
    with pytest.raises(UsageError, match="No folder is named"):
        adder.read(":ro", Path("/"))


def test_a_folder_that_is_open_already_is_refused_and_another_access_replaces_it(
    work: Path, adder: FolderAdder
) -> None:
    lib = adder.add((), f"{work}/lib:ro", work)
    with pytest.raises(BadInput, match="is added already"):
        adder.add([lib], "lib:ro", work)
    with pytest.raises(BadInput, match=f"lies in {work}/lib, which is added already"):
        adder.add([lib], "lib/.github:ro", work)
    inner = adder.add([lib], "lib/.github", work)
    assert with_folder([lib], inner) == (lib, inner)
    changed = AddedFolder(lib.path, may_change=True)
    assert with_folder([lib, inner], changed) == (changed, inner)


def test_a_folder_is_removed_by_its_path_also_when_it_is_gone(work: Path) -> None:
    lib = AddedFolder(f"{work}/gone", may_change=True)
    assert without_folder([lib], "gone", work) == ((), lib)
    with pytest.raises(BadInput, match="other is no added folder"):
        without_folder([lib], "other", work)


def guard_of(work: Path, *, may_change: bool, **rules: list[str]) -> Guard:
    class Kept:
        def read(self) -> list[AddedFolder]:
            return [AddedFolder(f"{work}/lib", may_change)]

        def write(self, folders: object, /) -> None:
            raise AssertionError

    permissions = Permissions(deny=rules.get("deny", ()), ask=rules.get("ask", ()), folders=Kept())
    return permissions.guard(work / "ws", ToolRegistry.discover())


@pytest.mark.parametrize("may_change", [True, False])
def test_the_border_of_the_workspace_is_open_there_and_nowhere_else(
    work: Path, may_change: bool
) -> None:
    guard = guard_of(work, may_change=may_change)
    access = guard.access(f"{work}/lib/a.txt")
    assert access.read is Reading.FREE
    assert access.write is (Writing.FREE if may_change else Writing.NEVER)
    assert guard.access("../lib/new/b.txt").read is Reading.FREE
    assert guard.access(f"{work}/lib2").read is Reading.ASK
    assert guard.access(f"{work}/home").write is Writing.NEVER


def test_secret_protected_and_ignored_files_there_are_asked_about(work: Path) -> None:
    guard = guard_of(work, may_change=True)
    assert guard.access(f"{work}/lib/.env").read is Reading.ASK
    assert guard.access(f"{work}/lib/hidden.txt").read is Reading.ASK
    assert guard.access(f"{work}/lib/.github/workflows/ci.yml").write is Writing.ASK
    assert guard.access(f"{work}/lib/AGENTS.md").write is Writing.ASK
    assert guard.access(f"{work}/lib/sub/a.txt").write is Writing.FREE


@pytest.mark.parametrize("pattern", ["sub/**", "//{work}/lib/sub/**", "*.txt"])
def test_what_a_rule_bars_here_or_there_is_barred_there(work: Path, pattern: str) -> None:
    rule = f"read({pattern.format(work=str(work)[1:])})"
    denying = guard_of(work, may_change=True, deny=[rule])
    assert denying.access(f"{work}/lib/sub/x.txt").read is Reading.HIDDEN
    asking = guard_of(work, may_change=True, ask=[rule])
    assert asking.access(f"{work}/lib/sub/x.txt").read is Reading.ASK
    inner = denying.for_added(AddedFolder(f"{work}/lib", may_change=True))
    assert inner.judge("sub/x.txt").read is Reading.HIDDEN, "also where it is searched"


@pytest.mark.parametrize("name", ["a.txt", "AGENTS.md", ".env", "hidden.txt"])
def test_no_answer_and_no_rule_lets_a_file_of_a_read_only_folder_be_changed(
    work: Path, name: str
) -> None:
    guard = guard_of(work, may_change=False)
    assert guard.access(f"{work}/lib/{name}").write is Writing.NEVER
    allowing = guard.allowing([f"{work}/lib/{name}", f"{work}/lib"])
    assert allowing.access(f"{work}/lib/{name}").write is Writing.NEVER
    assert allowing.without_border().judge(f"{work}/lib/{name}").write is Writing.NEVER


def test_a_link_that_leaves_the_folder_is_not_followed_by_its_permission(work: Path) -> None:
    (work / "lib/out").symlink_to(work / "home")
    guard = guard_of(work, may_change=True)
    assert guard.access(f"{work}/lib/out/project").write is Writing.NEVER
    assert guard.access(f"{work}/lib/out/project").read is Reading.ASK


def test_a_folder_that_is_gone_or_has_become_a_link_is_closed(work: Path) -> None:
    (work / "lib").rename(work / "moved")
    assert guard_of(work, may_change=True).access(f"{work}/lib/a.txt").write is Writing.NEVER
    (work / "lib").symlink_to(work / "home")
    assert guard_of(work, may_change=True).access(f"{work}/lib/project").write is Writing.NEVER
