"""Put back what a command did to protected files and folders, as far as no mount kept it from that."""

from __future__ import annotations

import filecmp
import os
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from swecli.folders import list_entries, walk
from swecli.tools.guarded_files import OF_REPOSITORY
from swecli.tools.new_repositories import starts_nothing
from swecli.tools.protected_folders import OF_ENVIRONMENTS
from swecli.tools.sandbox import GuardedFiles
from swecli.tools.sensitive import is_installed
from swecli.values import dataclass

_MAX_NAMED = 20  # files in one line
_REDIRECTION = (
    "commondir"  # by which git takes settings from another folder; nobody makes one by hand
)
_NOT_ALLOWED = (
    "no command may create what starts programs or instructs an assistant. To allow it: edit_file or write_file, which "
    "ask the user, or his rule"
)
_SAVED_MEANWHILE = (
    "another program saved these while it ran, and for a moment it could write there. Look at"
)
_CREATED = (
    "there are new files that start programs or instruct an assistant, or they lie elsewhere now"
)

_FileIdentity = tuple[int, int]  # device and inode


@dataclass(frozen=True, slots=True)
class StateBefore:
    """What was protected before a command: which file each path led to, and each folder around one."""

    guarded: GuardedFiles
    identities: Mapping[str, _FileIdentity]
    folders: Mapping[str, _FileIdentity]


def look(guarded: GuardedFiles) -> StateBefore:
    """Return what is protected now, to compare it after a command."""
    paths = _paths(guarded)
    return StateBefore(
        guarded, _identify_all(paths), _identify_all({_folder(path) for path in paths})
    )


def look_again(before: StateBefore, now: GuardedFiles) -> StateBefore:
    """Return what is protected while a background command runs, after what it did was put back: also what is new, so
    that it is named once, and what the user has saved by rename. What lies elsewhere now may still come back."""
    present = look(now)
    identities = dict(before.identities)
    for path, identity in present.identities.items():
        is_in_its_place = present.folders.get(_folder(path)) == before.folders.get(_folder(path))
        if path not in identities or is_in_its_place:
            identities[path] = identity
    return StateBefore(before.guarded, identities, {**present.folders, **before.folders})


def put_back(
    root: Path,
    before: StateBefore,
    now: GuardedFiles,
    is_allowed: Callable[[str], bool],
    *,
    is_job: bool,
) -> list[str]:
    """Put back what a command has replaced by moving a folder above it, or a link, and set aside what is new. While a
    job runs the user works, too: what is new then is only named. What another program has saved is named, too.
    `is_allowed` tells of a relative path whether its change needs no question. What was in the way is kept beside it.
    Returns lines for the result."""
    lines = _restore_links(root, before.guarded.links)
    lines += _restore_moved(root, before)
    new_names = []
    identities = frozenset(before.identities.values())
    behind_links = {os.path.realpath(path) for path, _ in before.guarded.links}
    for path in sorted(_paths(now)):
        if path in before.identities or not _is_something(path):
            continue
        if _is_in_new_repository(path, before, now) or starts_nothing(Path(path)):
            continue
        name = os.path.relpath(path, root)
        was_there = identify(path) in identities or path in behind_links
        is_redirection = path.endswith(f"/.git/{_REDIRECTION}")
        if was_there or _is_installed(path, name) or (is_job and not is_redirection):
            new_names.append(name)
            continue
        # no rule is about a repository by another name: it is taken for the `.git` in it
        subject = f"{name}/.git" if path in now.repositories and Path(path).name != ".git" else name
        if not is_allowed(subject):
            with suppress(OSError), _opened(root, Path(path).parent) as folder:
                backup = _beside(name, _set_aside(Path(path), folder))
                lines.append(f"{name} is set aside as {backup}: {_NOT_ALLOWED} edit({subject})")
    if new_names:
        lines.append(f"{_CREATED}: {', '.join(new_names[:_MAX_NAMED])}")
    if saved_names := _find_saved(root, before, is_job=is_job):
        lines.append(f"{_SAVED_MEANWHILE}: {', '.join(saved_names[:_MAX_NAMED])}")
    return lines


def _find_saved(root: Path, before: StateBefore, *, is_job: bool) -> list[str]:
    """Return the names of the protected files that another program has replaced where they lie: the mount on a file
    went with that. A job writes to no repository."""
    links = dict(before.guarded.links)
    names = []
    for path, identity in sorted(before.identities.items()):
        is_closed = is_job and "/.git/" in path
        if path in links or is_closed or identify(path) in (None, identity):
            continue
        folder = _folder(path)
        is_in_its_place = identify(folder) == before.folders.get(folder)
        if is_in_its_place and os.path.isfile(path):  # noqa: PTH113  a text, as all of these
            names.append(os.path.relpath(path, root))
    return names


def _paths(guarded: GuardedFiles) -> set[str]:
    return {*guarded.protected, *guarded.repositories, *(path for path, _ in guarded.links)}


def _is_something(path: str) -> bool:
    """Return whether a path is there, and no empty folder: a cover for one that was absent leaves such."""
    if not os.path.lexists(path):
        return False
    place = Path(path)
    return place.is_symlink() or not place.is_dir() or bool(list_entries(path))


def _is_in_new_repository(path: str, before: StateBefore, now: GuardedFiles) -> bool:
    """Return whether a path belongs to a repository that is judged as a whole. One that is not named `.git` may hold
    other files, too."""
    return any(
        path.startswith(f"{repository}/")
        and (repository.endswith("/.git") or os.path.relpath(path, repository) in OF_REPOSITORY)
        and identify(repository) != before.identities.get(repository)
        for repository in now.repositories
    )


def _is_installed(path: str, name: str) -> bool:
    """Return whether a path is of installed dependencies, or of an environment, which a command may make."""
    if is_installed(f"{name}/"):
        return True
    folders = (path, _folder(path))
    return any(os.path.lexists(f"{place}/{mark}") for place in folders for mark in OF_ENVIRONMENTS)


def _restore_links(root: Path, links: tuple[tuple[str, str], ...]) -> list[str]:
    """Put back the links that a command has replaced, since no mount protects a link. Returns a line for each."""
    lines = []
    for path, text in links:
        with suppress(OSError):
            if _has_text(path, text):
                continue
            backup = ""
            with _opened(root, Path(path).parent) as folder:
                if os.path.lexists(path):
                    backup = _set_aside(Path(path), folder)
                os.symlink(text, Path(path).name, dir_fd=folder)
            name = os.path.relpath(path, root)
            backup_note = f"; what replaced it is {_beside(name, backup)}" if backup else ""
            lines.append(
                f"{name} is the link to {text} again{backup_note}: no command may replace it"
            )
    return lines


def _restore_moved(root: Path, before: StateBefore) -> list[str]:
    """Put back the protected files and folders that a command has moved away, with a folder above them, to put others
    in their place. A file that was replaced where it lies is another one by the user, since a mount kept the command
    from that. Returns a line for each."""
    links = dict(before.guarded.links)
    replaced = {
        path: identity
        for path, identity in before.identities.items()
        if path not in links and identify(path) not in (None, identity)
    }
    replaced = {
        path: identity
        for path, identity in replaced.items()
        if identify(_folder(path)) != before.folders.get(_folder(path))
        and not any(path.startswith(f"{other}/") for other in replaced)
    }
    places = _find_places(root, frozenset(replaced.values())) if replaced else {}
    lines = []
    for path, identity in sorted(replaced.items()):
        original = places.get(identity)
        if original is None or _says_the_same(path, original):
            continue
        with suppress(OSError):
            _clear_way(root, Path(path).parent)
            backup = ""
            with (
                _opened(root, Path(path).parent) as folder,
                _opened(root, Path(original).parent) as source,
            ):
                if os.path.lexists(path):
                    backup = _set_aside(Path(path), folder)
                names = Path(original).name, Path(path).name
                os.rename(*names, src_dir_fd=source, dst_dir_fd=folder)
            name = os.path.relpath(path, root)
            replaced_by = f"; what replaced it is {_beside(name, backup)}" if backup else ""
            lines.append(f"{name} is in its place again{replaced_by}: no command may replace it")
    return lines


def _find_places(root: Path, identities: Collection[_FileIdentity]) -> dict[_FileIdentity, str]:
    """Return where in the workspace these files and folders lie now."""
    inodes = {inode for _, inode in identities}
    places: dict[_FileIdentity, str] = {}
    for _, entries in walk(str(root)):
        for entry in entries:
            identity = identify(entry.path) if entry.inode() in inodes else None
            if identity is not None and identity in identities:
                places[identity] = entry.path
    return places


def _says_the_same(path: str, original: str) -> bool:
    """Return whether what took the place of a file or a repository is as good as that."""
    if Path(path).is_dir():
        return starts_nothing(Path(path))
    with suppress(OSError):
        return not os.path.isdir(path) and filecmp.cmp(path, original, shallow=False)  # noqa: PTH112
    return False


def _clear_way(root: Path, folder: Path) -> None:
    """Set the first link aside that a command has put on the way to a folder, and make the folder. Raises OSError."""
    for part in reversed([folder, *folder.parents]):
        if root in part.parents and part.is_symlink():
            with _opened(root, part.parent) as above:
                _set_aside(part, above)
    folder.mkdir(parents=True, exist_ok=True)


def _set_aside(path: Path, folder: int) -> str:
    """Rename a file or folder in the folder with this descriptor. Returns the new name. Raises OSError."""
    number = 1
    while os.path.lexists(path.with_name(f"{path.name}.replaced-{number}")):
        number += 1
    backup = f"{path.name}.replaced-{number}"
    os.rename(path.name, backup, src_dir_fd=folder, dst_dir_fd=folder)
    return backup


def _beside(name: str, backup: str) -> str:
    return str(Path(name).with_name(backup))


def _folder(path: str) -> str:
    return path.rpartition("/")[0]


def _identify_all(paths: Collection[str]) -> dict[str, _FileIdentity]:
    identities = {path: identify(path) for path in paths}
    return {path: identity for path, identity in identities.items() if identity is not None}


def identify(path: str) -> _FileIdentity | None:
    """Return what tells a file or folder from every other one, None if there is none."""
    try:
        status = os.lstat(path)
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _has_text(path: str, text: str) -> bool:
    try:
        return os.readlink(path) == text  # noqa: PTH115  a Path would normalise it
    except OSError:  # something else, or nothing
        return False


@contextmanager
def _opened(root: Path, folder: Path) -> Iterator[int]:
    """Yield a descriptor of a folder in the workspace, or in its repository, reached without following a link. Raises
    OSError."""
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
    base = root if folder.is_relative_to(root) else Path("/")
    with ExitStack() as stack:
        descriptor = os.open(base, flags)
        stack.callback(os.close, descriptor)
        for part in folder.relative_to(base).parts:
            descriptor = os.open(part, flags, dir_fd=descriptor)
            stack.callback(os.close, descriptor)
        yield descriptor
