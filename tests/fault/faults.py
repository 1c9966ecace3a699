"""Makes every system call of a launcher fail, one a run, and holds each outcome against what an undisturbed run does.

It knows no wall by itself: tests/fault/inject writes down what the kernel says of the guest (and the probe what it meets), and both
must be as in the undisturbed run wherever the guest's program begins at all. A fault without consequence must be in ALLOWED.

Usage: faults.py INJECT TABLE NAME [--all] [--sticky] -- COMMAND...     TABLE: appended to, one tab-separated line a fault
"""
import collections
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys

SECONDS = int(os.environ.get("LIMIT", 60))  # of a run, as in tests/lib.sh: a slow machine allows more

# The errors with which a call fails: first the errno of `make check`, then further ones of `make faults`.
ERRNOS = {
    "access": "EACCES", "arch_prctl": "EPERM", "bind": "EADDRINUSE EACCES", "brk": "ENOMEM", "capget": "EPERM", "capset": "EPERM",
    "chdir": "EACCES ENOENT ENOMEM", "clone": "EAGAIN ENOMEM", "clone3": "EAGAIN EPERM ENOSPC ENOSYS", "close": "EIO EINTR",
    "close_range": "ENOSYS EPERM", "connect": "EACCES ECONNREFUSED", "dup2": "EBUSY EMFILE",
    "epoll_create1": "EMFILE ENOMEM", "epoll_ctl": "ENOMEM ENOSPC", "epoll_wait": "ENOMEM EINTR", "execve": "ENOMEM ENOENT EACCES ENOEXEC EPERM",
    "fchdir": "EACCES", "fcntl": "EMFILE EPERM", "fdatasync": "EIO ENOSPC", "flock": "ENOLCK EINTR", "fstatfs": "EIO", "fstat": "EIO", "fsync": "EIO",
    "ftruncate": "EIO", "futex": "ENOSYS", "getdents64": "EIO", "getrandom": "ENOSYS EAGAIN", "ioctl": "ENOTTY EIO",
    "kill": "EPERM ESRCH", "landlock_add_rule": "ENOMEM EINVAL", "landlock_create_ruleset": "EPERM ENOSYS EOPNOTSUPP",
    "landlock_restrict_self": "E2BIG EPERM", "lseek": "ESPIPE", "madvise": "EINVAL", "mkdirat": "ENOSPC EEXIST EACCES", "mknodat": "ENOSPC EEXIST EPERM",
    "mmap": "ENOMEM", "mount": "EPERM ENOMEM EBUSY", "mount_setattr": "EPERM ENOMEM ENOSYS", "move_mount": "EPERM EINVAL ELOOP",
    "mprotect": "ENOMEM", "munmap": "ENOMEM", "newfstatat": "EACCES ENOMEM ENOENT", "open": "EMFILE EACCES",
    "open_tree": "EMFILE EPERM ENOENT", "openat": "EMFILE EACCES ENOENT ENFILE", "openat2": "EMFILE ENOSYS EACCES ENOENT", "pidfd_send_signal": "EPERM", "pidfd_getfd": "EPERM EMFILE ENOSYS", "pidfd_open": "EMFILE",
    "pipe2": "EMFILE", "pivot_root": "EPERM EINVAL", "poll": "ENOMEM EINTR", "prctl": "EPERM EINVAL", "pread64": "EIO",
    "prlimit64": "EPERM EINVAL", "read": "EIO EINTR", "readlink": "EACCES ENOENT EINVAL", "recvfrom": "ENOMEM EINTR", "recvmsg": "ENOMEM EINTR",
    "rseq": "EINVAL", "rt_sigaction": "EINVAL", "rt_sigprocmask": "EINVAL", "rt_sigtimedwait": "EINTR EAGAIN", "seccomp": "EINVAL ENOMEM EACCES",
    "sendmsg": "ENOBUFS EPERM", "sendto": "ENOBUFS EPERM EINTR", "set_robust_list": "EINVAL", "setgroups": "EPERM", "sethostname": "EPERM",
    "setns": "EPERM EINVAL ENOSYS", "setresgid": "EPERM EINVAL", "setresuid": "EPERM EAGAIN", "setsid": "EPERM", "setsockopt": "ENOMEM ENOPROTOOPT", "shutdown": "ENOTCONN", "signalfd4": "EMFILE ENOMEM",
    "socket": "EMFILE EACCES", "socketpair": "EMFILE", "statx": "ENOSYS EACCES", "symlinkat": "ENOSPC EEXIST", "sysinfo": "EFAULT",
    "umount2": "EPERM EBUSY", "unshare": "EPERM ENOSYS ENOSPC", "uname": "EFAULT", "wait4": "ECHILD EINTR", "waitid": "ECHILD EINTR", "write": "ENOSPC EIO EPERM EINTR",
    "getsockname": "ENOBUFS", "fadvise64": "EINVAL", "sched_getaffinity": "EINVAL", "clock_nanosleep": "EINTR", "statfs": "EACCES",
}
OTHER = "EPERM ENOMEM"

# They have no way to fail, or do not return.
CANNOT = set("getpid gettid getppid getpgrp getuid geteuid getgid getegid umask set_tid_address exit_group exit rt_sigreturn "
             "restart_syscall getpgid getsid getresuid getresgid alarm sched_yield".split())

# Faults that need not end the run: role, call, detail (a regex), what may happen then, why that is right.
#   same   the run is as if nothing had been
#   told   a wall or limit is missing that depends on the host, and the result says so
#   audit  the guest's program had ended; exit code 125, and the result says why it is not in the trail
#   unconnected  a connect of the jail fails, and nothing else is different
#   held         a place that an empty folder of ours covers elsewhere is covered by itself, read-only, and nothing else is different
#   bound  a read-only folder is a bind and no overlay, `enforced` says so, and nothing else is different
#   own    a folder that an overlay shows beside a file has an overlay of its own, and nothing else is different
#   skipped  a file of /output has no copy, `files_skipped` names it, and nothing else is different
#   lost     the same, but the result does not name it
#   ended  the guest's program had begun; the run ends with a status that is not `ok`, or the launcher's own exit code
ALLOWED = [
    ("any", "close", "", "same", "the number stays taken until exec or exit closes it; the fds of the guest are compared"),
    ("any", "set_robust_list|rseq", "", "same", "libc's bookkeeping for threads, of which there are none"),
    ("any", "brk|mmap|munmap|madvise", "", "same", "libc takes memory elsewhere, or keeps what it would give back"),
    ("any", "rt_sigaction", "", "same", "a default is set once more; signals that can be neither caught nor ignored are among them"),
    ("supervisor", "brk", "", "ended", "libc's allocator gives up later: no result, and no success"),
    ("supervisor", "readlink", "^/proc/self/exe$", "same", "libc's start asks where the program is"),
    ("supervisor", "prlimit64", "get", "same", "libc's start asks for the size of the stack"),
    ("supervisor", "getrandom", "", "same", "seeds of libc and jansson; a random id becomes 0"),
    ("supervisor", "prctl", "^23,", "same", "libcap counts capabilities when it starts; drop_caps does not believe the number"),
    ("supervisor", "newfstatat", "^fd:$", "same", "stdio asks for the best size of a buffer"),
    ("supervisor", "ioctl|getpgrp", "", "same", "is it a terminal? No is the safe answer"),
    ("supervisor", "fstatfs", "", "same", "the second walk of a workspace then leaves nothing out"),
    ("supervisor", "fdatasync|flock|write|openat|newfstatat|readlink|faccessat2|read|fstat|lseek|fstatfs|pread64|fcntl", "", "audit", "the run is done when its end is recorded; the result says that it is not, and the exit code is 125"),
    ("supervisor", "readlink", "/log$", "same", "with a slash behind it libc asks only whether it is a folder"),
    ("supervisor", "flock|lseek", "", "same", "closing the trail unlocks it; libc's buffer of /etc/localtime"),
    ("supervisor", "openat|getcwd|read|newfstatat", "localtime|loginuid|^$|^fd:$", "same", "words of an audit record, without which it is one"),
    ("supervisor", "shutdown", "", "same", "the channel's end, which is closed next"),
    ("init", "bind|getsockname", "", "same", "libnl tries another port"),
    ("init", "personality", "", "same", "where it cannot be set the kernel is asked, and any other answer than the default ends the start"),
    ("supervisor", "getsockopt", "", "same", "whether tproxy or NAT leads the connections of a network by allow-list is not known then, and doctor says NAT"),
    ("supervisor", "uname", "", "same", "the version of the kernel is for `doctor`"),
    ("supervisor", "sysinfo", "", "same", "qsort in libc asks how much memory there is"),
    ("supervisor", "sched_getaffinity", "", "same", "how many processors there are is not known: a limit in whole processors is not enforced, and `enforced` says so"),
    ("supervisor", "landlock_create_ruleset", "", "told", "taken for a kernel without Landlock; `enforced` says so, and a policy can require it"),
    ("supervisor", "readlink", "^/(bin|sbin|lib|lib32|lib64)$", "walls", "taken for a host without that link, which the jail then lacks"),
    ("supervisor", "openat|access", "cgroup", "same told", "no cgroup then: rlimits stand in, `enforced` says so, and a policy can require one"),
    ("supervisor", "read", "^fd [35]$", "same told", "the same, for a cgroup's file"),
    ("supervisor", "openat", "policy|/etc/agentjail", "same", "an optional file that is not there"),
    ("supervisor", "rt_sigprocmask", "", "same", "a signal ends the supervisor then, and that the jail"),
    ("supervisor", "poll|epoll_ctl|epoll_wait", "", "same ended walls", "the jail is killed, and the result says that it could not be watched"),
    ("supervisor", "epoll_ctl", "", "same", "a descriptor that is closed next is taken out of the loop"),
    ("supervisor", "read", "", "same ended", "output that cannot be read whole is no success"),
    ("supervisor", "recvfrom", "", "same ended", "the report of the end is lost, and the result says that it did not come"),
    ("supervisor", "recvmsg", "", "same ended", "a message of the runner is lost: nothing is handed over, or there is no result"),
    ("supervisor", "sendto", "", "ended", "the runner never gets the code, and ends without a result"),
    ("supervisor", "timer_create|timer_settime", "", "same", "the guard against a runner that kept the listener"),
    ("supervisor", "openat|read", "/proc/[0-9]+/stat|^fd ", "same", "under which number the jail knows a refused call's process"),
    ("supervisor", "ioctl", "0xc0502100|0xc0182101|0x40082102", "same told walls", "the listener is closed, and what was refused with EPERM is refused with ENOSYS"),
    ("supervisor", "readlink", "^/proc/self/fd/", "same told walls", "taken for no listener and closed: what was refused with EPERM is refused with ENOSYS"),
    ("supervisor", "recvmsg", "", "same ended walls", "a message is lost with the listener in it, or the report of the end, and the result says so"),
    ("supervisor", "pidfd_getfd|pidfd_open", "", "same told walls", "the supervisor takes no listener: calls refused with EPERM are refused with ENOSYS, or were asked before, and the plain filter is installed"),
    ("guest", "seccomp", "", "same told walls", "the supervisor cannot report what is refused: the plain filter is installed, and the result says so"),
    ("init", "statfs", "", "same", "whether /tmp is full is then not known"),
    ("supervisor", "fcntl|getdents64|lseek|kill", "", "same", "the leaves of dead supervisors are swept another time"),
    ("supervisor", "openat", "^fd:\\.$", "same", "the same"),
    ("supervisor", "rmdir|unlinkat", "", "same", "the empty leaf is swept by the next start"),
    ("supervisor", "write|openat", "cpu.max|cgroup.kill|cgroup.freeze", "same", "what is being ended ends more slowly"),
    ("supervisor", "openat", "(memory|pids|cpu|io)\\.|cgroup.subtree_control", "same told", "a count is not known then, and the result leaves it out; limits are written before the jail is born, or it is not"),
    ("supervisor", "waitid", "", "same", "the pidfd has said that init is gone; its usage counts as nothing"),
    ("supervisor", "pidfd_send_signal", "", "same ended", "the deadline kills what a request to end did not"),
    ("supervisor", "openat|read", "/dev/urandom|^fd ", "same", "jansson's seed for its hash tables"),
    ("supervisor", "write", "^fd [12]$", "same ended", "what could not be written was not said: exit code 125"),
    ("init", "openat|write", "^/proc$|^fd:sys/user|^fd [0-9]+$", "told", "second locks behind the filter, which no policy asks for; the result has a note"),
    ("init", "capget", "", "same", "libcap asks which version it may use; capset itself is checked"),
    ("init", "close_range", "", "same", "init is not dumpable, and its fds are out of the guest's reach with it"),
    ("init", "wait4", "", "same ended", "init leaves, and the result says that it did not tell how the command ended"),
    ("init", "rt_sigtimedwait", "", "same", "it waits again"),
    ("init", "sendto", "^fd 1[0-9]$", "ended", "the report of the end is lost, and the result says that it did not come"),
    ("guest", "prlimit64", "", "same", "the limit was as low before"),
    ("init", "socket|setsockopt|sendto|sendmsg|recvmsg", "", "same", "a network by allow-list is led by NAT in place of tproxy, with the same checks"),
    ("init", "write", "^fd [0-9]+$", "same", "the port of a closed connection stays taken for a minute, on a network by allow-list"),
    ("init", "setsid|prlimit64|setgroups", "^$|^7,get$", "same", "the relay stays in the caller's session; a limit was as low before; root's groups open no file that its Landlock rules leave"),
    # An ordinary user's tracer reads no path of a relay, which is not dumpable.
    ("init", "readlink", "^/etc/|^$", "same", "the file that says how names are resolved is out of the relay's reach, so names are not resolved"),
    ("init", "landlock_create_ruleset", "", "same", "the relay takes it for a kernel without Landlock: its filter and its ids are what keeps it from files then"),
    ("init", "epoll_ctl|epoll_wait|poll", "", "same", "the relay serves no connection, or ends: each one fails"),
    ("network", ".*", "", "same", "the network namespace is not made beside init: that init is ended, and another one is born in its namespace"),
    ("supervisor", "clone|sendmsg", "", "same", "the same"),
    ("supervisor", "openat", "^/proc/[0-9]+/ns/user$", "same", "the same"),
    ("supervisor", "wait4", "", "same", "the process that made the network namespace has ended, and is reaped when the supervisor ends"),
    ("runner", ".*", "", "same", "Python does without; before the code is handed over the kernel confirms filters, capabilities and no_new_privs"),
    ("runner", "read", "^fd 3$", "ended", "no process reads the code; the process ends without a result, and the result says so"),
]
ALLOWED += [
    ("any", ".*", "", "unconnected", "what makes a jail's connects is not there, cannot tell where one leads, or cannot read the address: the connect fails, with ENOSYS without a listener"),
    ("supervisor", ".*", "", "skipped", "the file, its copy or its folder cannot be read or made: there is no copy, and `files_skipped` names it"),
    ("supervisor", "newfstatat|getdents64", "^fd:$|^$", "held", "whether a folder is an empty placeholder of ours cannot be told, so the folder is shown read-only, as it is"),
    ("init", "open_tree|openat|mkdirat|fstatfs|fchdir|fsopen|fsconfig|fsmount|move_mount", "", "bound", "no overlay can be made: the folder is a "
     "read-only bind, `enforced` names it, and connects are mediated"),
    ("init", "open_tree|readlink|statx|newfstatat|fstat", "", "own", "a folder is not shown out of the overlay of the file beside it: it has one of its own"),
    ("init", "statx", "^fd:", "same", "libc asks by newfstatat then, which knows no mounts: what lies beside a file is shown by an overlay of its own"),
    ("guest", "newfstatat", "^/dev/", "same", "the jail is taken for one without this device, so the command keeps the caller's", "ENOENT"),
    ("init", "openat2", "^fd:", "same", "an entry below a folder of /etc is opened by its whole path"),
    ("init", "readlink", "^/proc/self/fd/|^$", "same", "whether a folder lies beside the last file is not known: it is shown by itself"),
    ("supervisor", "openat2", "^/", "same", "the settings of the caller's home are not passed, and standard error says so"),
    ("init", "readlink|openat2|newfstatat|fstat|statx", "^fd:|^/", "bound", "no overlay can be made for a single file: the file is a read-only bind, and `enforced` names it"),
    ("init", "openat|read|keyctl|ioprio_get", "", "same told", "what the caller has handed on stays, and the result has a note; the class of disk access is not known then"),
    ("init", "recvfrom|setitimer|capset", "", "same", "the process that connects ends, waits for longer, or keeps rights in the jail's user namespace for longer"),
    ("init", "sendto", "^fd [12][0-9]$", "ended walls", "the report of the end is lost, and the result says that it did not come"),
    ("supervisor", "newfstatat|readlink|access", "^/|^agentjail-policy.toml$", "same", "a place of the host that cannot be looked at is compared by name alone; one that is closed to us is closed to the jail"),
    ("supervisor", "openat|openat2|fcntl|newfstatat|fstat", "^fd:|^fd [0-9]+,0x[23]$", "same", "the look for repositories, whose report says that it is not whole"),
    ("supervisor", "openat|fstat|read", "^/etc/passwd$", "same", "HOME alone says then where the caller's home is"),
    ("supervisor", "fchown", "", "same", "a placeholder that a killed run leaves is root's then"),
    ("supervisor", "openat|read", "^/proc/[0-9]+/status$|^fd [0-9]+$", "walls", "whose listener it is cannot be told, so it is not taken: what was refused with EPERM is refused with ENOSYS"),
    ("supervisor", "openat|openat2|fstatfs|statx|fcntl|pidfd_open", "^$|^/proc/[0-9]+/(root|status)$|^fd:(tmp)?$|^fd [0-9]+,0x406$", "ended walls", "the jail's /tmp cannot be opened: nothing runs, and the runner ends while its walls are looked at"),
]
# The same where only one errno makes it right; with a + it is one that persists.
LIES = [
    ("supervisor", "newfstatat|openat|openat2", "^fd:", "same walls", "a place of the workspace that is closed to us is closed to the jail, unless the jail owns the folder around it: then nothing runs", "EACCES"),
    ("supervisor", "mkdirat", "^fd:", "walls", "no placeholder can be made in a folder that the jail does not own, so the jail cannot make that place either", "EACCES"),
    ("supervisor", "newfstatat|openat2", "^fd:", "lost", "taken for a file that the jail has removed meanwhile", "ENOENT"),
    ("init", "openat", "^fd:", "walls", "a folder that the jail may not search and does not own keeps the place below it out of the jail's reach", "EACCES"),
    ("any", ".*", "", "same", "it is tried again", "EINTR"),
    ("any", "mkdirat", "", "same", "then it is there, and opened as a folder", "EEXIST"),
    ("any", "close", "", "walls", "a close that fails has closed all the same, but here it was not executed", "EIO|EINTR"),
    ("supervisor", "openat|openat2|readlink|newfstatat|faccessat2|access", "", "same walls", "taken for something that is not there", "ENOENT"),
    ("supervisor", "readlink", "", "same walls", "taken for no link, which most are not", "EINVAL"),
    ("supervisor", "openat2", "", "same", "opened without a symlink anywhere in its place", "ENOSYS"),
    ("init", "openat", "^fd:(proc|keys|key-users|kallsyms|kcore|timer_list|cmdline|sysrq-trigger)$", "same walls", "taken for a kernel without that file, so there is nothing to hide", "ENOENT"),
    ("init", "openat", "^fd:", "same walls", "taken for a path that is not there and that the jail cannot make, so there is nothing to hide; the kernel does not say so of what is mounted", "ENOENT"),
    ("init", "open_tree|openat2", "", "same walls", "an optional file of the host that is not there", "ENOENT"),
    ("init", "newfstatat", "^fd:$", "walls", "taken for an entry of the host's /etc that is not there any more", "ENOENT"),
    ("init", "prctl", "^2[34],(4[1-9]|5.|6.)$", "same", "there is no such capability", "EINVAL|EPERM"),
    ("init", "prctl", "^47,", "same", "the ambient set goes with the permitted one", "EINVAL|EPERM"),
    ("init", "landlock_add_rule", "", "same", "the relay's rule is made once more with the rights of a file alone: fewer rights, never more", "EINVAL"),
    ("guest", "openat|landlock_add_rule", "", "same walls ended", "taken for a place that is not there, or no folder: fewer rights, never more", "ENOENT|EINVAL"),
    ("guest", "rt_sigaction", "", "walls", "a signal that the caller ignored stays ignored, which is no wall", "EINVAL"),
    ("guest", "execve", "", "walls", "libc's execvp hands it to the jail's shell, behind the same walls", "ENOEXEC"),
    ("supervisor", "ioctl", "0x540[1f]", "walls", "every later ioctl fails with it: the listener is closed, and what was refused with EPERM is refused with ENOSYS", "ENOTTY[+]"),
]
ALLOWED = [(row[0], re.compile(row[1]), re.compile(row[2]), row[3].split(), row[4], re.compile((row + (".*",))[5])) for row in LIES + ALLOWED]


def take_copies(command):
    """What `--output` made, by name, and removes it."""
    found = {}
    if "--output" in command:
        top = command[command.index("--output") + 1]
        for folder, _, names in os.walk(top):
            for path in (os.path.join(folder, name) for name in names):
                with open(path, "rb") as f:
                    found[os.path.relpath(path, top)] = hashlib.sha256(f.read()).hexdigest()
        shutil.rmtree(top, ignore_errors=True)
    return found


class Run:
    def __init__(self, args, fault):
        self.trace = os.path.join(os.environ["TMPDIR"], "trace")
        done = subprocess.run([args.inject, self.trace, str(SECONDS), fault] + args.command, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=SECONDS * 3)
        self.stderr = done.stderr.decode(errors="replace")
        self.calls, self.walls, self.bad, self.began, self.failed, self.end = [], [], [], False, 0, "nothing"
        if done.returncode:
            self.bad.append("inject ended with %d: %s" % (done.returncode, self.stderr[:200]))
            self.doc = None
            return
        with open(self.trace, errors="replace") as f:
            for line in f:
                word = line.rstrip("\n").split("\t")
                if word[0] == "call":
                    self.calls.append((word[1], word[2], int(word[3]), word[4]))
                elif word[0] == "wall":
                    self.walls.append(word[1] + " " + word[2])
                elif word[0] == "began":
                    self.began = True
                elif word[0] == "failed":
                    self.failed += 1
                elif word[0] == "end":
                    self.end = word[1] + " " + word[2]
                else:
                    self.bad.append(" ".join(word))
        os.unlink(self.trace)
        try:
            self.doc = json.loads(done.stdout)
        except ValueError:
            self.doc = None
        if not self.began and self.doc and self.doc.get("stdout"):
            self.bad.append("output of a guest that never began")
        copies = take_copies(args.command)
        if self.doc and copies != self.copies():
            self.bad.append("the copies are %s, and the result has %s" % (copies, self.copies()))

    def copies(self):
        return {f["name"]: f["sha256"] for f in self.doc.get("files") or []}

    def step(self):
        if self.doc:
            return (self.doc.get("error") or {}).get("step", "") if self.doc["status"] == "setup_error" else ""
        m = re.search(r"^agentjail: (?:([a-z_]+)[:,]|(out of memory)|([^:\n]*))", self.stderr, re.M)
        return (m.group(1) or m.group(2) or m.group(3)) if m else ""

    def said(self):
        """What of the result must not differ: all but times, sizes and the like."""
        keys = "status", "exit_code", "signal", "value", "repr", "stdout", "stderr", "error", "limits_hit", "enforced", "note", "audit", "files"
        return {k: self.doc.get(k) for k in keys} if self.doc else None


def differs(base, run):
    a, b = collections.Counter(base.walls), collections.Counter(run.walls)
    out = ["-" + w for w in (a - b)] + ["+" + w for w in (b - a)]
    one, two = base.said() or {}, run.said() or {}
    for key in sorted(set(one) | set(two)):
        if one.get(key) != two.get(key):
            if key == "stdout":
                lines, others = (one.get(key) or "").split("\n"), (two.get(key) or "").split("\n")
                out += ["probe -" + w for w in lines if w not in others] + ["probe +" + w for w in others if w not in lines]
            else:
                out.append("%s: %.160s in place of %.160s" % (key, json.dumps(two.get(key)), json.dumps(one.get(key))))
    if base.end != run.end:
        out.append("%s in place of %s" % (run.end, base.end))
    return out


def judge(base, run, started):
    """The class of an outcome, and what is worth telling of it."""
    code = run.end.split()
    if run.bad:
        return "BAD", "; ".join(run.bad)
    if not run.began:
        if run.end in ("exit 125", "exit 126", "exit 127", "exit 2") and run.step():
            return ("refused" if run.doc is None or run.doc["status"] == "setup_error" else "BAD"), run.step()
        if run.doc and run.doc["status"] in ("error", "signal") and run.end in ("exit 1", "exit 128"):
            return "ended", "%s, %s" % (run.end, run.doc["reason"])
        if not started and run.end != "exit 0":
            return "libc", run.end
        return "BAD", "no step is named: %s, stderr %.200r, result %.300s" % (run.end, run.stderr, json.dumps(run.doc))
    diff = differs(base, run)
    if not diff:
        return "same", ""
    if len(diff) == 1 and diff[0].startswith("files: "):
        came, skipped = run.copies(), [f["name"] for f in run.doc.get("files_skipped") or []]
        lost = [n for n, sum in base.copies().items() if came.get(n) != sum]
        told = skipped and all(any(s in (n, ".") or n.startswith(s + "/") for s in skipped) for n in lost)
        return ("skipped", "; ".join(f["name"] + ": " + f["why"] for f in run.doc["files_skipped"])) if told else ("lost", ", ".join(lost))
    status = run.doc["status"] if run.doc else None
    if run.end == "exit 125" and run.step() and not [d for d in diff if d[0] in "-+"]:
        audit = run.doc and (run.doc.get("audit") or {}).get("recorded") is False
        return "audit" if audit else "ended", "%s, %s" % (run.end, run.step())
    landlock = [d for d in diff if d[1:] not in ("landlock 1", "landlock 0")]
    if len(landlock) < len(diff) and run.doc and run.doc["enforced"]["landlock"].startswith("none"):
        diff = landlock
    if code[0] == "signal" and not [d for d in diff if d[0] in "-+"]:
        return "ended", run.end
    rest = [d for d in diff if not d.startswith("note: ")]
    # A call is counted in each process: one fault may meet the process that builds the walls and the one that makes connects.
    if "probe -loopback OK" in rest and any(re.match(r"probe \+loopback E(ACCES|NOSYS|FAULT|CONNREFUSED)$", d) for d in rest):
        rest = [d for d in rest if not re.match(r"probe [-+]loopback ", d)]
        if not rest:
            return "unconnected", "; ".join(diff)
    if rest and all(re.match(r"-mount .* - overlay none |\+mount \S+ \S+ ro,|enforced: ", d) for d in rest) and "no overlay" in run.doc["enforced"]["filesystem"]:
        return "bound", "; ".join(diff)
    alike = [re.sub(r"^(-mount /\S+|\+mount /[^/ ]*) (?=\S+ ro,.* - overlay none )", d[0], d) for d in rest]
    if alike and sorted(d[1:] for d in alike if d[0] == "-") == sorted(d[1:] for d in alike if d[0] != "-"):
        return "own", "; ".join(diff)
    gone = sorted(re.sub(r"-mount /folder (\S+) ro,.*", r"\1", d) for d in rest if d[0] == "-")
    if gone and gone == sorted(re.sub(r"\+mount \S+ (\S+) ro,.*", r"\1", d) for d in rest if d[0] != "-"):
        return "held", "; ".join(diff)
    walls = [d for d in diff if d[0] in "-+" or d.startswith("probe")]
    if walls:
        return "walls", "; ".join(diff)
    if run.end == "exit 0" or status == "ok" and code[0] == "exit" and code[1] == "0":
        return "told", "; ".join(diff)
    audit = run.end == "exit 125" and run.doc and (run.doc.get("audit") or {}).get("recorded") is False
    return "audit" if audit else "ended", "%s, %s" % (run.end, status or run.step() or "nothing said")


def mounts():
    with open("/proc/self/mountinfo") as f:
        return set(f)


def group(role, name, detail):
    """Calls that differ in no more than a number are one call that repeats itself."""
    return role, name, detail.split("0x")[0] if name not in ("prctl", "rt_sigaction") else ""


def select(calls, most, done):
    """Which faults to try: all of them, or, of calls that repeat themselves and that no other command had (`done`), the first and the last."""
    of = collections.defaultdict(list)
    for role, name, n, detail in calls:
        if name not in CANNOT:
            of[group(role, name, detail) if most else (role, name, "")].append((n, detail))
    for (role, name, rest), all_of in of.items():
        if (role, name, rest) in done:
            continue
        for n, detail in all_of if not most or len(all_of) <= most else all_of[:most - 1] + all_of[-1:]:
            yield role, name, n, detail


def main():
    class args:
        inject, table, name = sys.argv[1:4]
        everything, sticky = "--all" in sys.argv[4:sys.argv.index("--")], "--sticky" in sys.argv[4:sys.argv.index("--")]
        most = 0 if everything else int(os.environ.get("FAULTS_MOST", 2))
        only = [w[7:] for w in sys.argv[4:sys.argv.index("--")] if w.startswith("--role=")]
        command = sys.argv[sys.argv.index("--") + 1:]

    passed = failed = skipped = 0
    base = Run(args, "-")
    if base.bad or not base.began:
        print("  FAIL  %s: the undisturbed run: %s %s %.300s" % (args.name, base.bad, base.end, base.stderr))
        return 0, 1, 0
    # Its calls are learnt from a second run, which finds the files that the first one made (an audit trail), as the runs to come will.
    first, base = base, Run(args, "-")
    again = differs(first, base)
    if again or base.bad:
        print("  FAIL  %s: two undisturbed runs differ: %s" % (args.name, "; ".join(again + base.bad)))
        return 0, 1, 0
    # Where main() begins: what fails before is libc's to handle.
    start = next(i for i, c in enumerate(base.calls) if c[0] == "supervisor" and c[1] in ("newfstatat", "fstat"))
    early = set(c[:3] for c in base.calls[:start])
    before = mounts()
    left = sorted(os.listdir(os.environ["TMPDIR"]))
    with open(args.table, "a+") as table:
        table.seek(0)
        done = {group(row[1], row[2], row[4]) for row in (line.rstrip("\n").split("\t") for line in table) if row[0] != args.name} if args.most and not args.sticky else set()
        chosen = [c for c in select(base.calls, args.most, done) if not args.only or c[0] in args.only]
        # Where root tries every one in the same run, a user tries every second.
        for role, name, n, detail in chosen[::2] if os.environ.get("ROOT_TOO") and not args.everything else chosen:
            if args.sticky and n != 1 and not (role == "runner" and n < 4):
                continue
            errnos = ERRNOS.get(name, OTHER).split()
            for errno in errnos if args.everything else errnos[:1]:
                fault = "%s:%s:%d:%s%s" % (role, name, n, errno, "+" if args.sticky else "")
                for attempt in range(3):
                    run = Run(args, fault)
                    if run.failed or run.bad:
                        break
                # Counts shift when an earlier run left something to sweep: what failed this time is what is judged.
                detail = next((c[3] for c in run.calls if c[:3] == (role, name, n)), detail)
                kind, more = judge(base, run, (role, name, n) not in early)
                if not run.failed and kind == "same":
                    kind, more = "unreached", "not called this time"
                # One that went with its mount point was somebody else's, of which our namespace had a copy.
                changed = [m for m in mounts() ^ before if m not in before or os.path.exists(m.split()[4])]
                if changed:
                    kind, more = "BAD", "a mount of the host changed: %s" % changed
                if sorted(os.listdir(os.environ["TMPDIR"])) != left:
                    kind, more = "BAD", "left behind: %s" % os.listdir(os.environ["TMPDIR"])
                why, good = "", kind in ("refused", "libc", "unreached")
                if args.sticky:
                    if kind == "BAD" and not run.bad and name == "write" and run.end == "exit 125":
                        kind, more = "mute", "nothing can be written, so nothing can be said"
                    good = kind != "BAD" and not (kind == "walls" and run.end == "exit 0")
                for a_role, a_name, a_detail, classes, a_why, a_errno in ALLOWED:
                    if not good and a_role in (role, "any") and a_name.fullmatch(name) and a_detail.search(detail) and kind in classes and (
                            a_errno.fullmatch(errno) or args.sticky and a_errno.fullmatch(errno + "+")):
                        good, why = True, a_why
                passed += good and kind != "unreached"
                skipped += kind == "unreached"
                failed += not good
                if not good:
                    print("  FAIL  %s: %s (%s): %s: %.700s" % (args.name, fault, detail, kind, more))
                table.write("\t".join([args.name, role, name, str(n), detail, errno + ("+" if args.sticky else ""), kind, more[:120].replace("\t", " "), why]) + "\n")
    return passed, failed, skipped


if __name__ == "__main__":
    counts = main()
    print("%d passed, %d failed, %d skipped" % counts)
    sys.exit(counts[1] != 0)
