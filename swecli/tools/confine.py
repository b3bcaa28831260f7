"""The system calls that a command in the sandbox may not make, as a BPF program for bubblewrap's `--seccomp`."""

from __future__ import annotations

import errno
import os
import struct

# Operations of classic BPF (linux/bpf_common.h): load a word, compare and jump, return.
_LOAD_WORD = 0x20
_JUMP_IF_EQUAL = 0x15
_JUMP_IF_ANY_BIT = 0x45
_RETURN = 0x06

# Offsets in struct seccomp_data and actions (linux/seccomp.h). Of an argument only the lower half is read: what is
# compared are flags and numbers of 32 bits, and both machines are little-endian.
_NUMBER = 0
_MACHINE = 4
_FIRST_ARGUMENT = 16
_SECOND_ARGUMENT = 24
_ALLOW = 0x7FFF0000
_FAIL = 0x00050000  # plus the errno

_NEW_NAMESPACES = 0x7E020000  # CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET
_TIOCSTI = 0x5412  # puts letters into the terminal, as if the user had typed them
_TIOCLINUX = 0x541C  # pastes a selection of a Linux console
_OTHER_NUMBERS = 0x40000000  # the bit of x32, whose calls have numbers of their own

_MACHINES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}  # number of a processor (linux/audit.h)

# Calls that fail with EPERM, with their numbers on the machines above (asm/unistd.h); None: there is no such call.
_DENIED: dict[str, tuple[int | None, int | None]] = {
    # other processes
    "ptrace": (101, 117),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "process_madvise": (440, 440),
    "kcmp": (312, 272),
    "pidfd_getfd": (438, 438),
    # keys in the kernel, which no namespace separates
    "add_key": (248, 217),
    "request_key": (249, 218),
    "keyctl": (250, 219),
    # what is mounted where, and other namespaces
    "mount": (165, 40),
    "umount2": (166, 39),
    "pivot_root": (155, 41),
    "chroot": (161, 51),
    "unshare": (272, 97),
    "setns": (308, 268),
    "open_tree": (428, 428),
    "move_mount": (429, 429),
    "fsopen": (430, 430),
    "fsconfig": (431, 431),
    "fsmount": (432, 432),
    "fspick": (433, 433),
    "mount_setattr": (442, 442),
    # files by number instead of path
    "name_to_handle_at": (303, 264),
    "open_by_handle_at": (304, 265),
    "fanotify_init": (300, 262),
    # code in the kernel, and the parts of it where most faults were found
    "bpf": (321, 280),
    "perf_event_open": (298, 241),
    "userfaultfd": (323, 282),
    "create_module": (174, None),
    "init_module": (175, 105),
    "delete_module": (176, 106),
    "finit_module": (313, 273),
    "kexec_load": (246, 104),
    "kexec_file_load": (320, 294),
    # the machine itself
    "syslog": (103, 116),
    "acct": (163, 89),
    "swapon": (167, 224),
    "swapoff": (168, 225),
    "reboot": (169, 142),
    "sethostname": (170, 161),
    "setdomainname": (171, 162),
    "iopl": (172, None),
    "ioperm": (173, None),
    "quotactl": (179, 60),
    "quotactl_fd": (443, 443),
    "nfsservctl": (180, 42),
    "lookup_dcookie": (212, 18),
    "settimeofday": (164, 170),
    "clock_settime": (227, 112),
    "adjtimex": (159, 171),
    "clock_adjtime": (305, 266),
}
# Calls that fail as if the kernel did not have them, so that libraries take their other way: clone3, whose flags lie in
# memory, where no filter sees them; those of io_uring, whose operations no filter sees.
_MISSING: dict[str, tuple[int | None, int | None]] = {
    "clone3": (435, 435),
    "io_uring_setup": (425, 425),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
}
_CLONE = (56, 220)
_IOCTL = (16, 29)
_SOCKET = (41, 198)
# The only kinds of sockets: unix, internet, netlink (linux/socket.h). A network namespace separates no others, such as
# those between a virtual machine and its host.
_FAMILIES = (1, 2, 10, 16)


def system_call_filter(machine: str = "") -> bytes:
    """Return the program for a kind of processor ("": this one), b"" if its system calls are not known here."""
    name = machine or os.uname().machine
    if name not in _MACHINES:
        return b""
    column = list(_MACHINES).index(name)
    program = [
        _operation(_LOAD_WORD, _MACHINE),
        _operation(_JUMP_IF_EQUAL, _MACHINES[name], if_true=1),
        _fail(errno.ENOSYS),  # a call in the way of another machine, such as one of 32 bits
        _operation(_LOAD_WORD, _NUMBER),
        _operation(_JUMP_IF_ANY_BIT, _OTHER_NUMBERS, if_false=1),
        _fail(errno.ENOSYS),
    ]
    for calls, error in ((_DENIED, errno.EPERM), (_MISSING, errno.ENOSYS)):
        for numbers in calls.values():
            number = numbers[column]
            if number is not None:
                program.append(_fail_if_call(number, error))
    program.append(_deny_namespaces(_CLONE[column]))
    program.append(_deny_typing(_IOCTL[column]))
    program.append(_deny_other_sockets(_SOCKET[column]))
    program.append(_operation(_RETURN, _ALLOW))
    return b"".join(program)


def _operation(code: int, value: int, *, if_true: int = 0, if_false: int = 0) -> bytes:
    """Return one operation; `if_true` and `if_false` are how many a jump skips."""
    return struct.pack("=HBBI", code, if_true, if_false, value)


def _fail(number: int) -> bytes:
    return _operation(_RETURN, _FAIL | number)


def _fail_if_call(call: int, number: int) -> bytes:
    return _operation(_JUMP_IF_EQUAL, call, if_false=1) + _fail(number)


def _deny_namespaces(clone: int) -> bytes:
    """Deny `clone` with the flags of a new namespace."""
    return b"".join(
        [
            _operation(_JUMP_IF_EQUAL, clone, if_false=4),
            _operation(_LOAD_WORD, _FIRST_ARGUMENT),
            _operation(_JUMP_IF_ANY_BIT, _NEW_NAMESPACES, if_false=1),
            _fail(errno.EPERM),
            _operation(_LOAD_WORD, _NUMBER),
        ]
    )


def _deny_typing(ioctl: int) -> bytes:
    """Deny the requests that type into a terminal."""
    return b"".join(
        [
            _operation(_JUMP_IF_EQUAL, ioctl, if_false=4),
            _operation(_LOAD_WORD, _SECOND_ARGUMENT),
            _operation(_JUMP_IF_EQUAL, _TIOCSTI, if_true=1),
            _operation(_JUMP_IF_EQUAL, _TIOCLINUX, if_false=1),
            _fail(errno.EPERM),
        ]
    )


def _deny_other_sockets(socket: int) -> bytes:
    """Deny sockets of other families."""
    allowed = len(_FAMILIES)
    checks = [
        # skips the remaining checks and the failure
        _operation(_JUMP_IF_EQUAL, family, if_true=allowed - index)
        for index, family in enumerate(_FAMILIES)
    ]
    return b"".join(
        [
            _operation(_JUMP_IF_EQUAL, socket, if_false=allowed + 2),
            _operation(_LOAD_WORD, _FIRST_ARGUMENT),
            *checks,
            _fail(errno.EAFNOSUPPORT),
        ]
    )
