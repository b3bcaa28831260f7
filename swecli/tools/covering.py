"""Cover protected and hidden files of a command again: whoever saves by rename, as editors and git do, takes the mount
on a file away, in every namespace."""

from __future__ import annotations

import asyncio
import fcntl
import os
import subprocess
from collections.abc import Callable, Sequence

from swecli.tools.put_back import identify
from swecli.tools.sandbox import GuardedFiles

_INTERVAL = 0.2  # seconds in which a command could write the file that the user has just saved
_SECONDS = 10.0  # it takes some milliseconds; a machine under load may need more
_OWNER_OF_NAMESPACE = 0xB701  # NS_GET_USERNS (linux/nsfs.h)
_SYSTEM = "/usr/sbin:/usr/bin:/sbin:/bin:/run/current-system/sw/bin"
_PROTECT = 'for path; do mount --bind "$path" "$path"; mount -o remount,bind,ro "$path"; done'
_HIDE = 'for path; do mount --bind /dev/null "$path"; done'


async def keep_covered(
    guarded: GuardedFiles, nsenter: str, find_process: Callable[[], int]
) -> None:
    """Look for replaced files until cancelled, and cover each where the command sees it. `find_process` returns the
    number of a process of the command, 0 as long as there is none."""
    guarded = guarded.everywhere()
    watched = (*guarded.protected, *guarded.hidden)
    identities = {path: identity for path in watched if (identity := identify(path))}
    process = 0
    while True:
        await asyncio.sleep(_INTERVAL)
        process = process or find_process()
        now = {path: identity for path in identities if (identity := identify(path))}
        replaced = [path for path, identity in now.items() if identity != identities[path]]
        if not replaced or not process:
            continue
        identities |= now
        hidden_paths = [path for path in replaced if path in guarded.hidden]
        protected = [path for path in replaced if path not in guarded.hidden]
        await asyncio.to_thread(_mount, nsenter, process, _HIDE, hidden_paths)
        await asyncio.to_thread(_mount, nsenter, process, _PROTECT, protected)


def _mount(nsenter: str, process: int, script: str, paths: Sequence[str]) -> None:
    """Run a script for these paths where the command sees them. It may mount there, since this user made the
    namespace."""
    if not paths:
        return
    try:
        mounts = os.open(f"/proc/{process}/ns/mnt", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:  # the command has ended
        return
    try:
        users = fcntl.ioctl(mounts, _OWNER_OF_NAMESPACE)
        try:
            namespaces = [f"--user=/proc/self/fd/{users}", f"--mount=/proc/self/fd/{mounts}"]
            subprocess.run(
                [nsenter, *namespaces, "--preserve-credentials", "--"]
                + ["/bin/sh", "-c", script, "sh", *paths],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                pass_fds=(users, mounts),
                env={"PATH": _SYSTEM},
                timeout=_SECONDS,
                check=False,
            )
        finally:
            os.close(users)
    except (OSError, subprocess.TimeoutExpired):
        return
    finally:
        os.close(mounts)
