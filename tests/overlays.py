"""Runs over a real overlay, made by hand, with the state folders that `agentjail changes` reads: what tests of changes share.

A workspace is a folder; a run is a script of the shell or a function that changes the merged view. As root the overlay is mounted in a
mount namespace of its own, as another user in a user namespace of its own (unshare of util-linux)."""

import contextlib
import fcntl
import json
import os
import shutil
import struct
import subprocess
import sys
import time

from client import AJ, FOLDER, ROOT

TOP = FOLDER  # of workspaces and state folders
CHANGES = TOP + "/state/agentjail/changes"
ENV = dict(os.environ, XDG_STATE_HOME=TOP + "/state", LC_ALL="C")
number = 0


@contextlib.contextmanager
def locked(run):
    """As a supervisor that lives holds it."""
    with open(run.state + "/lock", "r+") as lock:
        fcntl.fcntl(lock, fcntl.F_OFD_SETLK, struct.pack("hhqqi4x", fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0))
        yield


def settle():
    """Until what was written before has another time of change than what is written from now on, by more than a file system's tick."""
    time.sleep(0.03)


class Run:
    """`make` fills the workspace (a folder's path), `script` is run by sh in the view; `mode` copy: the view is a copy of the tree."""

    def __init__(self, make, script, protected=("@default",), name="run", mode="overlay"):
        global number
        number += 1
        self.id = "%s-%d" % (name, number)
        self.workspace = "%s/work-%d" % (TOP, number)
        self.state = "%s/%s" % (CHANGES, self.id)
        os.makedirs(CHANGES, mode=0o700, exist_ok=True)
        os.mkdir(self.workspace)
        make(self.workspace)
        settle()
        os.mkdir(self.state, 0o700)
        if mode == "copy":
            self.copy()
            settle()
        else:
            os.mkdir(self.state + "/upper", os.stat(self.workspace).st_mode & 0o777)
            os.mkdir(self.state + "/work", 0o700)
        self.record = {
            "version": 1, "id": self.id, "mode": mode, "workspace": self.workspace, "seen_at": self.workspace, "policy": "command",
            "command": ["sh", "-c", "true"], "started_ns": time.time_ns(), "ended_ns": None, "device": os.stat(self.workspace).st_dev,
            "inode": os.stat(self.workspace).st_ino, "protected": list(protected)}
        self.write_record()
        open(self.state + "/lock", "w").close()
        self.run(script)
        self.record["ended_ns"] = time.time_ns()
        self.write_record()
        settle()

    def write_record(self):
        with open(self.state + "/record.json", "w") as f:
            json.dump(self.record, f)

    def copy(self):
        """A copy of the workspace, and the list of what was copied (src/workspace/changes/copied_files.h)."""
        subprocess.run(["cp", "-a", self.workspace, self.state + "/copy"], check=True)
        with open(self.state + "/base", "wb") as f:
            for where, folders, files in os.walk(os.fsencode(self.workspace)):
                for name in folders + files:
                    path = os.path.join(where, name)
                    st = os.lstat(path)
                    short = os.path.relpath(path, os.fsencode(self.workspace)).replace(b"\\", b"\\\\").replace(b"\n", b"\\n")
                    f.write(b"%s %o %d %d %d %d %s\n" % (b"l" if os.path.islink(path) else b"d" if os.path.isdir(path) else b"f", st.st_mode & 0o7777,
                                                       st.st_size, st.st_mtime_ns, st.st_ctime_ns, st.st_ino, short))

    def run(self, script):
        """The script in a view over the workspace as it is now."""
        if self.record["mode"] == "copy":
            subprocess.run(["sh", "-e"], cwd=self.state + "/copy", input=script.encode("utf-8", "surrogateescape"), check=True)
            return
        merged = self.state + "/merged"
        os.mkdir(merged)
        mount = ["mount", "-t", "overlay", "overlay", "-o", "lowerdir=%s,upperdir=%s/upper,workdir=%s/work,userxattr" %
                 (self.workspace, self.state, self.state), merged]
        unshare = ["unshare", "-m"] if ROOT else ["unshare", "-Urm"]
        done = subprocess.run(unshare + ["sh", "-c", '"$@" && cd "$0" && exec sh -e', merged] + mount, input=script.encode("utf-8", "surrogateescape"),
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        os.rmdir(merged)
        assert done.returncode == 0, done.stdout.decode("utf-8", "replace")

    def path(self, name):
        return os.path.join(self.workspace, name)

    def read(self, name):
        with open(self.path(name), "rb") as f:
            return f.read()

    def write(self, name, text):
        """The host's own change of a file, at a time after the run began."""
        with open(self.path(name), "w") as f:
            f.write(text)

    def ask(self, verb, *words, rc=0):
        done = subprocess.run([AJ, "changes", verb, self.id, *words], env=ENV, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=120)
        assert done.returncode == rc, "changes %s %s gave %d: %s %s" % (verb, words, done.returncode, done.stdout[-500:], done.stderr[-900:])
        return done

    def json(self, verb, *words, rc=0):
        return json.loads(self.ask(verb, *words, "--json", rc=rc).stdout)

    def rows(self, *words):
        """The changes by path."""
        return {row["path"]: row for row in self.json("show", *words)["changes"]}

    def kinds(self, *words):
        return {path: row["kind"] for path, row in self.rows(*words).items()}


def tree(folder):
    """All of a tree that an apply can change: type, permissions, content."""
    found = {}
    for where, folders, files in os.walk(os.fsencode(folder)):
        for name in folders + files:
            path = os.path.join(where, name)
            st = os.lstat(path)
            short = os.path.relpath(path, os.fsencode(folder))
            if os.path.islink(path):
                found[short] = ("link", os.readlink(path))
            elif os.path.isdir(path):
                found[short] = ("folder", st.st_mode & 0o777)
            elif os.path.isfile(path):
                with open(path, "rb") as f:
                    found[short] = ("file", st.st_mode & 0o777, f.read())
            else:
                found[short] = ("other", st.st_mode)
    return found


def put(files, **modes):
    """A function that fills a workspace: content by path; a path that ends with a slash is a folder, one with `link:` before its text a link."""
    def make(top):
        for path, text in files.items():
            full = os.path.join(top, path)
            if path.endswith("/"):
                os.makedirs(full, exist_ok=True)
                continue
            os.makedirs(os.path.dirname(full), exist_ok=True)
            if text.startswith("link:"):
                os.symlink(text[5:], full)
                continue
            with open(full, "w") as f:
                f.write(text)
            os.chmod(full, modes.get(path, 0o644))
    return make


def can_overlay():
    """Can this user mount an overlay whose upper layer is where the tests' files are?"""
    if not shutil.which("unshare"):
        return False
    try:
        run = Run(put({"a": "1"}), "echo 2 >a")
    except (AssertionError, OSError) as e:
        print(e, file=sys.stderr)
        return False
    run.ask("discard")
    return True
