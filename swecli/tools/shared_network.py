"""A network that leads nowhere, which the commands and jobs of a session share: what one serves on the loopback, the
next one reaches."""

from __future__ import annotations

import json
import os
import subprocess
import weakref
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from swecli.models.errors import ToolError
from swecli.tools.bubblewrap import error_of

_REPORT_BYTES = 4096  # the report is a short line
_SECONDS = 10.0  # it takes some milliseconds; a machine under load may need more
# Says when it runs, by when the loopback is up, and ends with the program that holds the other end of its input.
_HOLD = "echo; read -r line"


class SharedNetwork:
    """A network namespace, made by `bubblewrap` and entered by the program `nsenter`. A process that does nothing holds
    it: it ends with this one, however that ends, and is made anew if it was killed."""

    def __init__(self, bubblewrap: Path, nsenter: str) -> None:
        self._bubblewrap = bubblewrap
        self._nsenter = nsenter
        self._holder: subprocess.Popen[bytes] | None = None
        self._held = 0  # the process in the namespace
        self._end: weakref.finalize[..., SharedNetwork] | None = None

    def prepare(self) -> str:
        """Make the namespace if it is not there. Returns why commands cannot enter it, "" if they can."""
        if self._holder is not None and self._holder.poll() is None:
            return ""
        self.close()
        try:
            self._hold()
            process = subprocess.run(
                self.enter([str(self._bubblewrap), "--unshare-all", "--share-net", "--ro-bind"])
                + ["/", "/", "--", "/bin/sh", "-c", ":"],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=_SECONDS,
                check=False,
            )
        except (OSError, ValueError, ToolError, subprocess.TimeoutExpired) as error:
            self.close()
            return str(error)
        if process.returncode == 0:
            return ""
        self.close()
        return error_of(process.stderr, process.returncode)

    @property
    def refused(self) -> int:
        """How many connections of its commands nobody took, as the kernel counts them; 0 if it is not there."""
        try:
            text = Path(f"/proc/{self.process}/net/snmp").read_text(encoding="ascii")
        except OSError:
            return 0
        names, figures = (line.split() for line in text.splitlines() if line.startswith("Tcp:"))
        return int(figures[names.index("AttemptFails")])

    @property
    def process(self) -> int:
        """The number of a process in the namespace, 0 if it is not there."""
        return self._held if self._holder is not None else 0

    def enter(self, argv: Sequence[str]) -> list[str]:
        """Return the words that start a program in the namespace. It cannot start elsewhere: of a process that is gone
        there is nothing to enter, and nobody may enter the namespace of users in which he is."""
        if self._holder is None:
            raise ToolError("The network of the session is gone.")
        words = ["--target", str(self._held), "--user", "--net", "--preserve-credentials"]
        return [self._nsenter, *words, "--", *argv]

    def close(self) -> None:
        """End the namespace, as soon as no command is in it any more."""
        if self._end is not None:
            self._end()
        self._holder = None

    def _hold(self) -> None:
        reading, writing = os.pipe()
        try:
            options = ["--unshare-user", "--unshare-net", "--ro-bind", "/", "/"]
            report = ["--info-fd", str(writing)]
            self._holder = subprocess.Popen(
                [self._bubblewrap, *options, *report, "--", "/bin/sh", "-c", _HOLD],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                pass_fds=(writing,),
                env={},
                process_group=0,  # so that Ctrl+C at the terminal is not for it
            )
            self._end = weakref.finalize(self, _end, self._holder)
            assert self._holder.stdout is not None, "a pipe"
            assert self._holder.stderr is not None, "a pipe"
            if not self._holder.stdout.read(1):
                raise ToolError(error_of(self._holder.stderr.read(), self._holder.wait()))
            os.set_blocking(reading, False)
            self._held = json.loads(os.read(reading, _REPORT_BYTES))["child-pid"]
        finally:
            os.close(reading)
            os.close(writing)


def _end(holder: subprocess.Popen[bytes]) -> None:
    for pipe in (holder.stdin, holder.stdout, holder.stderr):
        if pipe is not None:
            with suppress(OSError):
                pipe.close()
    holder.wait()
