"""Run commands in a sandbox made by bubblewrap: whether this machine can make one, and what a command in it may see and
write."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import re
import stat
import sys
import weakref
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import field, replace
from functools import cache, cached_property
from pathlib import Path
from typing import Literal

from swecli.config.paths import project_root
from swecli.config.plugin_places import may_have_plugins
from swecli.config.settings import Start
from swecli.folders import is_folder
from swecli.models.added_folder import AddedFolder
from swecli.redact import redact_value
from swecli.regular_files import read_regular
from swecli.tools.bubblewrap import (
    DEVICES,
    RUNTIME,
    Bubblewrap,
    find_bubblewrap,
    namespaces,
    status_pipe,
    system,
    system_calls,
    version_of,
    why_not,
)
from swecli.tools.channels import OutsideChannels
from swecli.tools.command_limits import with_limits
from swecli.tools.confine import system_call_filter
from swecli.tools.environment import own_environment, reading_environment
from swecli.tools.homes import hidden_homes, home_of, package_caches, settings_of_git
from swecli.tools.own_programs import find_program, own_folders, own_link
from swecli.tools.private_folder import make_private_folder, remove_private_folder
from swecli.tools.shared_network import SharedNetwork
from swecli.tools.toolchains import toolchains_below
from swecli.values import dataclass

Profile = Literal["read-only", "workspace"]

_STATUS_BYTES = 4096  # the report is two short lines

_HIDDEN_AT_HOME = Path(__file__).with_name("hidden.txt")
_TEMPORARY = ("/tmp", "/var/tmp")
_REPLACED = (DEVICES, RUNTIME, *_TEMPORARY)  # what a command sees there is its own
_SHARE = "--share-net"  # what the command was started in

# How programs report what the sandbox denies: the names and words of the system's errors, and those for a host whose
# name nobody can look up.
_NETWORK = (errno.ENETUNREACH, errno.ECONNREFUSED)  # the loopback is another one, too
_DENIALS = (*_NETWORK, errno.EROFS, errno.EACCES, errno.EPERM, errno.EBUSY)
_UNRESOLVED = "EAI_AGAIN|ENOTFOUND|[Cc]ould not resolve|name resolution|Name or service not known"
# so Node.js reports a read-only folder
_IN_READ_ONLY = r"ENOENT[^\n]*, mkdir '[^'\n]*/node_modules/"
_DENIED = re.compile(
    "|".join(
        [
            *(re.escape(os.strerror(number)) for number in _DENIALS),
            *(rf"\b{errno.errorcode[number]}\b" for number in _DENIALS),
            _UNRESOLVED,
            _IN_READ_ONLY,
        ]
    )
)


@dataclass(frozen=True, slots=True)
class GuardedFiles:
    """Absolute paths in the workspace: `hidden` files cannot be read, `protected` files and folders not be changed;
    `links` are protected too, with the text that each of them holds. `opened` are paths outside that a rule lets
    commands see, `repositories` every `.git`, at any depth. `added` has the same for each folder that was added to the
    workspace."""

    hidden: tuple[str, ...] = ()
    protected: tuple[str, ...] = ()
    links: tuple[tuple[str, str], ...] = ()
    opened: tuple[str, ...] = ()
    repositories: tuple[str, ...] = ()
    added: tuple[GuardedFolder, ...] = ()

    def everywhere(self) -> GuardedFiles:
        """Return the same with the files of the added folders among those of the workspace."""
        inner = [added.files for added in self.added]
        return replace(
            self,
            hidden=(*self.hidden, *(path for files in inner for path in files.hidden)),
            protected=(*self.protected, *(path for files in inner for path in files.protected)),
            links=(*self.links, *(link for files in inner for link in files.links)),
            repositories=(
                *self.repositories,
                *(path for files in inner for path in files.repositories),
            ),
        )


@dataclass(frozen=True, slots=True)
class GuardedFolder:
    """A folder that was added to the workspace, and the guarded files in it."""

    folder: AddedFolder
    files: GuardedFiles


@dataclass(frozen=True, slots=True)
class Confined:
    """How to start a command in the sandbox: `descriptors` are those that bubblewrap uses, `status` is the one that it
    reports on."""

    argv: list[str]
    env: dict[str, str]
    descriptors: tuple[int, ...]
    status: int
    _report: bytearray = field(default_factory=bytearray)  # what was read of it

    def process(self) -> int:
        """Return the number of the first process in the sandbox, 0 if that is not known yet."""
        self._read()
        with suppress(ValueError, KeyError, IndexError):
            return int(json.loads(self._report.splitlines()[0])["child-pid"])
        return 0

    def has_ended(self) -> bool:
        """Return whether the command has run to its end. False if bubblewrap could not make the sandbox, or was
        killed."""
        self._read()
        return b"exit-code" in self._report

    def _read(self) -> None:
        with suppress(BlockingIOError):
            self._report.extend(os.read(self.status, _STATUS_BYTES))


class Sandbox:
    """The sandbox of a run's commands. Whether there is one is found out when it is first needed. `setting` is "auto",
    "required" or "off"; `folders_of_swecli` are folders of swecli itself, which commands do not see but for those of
    `plugins`."""

    def __init__(
        self,
        setting: str,
        root: Path,
        environ: Mapping[str, str] | None,
        folders_of_swecli: Iterable[Path] = (),
        plugins: Iterable[Path] = (),
    ) -> None:
        self.root = root.resolve()
        self._setting = setting
        self._folders_of_swecli = tuple(folders_of_swecli)
        self._plugins = tuple(map(str, plugins))
        self._channels = OutsideChannels()
        self._remove_private: weakref.finalize[..., Sandbox] | None = None
        self._environ = own_environment(environ)

    @classmethod
    def of(cls, start: Start) -> Sandbox:
        """Return the sandbox for the folder and the settings of a run."""
        paths = start.paths
        folders_of_swecli = dict.fromkeys((paths.config, paths.data, paths.state, paths.cache))
        plugins: list[Path] = []
        if may_have_plugins(paths):
            # late: few have plug-ins
            from swecli.config.plugins import read_plugins

            plugins = [plugin.root for plugin in read_plugins(paths).plugins]
        return cls(start.settings.sandbox, start.cwd, start.environ, folders_of_swecli, plugins)

    def for_folder(self, folder: Path) -> Sandbox:
        """Return a sandbox of the same settings for commands in another folder."""
        return Sandbox(
            self._setting, folder, self._environ, self._folders_of_swecli, map(Path, self._plugins)
        )

    @property
    def is_active(self) -> bool:
        """Whether commands run in it."""
        return not self.problem

    @cached_property
    def problem(self) -> str:
        """Why there is no sandbox, "" if there is one."""
        if self._setting == "off":
            return "the setting sandbox is off"
        if self.root == Path("/"):
            return "the working folder is /, and nothing lies outside it"
        if not sys.platform.startswith("linux"):
            return "there is one for Linux only"
        if link := own_link(self.root):
            return f"swecli runs through the link {link}, which a command could replace"
        return self._bubblewrap.problem

    @property
    def refusal(self) -> str:
        """Why no command may run at all, "" if commands may."""
        if self._setting != "required" or self.is_active:
            return ""
        return f"The setting sandbox is required, and there is none: {self.problem}."

    @property
    def outside_reason(self) -> str:
        """Why commands run outside a sandbox, "" if they run in it, or not at all."""
        return "" if self.refusal else self.problem

    def describe(self) -> str:
        """Return a line for the user on what commands run in."""
        if self.problem:
            return f"none, so commands run as you, after you allow them ({self.problem})"
        assert self._program is not None
        unfiltered = "" if system_call_filter() else "; every system call, on this processor"
        alone = (
            f"; each command has a loopback of its own ({reason})"
            if (reason := self._alone)
            else ""
        )
        fixed = (
            f"; caches of package managers are read-only ({reason})"
            if (reason := self._fixed_caches)
            else ""
        )
        program = f"{version_of(self._program)} ({self._program})"
        names = ", ".join(os.path.relpath(path, self.root) for path in own_folders(self.root))
        but = f" but for {names}, from which swecli runs" if names else ""
        return f"{program}: no network, writes only in this folder{but}{unfiltered}{alone}{fixed}"

    def options(
        self,
        profile: Profile,
        guarded: GuardedFiles,
        *,
        has_closed_repositories: bool = False,
        network: bool = False,
        writable: Sequence[str] = (),
    ) -> list[str]:
        """Return what a command in the sandbox may see and write, as options of bubblewrap. With
        `has_closed_repositories` it does not write to any `.git`; with `network` it reaches that of the machine, and it
        may write to the folders `writable`. Looks at many files: not for the event loop."""
        guarded = guarded.everywhere()
        shared = [_SHARE] if network else self._share_network()
        options = [*namespaces(), *shared, *system(), *self._temporary_folders()]
        if network:
            options += _names_of_hosts()
        options += self._home_folders(profile, guarded)
        options += self._workspace(profile, guarded, has_closed_repositories)
        places = (*self._plugins, *writable)
        options += _hide([*self._hidden_outside(guarded), *guarded.hidden], places)
        for path in self._plugins:
            options += ["--ro-bind-try", path, path]
        for path in writable:
            options += ["--bind", path, path]
        for folder in self._homes:
            options += ["--remount-ro", folder]  # last, as below
        if profile == "read-only":
            # last: until here mount points are made in them
            for folder in filter(is_folder, (DEVICES, RUNTIME)):
                options += ["--remount-ro", folder]
        return [*options, "--chdir", str(self.root)]

    @contextmanager
    def confine(
        self,
        options: Sequence[str],
        argv: Sequence[str],
        env: Mapping[str, str],
        *,
        profile: Profile = "workspace",
        network: bool = False,
    ) -> Iterator[Confined]:
        """Yield how to start a program in the sandbox with these options, until it has ended. `profile` and `network`
        are as in the options."""
        assert self._program is not None, "the sandbox is active"
        with system_calls() as (words, descriptors), status_pipe() as (reading, writing):
            report = ["--json-status-fd", str(writing)]
            command = [str(self._program), *options, *words, *report, "--"]
            command += with_limits(self.root, argv)
            if _SHARE in options and not network:
                assert self._network is not None, "it was prepared with the options"
                command = self._network.enter(command)
            environment = self._environment(env, profile)
            yield Confined(command, environment, (*descriptors, writing), reading)

    def misses_home(self, output: str) -> bool:
        """Return whether a command reports, in the words of the system, that something at home is not there."""
        error_lines = [line for line in output.splitlines() if os.strerror(errno.ENOENT) in line]
        return any(f"{home}/" in line for line in error_lines for home in self._homes)

    def close(self) -> None:
        """Remove what commands wrote to /tmp, and end their network. No command may run any more."""
        if self._network is not None:
            self._network.close()
        if self._remove_private is not None:
            self._remove_private()

    @cached_property
    def _bubblewrap(self) -> Bubblewrap:
        return find_bubblewrap(self._environ, self.root)

    @property
    def _program(self) -> Path | None:
        return self._bubblewrap.program

    @cached_property
    def _network(self) -> SharedNetwork | None:
        """The network of the session; None where no program enters one."""
        if not self.nsenter or self._program is None:
            return None
        return SharedNetwork(self._program, self.nsenter)

    @cached_property
    def nsenter(self) -> str:
        """The program that enters a namespace, "" if there is none."""
        return find_program("nsenter", self._environ, self.root) or ""

    @property
    def refused_connections(self) -> int:
        """How many connections nobody took in the network that commands share; 0 if they share none."""
        return self._network.refused if self._network else 0

    @property
    def has_shared_network(self) -> bool:
        """Whether a command reaches what another one of the session serves on the loopback."""
        return not self._alone

    @property
    def _alone(self) -> str:
        """Why commands do not share the network of the session, "" if they do."""
        return self._network.prepare() if self._network else "nsenter is not installed"

    def _share_network(self) -> list[str]:
        return [] if self._alone else [_SHARE]

    @cached_property
    def _private(self) -> Path:
        """A folder for this session: commands see its `tmp` as /tmp, all the same one, since a command often reads what
        an earlier one wrote there."""
        folder, descriptor = make_private_folder()
        (folder / "tmp").mkdir()
        (folder / "empty").mkdir()
        self._remove_private = weakref.finalize(self, remove_private_folder, folder, descriptor)
        return folder

    @cached_property
    def _secret_names(self) -> frozenset[str]:
        """The variables whose name or value the redactor takes for a secret."""
        names = set()
        for name, value in self._environ.items():
            pair = {
                name.lower(): value
            }  # of AUTHOR, in capitals, the redactor would take AUTH for a word
            if redact_value(pair) != pair:
                names.add(name)
        return frozenset(names)

    def _environment(self, env: Mapping[str, str], profile: Profile) -> dict[str, str]:
        environment = {name: value for name, value in env.items() if name not in self._secret_names}
        environment |= dict.fromkeys(("TMPDIR", "TMP", "TEMP"), _TEMPORARY[0])
        return (
            reading_environment(environment, _TEMPORARY[0])
            if profile == "read-only"
            else environment
        )

    def _temporary_folders(self) -> list[str]:
        options: list[str] = []
        for folder in filter(is_folder, _TEMPORARY):
            options += ["--bind", str(self._private / "tmp"), folder]
        return options

    @cached_property
    def _programs(self) -> tuple[str, ...]:
        """The folders of programs that a command would not see, because of where they lie."""
        return toolchains_below((*_REPLACED, *self._homes), self.root, self._environ)

    @cached_property
    def _homes(self) -> tuple[str, ...]:
        """The folders of users' files, of which a command sees little."""
        homes = hidden_homes(self.root, self._environ)
        return tuple(home for home in homes if home not in _REPLACED)

    @cached_property
    def _caches(self) -> tuple[str, ...]:
        """The caches of package managers that a command would not see, or could not write to."""
        return tuple(
            path
            for path in package_caches(self._environ)
            if not Path(path).is_relative_to(self.root) and not self.root.is_relative_to(path)
        )

    @cached_property
    def _overlays(self) -> list[str]:
        """The options by which commands write to caches of their own, that begin with what is in the user's."""
        return [
            word for path in self._caches for word in ("--overlay-src", path, "--tmp-overlay", path)
        ]

    @cached_property
    def _fixed_caches(self) -> str:
        """Why the caches are read-only, "" if there are none, or each command has overlays of its own."""
        assert self._program is not None, "the sandbox is active"
        return why_not(self._program, self._overlays) if self._overlays else ""

    def _home_folders(self, profile: Profile, guarded: GuardedFiles) -> list[str]:
        """Return the options for the homes, and for what a command sees of them: programs, caches, settings of git, and
        what rules name."""
        options = [word for path in self._homes for word in ("--tmpfs", path)]
        git = settings_of_git(self._environ) if self._homes else []
        visible = {*self._programs, *self._caches, *git, *guarded.opened}
        for path in sorted(visible):
            if visible.isdisjoint(map(str, Path(path).parents)):
                options += ["--ro-bind-try", path, path]
        if profile == "workspace" and not self._fixed_caches:
            options += self._overlays
        return options

    def _workspace(
        self, profile: Profile, guarded: GuardedFiles, has_closed_repositories: bool
    ) -> list[str]:
        """Return the options for the workspace, the folders of git and protected files."""
        root = str(self.root)
        if profile == "read-only":
            added = (each.folder.path for each in guarded.added)
            folders = sorted({root, *repository_folders(self.root), *added})
            return [word for folder in folders for word in ("--ro-bind", folder, folder)]
        options = {root: ["--bind", root, root]}
        for added_folder in guarded.added:
            path = added_folder.folder.path
            options[path] = [
                "--bind" if added_folder.folder.may_change else "--ro-bind",
                path,
                path,
            ]
        for folder in filter(is_folder, guarded.repositories):
            options[folder] = ["--bind", folder, folder]  # onto itself: so it cannot be renamed
        # the user's git replaces its settings by rename, which takes a mount on the file away, but none on the folder
        closed = self._own_repositories(guarded) if has_closed_repositories else []
        for folder in closed:
            options[folder] = ["--ro-bind", folder, folder]
        for folder in self._above_own(guarded):
            options[folder] = ["--bind", folder, folder]  # as above
        for path in guarded.protected:
            if os.path.islink(path) and not os.path.exists(path):  # noqa: PTH110, PTH114  strings are quicker here
                continue  # it leads nowhere, or to itself: there is nothing to mount, and it is put back
            if path.startswith(tuple(f"{folder}/" for folder in closed)):
                continue
            is_missing = path.endswith("/.git/hooks") and not os.path.lexists(path)
            source = str(self._private / "empty") if is_missing else path
            options[path] = ["--ro-bind-try", source, path]
            for folder in _made_by_vite(path):
                options[folder] = ["--bind", self._private_copy(folder), folder]
        # in the order of their names: each folder before what lies in it
        return [word for path in sorted(options) for word in options[path]]

    def _own_repositories(self, guarded: GuardedFiles) -> list[str]:
        """Return the folders of repositories in which a user works, without those that only look like one."""
        repository_paths = repository_folders(self.root)
        return [
            path
            for path in guarded.repositories
            if is_folder(path) and (path in repository_paths or path.endswith("/.git"))
        ]

    def _above_own(self, guarded: GuardedFiles) -> list[str]:
        """Return the folders in the workspace above those that swecli runs from, but for what is protected: there, a
        mount of its own for a folder would let commands write to it again."""
        protected = frozenset(guarded.protected)
        above = [folder for own_folder in own_folders(self.root) for folder in own_folder.parents]
        folders = []
        for folder in dict.fromkeys(above):
            is_protected = not protected.isdisjoint(map(str, (folder, *folder.parents)))
            if self.root in folder.parents and not is_protected:
                folders.append(str(folder))
        return folders

    def _private_copy(self, path: str) -> str:
        """Return an empty folder of this session that commands see in place of one in the workspace."""
        name = hashlib.sha256(os.fsencode(path)).hexdigest()
        folder = self._private / name
        folder.mkdir(exist_ok=True)
        return str(folder)

    def _hidden_outside(self, guarded: GuardedFiles) -> list[str]:
        """Return what is hidden but for files of the workspace: secrets at home, swecli's own folders, settings that
        only root may read, and what leads to running programs."""
        home = home_of(self._environ)
        added = [each.folder.path for each in guarded.added]
        visible = (str(self.root), *self._programs, *self._caches, *guarded.opened, *added)
        replaced = (*_REPLACED, *self._homes)
        candidates = [*self._folders_of_swecli, *_secrets_at_home(home), *_closed_settings()]
        own_process = self._network.process if self._network is not None else 0
        candidates += self._channels.find((str(self.root), *guarded.opened, *added), own_process)
        hidden_paths = []
        for path in candidates:
            real = path.resolve()
            if self.root.is_relative_to(real):
                continue  # the user chose to work in it
            if _is_below(str(real), visible) or not _is_below(str(real), replaced):
                hidden_paths.append(str(real))
        return hidden_paths


def looks_read_only(output: str) -> bool:
    """Return whether a program that failed says, in the words of the system or of Node, that it may not write."""
    return any(words in output for words in (os.strerror(errno.EROFS), "EROFS"))


def says_read_only(output: str) -> bool:
    """Return whether a program says that it may not write: as the last word of a line, as the shell and its programs
    do, those in Rust with the error's number, and npm with its name, or as an error of Python or Node, alone on its
    line. One that only warns of it, as pytest does of its cache, does neither."""
    words = os.strerror(errno.EROFS)
    ends = (words, f"{words} (os error {errno.EROFS})", errno.errorcode[errno.EROFS])
    error_of_python = f"[Errno {errno.EROFS}] {words}"
    for line in output.splitlines():
        is_error = line.split(":")[0].endswith("Error") and (words in line or "EROFS" in line)
        if is_error or line.rstrip().endswith(ends) or line.startswith(error_of_python):
            return True
    return False


def looks_denied(output: str) -> bool:
    """Return whether a failed command reports what the sandbox denies: writing, reading, the network."""
    return _DENIED.search(output) is not None


def repository_folders(root: Path) -> list[str]:
    """Return the folders that git writes to for this workspace: `.git`; of a linked work tree the repository's and its
    own, if that names this work tree in turn (the file of the work tree alone could name any folder)."""
    link = project_root(root) / ".git"
    if link.is_symlink():
        return []
    if link.is_dir():
        return [str(link)]
    try:
        git_folder = Path(_read_line(link).removeprefix("gitdir:").strip())
        is_answered = Path(_read_line(git_folder / "gitdir")) == link
        common = git_folder / _read_line(git_folder / "commondir")
    except (OSError, ValueError):
        return []
    return [os.path.realpath(common), os.path.realpath(git_folder)] if is_answered else []


def _read_line(path: Path) -> str:
    """Return the only line of a file of git. Raises OSError, also for a pipe, and UnicodeDecodeError."""
    return read_regular(path).decode("utf-8").strip()


def _names_of_hosts() -> list[str]:
    """Return the options that show what names the machine's servers for names of hosts, where the sandbox hides it."""
    real = os.path.realpath("/etc/resolv.conf")
    return ["--ro-bind-try", real, real] if _is_below(real, [RUNTIME]) else []


def _hide(paths: Iterable[str], places: Collection[str]) -> list[str]:
    """Return the options after which these files and folders cannot be opened; what is mounted later at the `places` in
    them can be reached."""
    options: list[str] = []
    above = {str(parent) for place in places for parent in Path(place).parents}
    for path in dict.fromkeys(map(os.path.realpath, paths)):
        if is_folder(path):
            mode = "0111" if path in above else "0000"
            options += ["--perms", mode, "--tmpfs", path]
        elif os.path.lexists(path):
            # a device, which cannot be opened where it is bound as a file
            options += ["--ro-bind", "/dev/null", path]
    return options


def _made_by_vite(folder: str) -> list[str]:
    """Return the folders in which Vite writes what it runs at once, in a read-only `node_modules`: it does not start
    without them (its option `cacheDir`, and where it compiles its configuration). Makes them, since only a folder that
    is there can be covered."""
    if not folder.endswith("/node_modules") or not os.path.lexists(f"{folder}/vite"):
        return []
    folders = []
    for name in (".vite", ".vite-temp"):
        path = Path(folder, name)
        with suppress(OSError):
            path.mkdir(exist_ok=True)
        if path.is_dir() and not path.is_symlink():
            folders.append(str(path))
    return folders


def _is_below(path: str, folders: Iterable[str]) -> bool:
    # by their texts: many paths are compared before each command
    return any(f"{path}/".startswith(f"{folder.rstrip('/')}/") for folder in folders)


def _secrets_at_home(home: Path) -> list[Path]:
    lines = _HIDDEN_AT_HOME.read_text("utf-8").splitlines()
    paths = [home / line for line in lines if line and not line.startswith("#")]
    return [path for path in paths if os.path.lexists(path)]


@cache
def _closed_settings() -> tuple[Path, ...]:
    """Return the files in /etc that not everyone may read, if this process may, as root."""
    if os.geteuid() != 0:
        return ()
    files = []
    for folder, _, names in os.walk("/etc"):
        for name in names:
            path = Path(folder, name)
            with suppress(OSError):
                mode = path.lstat().st_mode
                if stat.S_ISREG(mode) and not mode & stat.S_IROTH:
                    files.append(path)
    return tuple(files)
