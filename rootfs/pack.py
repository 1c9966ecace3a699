"""Fills OUT/tree from the places build.sh found and writes OUT/manifest; run by the very interpreter that is packed.
It refuses a library it cannot find, a path with a space, a file that does not compile, and whatever exclude.list names."""
import argparse
import errno
import fnmatch
import os
import re
import subprocess
import sys
import tempfile

import bundle
import edits
import elf
import lazy
import manifest
import pyc

HERE = os.path.dirname(os.path.abspath(__file__))
DIST = "/usr/lib/python3/dist-packages"
FOR_PACKAGES = "/usr/lib/python3/for-packages"


def die(text):
    sys.exit("rootfs: error: " + text)


def note(text):
    print("rootfs: " + text, file=sys.stderr)


def rows_of(file, place):
    """The patterns of one place in a list of this folder."""
    with open(os.path.join(HERE, file), encoding="utf-8") as f:
        return [line[len(place) + 1:].split()[0] for line in f if line.startswith(place + ":")]


class Excludes:
    """The rows of exclude.list for one place; a row matches a path or any folder above it."""

    def __init__(self, place):
        self.globs = rows_of("exclude.list", place)
        self.match = re.compile("|".join(fnmatch.translate(g) for g in self.globs)).match

    def __contains__(self, path):
        return self.match(path) is not None or self.match("/" + path) is not None


class Tree:
    """The result being filled: every method writes below OUT/tree and keeps the modes plain."""

    def __init__(self, top, strip):
        self.top, self.strip, self.objects = top, strip, []

    def path(self, jail_path):
        if re.search(r"[\s\\]", jail_path):
            die("a path with a space cannot be listed in the manifest: %r" % jail_path)
        full = self.top + jail_path
        os.makedirs(os.path.dirname(full), mode=0o755, exist_ok=True)
        return full

    def write(self, jail_path, data, mode=0o644):
        full = self.path(jail_path)
        with open(full, "wb") as f:
            f.write(data)
        os.chmod(full, mode)

    def copy(self, source, jail_path, mode=0o644):
        with open(source, "rb") as f:
            self.write(jail_path, f.read(), mode)

    def copy_elf(self, source, jail_path, mode=0o644, whole=False):
        """Also remembers the object, so that close_over() brings what it needs. whole: strip would break it, as it does
        what tools for wheels patched."""
        self.copy(source, jail_path, mode)
        if self.strip and not whole:
            subprocess.run(["strip", "--strip-unneeded", self.top + jail_path], check=True, stderr=subprocess.DEVNULL)
            os.chmod(self.top + jail_path, mode)
        self.objects.append((source, jail_path))


class Libraries:
    """Finds shared libraries: next to the object as its run path says, else in the system folders of the source."""

    def __init__(self, args, machine):
        self.machine, self.index, self.extra, self.root = machine, {}, [], args.root
        if args.root == "/":
            self._index_host()
        else:
            self._index_root(args.root)

    def _index_root(self, root):
        found = []
        for lib in ("lib", "lib64", "usr/lib", "usr/lib64"):
            for folder, _, names in os.walk(os.path.join(root, lib)):
                found += [(folder.count("/"), os.path.join(folder, n)) for n in names if ".so" in n]
        # The shallowest wins: lib/TRIPLET/libx.so before lib/TRIPLET/variant/libx.so.
        for _, path in sorted(found):
            real = beneath(root, path)
            if real:
                self.index.setdefault(os.path.basename(path), real)

    def _index_host(self):
        listing = ""
        for tool in ("ldconfig", "/sbin/ldconfig", "/usr/sbin/ldconfig"):
            try:
                listing = subprocess.run([tool, "-p"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout.decode()
                break
            except OSError:
                continue
        for line in listing.splitlines():
            soname, arrow, path = line.strip().partition(" => ")
            if arrow and self._fits(path):
                self.index.setdefault(soname.split()[0], path)
        self.extra = ["/lib64", "/usr/lib64", "/lib", "/usr/lib"]

    def _fits(self, path):
        try:
            return elf.Elf(path).machine == self.machine
        except (OSError, ValueError):
            return False

    def find(self, soname, source, runpath):
        origin = os.path.dirname(os.path.realpath(source))
        for folder in runpath:
            if folder.startswith("/"):
                folder = self.root.rstrip("/") + folder  # never a library of the host for an interpreter that is not
            folder = folder.replace("${ORIGIN}", origin).replace("$ORIGIN", origin)
            path = os.path.join(folder, soname)
            if folder.startswith("/") and os.path.isfile(path) and self._fits(path):
                if folder not in self.extra:
                    self.extra.insert(0, folder)
                return path
        if soname in self.index:
            return self.index[soname]
        for folder in self.extra:
            path = os.path.join(folder, soname)
            if os.path.isfile(path) and self._fits(path):
                return path
        return None


def beneath(root, path):
    """The regular file that path means inside root, following links as if root were /; else None."""
    for _ in range(20):
        if not os.path.islink(path):
            return path if os.path.isfile(path) else None
        target = os.readlink(path)
        path = root.rstrip("/") + target if target.startswith("/") else os.path.join(os.path.dirname(path), target)
        path = os.path.normpath(path)
    return None


def in_jail(path):
    """/lib64/x -> /usr/lib64/x: the jail's /lib, /lib64 are links into /usr. None for other places (/nix, /opt)."""
    if re.match(r"/lib[^/]*/", path):
        return "/usr" + path
    return path if re.match(r"/usr/lib[^/]*/", path) else None


def take_modules(tree, args, source, jail, excludes, jobs, lenient=False):
    """Copies one folder of modules: .py become compile jobs, shared objects and data are copied."""
    for folder, folders, names in os.walk(source):
        rel = os.path.relpath(folder, source)
        rel = "" if rel == "." else rel + "/"
        folders[:] = sorted(d for d in folders if rel + d not in excludes)
        for name in sorted(names):
            if rel + name in excludes:
                continue
            real = beneath(args.root, os.path.join(folder, name))
            if real is None or name.endswith((".pyc", ".pyo")):
                continue
            target = jail + "/" + rel + name
            if name.endswith(".py"):
                jobs.append((real, target, lenient))
            elif elf.is_elf(real):
                tree.copy_elf(real, target, whole=lenient)
            else:
                tree.copy(real, target)


class Only:
    """The opposite of for-packages.list, with the rows of exclude.list that are not about what that list names."""

    def __init__(self, prefix=""):
        rows = rows_of("for-packages.list", "lib")
        self.prefix, self.match = prefix, re.compile("|".join(fnmatch.translate(row) for row in rows)).match
        self.above = {row.partition("/")[0] for row in rows} - {"lib-dynload"}

    def __contains__(self, path):
        if not self.prefix and path.startswith("lib-dynload"):
            return True
        path = self.prefix + path
        left_out = path.endswith(("/macholib", "/test", "/tests", "__pycache__")) or "/test/" in path or ".exe" in path
        return left_out or not (self.match(path) or path in self.above)


def take_for_packages(tree, args, libraries, libdir, jobs):
    """The modules and libraries of for-packages.list. A module of C that this Python lacks is left out."""
    take_modules(tree, args, args.stdlib, FOR_PACKAGES, Only(), jobs)
    for name in sorted(os.listdir(args.dynload)):
        if name not in Only("lib-dynload/") and os.path.isfile(os.path.join(args.dynload, name)):
            tree.copy_elf(os.path.join(args.dynload, name), FOR_PACKAGES + "/" + name)
    for soname in rows_of("for-packages.list", "so"):
        found = libraries.find(soname, args.exe, [])
        if found:
            tree.copy_elf(found, libdir + "/" + soname)
        else:
            note("left out: %s, not found: wheels that need it will not load" % soname)


def take_data(tree, args, excludes):
    """What a distribution keeps of a package outside of it, back to where the package's own build has it: /usr/share/matplotlib
    is dist-packages/matplotlib."""
    share = args.root.rstrip("/") + "/usr/share"
    for name in sorted(os.listdir(args.dist)):
        for folder, folders, names in os.walk(os.path.join(share, name)):
            rel = os.path.relpath(folder, share) + "/"
            folders[:] = sorted(d for d in folders if rel + d not in excludes)
            for file in sorted(names):
                real = beneath(args.root, os.path.join(folder, file))
                if real and rel + file not in excludes:
                    tree.copy(real, DIST + "/" + rel + file)


def close_over(tree, libraries, libdir, interp, dist):
    """Brings every needed library, and what those need, to libdir; an optional extension that lacks one is dropped."""
    have, queue = {os.path.basename(interp)}, list(tree.objects)
    inside = {jail for _, jail in tree.objects}
    while queue:
        source, jail = queue.pop()
        wants, lacks = elf.Elf(source), []
        for soname in wants.needed:
            if soname in have:
                continue
            beside = [os.path.normpath(d.replace("$ORIGIN", os.path.dirname(jail))) + "/" + soname for d in wants.runpath]
            # A library of a wheel may have no run path: the loader also looks where the module's own (DT_RPATH) leads.
            if any(b in inside for b in [*beside, os.path.dirname(jail) + "/" + soname, libdir + "/" + soname]):
                continue  # a wheel's own library, already copied with it
            found = libraries.find(soname, source, wants.runpath)
            if found is None:
                lacks.append(soname)
                continue
            have.add(soname)
            tree.copy_elf(found, libdir + "/" + soname, whole=bool(dist) and found.startswith(dist + "/"))
            queue.append(tree.objects[-1])
        if lacks and ("/lib-dynload/" in jail or jail.startswith(FOR_PACKAGES)):
            note("left out: %s needs %s, not found" % (jail, ", ".join(lacks)))
            os.unlink(tree.top + jail)
        elif lacks:
            die("%s needs %s, not found" % (jail, ", ".join(lacks)))


def take_zoneinfo(tree, args):
    source = args.zoneinfo
    for folder, folders, names in os.walk(source):
        if folder == source:
            folders[:] = [d for d in folders if d not in ("posix", "right")]  # the same zones again
        for name in names:
            real = beneath(args.root, os.path.join(folder, name))
            if real is None or (folder == source and name in ("localtime", "posixrules")):
                continue
            with open(real, "rb") as f:
                data = f.read()
            if data[:4] == b"TZif" or name in ("zone.tab", "zone1970.tab", "iso3166.tab", "tzdata.zi"):
                tree.write("/usr/share/zoneinfo/" + os.path.relpath(os.path.join(folder, name), source), data)


def build(args):
    tree = Tree(args.out + "/tree", strip=args.source == "host" and can_strip())
    exe = elf.Elf(args.exe)
    interp = in_jail(exe.interp)
    if interp is None:
        die("%s wants the loader %r, which is outside /lib and /usr" % (args.exe, exe.interp))
    libraries = Libraries(args, exe.machine)
    libc = next((libraries.find(n, args.exe, []) for n in sorted(libraries.index) if re.match(r"libc\.so|libc\.musl", n)), None)
    if libc is None:
        die("no C library found")
    # The folder that this C library's loader searches by default; everything goes there, whatever its origin.
    libdir = in_jail("/" + os.path.relpath(os.path.dirname(os.path.realpath(libc)), args.root))
    if libdir is None:
        die("the C library is in an unusual place: " + libc)

    stdlib = "/usr/lib/python" + args.version
    jobs = []
    tree.copy_elf(args.exe, "/usr/bin/python3", 0o755)
    loader = libraries.find(os.path.basename(interp), args.exe, [os.path.dirname(exe.interp)])
    tree.copy(loader or die("no loader " + exe.interp), interp, 0o755)
    lib_rows = Excludes("lib")
    take_modules(tree, args, args.stdlib, stdlib, lib_rows, jobs)
    if os.path.realpath(args.dynload) != os.path.realpath(args.stdlib + "/lib-dynload"):
        lib_rows_dynload = Under(lib_rows, "lib-dynload/")
        take_modules(tree, args, args.dynload, stdlib + "/lib-dynload", lib_rows_dynload, jobs)
    if getattr(sys, "platlibdir", "lib") != "lib":
        # This interpreter looks for its library below lib64.
        link = tree.path("/usr/%s/python%s" % (sys.platlibdir, args.version))
        os.symlink("../lib/python" + args.version, link)
    if args.with_:
        take_modules(tree, args, args.dist, DIST, Excludes("pkg"), jobs, lenient=True)
        if args.source == "packages":
            take_data(tree, args, Excludes("share"))
        take_modules(tree, args, HERE + "/stub", DIST, (), jobs)
    take_for_packages(tree, args, libraries, libdir, jobs)
    if args.layer:
        jobs.append((args.layer, stdlib + "/agentjail.py", False))  # a folder: pyc.py bundles its core
        jobs.extend((os.path.join(args.layer, name), stdlib + "/agentjail/" + name, False) for name in bundle.rest(args.layer))
    if args.guest:
        tree.copy(args.guest, "/usr/lib/agentjail/guest.so")
        tree.objects.append((args.guest, "/usr/lib/agentjail/guest.so"))
    if os.path.isdir(args.zoneinfo):
        take_zoneinfo(tree, args)
    close_over(tree, libraries, libdir, interp, args.dist)
    if args.layer:
        rows = os.path.dirname(args.out) + "/lazy_extensions.py"
        lazy.write(tree, stdlib, [target for _, target, _ in jobs], rows)
        jobs.append((rows, stdlib + "/agentjail/rail/lazy_extensions.py", False))
    pyc.compile_all(tree, jobs)
    if args.lock:
        tree.copy(args.lock, "/usr/lib/agentjail/packages.lock")
    prove(tree, interp, libdir, [name for name in args.modules.split(",") if name])
    manifest.write(args.out, {
        "python": "%d.%d.%d" % sys.version_info[:3], "source": args.source,
        "arch": os.uname().machine,
        "libc": os.confstr("CS_GNU_LIBC_VERSION").split()[-1], "with": args.with_ or "-"})


class Under:
    """The same rows, for a folder that lies elsewhere on this host."""

    def __init__(self, rows, prefix):
        self.rows, self.prefix = rows, prefix

    def __contains__(self, path):
        return self.prefix + path in self.rows


def can_strip():
    try:
        return subprocess.run(["strip", "--version"], stdout=subprocess.DEVNULL).returncode == 0
    except OSError:
        return False


def prove(tree, interp, libdir, modules):
    """A tree that cannot even start is not written, nor one in which a package cannot be imported."""
    run_packed(tree, interp, libdir, "import json, re, datetime, random, hashlib, decimal, math; hashlib.new('md5')",
               "the packed python does not work")
    for module in modules:
        run_packed(tree, interp, libdir, "import " + ", ".join([module, *edits.ALSO.get(module, ())]), "the packed `%s` cannot be imported" % module)
    for module, code, file in edits.MADE:
        if module in modules:
            path = tree.path(DIST + "/" + file)
            run_packed(tree, interp, libdir, "path = %r; %s" % (path, code), "%s cannot be made" % file)
            os.chmod(path, 0o644)


def run_packed(tree, interp, libdir, code, failure):
    """As a jail would, as far as that goes without one: the packed loader, libraries and modules, and nothing of the caller's."""
    with tempfile.TemporaryDirectory(dir=os.path.dirname(tree.top)) as home:
        argv = [tree.top + interp, "--library-path", tree.top + libdir, tree.top + "/usr/bin/python3", "-I", "-S", "-B", "-W", "ignore",
                "-c", "import sys; sys.path.append(%r); %s" % (tree.top + DIST, code)]
        env = {"HOME": home, "LC_CTYPE": "C.UTF-8", "OPENBLAS_NUM_THREADS": "1", "MPLBACKEND": "agg"}
        got = subprocess.run(argv, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, env=env)
    if got.returncode:
        lines = got.stderr.decode(errors="replace").strip().splitlines()
        die("%s: %s" % (failure, lines[-1][:300] if lines else "exit code %d" % got.returncode))


def main():
    p = argparse.ArgumentParser(description=__doc__)
    for name in ("source", "guest", "layer", "out", "lock", "modules", "version", "exe", "stdlib", "dynload", "dist", "zoneinfo", "root"):
        p.add_argument("--" + name, default="")
    p.add_argument("--with", dest="with_", default="")
    os.umask(0o022)
    try:
        build(p.parse_args())
    except OSError as e:
        die("no space left on the device" if e.errno == errno.ENOSPC else str(e))


if __name__ == "__main__":
    main()
