"""The lock of a tree: which packages or wheels came in, each with version, size and sha256; packages.lock in the tree.
It refuses, for --locked, a file that differs from its row or has none, and a lock that it does not understand.

    lock.py write FOLDER PYTHON FROM WITH       the lock of all files in the folder, on standard output
    lock.py head LOCK KEY                       one value of the head: python, interpreter, from, arch or with
    lock.py debs LOCK                           `file size sha256` of each row
    lock.py wheels LOCK                         the rows as pip's requirements, with hashes
    lock.py check LOCK FOLDER                   do the folder's files have the lock's names and hashes, all of them and no other?
"""
import hashlib
import os
import re
import sys

FIRST = "agentjail-lock 1"
KEYS = ("python", "interpreter", "from", "arch", "with")


def die(text):
    sys.exit("rootfs: error: " + text)


def hash_of(path):
    with open(path, "rb") as f:
        return hashlib.sha256(f.read()).hexdigest()


def package_of(file):
    """libc6_2.36-9_amd64.deb and numpy-1.26.4-cp311-cp311-linux_x86_64.whl -> (name, version)."""
    name, version = file.split("-" if file.endswith(".whl") else "_")[:2]
    return name, version.replace("%3a", ":")


def rows_of(folder):
    return [(hash_of(folder + "/" + file), os.path.getsize(folder + "/" + file), *package_of(file), file)
            for file in sorted(os.listdir(folder)) if file.endswith((".whl", ".deb"))]


def write(folder, python, interpreter, source, names):
    lines = [FIRST, "python " + python, "interpreter " + interpreter, "from " + source, "arch " + os.uname().machine,
             "with " + (names or "-"), ""]
    return "\n".join(lines + ["%s %d %s %s %s" % row for row in rows_of(folder)]) + "\n"


def read(path):
    """The head as a dict, and the rows."""
    try:
        with open(path, encoding="ascii") as f:
            first, *lines = f.read().splitlines()
        if first != FIRST:
            raise ValueError("the first line is not `%s`" % FIRST)
        end = lines.index("")
        head = dict(line.split(" ", 1) for line in lines[:end])
        if tuple(head) != KEYS:
            raise ValueError("its head has not the keys " + ", ".join(KEYS))
        rows = [tuple(line.split(" ")) for line in lines[end + 1:]]
        for row in rows:
            if len(row) != 5 or not re.fullmatch("[0-9a-f]{64}", row[0]) or not row[1].isdigit() or (
                    not re.fullmatch(r"[\w.+%~:-]+", row[4]) or package_of(row[4]) != row[2:4]):
                raise ValueError("not a row: " + " ".join(row)[:200])
        return head, rows
    except OSError as e:
        die("--locked: %s: %s" % (path, e.strerror))
    except ValueError as e:
        die("--locked: %s is not a lock: %s" % (path, e))


def check(path, folder):
    _, rows = read(path)
    locked, there = {row[4]: row[0] for row in rows}, {row[4]: row[0] for row in rows_of(folder)}
    for file in sorted(locked.keys() | there.keys()):
        if file not in there:
            die("%s is in the lock, and did not come" % file)
        if file not in locked:
            die("%s came, and is not in the lock" % file)
        if there[file] != locked[file]:
            die("%s has sha256 %s, the lock says %s" % (file, there[file], locked[file]))


def main(command, *args):
    if command == "write":
        sys.stdout.write(write(*args))
    elif command == "check":
        check(*args)
    else:
        head, rows = read(args[0])
        if command == "head":
            print(head[args[1]])
        for digest, size, name, version, file in rows:
            if command == "debs":
                print(file, size, digest)
            elif command == "wheels":
                print("%s==%s --hash=sha256:%s" % (name, version, digest))


if __name__ == "__main__":
    main(*sys.argv[1:])
