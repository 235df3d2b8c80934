"""Irrevocable limits of the operating system for the process that runs an untrusted encoder.

On all systems: processor time, no opening or writing of files, no connections (each needs a file descriptor). Linux
also limits memory, ends the process with its parent, and on x86_64 and aarch64 filters system calls (seccomp): those
that computing needs are allowed; calls that start programs or processes, send signals, reach other processes or change
files end the process; all others are refused. On macOS memory is not limited.

Internal.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import platform
import signal
import struct
import sys

ALLOWED = """
read 0 63, write 1 64, close 3 57, fstat 5 80, lseek 8 62, mmap 9 222, mprotect 10 226, munmap 11 215, brk 12 214,
mremap 25 216, madvise 28 233, mincore 27 232, readv 19 65, writev 20 66, poll 7 -, ppoll 271 73,
select 23 -, pselect6 270 72, epoll_pwait 281 22, rt_sigaction 13 134, rt_sigprocmask 14 135, rt_sigreturn 15 139,
sigaltstack 131 132, nanosleep 35 101, clock_nanosleep 230 115, clock_gettime 228 113, clock_getres 229 114,
gettimeofday 96 169, times 100 153, getrusage 98 165, getpid 39 172, gettid 186 178, getppid 110 173, getuid 102 174,
getrandom 318 278, uname 63 160, sysinfo 99 179, getcpu 309 168, sched_yield 24 124, sched_getaffinity 204 123,
futex 202 98, membarrier 324 283, rseq 334 293, set_robust_list 273 99,
set_tid_address 218 96, arch_prctl 158 -, exit 60 93, exit_group 231 94, restart_syscall 219 128,
getrlimit 97 163
"""
"""Allowed system calls: name, number on x86_64, number on aarch64."""

FATAL = """
execve 59 221, execveat 322 281, fork 57 -, vfork 58 -, kill 62 129, tkill 200 130, rt_sigqueueinfo 129 138,
rt_tgsigqueueinfo 297 240, pidfd_send_signal 424 424, ptrace 101 117, process_vm_readv 310 270,
process_vm_writev 311 271, socket 41 198, socketpair 53 199, connect 42 203, bind 49 200, unlink 87 -, unlinkat 263 35,
rename 82 -, renameat 264 38, renameat2 316 276, rmdir 84 -, mkdir 83 -, mkdirat 258 34, link 86 -, linkat 265 37,
symlink 88 -, symlinkat 266 36, mknod 133 -, mknodat 259 33, creat 85 -, truncate 76 45, ftruncate 77 46, chmod 90 -,
fchmod 91 52, fchmodat 268 53, chown 92 -, fchown 93 55, fchownat 260 54, utimensat 280 88, mount 165 40,
io_uring_setup 425 425, bpf 321 280
"""
"""System calls that end the process."""

MACHINES = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7)}
"""Machine -> its column in the lists above, and the kernel's number for it."""

CLONE = {"x86_64": (56, 435), "aarch64": (220, 435)}
PRLIMIT = {"x86_64": 302, "aarch64": 261}
TGKILL = {"x86_64": 234, "aarch64": 131}

_KILL, _REFUSE, _ABSENT, _ALLOW = 0x80000000, 0x00050001, 0x00050026, 0x7FFF0000  # EPERM and ENOSYS
_LOAD, _EQUAL, _ANY_BIT, _RETURN = 0x20, 0x15, 0x45, 0x06
_CLONE_THREAD = 0x10000
"""The flag of a clone that creates a thread, not a process."""


def confine(seconds: int, memory: int) -> None:
    """Limit this process irrevocably.

    Args:
        seconds: of processor time.
        memory: the most bytes that it may use in addition to the current ones.
    """
    import resource  # not on Windows, where encoders are refused

    limits = {"RLIMIT_CPU": seconds, "RLIMIT_FSIZE": 0, "RLIMIT_CORE": 0, "RLIMIT_NOFILE": 0}
    if sys.platform == "linux":
        with open("/proc/self/statm", encoding="ascii") as file:
            limits["RLIMIT_AS"] = int(file.read().split()[0]) * resource.getpagesize() + memory
    for name, limit in limits.items():
        # At the soft limit of processor time SIGXCPU ends the process, which identifies the reason.
        resource.setrlimit(getattr(resource, name), (limit, limit + 5 if name == "RLIMIT_CPU" else limit))
    if has_seccomp():
        _filter_calls()


def has_seccomp() -> bool:
    """Return whether system calls are filtered on this machine."""
    return sys.platform == "linux" and platform.machine() in MACHINES and sys.maxsize > 2**32


def end_with(parent: int) -> None:
    """Have the kernel end this process when its parent ends, if supported."""
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(1, int(signal.SIGKILL), 0, 0, 0)  # PR_SET_PDEATHSIG
        if os.getppid() != parent:  # it has already exited
            os._exit(1)


def _filter_calls() -> None:
    """Install the filter of system calls (seccomp)."""
    column, machine = MACHINES[platform.machine()]
    clone, clone3 = CLONE[platform.machine()]
    program = [(_LOAD, 0, 0, 4), (_EQUAL, 1, 0, machine), (_RETURN, 0, 0, _KILL), (_LOAD, 0, 0, 0)]
    for calls, action in ((ALLOWED, _ALLOW), (FATAL, _KILL)):
        for entry in calls.split(","):
            number = entry.split()[1 + column]
            if number != "-":
                program += [(_EQUAL, 0, 1, int(number)), (_RETURN, 0, 0, action)]
    # The process may read its own limits, but not set new ones, the third argument (both halves of it).
    program += [(_EQUAL, 0, 8, PRLIMIT[platform.machine()]), (_LOAD, 0, 0, 16), (_EQUAL, 0, 5, 0)]
    program += [(_LOAD, 0, 0, 32), (_EQUAL, 0, 3, 0), (_LOAD, 0, 0, 36), (_EQUAL, 0, 1, 0), (_RETURN, 0, 0, _ALLOW)]
    program += [(_RETURN, 0, 0, _REFUSE)]
    program += [(_EQUAL, 0, 1, clone3), (_RETURN, 0, 0, _ABSENT)]  # so that clone, with flags to check, is called
    program += [(_EQUAL, 0, 4, clone), (_LOAD, 0, 0, 16), (_ANY_BIT, 0, 1, _CLONE_THREAD), (_RETURN, 0, 0, _ALLOW)]
    program += [(_RETURN, 0, 0, _KILL)]
    # A signal to itself, as abort() sends, is allowed.
    program += [(_EQUAL, 0, 4, TGKILL[platform.machine()]), (_LOAD, 0, 0, 16), (_EQUAL, 0, 1, os.getpid())]
    program += [(_RETURN, 0, 0, _ALLOW), (_RETURN, 0, 0, _KILL), (_RETURN, 0, 0, _REFUSE)]
    instructions = ctypes.create_string_buffer(b"".join(struct.pack("=HBBI", *instruction) for instruction in program))
    filter_program = struct.pack("=HxxxxxxQ", len(program), ctypes.addressof(instructions))
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(38, 1, 0, 0, 0)  # PR_SET_NO_NEW_PRIVS
    seccomp = ctypes.c_long({"x86_64": 317, "aarch64": 277}[platform.machine()])
    # SECCOMP_SET_MODE_FILTER, of all threads
    if libc.syscall(seccomp, ctypes.c_long(1), ctypes.c_long(1), filter_program):
        raise OSError(ctypes.get_errno(), "the kernel takes no filter of system calls")


def signal_name(status: int) -> str:
    """Return the name of the signal that ended a process, from `subprocess`'s exit status; empty if none did."""
    if status >= 0:
        return ""
    with contextlib.suppress(ValueError):
        return signal.Signals(-status).name
    return f"signal {-status}"
