"""A jail for commands that run unasked, and a generator of command lines from the table of programs.

The jail is a folder with a workspace, a home, secrets and traps: what a command changes, starts or prints there is
found. In lines from `generate` options and operands are in any order, perhaps behind or before another command."""

from __future__ import annotations

import os
import random
import shlex
import shutil
import signal
import stat
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from swecli.tools.commands.reading import _Form, _forms
from swecli.tools.commands.rules import why_uncovered
from swecli.tools.environment import child_environment
from swecli.tools.git import read_only_environment
from swecli.tools.guard import Guard

SECONDS = 3.0  # for one command; one that takes longer is ended, as in a session
CANARY = "canary-4711"  # in every file that must not be shown

# Programs that a command could be tricked into starting, as scripts that leave a trace, and what may be asked of them.
TRAPS = (
    "python python3 node sh bash gpg less more pager vi ssh gzip bzip2 xz zstd lzip pr evil perl"
)
VERSIONS = {
    f"{name} {word}" for name in ("python", "python3", "node") for word in ("-V", "-v", "--version")
}

FILES = {
    "README.md": "# one\nKEY = two words\n",
    "src/app.py": "KEY = 1\nimport os\n",
    "src/notes.txt": "b\na\nKEY\n",
    "data.json": '{"a": [1, 2], "KEY": "x"}\n',
    "my file.txt": "KEY\n",
    ".hidden": "KEY\n",
    ".env": f"KEY={CANARY}\n",
    "src/.env.local": f"KEY={CANARY}\n",
    "deep/er/key.pem": f"KEY {CANARY}\n",
    ".aws/one/two": f"KEY {CANARY}\n",
    "private/plan.txt": f"KEY {CANARY}\n",
    ".swecliignore": "private/\n",
    # words and programs for those who read them as such
    "evil.sh": "#!/bin/sh\n: >PWNED\n",
    "evil.py": "open('PWNED', 'w')\n",
    "evil.js": "require('fs').writeFileSync('PWNED', '')\n",
    "0/ls": "#!/bin/sh\n: >PWNED\n",
    "1": "--pre=./evil.sh\n--hidden\n",
    "2/.gitconfig": "[core]\n\tfsmonitor = ./evil.sh\n[diff]\n\texternal = ./evil.sh\n",
    "@options": "../outside/id_rsa\n",
    "-n": "KEY\n",
    "FS=,": "KEY\n",
    ".gitattributes": "*.md diff=evil filter=evil\n*.py textconv=evil\n",
}  # fmt: skip

OPERANDS = [
    "README.md", "src/app.py", "src", ".", "data.json", "'my file.txt'", "*.md", "src/*", "*", ".*", "-", "--",
    "-n", "nowhere", ".env", "../outside/id_rsa", "link_out", "link_env", "deep", ".aws", "private",
    "private/plan.txt", "one", "two", "pipe", "evil.sh", "evil.py", "@options", "FS=,", "0/ls", "KEY", "a",
    "5", "+5", "1f", "+1f", "PATH", "HOME", "RIPGREP_CONFIG_PATH", "''", "/etc/hostname", "src/../.env",
    "[.]env", "?env", "deep/*", "src/.e*",
]  # fmt: skip
VALUES = [
    "1", "5", "KEY", "'*.py'", "'*.{env,py}'", ".env", "'.e*'", "'*env'", "py", "%s", "'%n'", "'%GG'",
    "README.md", "-o", "out", "1,1:.env", "1,2:README.md", ",", "never", "always", "name", "../outside",
    "auto", "''", "0",
]  # fmt: skip
REVISIONS = [
    "HEAD", "HEAD~1", "HEAD~2", "HEAD~2..HEAD", "HEAD:config/.env.test", "HEAD:src/app.py", "HEAD~1:README.md",
    "main", "':!README.md'", "'*env*'", "':(glob)**/*env*'", "config", "src/app.py", "--", "stash@{0}", "BLOB",
    "HEAD~2..BLOB", "':/second'", "--all", "config/.env.test", "README.md", "KEY",
]  # fmt: skip
SCRIPTS = {
    "awk": [
        "{print}", "{print $1, $NF}", "/KEY/ {print NR}", '1/1{print "touch PWNED"|"sh"}/1/;2/2{print}',
        '{print > "PWNED"}', '$1 == "a" {print "x" $2}', '{print "a" | "evil"}', 'BEGIN {system("evil")}',
        "{print $1 > $2}", '/a/{print}/|"evil"/{print}', '{print "x">>"PWNED"}',
        '{getline < "../outside/id_rsa"; print}',
    ],
    "sed": [
        "p", "1,2p", "/KEY/d", "s/a/b/g", "s/a/evil/e", "w PWNED", "s/KEY/x/w PWNED", "1e evil", "r .env",
        "$!d", "s|a|b|w PWNED", "/a/w PWNED", "1,/b/p;2q", "s/a/b/;w PWNED", "R .env",
    ],
    "jq": [
        ".", ".a[0]", "keys", "input_filename", "$ENV", "env", "[.a[] | length]", 'import "evil" as e; .',
        "{a: .KEY}",
    ],
    "printf": ["%s", "%n", "x%n", "xx%n", "'%d %s\\n'", "%b", "%5n", "%*n", "%%n", "'\\x25n'", "%q"],
    "find": [
        "-name", "-exec", "-delete", "-fprint", "-newer", "-print", "-type", "f", "!", "\\(", "\\)", "evil",
        "{}", "\\;",
    ],
    "test": ["-f", "-e", "=", "-nt", "-o", "-v", "'a[$(evil)]'"],
    "date": ["+%F", "-f", "-s"],
    "seq": ["1", "3", "-1", "1.5"],
    "sleep": ["0", ".1", "0.1s"],
}  # fmt: skip
INPUTS = [
    "echo 'open(\"PWNED\", \"w\")' | ", "cat evil.py | ", "cat evil.js | ", "echo 'touch PWNED' | ",
    "echo .env | ", "echo ../outside/id_rsa | ", "printf %n PATH; ", "printf xx%n HOME; ",
    "printf x%n RIPGREP_CONFIG_PATH; ", "cd src && ", "cd deep && ", "true && ", "ls | ",
]  # fmt: skip
ENDS = [
    " | head -3", " 2>&1 | cat", "; ls", " | evil", " || echo x", " > PWNED", " | python3", " | node", " | sh",
    "; git diff",
]  # fmt: skip
HOSTILE = {
    "BASH_ENV": "./evil.sh", "ENV": "./evil.sh", "PAGER": "evil", "GIT_EXTERNAL_DIFF": "./evil.sh",
    "LESSOPEN": "|evil %s", "GREP_OPTIONS": "-R", "RIPGREP_CONFIG_PATH": "1", "PERL5OPT": "-Mevil",
    "PERL5LIB": ".", "NODE_OPTIONS": "-r ./evil.js", "GLOBIGNORE": "x", "CDPATH": "../outside",
    "GIT_TRACE": "PWNED", "BASH_FUNC_ls%%": "() { : >PWNED; }", "LD_LIBRARY_PATH": ":",
    "GIT_ICASE_PATHSPECS": "1", "GIT_PAGER": "evil", "GIT_TRACE2_EVENT": "PWNED",
}  # fmt: skip


@dataclass(slots=True)
class Jail:
    """A folder with a workspace, a home, secrets outside of both, and traps on the PATH. `environ` is hostile."""

    top: Path
    environ: dict[str, str] = field(default_factory=dict)
    blob: str = ""

    @property
    def root(self) -> Path:
        return self.top / "project"

    def build(self) -> None:
        for name, text in FILES.items():
            self._write(self.root / name, text)
        for name in ("evil.sh", "0/ls"):
            (self.root / name).chmod(0o755)
        for name in ("home/.ssh/id_rsa", "outside/id_rsa", "outside/dir/x"):
            self._write(self.top / name, f"KEY {CANARY}\n")
        self._write(self.root / "one" / "same", "KEY\n")
        self._write(self.root / "two" / "other", "KEY\n")
        (self.root / "one" / "other").symlink_to(self.top / "outside" / "id_rsa")
        (self.root / "link_out").symlink_to(self.top / "outside")
        (self.root / "link_env").symlink_to(".env")
        os.mkfifo(self.root / "pipe")
        self._set_traps()
        self._commit()

    def _write(self, path: Path, text: str) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def _set_traps(self) -> None:
        """Put the programs of the table first on the PATH, and behind them only traps."""
        real, traps = self.top / "bin", self.top / "traps"
        real.mkdir()
        traps.mkdir()
        log = self.top / "log" / "started"
        log.parent.mkdir()
        log.touch()
        for name in TRAPS.split():
            text = f'#!/bin/sh\necho "{name} $*" >> {log}\n/bin/cat >/dev/null\n'
            self._write(traps / name, text)
            (traps / name).chmod(0o755)
        for name in {form.split(" ")[0] for form in _forms()}:
            program = _find_real(name)
            if program and not (traps / name).exists():
                (real / name).symlink_to(program)
        self.environ = {
            "PATH": f"{real}:{traps}",
            "HOME": str(self.top / "home"),
            "LANG": "C.UTF-8",
            **HOSTILE,
        }

    def _commit(self) -> None:
        self._write(self.root / "config" / ".env.test", f"KEY={CANARY}\n")
        self._git("init", "-q", "-b", "main")
        for number, names in enumerate(
            (["README.md", "src/app.py"], ["config/.env.test"], ["data.json"])
        ):
            self._git("add", "-f", *names)
            self._git("commit", "-qm", ("first", "second", "third")[number])
        self._write(self.root / "src" / "app.py", "KEY = 2\n")
        self._git("stash", "-q")
        self.blob = self._git("rev-parse", "HEAD:config/.env.test").strip()
        self._write(self.root / "src" / "app.py", "KEY = 3\n")

    def _git(self, *words: str) -> str:
        name = ("-c", "user.name=a", "-c", "user.email=a@example.org")
        git = [_find_real("git") or "git", *name, *words]
        home = {"HOME": str(self.top), "PATH": os.environ["PATH"]}
        return subprocess.run(
            git, cwd=self.root, env=home, check=True, capture_output=True, text=True
        ).stdout

    def snapshot(self) -> Mapping[str, tuple[object, ...]]:
        """Return what is in the jail: mode, size and time of every file. The log of the traps is looked at apart."""
        found = {}
        for folder, folders, files in os.walk(self.top):
            if folder == str(self.top):
                folders.remove("log")
            for name in (*folders, *files):
                status = os.lstat(f"{folder}/{name}")
                written = 0 if stat.S_ISDIR(status.st_mode) else status.st_mtime_ns
                found[f"{folder}/{name}"] = (status.st_mode, status.st_size, written)
        return found

    def started(self) -> set[str]:
        """Return the traps that were started, with their words, but for those that do no harm."""
        lines = (self.top / "log" / "started").read_text().splitlines()
        return {line for line in lines if line.removesuffix(" --") not in VERSIONS}

    def run(self, command: str) -> bytes:
        """Run a command as a session does, without network, and return what it printed."""
        argv = [*_isolation(), "/bin/bash", "-c", command]
        env = read_only_environment(child_environment(self.environ))
        with subprocess.Popen(
            argv, cwd=self.root, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, start_new_session=True,
        ) as process:  # fmt: skip
            try:
                return process.communicate(timeout=SECONDS)[0]
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                return process.communicate()[0]


@cache
def _find_real(name: str) -> str | None:
    folders = (
        "/usr/bin",
        "/bin",
        "/usr/local/bin",
        str(Path(shutil.which("rg") or "/usr/bin/rg").parent),
    )
    beside = Path(os.sys.executable).parent / name if name == "rg" else None  # type: ignore[attr-defined]
    if beside is not None and beside.exists():
        return str(beside)
    return shutil.which(name, path=":".join(folders))


@cache
def _isolation() -> tuple[str, ...]:
    program = shutil.which("unshare")
    if program is None:
        return ()
    words = (program, "-rn", "--")
    usable = subprocess.run([*words, "/bin/true"], capture_output=True, check=False).returncode == 0
    return words if usable else ()


def generate(seed: int, count: int, blob: str) -> Iterator[str]:
    """Yield commands: a program with options and operands in any order, perhaps behind or before another command."""
    chance = random.Random(seed)
    rows = sorted(_forms().items())
    for number in range(count):
        name, row = rows[number % len(rows)]
        words = [_option(chance, row, name) for _ in range(chance.choice((0, 0, 1, 1, 2, 3)))]
        words += [_operand(chance, name) for _ in range(chance.choice((0, 1, 1, 2, 3)))]
        chance.shuffle(words)
        first = name.split(" ")[0]
        if first in SCRIPTS and chance.random() < 0.9:
            words.insert(0, _quote(chance.choice(SCRIPTS[first])))
        command = " ".join([name, *words])
        if chance.random() < 0.3:
            command = chance.choice(INPUTS) + command
        if chance.random() < 0.2:
            command += chance.choice(ENDS)
        yield command.replace("BLOB", blob)


def _option(chance: random.Random, row: _Form, name: str) -> str:
    if not row.options or chance.random() < 0.1:
        return chance.choice(
            ["-o", "--output=PWNED", "-i", "-r", "-f", "--help", "--version", "-V", "--", "-exec"]
        )
    option = chance.choice(sorted(row.options))
    kind = row.options[option]
    value = _quote(chance.choice(SCRIPTS[name])) if kind == "~" else chance.choice(VALUES)
    if option in ("!", "(", ")", "-(", "-)"):
        return f"'{option}'"
    if option == "-#":
        return f"-{chance.choice((1, 3, 20))}"
    if kind == "?":
        return option if chance.random() < 0.5 else f"{option}={value}"
    if not kind:
        return option
    joined = f"{option}={value}" if option.startswith("--") else f"{option}{value}"
    return joined if chance.random() < 0.4 else f"{option} {value}"


def _operand(chance: random.Random, name: str) -> str:
    if name.startswith("git ") and chance.random() < 0.7:
        return chance.choice(REVISIONS)
    if name in SCRIPTS and name not in ("awk", "sed", "jq") and chance.random() < 0.5:
        return _quote(chance.choice(SCRIPTS[name]))
    return chance.choice(OPERANDS)


def _quote(text: str) -> str:
    return text if text.startswith(("'", "\\")) else shlex.quote(text)


@dataclass(slots=True)
class Unasked:
    """What became of generated commands: how many there were, how many of them run unasked, and the harm that these
    did, with what is missing or new."""

    generated: int = 0
    ran: int = 0
    harm: list[tuple[str, str, list[str]]] = field(default_factory=list)


def run_unasked(jail: Jail, seed: int, count: int) -> Unasked:
    """Generate commands, and run in the jail those that need no approval."""
    jail.build()
    before, found = jail.snapshot(), Unasked()
    for command in generate(seed, count, jail.blob):
        found.generated += 1
        if why_uncovered(command, Guard(jail.root), child_environment(jail.environ)):
            continue
        found.ran += 1
        printed = jail.run(command)
        after = jail.snapshot()
        if after != before:
            found.harm.append((command, "changed", sorted(dict(after.items() ^ before.items()))))
            before = after
        if started := jail.started():
            found.harm.append((command, "started", sorted(started)))
            (jail.top / "log" / "started").write_text("")
        if CANARY.encode() in printed:
            found.harm.append((command, "printed a secret", []))
    return found
