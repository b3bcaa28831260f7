"""Try to get out of the sandbox: make each attempt of escapes.toml, and look at what it reached.

As a program it prints the outcomes as JSON: `python -m tests.support.escapes [USER [outside]]`. As root with a USER it
becomes that user first; with `outside` it makes the attempts without a sandbox.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import signal
import socket
import subprocess
import sys
import threading
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from swecli.tools.environment import child_environment
from swecli.tools.guard import Guard
from swecli.tools.jobs import Watch
from swecli.tools.path_rules import PathRule
from swecli.tools.processes import run_group
from swecli.tools.run_inside import run_inside
from swecli.tools.sandbox import Profile, Sandbox
from tests.support.as_user import print_as_user

SECRET = "kept-to-myself-4711"
ESCAPED = "ESCAPED"
MARK = f"swecli-escape-{os.getpid()}"
SURVIVOR = f"4711{os.getpid():08}"  # seconds that a survivor sleeps: nobody else has them on a command line
_SECONDS = 20.0
_OTHERS = (
    20  # listeners: the list of the kernel has no order, so some stand before those of the attempts
)
# what starts programs or instructs an assistant, wherever it lies
_STARTING = (
    "AGENTS.md", ".swecli/config.toml", ".mcp.json", ".envrc", "*.pth", ".gitattributes", ".husky/*",
    ".github/workflows/*", ".vscode/*", ".venv/bin/*", "node_modules/.bin/*", ".git", ".git/config",
    ".git/config.worktree", ".git/commondir", ".git/hooks/*", ".git/modules/*/config", ".git/worktrees/*/*",
)  # fmt: skip
_ASIDE = ".replaced-"  # in the name of a file that was set aside, which starts nothing
_RULES = (
    PathRule("deny", False, "confidential/**", "read(confidential/**)"),
    PathRule("deny", True, "fixed.txt", "edit(fixed.txt)"),
)
_PLACES = ("/tmp", "/var/tmp", "/dev/shm", "/etc", "/usr/local", "/root", "/run")


@dataclass(frozen=True)
class Attempt:
    """One attempt; escapes.toml says what its fields mean."""

    group: str
    name: str
    script: str
    profile: Profile = "workspace"
    known: str = ""
    fatal: bool = False
    workspace: str = "."
    meanwhile: str = ""
    waited_for: bool = False


def _read_attempts() -> list[Attempt]:
    data = tomllib.loads(Path(__file__).with_name("escapes.toml").read_text("utf-8"))
    return [Attempt(**row) for row in data["attempt"]]


ATTEMPTS = _read_attempts()


class World:
    """What an attempt is made in: a home, a folder outside, a workspace with a repository, listeners, a process."""

    def __init__(self, base: Path) -> None:
        self.home, self.outside, self.root = base / "home", base / "outside", base / "work"
        for folder in (self.home, self.outside, self.root):
            folder.mkdir()
        for name in (
            ".ssh/id_rsa",
            ".aws/credentials",
            ".netrc",
            ".git-credentials",
            ".config/swecli/config.toml",
            ".some-program/token",
            "another project/notes",
            "another project/.env",
            ".mozilla/firefox/x.default/logins.json",
            "snap/firefox/common/.mozilla/firefox/x.default/key4.db",
            ".var/app/org.chromium.Chromium/config/chromium/Default/Login Data",
            ".local/share/opencode/auth.json",
            ".aider.conf.yml",
            ".cache/huggingface/token",
            ".config/ngrok/ngrok.yml",
            ".s3cfg",
            ".databrickscfg",
            ".bitcoin/wallet.dat",
            "Mail/inbox",
            ".bash_history",
            ".zshenv",
        ):
            self._write(self.home / name, SECRET)
        self._write(self.home / ".cache/pip/wheel", "a wheel\n")
        (base / "other-way-home").symlink_to(self.home)
        self._write(self.home / ".bashrc", "true\n")
        self._write(self.outside / "victim", "here\n")
        self._write(self.outside / ".env", f"KEY={SECRET}\n")
        self._write(self.outside / "notes", SECRET)
        (base / "plain").mkdir()
        self._write(self.root / "app/.vscode/settings.json", "{}\n")
        self._write(self.root / "confidential/notes", SECRET)
        self._write(self.root / "fixed.txt", "fixed\n")
        self._write(self.root / "docs/AGENTS.md", "by the user\n")
        self._write(self.root / "part/src/main.txt", "text\n")
        os.mkfifo(self.root / "pipe")
        self._write(self.root / ".env", f"KEY={SECRET}\n")
        self._write(self.root / "private/notes", SECRET)
        self._write(self.root / ".swecliignore", "private/\n")
        self._write(self.root / ".vscode/settings.json", "{}\n")
        self._write(self.root / ".github/workflows/ci.yml", "on: push\n")
        for name in (".venv/bin/activate", "node_modules/.bin/tool", "web/node_modules/.bin/tool"):
            self._write(self.root / name, "true\n")
        self._write(self.root / "node_modules/one/.env", f"KEY={SECRET}\n")
        self._write(self.root / ".terraform/terraform.tfstate", SECRET)
        self._write(self.root / "environments/one/bin/activate", "true\n")
        (self.root / "venv").symlink_to("environments/one")
        self.env = child_environment(
            {
                "PATH": "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin",
                "HOME": str(self.home), "OUT": str(self.outside), "MARK": MARK, "SURVIVOR": SURVIVOR,
                "PY": "/usr/bin/python3",
                "ACCESS_TOKEN": SECRET, "GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@b",
                "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@b",
            }
        )  # fmt: skip
        for words in (
            ("init", "-q"),
            ("add", "-f", ".env", ".vscode", ".github"),
            ("commit", "-qm", "x"),
        ):
            subprocess.run(["git", *words], cwd=self.root, env=self.env, check=True)
        for command in (
            ("init", "-q", "--template=", "vendor/lib"),
            ("worktree", "add", "-q", "-b", "linked", "linked"),
        ):
            subprocess.run(["git", *command], cwd=self.root, env=self.env, check=True)

    @staticmethod
    def _write(path: Path, text: str) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def digest(self) -> str:
        """Return a digest of everything that no command may change."""
        found = hashlib.sha256()
        guarded = (
            ".git/hooks", ".git/config", ".vscode", ".github/workflows",
            ".venv", "venv", "node_modules", "web/node_modules", ".terraform", "environments", "fixed.txt",
        )  # fmt: skip
        for top in (self.home, self.outside, *(self.root / name for name in guarded)):
            for path in sorted([top, *top.rglob("*")]):
                if not path.exists():  # moved away for good: the digest differs by that
                    found.update(f"{path} is gone".encode())
                    continue
                status = path.stat()  # of a link its target's: the link may have been put back
                found.update(f"{path} {status.st_mode} {status.st_mtime_ns}".encode())
                if path.is_file():
                    found.update(path.read_bytes())
        return found.hexdigest()

    def instructs(self) -> bool:
        """Return whether git would start a program now, or a file that starts programs or instructs an assistant has
        words of the command."""
        places = (self.root, self.root.parent / "plain")
        files = [path for place in places for name in _STARTING for path in place.rglob(name)]
        texts = (path.read_bytes() for path in files if path.is_file() and _ASIDE not in path.name)
        repositories = {path.parent for place in places for path in place.rglob(".git")}
        # git takes any folder that looks so for a repository, if it is asked there
        repositories |= {
            path.parent for path in self.root.rglob("HEAD") if ".git" not in path.parts
        }
        return any(b"evil" in text for text in texts) or any(map(self._starts, repositories))

    def _starts(self, folder: Path) -> bool:
        """Return whether git starts a program of the command's in a folder."""
        asked = subprocess.run(
            ["git", "config", "--get", "core.fsmonitor"],
            cwd=folder, env=self.env, capture_output=True, check=False,
        )  # fmt: skip
        return b"evil" in asked.stdout and not any(_ASIDE in part for part in folder.parts)


def _listen_out_of_sight(others: list[socket.socket], base: Path) -> None:
    """Add listeners of another user to `others`, whose files only that one may see, as on any machine."""
    folder = base / "closed"
    folder.mkdir(mode=0o700)
    for number in range(_OTHERS):
        server = socket.socket(socket.AF_UNIX)
        server.bind(str(folder / str(number)))
        server.listen()
        others.append(server)


# binds a socket in a network of its own, says so, and says when it was reached, until its stdin ends
_APART = """
import os, socket, sys, threading
server = socket.socket(socket.AF_UNIX)
server.bind(sys.argv[1])
server.listen()
print("bound", flush=True)
def accept():
    while True:
        if server.accept()[0].recv(1):
            print("reached", flush=True)
threading.Thread(target=accept, daemon=True).start()
sys.stdin.read()
os.unlink(sys.argv[1])
"""


@contextmanager
def _listening_apart(path: Path, reached: list[str]) -> Iterator[None]:
    """Listen on a socket from another network namespace, as in a container that shares a folder."""
    words = [
        "unshare",
        "--user",
        "--net",
        "--map-root-user",
        "/usr/bin/python3",
        "-c",
        _APART,
        str(path),
    ]
    with subprocess.Popen(
        words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as server:
        assert server.stdout
        server.stdout.readline()
        yield
        output, _ = server.communicate()
    reached += output.split()


@contextmanager
def _reading(pipe: Path, reached: list[str]) -> Iterator[None]:
    """Read a named pipe, as a program of the user's does."""
    descriptor = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        yield
        if os.read(descriptor, 1):
            reached.append(str(pipe))
    finally:
        os.close(descriptor)


@contextmanager
def _listening(paths: list[str]) -> Iterator[tuple[int, list[str]]]:
    """Yield a port with a listener, and the list of the listeners that were reached; `paths` are those of sockets."""
    reached: list[str] = []
    servers = []
    tcp = socket.socket()
    tcp.bind(("127.0.0.1", 0))
    servers.append(tcp)
    for path in paths:
        server = socket.socket(socket.AF_UNIX)
        with suppress(OSError):  # /run is root's
            server.bind(path)
            servers.append(server)

    def accept(server: socket.socket) -> None:
        with suppress(OSError):
            while True:
                with server.accept()[0] as connection:
                    # the sandbox connects, too, to see who listens, and sends nothing
                    if connection.recv(1):
                        reached.append(str(server.getsockname()))

    for server in servers:
        server.listen()
        threading.Thread(target=accept, args=(server,), daemon=True).start()
    try:
        yield tcp.getsockname()[1], reached
    finally:
        for server in servers:
            server.close()
        for path in paths:
            if not path.startswith("\0"):
                Path(path).unlink(missing_ok=True)


def _survivors() -> list[int]:
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdecimal():
            continue
        with suppress(OSError):
            if SURVIVOR.encode() in (entry / "cmdline").read_bytes().split(b"\0"):
                found.append(int(entry.name))
    return found


async def attempt_all(base: Path, *, inside: bool = True) -> list[dict[str, str]]:
    """Make every attempt in a folder that a command could reach. Without a sandbox those are left out that would do
    lasting harm, and root makes none. Returns group, name and outcome of each, and the end of its output."""
    if not inside and os.geteuid() == 0:
        raise SystemExit("without a sandbox the attempts are not made as root")
    rows = []
    leak = os.open(os.devnull, os.O_RDONLY)
    os.set_inheritable(leak, True)
    world = None
    for number, attempt in enumerate(ATTEMPTS):
        if not inside and attempt.fatal:
            continue
        if world is None or rows[-1]["escaped"]:
            place = base / str(number)
            place.mkdir()
            world = World(place)
        escaped, output = await _make(attempt, world, leak, inside)
        rows.append(
            {
                "group": attempt.group,
                "name": attempt.name,
                "known": attempt.known,
                "escaped": escaped,
                "output": output,
            }
        )
    os.close(leak)
    return rows


async def _make(attempt: Attempt, world: World, leak: int, inside: bool) -> tuple[str, str]:
    """Make one attempt. Returns the signs of what it reached, "" for none, and the end of its output."""
    victim = subprocess.Popen(
        ["sleep", "1000"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    output = bytearray()
    places = [
        str(world.home / "agent"),
        str(world.root / "server"),
        os.path.relpath(world.root / "relative"),
        str(world.root / "my folder of sockets"),
        f"/run/{MARK}.socket",
        f"\0{MARK}",
    ]
    argv = ["/bin/bash", "-c", attempt.script]
    root = (world.root / attempt.workspace).resolve()
    with (
        _listening(places) as (port, reached),
        _listening_apart(world.root / "apart", reached),
        _reading(world.root / "pipe", reached),
    ):
        env = world.env | {"PORT": str(port), "VICTIM": str(victim.pid), "LEAK": str(leak)}
        sandbox = Sandbox("required", root, env, [world.home / ".config/swecli"])
        if sandbox.problem:
            raise SystemExit(sandbox.problem)
        for name in ("ready", "go"):
            (world.root / name).unlink(missing_ok=True)
        before = [world.digest()]
        user = asyncio.create_task(_act_as_user(attempt, world, before))
        if inside:
            await run_inside(
                sandbox,
                Guard(sandbox.root, _RULES),
                attempt.profile,
                argv,
                env=env,
                timeout=_SECONDS,
                on_output=output.extend,
                watch=Watch() if attempt.meanwhile and not attempt.waited_for else None,
            )
        else:
            await run_group(argv, cwd=root, env=env, timeout=_SECONDS, on_output=output.extend)
        user.cancel()
        sandbox.close()
        text = output.decode("utf-8", "replace")
        signs = {
            "succeeded": ESCAPED in text.split(),
            "printed a secret": SECRET in text,
            "changed files": [world.digest()] != before,
            "left a mark": any(os.path.lexists(f"{place}/{MARK}") for place in _PLACES),
            "survived": bool(_survivors()),
            "ended a process": victim.poll() is not None,
            "starts programs": world.instructs(),
        }
    signs["reached a listener"] = bool(reached)
    for pid in _survivors():
        os.kill(pid, signal.SIGKILL)
    for place in _PLACES:
        with suppress(OSError):
            Path(place, MARK).unlink(missing_ok=True)
    victim.kill()
    victim.wait()
    return ", ".join(sign for sign, is_so in signs.items() if is_so), text[-500:]


async def _act_as_user(attempt: Attempt, world: World, before: list[str]) -> None:
    """Do what the user does while the command of an attempt runs, when that has made the file `ready`; say so by the
    file `go`. `before` gets the digest with his changes in place of the one without."""
    if not attempt.meanwhile:
        return
    while not (world.root / "ready").exists():
        await asyncio.sleep(0.05)
    await asyncio.sleep(0.5)  # the sandbox looks at the files five times a second
    subprocess.run(
        ["/bin/bash", "-ec", attempt.meanwhile], cwd=world.root, env=world.env, check=True
    )
    before[:] = [world.digest()]
    await asyncio.sleep(1.0)
    (world.root / "go").touch()


if __name__ == "__main__":
    words = sys.argv[1:]
    user = words[0] if words else ""
    others: list[socket.socket] = []
    print_as_user(
        user,
        partial(attempt_all, inside=words[1:] != ["outside"]),
        prepare=partial(_listen_out_of_sight, others),
    )
