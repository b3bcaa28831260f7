"""kill -9 at chosen system calls of a run: those that write to the store, and those that change other files."""

from __future__ import annotations

import random
import re
import shutil
import sqlite3
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from lab.assurance.measurements.killed_runs import KilledRun, answer, judge
from lab.assurance.measurements.rows import Measurement, Row
from swecli.models.errors import SwecliError
from swecli.store.sqlite.database import open_database
from swecli.store.sqlite.files import APPLICATION_ID
from swecli.store.sqlite.migrations import RELEASED, newest_format
from tests.support.shell import ROOT, environment
from tests.support.strict_provider import StrictProvider

_SEED = 11
_ENDINGS = ("", "-wal", "-shm", "-journal")  # of the store's files
_OF_STORE = ("pwrite64", "fdatasync", "ftruncate", "unlink", "openat", "fcntl")
_ELSEWHERE = ("write", "rename", "unlink", "mkdir", "fchmod", "sendto", "clone3,vfork")
_UPGRADE = "import sys; from swecli.store.sqlite.database import open_database; open_database(sys.argv[1]).close()"
_SHAPES = ROOT / "tests" / "store" / "sqlite"


@dataclass(frozen=True, slots=True)
class Place:
    """A kind of system call, and the paths that it must be about (none: any)."""

    call: str
    paths: tuple[Path, ...] = ()

    def strace(self, log: Path, kill_at: int = 0) -> list[str]:
        """Return the prefix that lists these calls of a command's main thread, and ends the command as it makes the
        n-th one."""
        injected = ["-e", f"inject={self.call}:signal=KILL:when={kill_at}"] if kill_at else []
        about = [word for path in self.paths for word in ("-P", str(path))]
        return ["strace", "-qq", "-o", str(log), *about, "-e", f"trace={self.call}", *injected]


def measure(count: int) -> list[Row]:
    """Kill `count` runs, and as often the upgrade of an old store."""
    chance = random.Random(_SEED)
    return [*_kill_runs(count, chance), *_kill_upgrades(count, chance)]


def _kill_runs(count: int, chance: random.Random) -> Iterator[Row]:
    kinds = [*((call, True) for call in _OF_STORE), *((call, False) for call in _ELSEWHERE)]
    for at, (call, is_store) in enumerate(kinds):
        made, failures, most = 0, [], 0
        trials = count // len(kinds) + (at < count % len(kinds))
        for number in range(trials + 1 if trials else 0):
            with StrictProvider(answer) as server:
                run = KilledRun(Path(f"{call[:6]}-{is_store}-{number}").absolute(), server)
                run.folder.mkdir()
                paths = tuple(Path(f"{run.store}{ending}") for ending in _ENDINGS)
                place, log = Place(call, paths if is_store else ()), run.folder / "calls"
                # the first run is whole: it says how many calls there are
                kill_at = chance.randint(1, max(1, most)) if number else 0
                run.finish(run.start(place.strace(log, kill_at)))
                if not number:
                    most = _count(log)
                    continue
                if not run.was_killed:
                    continue  # it made fewer calls than the first run
                made += 1
                if complaint := judge(run):
                    failures.append(f"{run.folder.name}, call {kill_at}: {complaint}")
        if trials:
            name = f"`{call}` {'of the store' if is_store else 'anywhere'}"
            yield Row(name, made, failures, f"{most:,} in a whole run")


def _count(log: Path) -> int:
    """Return how many calls a log of strace has."""
    return len(re.findall(r"^\w+\(", log.read_text(errors="replace"), re.MULTILINE))


def _kill_upgrades(count: int, chance: random.Random) -> Iterator[Row]:
    made, failures, most = 0, [], Counter[tuple[int, str]]()
    versions = range(RELEASED, newest_format())
    for number in range(count):
        version, call = chance.choice(versions), chance.choice(("pwrite64", "fdatasync", "unlink"))
        folder = Path(f"upgrade-{number}").absolute()
        folder.mkdir()
        paths = [folder / f"old.db{ending}" for ending in _ENDINGS]
        place, log = Place(call, tuple(paths)), folder / "calls"
        if (version, call) not in most:
            _make_old(paths[0], version)
            _upgrade(paths[0], place.strace(log))
            most[version, call] = _count(log)
            shutil.rmtree(folder)
            folder.mkdir()
        _make_old(paths[0], version)
        kill_at = chance.randint(1, max(1, most[version, call]))
        _upgrade(paths[0], place.strace(log, kill_at))
        made += 1
        if complaint := "; ".join(_judge_upgrade(paths[0])):
            failures.append(f"version {version}, `{call}` {kill_at}: {complaint}")
    yield Row(
        "writes while an older store is upgraded",
        made,
        failures,
        "from format " + ", ".join(map(str, versions)),
    )


def _make_old(path: Path, version: int) -> None:
    """Make a store as that version made it, with a session."""
    lines = (_SHAPES / f"shape_{version}.sql").read_text(encoding="utf-8").splitlines()
    lines = [line for line in lines if "sqlite_sequence" not in line]
    with closing(sqlite3.connect(path)) as connection:
        for line in sorted(lines, key=lambda line: line.startswith("CREATE INDEX")):
            connection.execute(line)
        rows = connection.execute(
            "SELECT name, type, \"notnull\", dflt_value FROM pragma_table_info('session')"
        )
        needed = {
            name: 1 if kind in ("INTEGER", "FLOAT") else "x"
            for name, kind, must, given in rows
            if must and given is None
        }
        needed |= {name: "2026-01-01 00:00:00" for name in needed if name.endswith("_at")} | {
            "id": "kept"
        }
        marks = ", ".join("?" * len(needed))
        connection.execute(
            f"INSERT INTO session ({', '.join(needed)}) VALUES ({marks})", tuple(needed.values())
        )
        connection.execute(f"PRAGMA user_version = {version}")
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.commit()
        connection.execute("PRAGMA journal_mode = WAL")  # as every version left it


def _upgrade(path: Path, before: Sequence[str]) -> None:
    words = [*before, sys.executable, "-c", _UPGRADE, str(path)]
    subprocess.run(words, env=environment(), capture_output=True, check=False)


def _judge_upgrade(path: Path) -> Iterator[str]:
    """Open a store whose upgrade was killed, and complain if it is not whole and new with its session."""
    try:
        database = open_database(path)
    except SwecliError as error:
        yield str(error)
        return
    with closing(database):
        yield from (line for line in database.check() if not line.startswith("search:"))
    with closing(sqlite3.connect(path)) as connection:
        if connection.execute("PRAGMA user_version").fetchone()[0] != newest_format():
            yield "it is not upgraded"
        if connection.execute("SELECT id FROM session").fetchall() != [("kept",)]:
            yield "its session is lost"


_METHOD = """\
The same runs, killed by `strace` as their main thread, which alone writes, is about to make the n-th call of a kind;
n is drawn from as many as a run makes that is not killed. What holds is the same. Beside them stores of older versions
are upgraded and killed at a write: the next start must find a store that is sound, or old and upgraded again, with
its session."""

KILLED_AT_CALLS = Measurement(
    "Killed at a system call",
    _METHOD,
    measure,
    quick=2,
    whole=39,
    is_slow=True,
    needs="strace",
)
