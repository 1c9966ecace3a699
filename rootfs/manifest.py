"""Writes the list of a tree's files with size, mode and sha256, and sets every folder's mode to 0755.
It refuses devices, sockets, links that lead outside, and names with spaces."""
import hashlib
import os
import re
import stat
import sys


def write(out, header):
    top = out + "/tree"
    lines, total = [], 0
    for folder, folders, names in os.walk(top):
        os.chmod(folder, 0o755)
        names += [d for d in folders if os.path.islink(os.path.join(folder, d))]
        for name in names:
            path = os.path.join(folder, name)
            jail, info = path[len(top):], os.lstat(path)
            if re.search(r"[\s\\]", jail):
                sys.exit("rootfs: error: a path with a space: %r" % jail)
            if stat.S_ISLNK(info.st_mode):
                target = os.readlink(path)
                if not (os.path.realpath(path) + "/").startswith(os.path.realpath(top) + "/") or target.startswith("/"):
                    sys.exit("rootfs: error: a link that leads outside: %s -> %s" % (jail, target))
                lines.append((jail, "link %d 0777 %s -> %s\n" % (len(target), jail, target)))
                continue
            if not stat.S_ISREG(info.st_mode):
                sys.exit("rootfs: error: neither file nor link: " + jail)
            with open(path, "rb") as f:
                digest = hashlib.sha256(f.read()).hexdigest()
            lines.append((jail, "%s %d %04o %s\n" % (digest, info.st_size, stat.S_IMODE(info.st_mode), jail)))
            total += info.st_size
    header = dict(header, files=len(lines), bytes=total)
    with open(out + "/manifest", "w", encoding="utf-8") as f:
        f.write("agentjail-rootfs 1\n")
        f.writelines("%s %s\n" % item for item in header.items())
        f.write("\n")
        f.writelines(line for _, line in sorted(lines, key=lambda row: row[0].encode()))
