"""Compiles modules ahead of time to sourceless .pyc files that are the same bytes for the same source. They hold no columns
(-X no_debug_ranges): a traceback shows columns below a source line, and there is no source.
It refuses a module of the standard library that does not compile; of an added package it leaves such a file out."""
import errno
import importlib._bootstrap_external as loader
import os
import re
import sys
import traceback
import warnings

import bundle
import edits


def compile_all(tree, jobs):
    """One child per file: marshal's bytes depend on what was interned before, so each file starts from the same state."""
    warnings.simplefilter("ignore")
    running, width, failed = {}, max(1, len(os.sched_getaffinity(0))), False
    for job in sorted(jobs, key=lambda job: job[1]):
        while len(running) >= width:
            failed |= reap(running)
        if failed:
            break
        tree.path(job[1])
        pid = os.fork()
        if pid == 0:
            os._exit(compile_one(tree, *job))
        running[pid] = job
    while running:
        failed |= reap(running)
    if failed:
        sys.exit(1)


def reap(running):
    pid, status = os.wait()
    source, target, lenient = running.pop(pid)
    if status == 0:
        return False
    print("rootfs: %s: %s" % ("left out" if lenient else "error", target), file=sys.stderr)
    return not lenient


def compile_one(tree, source, target, lenient):
    try:
        if os.path.isdir(source):
            code = bundle.bundle(source, target[:-3])
        else:
            with open(source, "rb") as f:
                text = f.read()
            if lenient:
                text = edits.edit(text, target.partition("/dist-packages/")[2])
            if re.match(r"_sysconfigdata_", os.path.basename(target)):
                text = plain_sysconfig(text)
            code = compile(text, target, "exec", dont_inherit=True, optimize=0)
        # Unchecked, and without a hash: the loader must not look for a source that is not there.
        tree.write(target + "c", bytes(loader._code_to_hash_pyc(code, bytes(8), False)))
        return 0
    except OSError as e:
        print("rootfs: error: %s" % ("no space left on the device" if e.errno == errno.ENOSPC else e), file=sys.stderr)
        return 1
    except (SyntaxError, ValueError):
        if not lenient:
            traceback.print_exc(limit=0)
        return 1


def plain_sysconfig(text):
    """How the interpreter was built, without paths and flags: they name folders of another machine."""
    names = {}
    exec(text, names)
    keep = {k: v for k, v in names["build_time_vars"].items() if not isinstance(v, str) or re.fullmatch(r"[\w.+-]*", v)}
    keep["TZPATH"] = "/usr/share/zoneinfo"  # zoneinfo asks here where its files are
    return ("build_time_vars = %r\n" % dict(sorted(keep.items()))).encode()
