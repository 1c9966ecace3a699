"""Warnings about lost results: a value over the size limit, and files outside the folder that the caller collects.
Loaded only if there is one.
"""

import posix
from posixpath import realpath
from stat import S_ISREG

from agentjail import OWN as __builtins__  # noqa: F401 (see guest/layer/__init__.py)
from agentjail.runtime.error_report import located

MAX_NAMED, MAX_LOOKED_AT = 5, 1000
NOT_ITS_OWN = ("input", "output")   # folders of /tmp


def warn(session, claim, message, hint):
    claim.setdefault("warnings", []).append(located(session, "RuntimeWarning", message, None, hint))


def warn_of_value(session, key, claim):
    """The value or the final answer was returned as text."""
    name = "answer" if key == "final_answer" else "value"
    limits = session.limits
    where = "Write it to a file in /output, or return" if session.keeps_files else "Return"
    warn(session, claim, "the %s was returned as text of at most %d bytes: the limit of a value is %d bytes" % (
        name, limits["repr_bytes"], limits["value_bytes"]), "%s a part or a summary of it." % where)


def warn_of_files(session, claim):
    """/output is empty, and the code wrote files elsewhere."""
    if posix.listdir("/output"):
        return
    names = sorted([path for path, changed in files_of_tmp().items() if session.files_before.get(path) != changed])
    if names:
        more = len(names) - MAX_NAMED
        warn(session, claim, "no file was written to /output, the folder that the caller collects; the code wrote %s%s" % (
            ", ".join(["%.200r" % n for n in names[:MAX_NAMED]]), " and %d more" % more if more > 0 else ""),
            "Write files for the caller to /output/NAME.")


def files_of_tmp():
    """Files below /tmp and their modification times; empty unless /output is in /tmp, as in a jail."""
    out, looked_at = {}, 0
    todo = ["/tmp"] if realpath("/output") == "/tmp/output" else []
    while todo:
        folder = todo.pop(0)
        for entry in posix.scandir(folder):
            looked_at += 1
            if looked_at > MAX_LOOKED_AT:
                return out
            if entry.name[:1] == "." or folder == "/tmp" and entry.name in NOT_ITS_OWN or entry.is_symlink():
                continue
            if not entry.is_dir():
                found = entry.stat(follow_symlinks=False)
                if S_ISREG(found.st_mode):
                    out[entry.path] = found.st_mtime_ns
            elif folder == "/tmp":
                todo.append(entry.path)
    return out
